#!/usr/bin/python3
"""The tracing cost that a report estimates beside the one that was measured: bench_cost.py BUILD_DIR

bench_cost makes the same calls traced and untraced, in short slices by turns, and says what each traced call added. lammps_toggle.c
does the same with the steps of LAMMPS on two ranks. The estimate is that of a report of the program with all slices traced, less what
the same program costs without calls.
"""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from harness import expect, main  # noqa: E402

# Nanoseconds of dependent multiplications between two calls. A call beside such work costs less than one in a tight loop, because part
# of it is done while the work waits. The shortest way out hides best. An interpreter's work of 220 ns between two calls hid nothing
# (46 ns a call were measured, 33 estimated), so the estimate for 300 ns is that of calls in a row.
CASES = [("ddot_", 0, 1.5), ("ddot_", 300, 2.5), ("ddot_", 1800, 1.5), ("plain_ddot_", 0, 1.5), ("plain_ddot_", 1800, 1.5),
         ("MPI_Ssend", 0, 1.5), ("MPI_Ssend", 1800, 1.5), ("cudaLaunchKernel", 0, 1.5), ("cudaLaunchKernel", 1800, 2.5)]
LAMMPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lammps_small.in")
STEPS, LAMMPS_LIMIT = 20000, 1.5
HOOKS = ("blas", "mpi", "cuda", "*:plain_*")


def estimated_ns(run, name):
    return run.report(run.path("store", name))["job"]["tracing_cost_ns"]


def judge(what, unit, measured, estimated, limit):
    """Prints both costs, in ns per UNIT; whether they are within a factor of LIMIT."""
    factor = max(estimated / measured, measured / estimated) if min(measured, estimated) > 0 else float("inf")
    print(f"{what}: measured {measured:.1f} ns per {unit}, estimated {estimated:.1f}: factor {factor:.2f}, limit {limit}", flush=True)
    return factor <= limit


def test_calls(run):
    """The cases that are too far off."""
    program = os.path.join(run.build, "tests", "bench", "bench_cost")
    run.trace(program, "none", 0, hooks=HOOKS, options=("-q", "--job", "none"), check=False)
    setup_ns = estimated_ns(run, "none")
    wrong = []
    for number, (function, gap, limit) in enumerate(CASES):
        done = run.trace(program, function, gap, hooks=HOOKS, options=("-q", "--job", f"measured{number}"))
        calls, measured = int(done.stdout.split()[0]), float(done.stdout.split()[1])
        run.trace(program, function, gap, "traced", hooks=HOOKS, options=("-q", "--job", f"case{number}"))
        estimated = (estimated_ns(run, f"case{number}") - setup_ns) / calls
        if not judge(f"{function}, gap {gap}", "call", measured, estimated, limit):
            wrong.append((function, gap))
    return wrong


def trace_lammps(run, name, steps, preload=""):
    return run.trace("mpirun", "-n", 2, "lmp", "-in", LAMMPS, "-log", "none", "-screen", "none", "-var", "STEPS", steps,
                     options=("-q", "--job", name), env={"LD_PRELOAD": preload})


def test_lammps(run):
    """The same for LAMMPS with the default hooks."""
    if not shutil.which("lmp"):
        print("LAMMPS is not installed (package lammps): left out")
        return []
    done = trace_lammps(run, "toggled", STEPS, os.path.join(run.build, "tests", "bench", "liblammps_toggle.so"))
    ranks = [float(ns) for ns in re.findall(r"rank \d: \d+ traced steps, (\S+) ns", done.stdout)]
    expect("ranks of LAMMPS that were measured", len(ranks), 2)
    trace_lammps(run, "lammps_none", 0)
    trace_lammps(run, "lammps", STEPS)
    estimated = (estimated_ns(run, "lammps") - estimated_ns(run, "lammps_none")) / STEPS / len(ranks)
    what = "LAMMPS, 256 atoms on 2 ranks"
    return [] if judge(what, "step", sum(ranks) / len(ranks), estimated, LAMMPS_LIMIT) else ["LAMMPS"]


def test(run):
    expect("estimates that are too far off", test_calls(run) + test_lammps(run), [])


if __name__ == "__main__":
    main(test)
