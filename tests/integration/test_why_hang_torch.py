#!/usr/bin/python3
"""hookcli why on data-parallel jobs of torch over gloo that hang, on four ranks: the awaited rank and its place are named. Printed: how soon,
and what torch's flight recorder and py-spy say of the same jobs while they hang, judged as debuggers.py says.

    test_why_hang_torch.py BUILD [JOBS [SEED [FAULT ...]]]

TORCH_PYTHON names a Python with torch 2.15 or newer, which has a flight recorder for gloo; py-spy is looked for beside it.
"""
import collections
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import debuggers
from harness import RANKS, TIMEOUT, Failure, expect_true, main, wait_for

SCRIPT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "workloads", "torch_hang.py"))
HANGS = ("sleep", "loop", "lock", "read", "native", "skip", "op", "gather", "order", "stop")
STEPS = 12
NAMED_WITHIN_S = 15
DUMP_S = 5
# The function of the program in which the rank is.
PLACES = {"skip": "train"}


def torch_python():
    """Returns a Python whose torch has a flight recorder for gloo, and its py-spy or None. Without such a torch the test is skipped."""
    python = os.environ.get("TORCH_PYTHON", sys.executable)
    done = subprocess.run([python, "-c", "import torch.distributed; from torch._C._distributed_c10d import _dump_fr_trace"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        print(f"skipped: {python} has no torch with a flight recorder for gloo: set TORCH_PYTHON")
        sys.exit(77)
    beside = os.path.join(os.path.dirname(python), "py-spy")
    return python, beside if os.access(beside, os.X_OK) else shutil.which("py-spy")


class Job:
    def __init__(self, run, python, number, fault, rank, step):
        self.run, self.python, self.fault, self.rank, self.name = run, python, fault, rank, f"torch{number}"
        self.directory = run.path("files-" + self.name)
        os.mkdir(self.directory)
        self.found, self.took_s, self.pids, self.recorder, self.py_spy = None, None, {}, [], None
        # A group of its own, so that also stopped ranks can be ended.
        self.process = subprocess.Popen([run.binary("hookcli"), "run", "-q", "--job", self.name, "--", python, "-m", "torch.distributed.run",
                                         "--standalone", "--nproc-per-node", str(RANKS), SCRIPT, fault, str(rank), str(step), self.directory],
                                        env=run.environment(TORCH_FR_BUFFER_SIZE="2000", OMP_NUM_THREADS="1"), cwd=run.directory,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        start_new_session=True)

    def wait(self):
        """Waits for the fault, and then until something about progress is said."""
        begun = os.path.join(self.directory, "begun")
        wait_for("the fault", lambda: os.path.exists(begun) or self.process.poll() is not None)
        expect_true(f"{self.name}: the job comes to its fault", os.path.exists(begun))
        self.found = wait_for(f"{self.fault} of rank {self.rank} to be named", self.look, 120)
        self.took_s = time.time() - os.stat(begun).st_mtime

    def look(self):
        done = self.run.cli("why", self.name, "--json", check=False)
        findings = json.loads(done.stdout)["findings"] if done.returncode == 0 else []
        return next((one for one in findings if one["topic"] == "progress"), None)

    def compare(self, py_spy):
        """What the other tools say about the same job."""
        self.pids = {row["rank"]: row["pid"] for row in self.run.report(self.name)["processes"] if row["role"] == "main"}
        if py_spy:
            places = debuggers.py_spy_places(py_spy, self.pids)
            self.py_spy = debuggers.odd_rank(places)
            if self.py_spy != self.rank:
                print(f"py-spy: {places}", flush=True)

        def wait(answered):
            with contextlib.suppress(Failure):
                wait_for("the flight recorders", answered, DUMP_S)

        answered = debuggers.ask_recorders(self.directory, sorted(self.pids), wait)
        self.recorder = debuggers.recorder_ranks(self.python, self.directory, answered)

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        # torchrun gives its ranks sessions of their own, and waits long for those that do not end.
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/cmdline", "rb") as line:
                    if self.directory.encode() + b"\0" in line.read() and int(pid) != self.process.pid:
                        os.kill(int(pid), signal.SIGKILL)
        self.process.wait(TIMEOUT)

    def is_right(self):
        return self.found["ranks"] == [self.rank]

    def place_is_right(self):
        place = PLACES.get(self.fault, "fault_" + self.fault)
        return self.fault == "stop" or any(frame.startswith(place + " (torch_hang.py:") for frame in self.found["stack"])


def line_of(name, cells):
    return f"{name:9} " + " ".join(f"{cell:>9}" for cell in cells)


def campaign(run, python, py_spy, count, seed, faults):
    choose = random.Random(seed)
    table = collections.defaultdict(collections.Counter)
    times = []
    for number in range(count):
        job = Job(run, python, number, faults[number % len(faults)], choose.randrange(RANKS), choose.randrange(3, STEPS))
        try:
            job.wait()
            job.compare(py_spy)
        finally:
            job.end()
        row = {"jobs": 1, "rank": job.is_right(), "soon": job.took_s <= NAMED_WITHIN_S, "place": job.place_is_right(),
               "recorder": job.recorder == [job.rank], "py-spy": job.py_spy == job.rank}
        table[job.fault].update(row)
        times.append(job.took_s)
        print(f"{job.fault} of rank {job.rank}: {job.found['kind']} of {job.found['ranks']} after {job.took_s:.1f} s, "
              f"flight recorder {job.recorder}, py-spy {job.py_spy}", flush=True)
        if not (row["rank"] and row["soon"] and row["place"]):
            print(json.dumps(job.found), flush=True)
    columns = ("jobs", "soon", "rank", "place", "recorder", "py-spy")
    print(line_of("fault", columns))
    for fault, row in table.items():
        print(line_of(fault, [row[column] for column in columns]))
    sums = sum(table.values(), collections.Counter())
    print(line_of("all", [sums[column] for column in columns]))
    print(f"named after {sorted(times)[len(times) // 2]:.1f} s in the median, {max(times):.1f} s at most")
    print(f"of {sums['jobs']}: named within {NAMED_WITHIN_S} s {sums['soon']}, culprit right {sums['rank']}, place right {sums['place']}; "
          f"culprit of the flight recorder right {sums['recorder']}, of py-spy {sums['py-spy']}")
    return sums


def test(run, count=len(HANGS), seed=20, *faults):
    python, py_spy = torch_python()
    run.start_collector()
    sums = campaign(run, python, py_spy, int(count), int(seed), faults or HANGS)
    expect_true(f"the rank is right in {sums['rank']} of {sums['jobs']}", sums["rank"] >= sums["jobs"] * 48 // 50)
    expect_true(f"the place is right in {sums['place']} of {sums['jobs']}", sums["place"] >= sums["jobs"] * 48 // 50)


if __name__ == "__main__":
    main(test)
