#!/usr/bin/python3
"""A leaf's chunks through a stream engine to a root, and how old what a reader sees is: bench_engine.py BUILD_DIR [RECORDS ROUNDS SECONDS].

Throughput: RECORDS are recorded on a leaf while the engine is away; then it comes, and its own clock tells from when to when the
chunks came. In turns with that, a small program stores as many messages of that size in the same engine, as many under way at a time,
each acknowledged. Limit: TARGET MB/s, or NEAR of what that program reaches. Latency: programs call a function at known times on two
leaves, whose partitions two roots read; a reader of the shared store looks all the time. Its limit is SECONDS_LATE.
Exit status 77 without nats-server or libnats.
"""
import bisect
import json
import os
import signal
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))

import engine  # pylint: disable=wrong-import-position
from harness import Run, end_process, expect, main, wait_for  # pylint: disable=wrong-import-position
from nodes import Node  # pylint: disable=wrong-import-position
from processes import children, cpu_s, peak_mib  # pylint: disable=wrong-import-position

RECORDS, ROUNDS, SECONDS = 60_000_000, 3, 30
PROCESSES = 8  # of a leaf; chunks of one process come one after the other
UNDER_WAY = 8  # chunks that a leaf sends at a time (HK_UPLINK_CHUNKS)
TARGET, NEAR = 100, 0.8
SECONDS_LATE = 3.0
PERIOD_US, LOOK_S = 20_000, 0.1
HOOKS = os.path.join(HERE, "call.hooks")


def megabytes(row):
    return row["bytes"] / 1e6 / row["seconds"]


def start_leaf(run, url, number):
    """A leaf whose data come to partition NUMBER: its id says so."""
    leaf = Node(run, f"leaf{number}", ["--upstream", url])
    with open(os.path.join(leaf.run_directory, "node"), "wb") as out:
        out.write(number.to_bytes(4, "little") + os.urandom(12))
    return leaf.start()


class Throughput:
    """A leaf and an engine that has one partition, which is not read yet."""

    def __init__(self, run, records):
        self.run, self.records = run, records
        self.server, self.url = engine.single(run)
        self.stream = engine.Stream(run, self.url)
        self.stream.set_up("--partitions", 1)
        self.leaf = start_leaf(run, self.url, 0)

    def peer(self, word, *arguments):
        return json.loads(self.run.command(os.path.join(self.run.build, "tests", "bench", "engine_peer"), word, self.url,
                                           *arguments).stdout)

    def stored(self, after):
        """Chunks behind message AFTER."""
        return self.peer("stored", "HOOKTRACE", "hooktrace.data.0.", "Hooktrace-Number", after)

    def record(self, job):
        """Fills the spool. Returns how many bytes it has."""
        line = f"for i in $(seq {PROCESSES}); do {self.run.build}/tests/bench/bench_loss 1 {self.records // PROCESSES} 0 & done; wait"
        self.leaf.cli("run", "-q", "--job", job, "--budget", "off", "--hooks", HOOKS, "--", "sh", "-c", line)
        path = os.path.join(self.leaf.store, job)
        return sum(os.path.getsize(os.path.join(path, name)) for name in os.listdir(path) if name.endswith(".chunks"))

    def leaf_round(self, number):
        """What the engine has of a full spool, and the leaf's processor time meanwhile."""
        before = self.stream.status()
        self.server.process.terminate()
        self.server.process.wait()
        size = self.record(f"spool{number}")
        self.server.start()
        leaf = cpu_s(self.leaf.collector.pid)
        # Looking too often would take the engine's time.
        wait_for("the chunks", lambda: time.sleep(0.3) or (self.stream.status() or before)["bytes"] >= before["bytes"] + size)
        leaf = cpu_s(self.leaf.collector.pid) - leaf
        return {**self.stored(before["last"]), "processor": leaf}

    def own_round(self, row):
        """As many messages as ROW has, of their size."""
        before = cpu_s(self.server.process.pid)
        own = self.peer("publish", "hooktrace.data.own", row["bytes"] // row["messages"], row["messages"], UNDER_WAY)
        return {**own, "processor": cpu_s(self.server.process.pid) - before}

    def read(self, size):
        """Has a root take all of it in; the SIZE bytes of chunks make most of its work. Prints how fast it was."""
        begun = time.monotonic()
        root = engine.Root(self.run, "reader", ["--from", self.url]).start()
        worker = wait_for("the root", lambda: children(root.collector.pid))[0]
        wait_for("the root to have read all", lambda: time.sleep(0.3) or self.stream.status()["partitions"][0]["behind"] == 0)
        took = time.monotonic() - begun
        print(f"a root takes them in with {size / 1e6 / took:.0f} MB/s, {1e9 * cpu_s(worker) / size:.1f} ns of a processor a byte, "
              f"{peak_mib(worker):.0f} MiB", flush=True)
        end_process(root.collector, signal.SIGTERM)


def throughput(run, records, rounds):
    bench = Throughput(run, records)
    pairs = []
    for number in range(rounds):
        row = bench.leaf_round(number)
        pairs.append((row, bench.own_round(row)))
    for row, own in pairs:
        print(f"  {row['messages']} chunks of {row['bytes'] / row['messages'] / 1024:.0f} KiB: {megabytes(row):.0f} MB/s, the leaf "
              f"{1e9 * row['processor'] / row['bytes']:.1f} ns of a processor a byte; the engine alone {megabytes(own):.0f} MB/s, "
              f"{1e9 * own['processor'] / own['bytes']:.1f} ns")
    ours = statistics.median(megabytes(row) for row, _ in pairs)
    limit = statistics.median(megabytes(own) for _, own in pairs)
    ratio = statistics.median(megabytes(row) / megabytes(own) for row, own in pairs)
    met = ours >= TARGET or ratio >= NEAR
    print(f"a leaf's chunks: {ours:.0f} MB/s; the engine alone, with messages of that size and {UNDER_WAY} under way: {limit:.0f} MB/s; "
          f"ratio {ratio:.2f}   limit {TARGET} MB/s or {NEAR:.1f}: {'met' if met else 'MISSED'}", flush=True)
    bench.read(sum(row["bytes"] for row, _ in pairs))
    bench.leaf.kill()
    bench.server.kill()
    return met


# ---- latency ----


def look(run, root, ranks):
    """When a look at the shared store ended, and the calls of each rank in it."""
    done = run.cli("top", "--json", os.path.join(root.store, "beat"), check=False)
    rows = json.loads(done.stdout)["calls"] if done.returncode == 0 else []
    counts = dict.fromkeys(range(ranks), 0)
    for row in rows:
        counts[row["rank"]] += row["calls"]
    return time.monotonic_ns(), counts


def ages(looks, made, rank):
    """Seconds from each call of RANK to the end of the first look that showed it; those before its first look with a call are not here,
    but the first call's."""
    moments = [at for at, counts in looks if counts[rank] > 0]
    seen = [counts[rank] for _, counts in looks if counts[rank] > 0]
    appeared = [moments[bisect.bisect_left(seen, number)] for number in range(1, len(made) + 1)]
    later = [(at - when) / 1e9 for at, when in zip(appeared, made) if at > moments[0]]
    return (moments[0] - made[0]) / 1e9, later


def start_beat(leaf, rank, ranks, seconds):
    """A rank of the job on LEAF, what it says in a file."""
    return leaf.popen(leaf.run.binary("hookcli"), "run", "-q", "--job", "beat", "--budget", "off", "--hooks", HOOKS, "--",
                      os.path.join(leaf.run.build, "tests", "bench", "bench_beat"), seconds * 1_000_000 // PERIOD_US, PERIOD_US,
                      env={"HOOK_RANK": str(rank), "HOOK_WORLD_SIZE": str(ranks)}, log=f"beat{rank}")


def latency(run, partitions, seconds):
    _, url = engine.single(run)
    engine.Stream(run, url).set_up("--partitions", partitions)
    root = engine.Root(run, "root", ["--from", url]).start()
    leaves = [start_leaf(run, url, number) for number in range(partitions)]
    beats = [start_beat(leaf, rank, partitions, seconds) for rank, leaf in enumerate(leaves)]
    made, looks = {}, []
    while len(made) < partitions or any(looks[-1][1][rank] < len(made[rank]) for rank in made):
        time.sleep(LOOK_S)
        looks.append(look(run, root, partitions))
        if not made and all(beat.poll() is not None for beat in beats):
            for rank in range(partitions):
                with open(run.path(f"beat{rank}"), encoding="ascii") as lines:
                    made[rank] = [int(line) for line in lines]
    firsts, each = zip(*(ages(looks, made[rank], rank) for rank in range(partitions)))
    later = sorted(age for ages_of_rank in each for age in ages_of_rank)
    worst = later[-1]
    print(f"over {partitions} partition{'s' if partitions > 1 else ''}: a call is in `hookcli top` after {statistics.median(later):.2f} s, "
          f"99 % within {later[len(later) * 99 // 100]:.2f}, the last one after {worst:.2f}   limit {SECONDS_LATE:.0f}: "
          f"{'met' if worst <= SECONDS_LATE else 'MISSED'}; a job's first call after {max(firsts):.2f} s; {len(looks)} looks", flush=True)
    for node in (root, *leaves):
        end_process(node.collector, signal.SIGTERM)
    return worst <= SECONDS_LATE


def test(run: Run, records=RECORDS, rounds=ROUNDS, seconds=SECONDS):
    if not os.path.exists(os.path.join(run.build, "tests", "bench", "engine_peer")):
        print("skipped: libnats is missing")
        sys.exit(engine.SKIP)
    met = throughput(run, int(records), int(rounds)) if int(rounds) else True
    for partitions in (1, 2):
        with Run(run.build) as own:
            met &= latency(own, partitions, int(seconds))
    expect("within the limits", met, True)


main(test)
