#!/usr/bin/python3
"""File operations of a collector fail, or it is killed before one: counts, memory, and records with the lost ones stay what they were.

test_faults.py BUILD_DIR [N [K/M]]: a few operations; with N every one of the first N, by every fault, on every kind of collector.
K/M: the K-th of M parts of these. A case that fails is named when it has failed.
Where two ranks end before the fault, the case is run once more with many: each makes some operations of its own.
"""
import concurrent.futures
import errno
import itertools
import json
import os
import sys

import loop
import test_heap_truth
from harness import Failure, Run, expect, wait_for
from nodes import Node, free_url
from truth import load

JOB = "job"
RANKS = 2
# Further ranks of a job whose collector must make many operations.
MORE_RANKS = 20
ROUNDS = 2000
MORE_ROUNDS = 20
PAUSE_US = 100
HEAP_ROUNDS = 40
AT_ONCE = 8
KILL = 0
FAULTS = (KILL, errno.ENOSPC, errno.EMFILE, errno.EIO)
# Which collector meets which faults. "next", "next leaf": the one that comes in mid-job, after a killed one. To it a file that is
# not there is one that was removed, and its records are lost.
MEETINGS = [(kind, error) for kind in ("collector", "root", "leaf", "per-node") for error in (*FAULTS, errno.ENOENT)]
MEETINGS += itertools.product(("next", "next leaf"), FAULTS)
# So many in a row fail: what is tried once more at once fails again.
CONSECUTIVE = 3
# Operations of the short run, one for each kind and fault: making the job, saving and sealing while it runs, closing.
FEW = (2, 5, 8, 11, 14, 17, 20, 23, 26, 29)


def fault_name(error):
    return errno.errorcode.get(error, "kill")


class Case:
    """A job of two ranks under collectors of one KIND, one of which meets a fault at its operation number AT."""

    def __init__(self, build, kind, error, at):
        self.build, self.kind, self.error, self.at = build, kind, error, at
        self.what = f"{kind}, {fault_name(error)} at {at}"
        self.met = False
        self.ranks = RANKS
        self.is_next = kind.startswith("next")

    def make_nodes(self, run):
        """(all collectors, the one that meets the fault, those that ranks run under, the one that has the whole)"""
        if self.kind in ("collector", "next"):
            only = Node(run, "only")
            return [only], only, [only, only], only
        if self.kind == "per-node":
            both = [Node(run, name, ["--per-node"]) for name in ("one", "two")]
            both[1].store = both[0].store
            return both, both[0], both, both[0]
        url = free_url()
        root, leaf = Node(run, "root", ["--listen", url]), Node(run, "leaf", ["--upstream", url])
        return [root, leaf], root if self.kind == "root" else leaf, [leaf, leaf], root

    def start_target(self, target):
        """Starts it under the fault; if that is more than it can start under, without."""
        words = {"LD_PRELOAD": os.path.join(self.build, "tests/integration/faults/libfaults.so"), "FAULT_AT": self.at,
                 "FAULT_MARK": target.path("met")}
        if self.error != KILL:
            words.update(FAULT_ERRNO=self.error, FAULT_COUNT=CONSECUTIVE)
        target.before = ["env", *(f"{name}={value}" for name, value in words.items())]
        try:
            target.start()
        except Failure:
            target.collector.wait()
            target.before = []
            target.start()
        target.before = []

    def report(self, run, node):
        """Where the job is, and its report, once it is closed and all ranks are in it."""
        for name in os.listdir(node.store):
            path = os.path.join(node.store, name)
            # The last file that is written: no need to check before it exists.
            done = run.cli("report", path, "--format", "json", check=False) if os.path.exists(f"{path}/summary.txt") else None
            report = json.loads(done.stdout) if done and done.returncode == 0 else None
            if report and report["job"]["closed"] and len(report["ranks"]) == self.ranks:
                return path, report
        return None

    @staticmethod
    def wait(what, target, condition):
        """Waits for CONDITION, under a collector that comes again when it died."""
        def look():
            if target.collector.poll() is not None:
                target.start()
            return condition()
        return wait_for(what, look)

    def start_ranks(self, run, places, commands, first=0):
        # A rank that ends just when there is no collector leaves what it has for the next one.
        env = {**loop.agent_environment(run, JOB), "HOOK_WORLD_SIZE": str(self.ranks), "HOOK_KEEP_SEGMENT": "1"}
        return [place.popen(*command, env={**env, "HOOK_RANK": str(rank)}) for rank, (place, command) in enumerate(zip(places, commands), first)]

    def run_job(self, run):
        nodes, target, places, whole = self.make_nodes(run)
        for node in nodes:
            self.start_target(node) if node is target and not self.is_next else node.start()
        progress = run.path("progress-0")
        stop_at = [ROUNDS // 2] if self.is_next else []
        ranks = self.start_ranks(run, places, ([run.workload("calls_truth"), "--loop", progress, ROUNDS, PAUSE_US, *stop_at],
                                               [run.workload("heap_truth"), run.path("truth.json"), HEAP_ROUNDS]))
        if self.is_next:
            loop.wait_stopped(progress)
            target.kill()
            self.start_target(target)
            loop.go_on(progress)
        further = [[run.workload("calls_truth"), "--loop", run.path(f"progress-{rank}"), MORE_ROUNDS, PAUSE_US]
                   for rank in range(RANKS, self.ranks)]
        ranks += self.start_ranks(run, places[:1] * len(further), further, RANKS)
        with whole.told(), target.told():
            self.wait("the ranks to end", target, lambda: all(rank.poll() is not None for rank in ranks))
            expect("exit", [rank.returncode for rank in ranks], [0] * self.ranks)
            path, report = self.wait("the job to be closed", target, lambda: self.report(run, whole))
            self.check(run, path, report)

    def check(self, run, path, report):
        expect("ranks", [row["rank"] for row in report["ranks"]], list(range(self.ranks)))
        for rank in (0, *range(RANKS, self.ranks)):
            loop.expect_loop(f"calls of rank {rank}", report, loop.rows(run.path(f"progress-{rank}")), rank)
        test_heap_truth.check_memory("memory", report, 1, load(run.path("truth.json")))
        events = loop.events_of(run, path)
        loop.expect_once(events)
        for row in report["ranks"]:
            made = sum(calls["calls"] for calls in report["calls"] if calls["rank"] == row["rank"])
            expect(f"rank {row['rank']}: records and lost ones", row["records"] + row["lost_records"], made)
            held = sum(len(calls) for key, calls in events.items() if key[0] == row["rank"])
            expect(f"rank {row['rank']}: calls in the export", held, row["records"])

    def __call__(self):
        """What is not as it must be; None: nothing."""
        try:
            for self.ranks in (RANKS, RANKS + MORE_RANKS):
                with Run(self.build) as run:
                    self.run_job(run)
                    self.met = os.path.exists(run.path("met"))
                if self.met:
                    return None
        except Failure as failure:
            return f"{self.what}, {self.ranks} ranks: {failure}"
        return f"{self.what}: the fault was not met"


def cases(build, most, part):
    if most:
        number, parts = map(int, part.split("/"))
        every = [Case(build, *meeting, at) for meeting, at in itertools.product(MEETINGS, range(1, most + 1))]
        return every[number - 1::parts]
    return [Case(build, *meeting, at) for meeting, at in zip(MEETINGS, itertools.cycle(FEW))]


def test(build, most=0, part="1/1"):
    every, failed = cases(os.path.abspath(build), int(most), part), 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for done in concurrent.futures.as_completed([pool.submit(case) for case in every]):
            if done.result():
                failed += 1
                print(done.result(), flush=True)
    print(f"{len(every)} cases, each met its fault but for those that failed")
    expect("cases that failed", failed, 0)


if __name__ == "__main__":
    try:
        test(*sys.argv[1:])
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
