#!/usr/bin/python3
"""The tracing cost that a report estimates beside the one that was measured: bench_cost.py BUILD_DIR

bench_cost makes the same calls traced and untraced, in short slices by turns, and says what each traced call added. lammps_toggle.c
does the same with the steps of LAMMPS on two ranks. The estimate is that of a report of the program with all slices traced, less what
the same program costs without calls. Each figure is the median of RUNS runs.

The estimate of a rank is what its own calls cost it. LAMMPS is measured with one traced rank at a time, because its ranks wait for each
other: with both traced, the costs of both lengthen the step of each. That sum is printed and has no limit.
"""
import os
import re
import shutil
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from harness import expect, main  # noqa: E402

# Nanoseconds of dependent multiplications between two calls. A call beside such work costs less than one in a tight loop, because part
# of it is done while the work waits. The shortest way out hides best. An interpreter's work of 220 ns between two calls hid nothing
# (46 ns a call were measured, 33 estimated), so the estimate for 300 ns is that of calls in a row.
CASES = [("ddot_", 0, 1.5), ("ddot_", 300, 2.5), ("ddot_", 1800, 1.5), ("plain_ddot_", 0, 1.5), ("plain_ddot_", 1800, 1.5),
         ("MPI_Ssend", 0, 1.5), ("MPI_Ssend", 1800, 1.5), ("cudaLaunchKernel", 0, 1.5), ("cudaLaunchKernel", 1800, 2.5)]
LAMMPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lammps_small.in")
STEPS, LAMMPS_LIMIT, RUNS = 20000, 1.5, 3
HOOKS = ("blas", "mpi", "cuda", "*:plain_*")


def median_of(figure):
    """Of FIGURE(n) for RUNS numbers n."""
    return statistics.median(figure(turn) for turn in range(RUNS))


def estimated_ns(run, name):
    return run.report(run.path("store", name))["job"]["tracing_cost_ns"]


def judge(what, unit, measured, estimated, limit):
    """Prints both costs, in ns per UNIT; whether they are within a factor of LIMIT."""
    factor = max(estimated / measured, measured / estimated) if min(measured, estimated) > 0 else float("inf")
    print(f"{what}: measured {measured:.1f} ns per {unit}, estimated {estimated:.1f}: factor {factor:.2f}, limit {limit}", flush=True)
    return factor <= limit


def call_case(run, program, case, setup_ns):
    """Whether one of CASES is as near as it must be."""
    function, gap, limit = case

    def trace(name, *more, check=True):
        return run.trace(program, function, gap, *more, hooks=HOOKS, options=("-q", "--job", f"{name}_{function}_{gap}"), check=check).stdout.split()

    def estimate(turn):
        calls = int(trace(f"traced{turn}", "traced")[0])
        return (estimated_ns(run, f"traced{turn}_{function}_{gap}") - setup_ns) / calls

    measured = median_of(lambda turn: float(trace(f"measured{turn}")[1]))
    return judge(f"{function}, gap {gap}", "call", measured, median_of(estimate), limit)


def test_calls(run):
    """The cases that are too far off."""
    program = os.path.join(run.build, "tests", "bench", "bench_cost")

    def setup(turn):
        run.trace(program, "none", 0, hooks=HOOKS, options=("-q", "--job", f"none{turn}"), check=False)
        return estimated_ns(run, f"none{turn}")

    setup_ns = median_of(setup)
    return [case[:2] for case in CASES if not call_case(run, program, case, setup_ns)]


def trace_lammps(run, name, steps, *environment, preload=""):
    """The finished run of LAMMPS; each of ENVIRONMENT is NAME=VALUE."""
    more = [word for variable in environment for word in ("-x", variable)]
    return run.trace("mpirun", "-n", 2, *more, "lmp", "-in", LAMMPS, "-log", "none", "-screen", "none", "-var", "STEPS", steps,
                     options=("-q", "--job", name), env={"LD_PRELOAD": preload})


def toggled_ns(run, name, *environment):
    """What tracing added to a step of each rank."""
    done = trace_lammps(run, name, STEPS, *environment, preload=os.path.join(run.build, "tests", "bench", "liblammps_toggle.so"))
    ranks = [float(ns) for ns in re.findall(r"rank \d: \d+ traced steps, (\S+) ns", done.stdout)]
    expect("ranks of LAMMPS that were measured", len(ranks), 2)
    return ranks


def test_lammps(run):
    """The same for LAMMPS with the default hooks."""
    if not shutil.which("lmp"):
        print("LAMMPS is not installed (package lammps): left out")
        return []

    def estimate(turn):
        trace_lammps(run, f"empty{turn}", 0)
        trace_lammps(run, f"steps{turn}", STEPS)
        return (estimated_ns(run, f"steps{turn}") - estimated_ns(run, f"empty{turn}")) / STEPS / 2

    alone = [median_of(lambda turn, rank=rank: toggled_ns(run, f"alone{rank}{turn}", f"LAMMPS_TOGGLE={rank}")[rank]) for rank in range(2)]
    both = median_of(lambda turn: statistics.mean(toggled_ns(run, f"both{turn}")))
    print(f"LAMMPS, 256 atoms on 2 ranks, both traced: {both:.1f} ns per step")
    met = judge("LAMMPS, one traced rank", "step", statistics.mean(alone), median_of(estimate), LAMMPS_LIMIT)
    return [] if met else ["LAMMPS"]


def test(run):
    expect("estimates that are too far off", test_calls(run) + test_lammps(run), [])


if __name__ == "__main__":
    main(test)
