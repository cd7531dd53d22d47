#!/usr/bin/python3
"""Three servers of a stream engine, three leaves with four ranks each, two roots of two partitions, each on a host of its own (network
namespaces): while a job runs, any one of them is killed and comes again, or is cut off. The job's report equals the truth in the end.

test_engine_faults.py BUILD_DIR [ROUNDS [SEED [SECONDS]]]: rounds of one fault each, PER_JOB of them in each job. A cut lasts SECONDS, and
so long at least it is from one fault to the next. Each job draws its faults from the seed that is named when it fails: with 9 THAT_SEED
they come again.
"""
import collections
import contextlib
import csv
import json
import os
import random
import signal
import sys
import time

import engine
import loop
from harness import Failure, end_process, expect, expect_true, main, wait_for
from network import Network
from nodes import Node, finish
from test_heap_truth import check_memory
from truth import load, rows_of

SERVERS, LEAVES, ROOTS = ("n1", "n2", "n3"), ("alpha", "beta", "gamma"), ("r1", "r2")
PARTITIONS = 2
RANKS_EACH = 4
RANKS = RANKS_EACH * len(LEAVES)
HEAP_RANKS = range(RANKS_EACH - 1, RANKS, RANKS_EACH)  # the last one of each leaf; the others loop
PER_JOB = 9  # rounds; as many as there are kinds of faults
PAUSE_US = 10_000  # between two rounds of a loop
HEAP_ROUNDS = 100
SEED = 1179


class Site:
    """All of them; what a leaf sends goes to the partition that its id says."""

    def __init__(self, run, network):
        self.run, self.network = run, network
        self.servers, url = engine.cluster(run, network, SERVERS)
        self.stream = engine.Stream(run, url, network.words(network.hub))
        self.stream.set_up("--partitions", PARTITIONS, "--replicas", len(SERVERS))
        self.leaves = {}
        for number, host in enumerate(LEAVES):
            self.leaves[host] = Node(run, host, ["--upstream", url], network.words(host))
            self.give_id(self.leaves[host], number)
            self.leaves[host].start()
        self.roots = {}
        for number, host in enumerate(ROOTS, 1):
            self.roots[host] = engine.Root(run, host, ["--from", url, "--workers", f"{number}/{len(ROOTS)}"], network.words(host))
            self.roots[host].store = run.path("store-roots")
            self.roots[host].start()

    @staticmethod
    def give_id(node, number):
        """So that leaves are in all partitions, whichever id they would find by chance."""
        with open(os.path.join(node.run_directory, "node"), "wb") as out:
            out.write(number.to_bytes(4, "little") + random.randbytes(12))

    def leader(self):
        status = self.stream.status()
        return status and status["leader"]

    def owners(self):
        """Processes of roots by partition; {}: the engine says nothing."""
        status = self.stream.status()
        return {row["partition"]: row["root"] for row in status["partitions"] if row["root"]} if status else {}

    def said(self):
        return "".join(f"--- {node.name}\n{node.said()[-1500:]}\n" for node in [*self.roots.values(), *self.leaves.values()])


# ---- faults: each returns once what it struck is on its way again ----


def kill_leader(site, _draw):
    leader = wait_for("a leader", site.leader)
    site.servers[leader].kill()
    wait_for("another leader", lambda: site.leader() not in (None, "", leader))
    site.servers[leader].start()
    return leader


def kill_follower(site, draw):
    victim = follower(site, draw)
    site.servers[victim].kill()
    site.servers[victim].start()
    return victim


def follower(site, draw):
    leader = wait_for("a leader", site.leader)
    return draw.choice([name for name in SERVERS if name != leader])


def reader(site, draw):
    """The reader of a partition: (its root, its process). A lease outlives its owner for a while."""
    partition = draw.randrange(PARTITIONS)

    def look():
        host, _, pid = site.owners().get(partition, "none:0").partition(":")
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                parent = int(stat.read().rpartition(")")[2].split()[1])
            return (host, int(pid)) if parent == site.roots[host].collector.pid else None
        return None
    return wait_for(f"a root of partition {partition}", look)


def kill_root(site, draw):
    """The process that keeps others, which then end by themselves."""
    victim, _ = reader(site, draw)
    site.roots[victim].kill()
    site.roots[victim].start()
    return victim


def kill_partition(site, draw):
    host, pid = reader(site, draw)
    os.kill(pid, signal.SIGKILL)
    return f"{pid} of {host}"


def kill_leaf(site, draw):
    victim = draw.choice(LEAVES)
    site.leaves[victim].kill()
    site.leaves[victim].start()
    return victim


def cut(site, host, seconds):
    site.network.link(host, "down")
    begun = time.monotonic()
    wait_for("the end of the cut", lambda: time.monotonic() - begun >= seconds)
    site.network.link(host, "up")
    return host


def faults(seconds):
    """{what it is called: what does it}"""
    return {
        "leader killed": kill_leader, "follower killed": kill_follower, "root killed": kill_root,
        "partition's process killed": kill_partition, "leaf killed": kill_leaf,
        "leader cut off": lambda site, _draw: cut(site, wait_for("a leader", site.leader), seconds),
        "follower cut off": lambda site, draw: cut(site, follower(site, draw), seconds),
        "root cut off": lambda site, draw: cut(site, reader(site, draw)[0], seconds),
        "leaf cut off": lambda site, draw: cut(site, draw.choice(LEAVES), seconds),
    }


# ---- the job ----


class Job:
    """Loops on all leaves, which wait before their last round, and programs that know their memory, which come while there is a fault."""

    def __init__(self, site, name, rounds):
        self.site, self.run, self.name, self.rounds = site, site.run, name, rounds
        self.loops = [rank for rank in range(RANKS) if rank not in HEAP_RANKS]
        self.ranks = [self.start(rank, "calls_truth", "--loop", self.truth(rank), rounds, PAUSE_US, rounds - 1) for rank in self.loops]
        self.heaps = list(HEAP_RANKS)
        self.ended = False

    def truth(self, rank):
        return self.run.path(f"truth-{self.name}-{rank}")

    def start(self, rank, program, *arguments):
        leaf = self.site.leaves[LEAVES[rank // RANKS_EACH]]
        # A rank that ends just when there is no collector leaves what it has for the next one.
        env = {**loop.agent_environment(self.run, self.name), "HOOK_RANK": str(rank), "HOOK_WORLD_SIZE": str(RANKS), "HOOK_KEEP_SEGMENT": "1"}
        # Only the program gets the agent, not the shell that names its host: its memory would count.
        agent = f"LD_PRELOAD={env.pop('LD_PRELOAD')}"
        return leaf.popen("env", agent, self.run.workload(program), *arguments, env=env)

    def start_heap(self):
        """Starts the next one of those that know their memory, if any is left."""
        if self.heaps:
            rank = self.heaps.pop(0)
            self.ranks.append(self.start(rank, "heap_truth", self.truth(rank), HEAP_ROUNDS))

    def wait_rounds(self, rounds):
        for rank in self.loops:
            loop.wait_rounds(self.truth(rank), rounds)

    def finish(self):
        """Lets the ranks end, unless they have."""
        while self.heaps:
            self.start_heap()
        for rank in [] if self.ended else self.loops:
            loop.go_on(self.truth(rank))
        for rank in self.ranks:
            finish(rank, "rank", self.run.path("job.log"))
        self.ended = True


def closed_report(run, path):
    def look():
        # The last file that is written: no need to check before it exists.
        done = run.cli("report", path, "--format", "json", check=False) if os.path.exists(f"{path}/summary.txt") else None
        report = json.loads(done.stdout) if done and done.returncode == 0 else None
        return report if report and report["job"]["closed"] and len(report["ranks"]) == RANKS else None
    return wait_for("the job to be closed", look, 120)


def check_records(run, path, report):
    """Each call is in the export, and once."""
    out = run.path("calls.csv")
    run.cli("export", path, "--format", "csv", "-o", out)
    held, seen = collections.Counter(), set()
    with open(out, newline="", encoding="utf-8") as stream:
        table = csv.reader(stream)
        names = next(table)
        key = [names.index(name) for name in ("rank", "function", "library", "tid", "start_ns", "duration_ns")]
        for row in table:
            call = tuple(row[column] for column in key)
            expect_true(f"twice in the export: {call}", hash(call) not in seen)
            seen.add(hash(call))
            held[int(call[0]), call[1], call[2]] += 1
    counted = {(row["rank"], row["function"], row["library"]): row["calls"] for row in report["calls"]}
    expect("calls in the export", held, counted)
    os.unlink(out)
    return sum(held.values())


def judge(site, job):
    path = os.path.join(site.roots[ROOTS[0]].store, job.name)
    report = closed_report(site.run, path)
    expect("ranks", [row["rank"] for row in report["ranks"]], list(range(RANKS)))
    expect("hosts", [row["host"] for row in report["ranks"]], [LEAVES[rank // RANKS_EACH] for rank in range(RANKS)])
    expect("lost records", {row["rank"]: row["lost_records"] for row in report["ranks"]}, dict.fromkeys(range(RANKS), 0))
    for rank in job.loops:
        rows = {key[1]: row["calls"] for key, row in rows_of(report, rank).items() if key[0] == loop.LIBRARY}
        expect(f"rank {rank}: calls", {name: rows.get(name) for name in loop.FUNCTIONS}, dict.fromkeys(loop.FUNCTIONS, loop.THREADS * job.rounds))
    for rank in HEAP_RANKS:
        check_memory(f"rank {rank}", report, rank, load(job.truth(rank)))
    calls = sum(row["calls"] for row in report["calls"])
    expect("records", sum(row["records"] for row in report["ranks"]), calls)
    expect("calls in the export", check_records(site.run, path, report), calls)


def rounds_of_faults(site, seed, rounds, seconds):
    """A job with so many faults, one after the other; the last one of some jobs comes when the ranks have ended."""
    draw, kinds, struck = random.Random(seed), faults(seconds), []
    deck = draw.sample(list(kinds), rounds)
    late = draw.random() < 0.5
    each = int(seconds * 1_000_000 / PAUSE_US)
    job = Job(site, f"job-{seed}", each * (rounds + 1))
    try:
        for number, kind in enumerate(deck, 1):
            job.wait_rounds(each * number)
            job.start_heap()
            if late and number == rounds:
                job.finish()
            struck.append(f"{kind}, ranks ended" if job.ended else kind)
            begun = time.monotonic()
            struck[-1] += f" ({kinds[kind](site, draw)})"
            print(f"{struck[-1]}: {time.monotonic() - begun:.1f} s", flush=True)
        job.finish()
        judge(site, job)
    except Failure as failure:
        raise Failure(f"seed {seed}, {'; '.join(struck)}: {failure}\n{site.said()}") from failure


def test(run, rounds=PER_JOB, seed=SEED, seconds="3"):
    engine.program()
    with Network("hub", [*SERVERS, *LEAVES, *ROOTS]) as network:
        site, done = Site(run, network), 0
        while done < int(rounds):
            count = min(PER_JOB, int(rounds) - done)
            rounds_of_faults(site, int(seed) + done // PER_JOB, count, float(seconds))
            done += count
        for process in run.collectors:
            end_process(process)


if __name__ == "__main__":
    main(test)
