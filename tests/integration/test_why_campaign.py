#!/usr/bin/python3
"""hookcli why on jobs of 4 to 8 ranks in which one rank has a fault of a known kind, and on jobs without a fault: the first finding names
the kind and the rank, and nothing is claimed without a fault.

    test_why_campaign.py BUILD RUNS [SEED [PROGRAM:FAULT ...]]

Half of the seeded RUNS have a fault, of PROGRAM:FAULT only if given; the others are then of these programs. The ranks leave their processor
to others while they wait, and their work together needs less than one processor, so two processors suffice. Jobs of torch are left out if
the Python that TORCH_PYTHON names has none. Prints the table of what was said.
"""
import collections
import contextlib
import json
import os
import random
import resource
import subprocess
import sys
import time

import harness
import test_gloo
import test_why_cut
import test_why_hang_torch
from harness import Failure, expect_true, main, wait_for
from network import Network
from test_gloo import findings_of
from test_why_hang import Job

WORKLOADS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "workloads")
STEPS, LAMMPS_STEPS, TORCH_STEPS = 800, 300, 400
RANKS = (4, 5, 6, 8)
PYTHON = os.environ.get("TORCH_PYTHON", sys.executable)
ATTEMPTS = 3
HOGS = 8
# A rank that is late because it became slow: either may cost more.
SLOW = ("late-rank", "fail-slow")
RIGHT_LEAST, CLAIMS_MOST = 0.95, 0.02

# What the first finding is about: kinds, the function or none, and whether the rank is named.
Right = collections.namedtuple("Right", "kinds function rank", defaults=(None, True))
# number, fault, rank, step, ranks
Case = collections.namedtuple("Case", "number fault rank step ranks")


@contextlib.contextmanager
def hogs(count):
    """Processes that spin on the first processor, where the rank of the fault "hog" runs."""
    first = min(os.sched_getaffinity(0))
    spinning = [subprocess.Popen([sys.executable, "-c", f"import os\nos.sched_setaffinity(0, [{first}])\nwhile True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def traced(run, case, *command, preload=(), hooks=(), check=True, **environment):
    """The findings of COMMAND on the ranks of CASE, after it. A launcher too busy for PMIx's limit of two seconds calls a rank that ended
    well improper: then the job runs again."""
    libraries = " ".join(run.workload(f"lib{library}.so") for library in ("gentle_yield", *preload))
    for name in (f"job{case.number}-{attempt}" for attempt in range(ATTEMPTS)):
        done = run.trace("mpirun", "-n", str(case.ranks), *command, store=name, hooks=hooks, options=("-q", "--job", name), check=False,
                         env={"HOOK_BUDGET": "2", "LD_PRELOAD": libraries, **environment})
        if done.returncode == 0 or not check:
            return findings_of(run, run.path(name, name))
        if "exiting improperly" not in done.stdout + done.stderr:
            break
    raise Failure(f"{case}: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")


def mpi_faults(run, case):
    hooks = ("libc",) if case.fault == "leak" else ()
    with hogs(HOGS if case.fault == "hog" else 0):
        return traced(run, case, run.workload("mpi_faults"), case.fault, case.rank, case.step, STEPS, hooks=hooks, check=case.fault != "crash")


def python_faults(run, case):
    return traced(run, case, sys.executable, os.path.join(WORKLOADS, "python_faults.py"), case.fault, case.rank, case.step, STEPS)


def lammps(run, case):
    return traced(run, case, "lmp", "-in", os.path.join(WORKLOADS, "lammps_lj.in"), "-var", "STEPS", LAMMPS_STEPS, "-log", "none", preload=("lammps_faults",),
                  LAMMPS_RANK=str(case.rank), LAMMPS_FAULT=case.fault)


def torch_ddp(run, case):
    step = case.step * TORCH_STEPS // STEPS
    return findings_of(run, test_gloo.traced(run, f"job{case.number}", case.ranks, PYTHON, os.path.join(WORKLOADS, "torch_ddp.py"), case.fault, case.rank, step,
                                             TORCH_STEPS))


def torch_hang(run, case):
    """What is said while the job hangs."""
    job = test_why_hang_torch.Job(run, PYTHON, case.number, case.fault, case.rank, case.step % test_why_hang_torch.STEPS)
    try:
        job.wait()
        return findings_of(run, job.name)
    finally:
        job.end()


def torch_cut(run, case):
    """What is said while the ranks, each on a host of its own, wait for one whose host lost its network."""
    meeting, begun = run.path(f"job{case.number}.meeting"), run.path(f"job{case.number}.begun")
    with Network("hub", [f"host{rank}" for rank in range(case.ranks)]) as network:
        job = test_why_cut.Job(run, network, f"job{case.number}", begun, PYTHON, os.path.join(WORKLOADS, "torch_ddp.py"), "none", "0", "0", "1000000000",
                               MEETING=meeting, BEGUN=begun, GLOO_SOCKET_IFNAME="eth0", OMP_NUM_THREADS="1")
        try:
            job.hang_by_cut(case.rank)
            return findings_of(run, job.name)
        finally:
            job.end()


def mpi_hang(run, case):
    """What is said while the job hangs."""
    job = Job(run, case.number, case.fault, case.rank, case.step, case.ranks, LD_PRELOAD=run.workload("libgentle_yield.so"))
    try:
        wait_for("the hang to be named", job.look)
        return findings_of(run, job.name)
    finally:
        job.end()


class Load:
    """Of how many processors other programs than those of this test have made use."""

    def __init__(self):
        self.begin = self.look()

    @staticmethod
    def look():
        with open("/proc/stat", encoding="ascii") as stat:
            ticks = [int(word) for word in stat.readline().split()[1:9]]
        own = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return time.monotonic(), (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK"), own

    def foreign(self):
        wall, busy, own = (now - then for then, now in zip(self.begin, self.look()))
        return (busy - own) / wall


STUCK = Right(("hang", "awaited-rank"))
PROGRAMS = {
    mpi_faults: {
        "none": None,
        "work": Right(SLOW),
        "sleep": Right(SLOW, "nanosleep"),
        "read": Right(SLOW, "read"),
        "lock": Right(SLOW),
        "leak": Right(("memory-growth",)),
        "small": Right(("small-messages",), rank=False),
        "crash": Right(("death",)),
        "hog": Right(("no-processor",)),
        "bound": Right(("oversubscribed",), rank=False),
    },
    # It leaves out a collective; it calls another one; SIGSTOP; it holds a mutex that it wants.
    mpi_hang: {"skip": STUCK, "other": STUCK, "stop": STUCK, "lock": STUCK},
    python_faults: {
        "none": None,
        "sleep": Right(SLOW, "clock_nanosleep"),
        "work": Right(SLOW),
        "gc": Right(SLOW),
        "loader": Right(SLOW, "read"),
    },
    lammps: {"none": None, "sleep": Right(SLOW, "nanosleep"), "work": Right(SLOW)},
    torch_ddp: {
        "none": None,
        "sleep": Right(SLOW, "clock_nanosleep"),
        "work": Right(SLOW),
        "gc": Right(SLOW),
        "loader": Right(SLOW, "read"),
    },
    # It leaves out a step; it calls another collective; SIGSTOP.
    torch_hang: {"skip": STUCK, "op": STUCK, "stop": STUCK},
    torch_cut: {"cut": STUCK},
}
TORCH = (torch_ddp, torch_hang, torch_cut)


def is_right(right, case, findings):
    """Whether the first finding is about the fault of CASE."""
    if not right:
        return not [one for one in findings if one["confidence"] != "low"]
    if not findings:
        return False
    first = findings[0]
    return first["kind"] in right.kinds and right.function in (None, first["function"]) and (not right.rank or first["ranks"] == [case.rank])


def has_torch():
    return subprocess.run([PYTHON, "-c", "import torch.distributed"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def cases_of(runs, seed, only):
    """Half of them without a fault, each program and fault in turn."""
    choose = random.Random(seed)
    programs = {program: faults for program, faults in PROGRAMS.items() if program not in TORCH or has_torch()}
    named = {one.split(":")[0] for one in only}
    clean = [program for program, faults in programs.items() if "none" in faults and (not only or program.__name__ in named)] or [mpi_faults]
    faulty = [(program, fault) for program, faults in programs.items() for fault in faults if fault != "none" and (not only or f"{program.__name__}:{fault}" in only)]
    for number in range(runs):
        program, fault = faulty[number // 2 % len(faulty)] if number % 2 else (clean[number // 2 % len(clean)], "none")
        ranks = harness.RANKS if program in TORCH else choose.choice(RANKS)
        yield program, Case(number, fault, choose.randrange(ranks), choose.randrange(20, STEPS // 4), ranks)


def shown(findings):
    return findings[0]["kind"] if findings else "nothing"


def test(run, runs, seed=18, *only):
    if len(os.sched_getaffinity(0)) < 2:
        print("one processor: ranks would wait for it in every job")
        sys.exit(77)
    run.start_collector()  # for the jobs that are looked at while they run
    table = collections.defaultdict(collections.Counter)
    right = claims = 0
    for program, case in cases_of(int(runs), int(seed), only):
        load = Load()
        findings = program(run, case)
        good = is_right(PROGRAMS[program][case.fault], case, findings)
        right += good and case.fault != "none"
        claims += not good and case.fault == "none"
        table[program.__name__, case.fault].update([shown(findings), "right" if good else "wrong"])
        print(f"{program.__name__} {case}: {'right' if good else 'WRONG'}, others use {load.foreign():.2f} processors", flush=True)
        if not good:
            print("  " + json.dumps([(one["kind"], one["confidence"], one["ranks"], one["function"], one["evidence"]) for one in findings]), flush=True)
    faulty = int(runs) // 2
    for (program, fault), row in table.items():
        print(f"{program:12} {fault:8} " + ", ".join(f"{kind} {count}" for kind, count in row.most_common()))
    print(f"right {right} of {faulty} with a fault; claims in {claims} of {int(runs) - faulty} without one")
    expect_true(f"right in {right} of {faulty}", right >= RIGHT_LEAST * faulty)
    expect_true(f"claims in {claims}", claims <= CLAIMS_MOST * (int(runs) - faulty))


if __name__ == "__main__":
    main(test)
