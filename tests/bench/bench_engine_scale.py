#!/usr/bin/python3
"""Roots that read a stream engine, at a growing number of ranks: bench_engine_scale.py BUILD_DIR [RANKS,RANKS... SITES PERIODS].

`load` plays the leaves, RANKS_EACH ranks on each, and stores their reports in the engine, whose partitions a root process each reads.
Every call site of every rank has calls in every period, which is the most that a rank can say. A figure for a period is the difference
of a long job and a short one: what a job costs but for its length is in both. Limit: what a worker takes of a processor and of memory
for a rank grows by no more than LINEAR from the fewest ranks to the most. The last lines extrapolate to a hundred thousand ranks.
Exit status 77 without nats-server or libnats.
"""
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import engine  # pylint: disable=wrong-import-position
from harness import Run, end_process, expect, expect_true, main, wait_for  # pylint: disable=wrong-import-position
from processes import children, cpu_s, memory_mib, peak_mib, written_bytes  # pylint: disable=wrong-import-position

RANKS, SITES, PERIODS = (2500, 5000, 10000), 50, 22
SHORT, RANKS_EACH, PARTITIONS, CALLS = 2, 50, 4, 10
LINEAR = 1.3
LARGE = 100_000
BUSY = 0.5  # of a core, that a worker may be
LOOK_S, QUIET_S = 0.05, 0.6  # a file was saved when it grows after such a rest


def size_below(path):
    """Bytes on disk. Files may go meanwhile."""
    done = subprocess.run(["du", "-s", "--block-size=1", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return int(done.stdout.split()[0])


def leaves(ranks):
    return max(PARTITIONS, ranks // RANKS_EACH)


class Site:
    """An engine, and a root with a process for each partition."""

    def __init__(self, run, ranks, sites):
        self.run, self.ranks, self.sites = run, ranks, sites
        self.memory = 0  # of a worker, most while a job is open
        self.server, self.url = engine.single(run)
        self.stream = engine.Stream(run, self.url)
        self.stream.set_up("--partitions", PARTITIONS)
        self.root = engine.Root(run, "root", ["--from", self.url]).start()
        wait_for("the partitions to be read", lambda: all(row["root"] for row in self.stream.status()["partitions"]))
        self.workers = children(self.root.collector.pid)
        expect("workers", len(self.workers), PARTITIONS)

    def is_done(self, job):
        """Whether the last of the roots has put JOB together, and all is on disk. Looks now and then only."""
        time.sleep(0.5)
        return os.path.exists(os.path.join(self.root.store, job, "summary.txt")) and all(
            row["behind"] == 0 for row in (self.stream.status() or {"partitions": [{"behind": 1}]})["partitions"])

    def watch(self, job, load, start, stop):
        """Notes the memory that workers have from START to STOP. Returns the longest time, while LOAD runs, in which a reader of the store
        finds no newer state of JOB."""
        path = os.path.join(self.root.store, job, "partition-0", "statistics")
        size, grown, begun = -1, 0.0, []
        while load.poll() is None:
            time.sleep(LOOK_S)
            now, larger = time.monotonic(), os.path.getsize(path) if os.path.exists(path) else size
            if start <= now < stop:
                self.memory = max(self.memory, *map(memory_mib, self.workers))
            if larger != size:
                begun += [now] if now - grown > QUIET_S else []
                grown, size = now, larger
        return max((later - earlier for earlier, later in zip(begun, begun[1:])), default=0)

    def look(self, job):
        """Seconds that a picture of JOB takes a reader of the store."""
        begun = time.monotonic()
        expect_true(f"all ranks of {job}", f"/{self.ranks} ranks" in self.run.cli("top", "--once", os.path.join(self.root.store, job)).stdout)
        return time.monotonic() - begun

    def play(self, job, periods):
        """What a job of so many periods takes."""
        before = self.taken()
        line = [os.path.join(self.run.build, "tests", "load", "load"), self.url, "--job", job, "--ranks", self.ranks, "--sites", self.sites,
                "--ticks", periods, "--leaves", leaves(self.ranks), "--calls", CALLS]
        begun = time.monotonic()
        with subprocess.Popen([str(word) for word in line], env=self.run.environment(), stdout=subprocess.PIPE, text=True) as load:
            # Not while a worker makes a report, of the job before or of this one. A period takes at least a second.
            spacing = self.watch(job, load, begun + periods / 2, begun + periods - 2)
            told = json.loads(load.communicate()[0])
        expect("exit status of load", load.returncode, 0)
        told["seconds"] = time.monotonic() - begun
        wait_for("the roots", lambda: self.is_done(job))
        told["late"] = time.monotonic() - begun - told["seconds"]
        after = self.taken()
        return {**told, **{key: after[key] - before[key] for key in after}, "spacing": spacing}

    def taken(self):
        return {"workers_s": sum(map(cpu_s, self.workers)), "engine_s": cpu_s(self.server.process.pid),
                "workers_written": sum(map(written_bytes, self.workers)),
                "engine_written": written_bytes(self.server.process.pid),
                "engine_bytes": size_below(self.server.directory), "store_bytes": size_below(self.root.store)}

    def end(self):
        end_process(self.root.collector, signal.SIGTERM)


def measure(build, ranks, sites, periods):
    """Figures for a rank and a period, and memory for a worker."""
    with Run(build) as run:
        site = Site(run, ranks, sites)
        short, long = site.play("short", SHORT), site.play("long", periods)
        row = {key: (long[key] - short[key]) / (periods - SHORT) / ranks for key in
               ("workers_s", "engine_s", "bytes", "workers_written", "engine_written", "engine_bytes")}
        row.update({"ranks": ranks, "memory": site.memory, "peak": max(map(peak_mib, site.workers)), "engine_memory": peak_mib(site.server.process.pid),
                    "store_bytes": long["store_bytes"] / ranks, "look": site.look("long"), "spacing": long["spacing"],
                    "late": long["late"], "begin_s": max(0.0, short["workers_s"] / ranks - SHORT * row["workers_s"])})
        site.end()
    print(f"{ranks} ranks on {leaves(ranks)} leaves, {sites} call sites, {PARTITIONS} partitions; a period took {long['seconds'] / periods:.2f} s,"
          f" {long['missed']} of {periods} were late; the report of all was there {long['late']:.1f} s after the last\n"
          f"  of a rank in a period: {row['bytes']:.0f} bytes; {1e6 * row['workers_s']:.0f} us of a worker, "
          f"{1e6 * row['engine_s']:.0f} us of the engine; {row['engine_bytes']:.0f} bytes in the engine's files; workers wrote "
          f"{row['workers_written']:.0f} bytes; its beginning and end {1e3 * row['begin_s']:.1f} ms of a worker\n"
          f"  at 1 Hz a worker takes {100 * row['workers_s'] * ranks / PARTITIONS:.1f} % of a core, the engine "
          f"{100 * row['engine_s'] * ranks:.1f} %; a worker has {row['memory']:.0f} MiB, one that makes the report "
          f"{row['peak']:.0f} MiB, the engine {row['engine_memory']:.0f} MiB; the job's files {row['store_bytes'] / 1024:.0f} KiB a rank\n"
          f"  a worker saves at least every {row['spacing']:.1f} s; a picture of `hookcli top` takes {row['look']:.2f} s", flush=True)
    return row


def extrapolate(rows, sites):
    """What LARGE ranks take, by the figures of the most ranks; memory by a line through the fewest and the most."""
    few, many = rows[0], rows[-1]
    slope = (many["memory"] - few["memory"]) / (many["ranks"] - few["ranks"]) * PARTITIONS if len(rows) > 1 else 0
    base = many["memory"] - slope * many["ranks"] / PARTITIONS
    workers = max(1, round(LARGE * many["workers_s"] / BUSY + 0.5))
    rate = LARGE * many["bytes"]
    print(f"a worker's memory: {base:.0f} MiB and {1024 * slope:.0f} KiB a rank\n"
          f"{LARGE} ranks with {sites} call sites that all change once a second, by these figures:\n"
          f"  stream    {rate / 1e6:.0f} MB/s, {LARGE * many['engine_bytes'] * 86400 / 1e12:.1f} TB a day for each replica\n"
          f"  engine    {LARGE * many['engine_s']:.1f} cores of the stream's leader\n"
          f"  roots     {LARGE * many['workers_s']:.1f} cores: {workers} workers that are busy for {100 * BUSY:.0f} %, with "
          f"{LARGE / workers:.0f} ranks and {base + slope * LARGE / workers:.0f} MiB each, one of "
          f"{LARGE / many['ranks'] * many['peak'] / 1024:.0f} GiB for the report of all, which is there after "
          f"{LARGE / many['ranks'] * many['late']:.0f} s\n"
          f"  store     {LARGE * many['store_bytes'] / 1e9:.1f} GB a job; workers write {LARGE * many['workers_written'] / 1e6:.0f} MB/s\n"
          f"  readers   {LARGE / many['ranks'] * many['look']:.1f} s for a picture of all ranks", flush=True)


def test(run: Run, ranks=None, sites=SITES, periods=PERIODS):
    counts = [int(count) for count in ranks.split(",")] if ranks else RANKS
    rows = [measure(run.build, count, int(sites), int(periods)) for count in counts]
    extrapolate(rows, sites)
    for what in ("workers_s", "memory"):
        each = [row[what] / (row["ranks"] if what == "memory" else 1) for row in rows]
        print(f"{what}: {each[-1] / each[0]:.2f} times as much for a rank at {counts[-1]} ranks as at {counts[0]}   limit {LINEAR:.1f}")
        expect_true(f"{what} is linear in ranks", each[-1] <= LINEAR * each[0])


main(test)
