#!/usr/bin/python3
"""Holistic Trace Analysis (from PyPI) loads the Kineto files of cuda_steps, with the counts and times of the report, and those of a profile.

HTA 0.5.0 does not work with pandas 3. It is installed without what only its notebooks need, once per build directory.
"""
import json
import os
import sys

import kineto_check
from harness import RANKS, expect, expect_true, main

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hta_check.py")
PARTS = (("--no-deps", "HolisticTraceAnalysis==0.5.0"), ("pandas<3", "numpy", "plotly", "networkx", "psutil", "pyyaml"))
STEPS = 6
EXACT_NS, WHOLE_NS = 10, 1000  # by which a call may be off, as in test_kineto.py


def install(run):
    """The Python that has HTA."""
    place = os.path.join(run.build, "tests", "hta")
    python, ready = os.path.join(place, "bin", "python"), os.path.join(place, "ready")
    if not os.path.exists(ready):
        done = run.command("/usr/bin/python3", "-m", "venv", "--clear", place, check=False)
        for part in PARTS:
            if done.returncode == 0:
                done = run.command(python, "-m", "pip", "install", "-q", *part, check=False)
        if done.returncode != 0:
            print(f"HTA cannot be installed here: {done.stderr.strip()[-300:]}")
            sys.exit(77)
        with open(ready, "w", encoding="utf-8"):
            pass
    return python


def look(run, python, job, *options, words=(), **environment):
    run.cli("export", run.path("store", job), "--format", "kineto", "-o", run.path("traces"), *options)
    seen = json.loads(run.command(python, CHECK, run.path("traces"), *words, env=environment).stdout)
    seen["ranks"] = {int(rank): what for rank, what in seen["ranks"].items()}
    return seen


def check_host(what, seen, report, per_call_ns):
    for rank, found in seen["ranks"].items():
        totals = {(category, name): [calls, us * 1000] for category, name, calls, us in found["host"]
                  if not name.startswith("ProfilerStep#")}
        kineto_check.compare(totals, kineto_check.expected(report, rank), per_call_ns)
        expect_true(f"{what}: rank {rank}: less than no time", found["shortest_us"] >= 0)


def check(what, seen, report, per_call_ns):
    expect(f"{what}: ranks", sorted(seen["ranks"]), list(range(RANKS)))
    check_host(what, seen, report, per_call_ns)
    for rank, found in seen["ranks"].items():
        kernels = STEPS * (3 + rank)
        expect(f"{what}: rank {rank}: device rows", found["device"], {"rows": kernels + 2 * STEPS, "linked": kernels + 2 * STEPS})
        expect(f"{what}: rank {rank}: iterations", found["steps"], list(range(STEPS)))
        # Those of its views: kernels and asynchronous copies.
        expect(f"{what}: rank {rank}: launches", seen["launches"][str(rank)], kernels + STEPS)
        names = {name for of, name in seen["breakdown"] if of == rank}
        expect(f"{what}: rank {rank}: kernels by name", names,
               {"simulated kernel", "Memcpy DtoD (simulated)", "Memset (simulated)"})
    expect(f"{what}: ranks with idle times", seen["temporal"], list(range(RANKS)))


def check_profile(run, python):
    """The files that hooktrace.profiler writes for one cycle of steps on each rank (profiler/steps.py)."""
    with open(run.path("getppid.hooks"), "w", encoding="ascii") as file:
        file.write("int getppid()\n")
    os.makedirs(run.path("said"))
    words = ("10", "wait=1", "warmup=1", "active=2", "repeat=2")
    program = os.path.join(os.path.dirname(CHECK), "profiler", "steps.py")
    run.trace("mpirun", "-n", RANKS, "/usr/bin/python3", program, run.path("said"), *words, hooks=[run.path("getppid.hooks")], level="record",
              store="profiled", env={"PYTHONPATH": os.path.join(run.build, "python")})
    for end, steps in ((4, [2, 3]), (8, [6, 7])):
        os.makedirs(run.path(f"cycle{end}"))
        for rank in range(RANKS):
            os.rename(run.path("said", f"{rank}.{end}.json"), run.path(f"cycle{end}", f"{rank}.json"))
        seen = json.loads(run.command(python, CHECK, run.path(f"cycle{end}"), "host").stdout)["ranks"]
        expect(f"cycle {end}: ranks", sorted(seen), [str(rank) for rank in range(RANKS)])
        for rank, found in seen.items():
            expect(f"cycle {end}: rank {rank}: iterations", found["steps"], steps)
            calls = {name: count for _, name, count, _ in found["host"]}
            expect(f"cycle {end}: rank {rank}: calls", calls["getppid"], sum(2 * (step + 1) for step in steps))


def test(run):
    python = install(run)
    check_profile(run, python)
    for job, hooks, more in (("steps", ["mpi", "cuda"], {"level": "record"}), ("host", ["mpi"], {"level": ["off", "MPI_*=record"]})):
        run.trace("mpirun", "-n", RANKS, run.workload("simcuda/cuda_steps"), hooks=hooks, options=("--job", job), **more)
    report = run.report(run.path("store", "steps"))
    check("whole us", look(run, python, "steps"), report, WHOLE_NS)
    check("packed", look(run, python, "steps", "--gzip"), report, WHOLE_NS)
    check("exact", look(run, python, "steps", "--exact", HTA_DISABLE_NS_ROUNDING="1"), report, EXACT_NS)
    some = look(run, python, "steps", "--ranks", "1-2")
    expect("some ranks", sorted(some["ranks"]), [1, 2])
    host = look(run, python, "host", words=("host",))
    expect("ranks without devices", sorted(host["ranks"]), list(range(RANKS)))
    check_host("without devices", host, run.report(run.path("store", "host")), WHOLE_NS)


if __name__ == "__main__":
    main(test)
