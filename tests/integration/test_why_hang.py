#!/usr/bin/python3
"""hookcli why on MPI jobs that hang: the rank that the others wait for is named, with what it is in. And on one that crashes, and on one
that does neither.

    test_why_hang.py BUILD [SEEDS]

Without SEEDS one job of three faults, and one without MPI; with it so many seeded jobs of all faults, and a table of what was said, also by
gdb about the same ranks, judged as debuggers.py says.
"""
import collections
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys

import debuggers
from harness import TIMEOUT, Failure, expect, expect_true, main, wait_for
from scrape import get, url_of

FAULTS = ("read", "loop", "sleep", "lock", "other", "receive", "finalize", "stop", "poll", "skip")
QUICK = (("read", 2, 5, 4), ("other", 1, 30, 4), ("loop", 0, 0, 4))
AT_ONCE = 2
NAMED_WITHIN_S = 15
# The function of the program in which the rank is, where its stack can be read.
PLACES = {"read": "fault_read", "loop": "fault_loop", "sleep": "fault_sleep", "lock": "fault_lock", "other": "fault_other",
          "receive": "fault_receive", "finalize": "fault_finalize", "poll": "fault_poll", "skip": "main"}
PYTHON_HANG = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "workloads", "python_hang.py"))
PYTHON_LEAVES = PYTHON_HANG.replace("python_hang", "python_leaves")
PYTHON_LATE = 2


class Job:
    def __init__(self, run, number, fault, rank, step, ranks, **environment):
        self.run, self.fault, self.rank, self.name, self.gdb = run, fault, rank, f"hang{number}", None
        # A group of its own: mpirun and its ranks are ended together, also those that are stopped.
        self.process = subprocess.Popen([run.binary("hookcli"), "run", "-q", "--job", self.name, "--", "mpirun", "-n", str(ranks),
                                         run.workload("mpi_hang"), fault, str(rank), str(step)], env=run.environment(**environment), cwd=run.directory,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        start_new_session=True)
        self.found = None

    def look(self):
        """Whether something about progress has been said."""
        if self.found is None:
            done = self.run.cli("why", self.name, "--json", check=False)
            findings = json.loads(done.stdout)["findings"] if done.returncode == 0 else []
            self.found = next((one for one in findings if one["topic"] == "progress"), None)
        return self.found is not None

    def compare(self):
        """Which rank gdb's stacks name."""
        pids = {row["rank"]: row["pid"] for row in self.run.report(self.name)["processes"] if row["role"] == "main"}
        places = debuggers.gdb_places("mpi_hang.c", pids)
        self.gdb = debuggers.odd_rank(places) if places else None

    def end(self):
        pids = {row["pid"] for row in self.run.report(self.name)["processes"]} if self.found else set()
        for pid in pids | {self.process.pid}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(TIMEOUT)

    def seconds(self):
        """For how long the job had been stuck when that was said."""
        minutes, seconds = re.search(r"(?:stuck|progress) for (?:(\d+) min )?([\d.]+) s", self.found["evidence"]).groups()
        return 60 * int(minutes or 0) + float(seconds)

    def is_right(self):
        return self.found["ranks"] == [self.rank] and self.found["kind"] in ("hang", "awaited-rank")

    def place_is_right(self):
        return self.fault == "stop" or PLACES[self.fault] in self.found["stack"]


def check_series(run, job):
    """The hang is a series of /findings."""
    series = f'hook_finding_cost_seconds{{hook_job="{job.name}",kind="{job.found["kind"]}",rank="{job.rank}",function="'

    def shown():
        return [line for line in get(url_of(run).replace("/metrics", "/findings")).text.splitlines() if line.startswith(series)]

    line, = wait_for("the hang in /findings", shown)
    expect_true(f"its cost: {line}", float(line.split()[-1]) >= 10)


def hang(run, cases, compare=False):
    """The jobs of CASES, each looked at until a hang is named, then by gdb if COMPARE."""
    jobs = []
    for begin in range(0, len(cases), AT_ONCE):
        batch = [Job(run, number, *case) for number, case in enumerate(cases[begin:begin + AT_ONCE], begin)]
        try:
            wait_for("the hangs to be named", lambda b=batch: all([job.look() for job in b]))
            for job in batch:
                if compare:
                    job.compare()
                else:
                    check_series(run, job)
        finally:
            for job in batch:
                job.end()
        jobs += batch
    return jobs


def campaign(run, seeds):
    choose = random.Random(18)
    cases = []
    for seed in range(seeds):
        ranks = choose.choice((3, 4))
        cases.append((FAULTS[seed % len(FAULTS)], choose.randrange(ranks), choose.randrange(100), ranks))
    jobs = hang(run, cases, compare=True)
    table = collections.defaultdict(collections.Counter)
    for job in jobs:
        table[job.fault].update(rank=job.is_right(), place=job.place_is_right(), soon=job.seconds() <= NAMED_WITHIN_S, jobs=1,
                                gdb=job.gdb == job.rank)
        table[job.fault] = collections.Counter({column: int(count) for column, count in table[job.fault].items()})
        if not job.is_right() or not job.place_is_right() or job.seconds() > NAMED_WITHIN_S:
            print(f"{job.fault} of rank {job.rank}: {json.dumps(job.found)}")
    for fault, row in table.items():
        print(f"{fault:9} {row['jobs']} jobs: the rank {row['rank']}, its function {row['place']}, within {NAMED_WITHIN_S} s {row['soon']}, "
              f"gdb the rank {row['gdb']}")
    right = sum(row["rank"] for row in table.values())
    gdb = sum(row["gdb"] for row in table.values())
    print(f"{right} of {seeds} ranks are right, by gdb {gdb}; named after {max(job.seconds() for job in jobs):.1f} s at most")
    expect_true(f"the rank is right in {right} of {seeds}", right >= seeds * 48 // 50)


def death(run):
    """A rank that crashes is named with its signal and its last calls, and not those that the launcher ends for it."""
    run.cli("run", "-q", "--job", "crash", "--", "mpirun", "-n", "3", run.workload("mpi_faults"), "crash", "1", "20", "40", check=False)
    found = json.loads(run.cli("why", "crash", "--json").stdout)["findings"][0]
    expect("the first finding", (found["kind"], found["ranks"]), ("death", [1]))
    lines = "\n".join([found["evidence"]] + found["details"])
    expect_true(f"how it ended: {lines}", re.search(r"rank 1 (was killed by signal 11|ended without notice)", lines))
    expect("its last calls", re.findall(r"(?:last calls:|then) (\S+) at ", lines), ["MPI_Sendrecv", "MPI_Allreduce", "MPI_Sendrecv", "MPI_Allreduce", "MPI_Sendrecv"])


def stuck(run, name, script, *arguments):
    """What is said about progress of a job of Python without MPI, which is ended then."""
    job = subprocess.Popen([run.binary("hookcli"), "run", "-q", "--job", name, "--", sys.executable, script, *arguments],
                           env=run.environment(), cwd=run.directory, stdin=subprocess.DEVNULL, start_new_session=True)

    def finding():
        done = run.cli("why", name, "--json", check=False)
        findings = json.loads(done.stdout)["findings"] if done.returncode == 0 else []
        return next((one for one in findings if one["topic"] == "progress"), None)

    try:
        return wait_for(f"the hang of {name} to be named", finding, NAMED_WITHIN_S * 10)
    finally:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait(TIMEOUT)


def without_calls(run):
    """A hang without calls that ranks join is found by stacks, although every rank has a thread that is blocked in a call."""
    found = stuck(run, "python", PYTHON_HANG, str(PYTHON_LATE))
    expect("kind and ranks without calls", (found["kind"], found["ranks"]), ("hang", [PYTHON_LATE]))
    expect_true(f"where the others wait: {found['evidence']}", "ranks 0,1,3 wait in reduce (python_hang.py:" in found["evidence"])
    expect_true(f"its place: {found['stack']}", any(frame.startswith("load (python_hang.py:") for frame in found["stack"]))


def leaves(run):
    """A rank that ends with status 0 is named: by those that fail without it, and by those that wait for it."""
    run.cli("run", "-q", "--job", "left", "--", sys.executable, PYTHON_LEAVES, "fail", "3", check=False)
    found = json.loads(run.cli("why", "left", "--json").stdout)["findings"][0]
    expect("kind and rank that left", (found["kind"], found["ranks"]), ("early-exit", [3]))
    expect_true(f"what is said: {found['evidence']}", re.fullmatch(r"rank 3 ended \(status 0\) at .*; ranks 0-2 failed without it, from .*", found["evidence"]))
    found = stuck(run, "waits", PYTHON_LEAVES, "wait", "1")
    expect("kind and rank that others wait for", (found["kind"], found["ranks"]), ("early-exit", [1]))
    expect_true(f"what is said: {found['evidence']}",
                re.fullmatch(r"rank 1 ended \(status 0\) at .*; ranks 0,2,3 wait for it in reduce \(python_leaves.py:\d+\)", found["evidence"]))


def test(run, seeds=None):
    run.start_collector("--http", "127.0.0.1:0")
    if seeds:
        campaign(run, int(seeds))
        return
    for job in hang(run, QUICK):
        expect_true(f"{job.fault}: rank {job.rank} is named: {job.found}", job.is_right())
        expect_true(f"{job.fault}: in its function: {job.found}", job.place_is_right())
        # A rank that runs may be at work.
        expect(f"{job.fault}: confidence", job.found["confidence"], "medium" if job.fault == "loop" else "high")
        text = run.cli("why", job.name).stdout
        # The stack was seen while the job ran, and the job has ended.
        kept = [one for one in json.loads(run.cli("why", job.name, "--json").stdout)["findings"] if one["kind"] == job.found["kind"]]
        expect_true(f"{job.fault}: its stack stays: {kept}", job.fault == "stop" or any(PLACES[job.fault] in one["stack"] for one in kept))
        expect_true(f"no rank is said to have died of itself, where all were ended: {text}", not re.search(r"rank \d+ (was killed|ended)", text))
    without_calls(run)
    leaves(run)
    death(run)
    run.cli("run", "-q", "--job", "well", "--", "mpirun", "-n", "2", run.workload("mpi_hang"), "read", "9", "9")
    done = run.cli("why", "well", "--fail-on", "low", check=False)
    if done.returncode not in (0, 1):
        raise Failure(f"why of a job without a hang: exit {done.returncode}: {done.stderr}")
    expect_true(f"a job without a hang: {done.stdout}", "stuck" not in done.stdout and "progress" not in done.stdout)
    expect("a job that is not there", run.cli("why", "nothing", check=False).returncode, 3)


if __name__ == "__main__":
    main(test)
