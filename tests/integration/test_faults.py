#!/usr/bin/python3
"""File operations of a collector fail, or it is killed before one: counts, memory, and records with the lost ones stay what they were.

test_faults.py BUILD_DIR [N [K/M]]: a few operations; with N every one of the first N, by every fault, on every kind of collector.
K/M: the K-th of M parts of these. A case that fails is named when it has failed.
"""
import collections
import concurrent.futures
import errno
import itertools
import json
import os
import sys

import loop
import test_heap_truth
from harness import Failure, Run, expect, expect_true, wait_for
from nodes import Node, free_url
from truth import load

JOB = "job"
RANKS = 2
ROUNDS = 2000
PAUSE_US = 100
HEAP_ROUNDS = 40
AT_ONCE = 8
KINDS = ("collector", "root", "leaf", "per-node")
KILL = 0
FAULTS = (KILL, errno.ENOSPC, errno.EMFILE, errno.EIO, errno.ENOENT)
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

    def make_nodes(self, run):
        """(all collectors, the one that meets the fault, those that ranks run under, the one that has the whole)"""
        if self.kind == "collector":
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

    @staticmethod
    def report(run, node):
        """Where the job is, and its report, once it is closed and all ranks are in it."""
        for name in os.listdir(node.store):
            path = os.path.join(node.store, name)
            # The last file that is written: until it is there nobody need be asked.
            done = run.cli("report", path, "--format", "json", check=False) if os.path.exists(f"{path}/summary.txt") else None
            report = json.loads(done.stdout) if done and done.returncode == 0 else None
            if report and report["job"]["closed"] and len(report["ranks"]) == RANKS:
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

    def run_job(self, run):
        nodes, target, places, whole = self.make_nodes(run)
        for node in nodes:
            self.start_target(node) if node is target else node.start()
        progress, truth = run.path("progress"), run.path("truth.json")
        words = ([run.workload("calls_truth"), "--loop", progress, ROUNDS, PAUSE_US], [run.workload("heap_truth"), truth, HEAP_ROUNDS])
        # A rank that ends just when there is no collector leaves what it has for the next one.
        env = {**loop.agent_environment(run, JOB), "HOOK_WORLD_SIZE": str(RANKS), "HOOK_KEEP_SEGMENT": "1"}
        ranks = [place.popen(*command, env={**env, "HOOK_RANK": str(rank)})
                 for rank, (place, command) in enumerate(zip(places, words))]
        with whole.told(), target.told():
            self.wait("the ranks to end", target, lambda: all(rank.poll() is not None for rank in ranks))
            expect("exit", [rank.returncode for rank in ranks], [0, 0])
            path, report = self.wait("the job to be closed", target, lambda: self.report(run, whole))
            self.check(run, path, report, progress, truth)

    def check(self, run, path, report, progress, truth):
        expect("ranks", [row["rank"] for row in report["ranks"]], list(range(RANKS)))
        loop.expect_loop("calls", report, loop.rows(progress))
        test_heap_truth.check_memory("memory", report, 1, load(truth))
        events = loop.events_of(run, path)
        loop.expect_once(events)
        for row in report["ranks"]:
            made = sum(calls["calls"] for calls in report["calls"] if calls["rank"] == row["rank"])
            expect(f"rank {row['rank']}: records and lost ones", row["records"] + row["lost_records"], made)
            held = sum(len(calls) for key, calls in events.items() if key[0] == row["rank"])
            expect(f"rank {row['rank']}: calls in the export", held, row["records"])

    def __call__(self):
        """What is not as it must be; sets whether the collector met its fault: one that makes fewer operations does not."""
        try:
            with Run(self.build) as run:
                self.run_job(run)
                self.met = os.path.exists(run.path("met"))
        except Failure as failure:
            return f"{self.what}: {failure}"
        return None


def cases(build, most, part):
    if most:
        number, parts = map(int, part.split("/"))
        return [Case(build, *which) for which in itertools.product(KINDS, FAULTS, range(1, most + 1))][number - 1::parts]
    few = itertools.cycle(FEW)
    return [Case(build, kind, error, next(few)) for kind in KINDS for error in FAULTS]


def summary(every):
    """A line for each kind of collector: of each fault, how many cases, and how many of them met it."""
    for kind in KINDS:
        ran, met = (collections.Counter(case.error for case in every if case.kind == kind and (case.met or not only_met)) for only_met in (0, 1))
        yield f"{kind}: " + ", ".join(f"{fault_name(error)} {met[error]} of {ran[error]}" for error in FAULTS)


def test(build, most=0, part="1/1"):
    every, failed = cases(os.path.abspath(build), int(most), part), 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for done in concurrent.futures.as_completed([pool.submit(case) for case in every]):
            if done.result():
                failed += 1
                print(done.result(), flush=True)
    print("faults met, of cases run:", *summary(every), sep="\n")
    expect("cases that failed", failed, 0)
    # A few operations are ones that every collector makes.
    expect_true("each case met its fault", int(most) or all(case.met for case in every))


if __name__ == "__main__":
    try:
        test(*sys.argv[1:])
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
