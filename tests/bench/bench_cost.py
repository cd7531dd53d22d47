#!/usr/bin/python3
"""The tracing cost that a report estimates beside the one that was measured: bench_cost.py BUILD_DIR

bench_cost makes the same calls traced and untraced, in short slices by turns, and says what each traced call added. The estimate is
the report's, less what the same process costs that makes no such call.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from harness import expect, main  # noqa: E402

# Multiplications between two calls: 1,500 dependent ones take about 1.5 us. A call beside other work costs less than one in a tight
# loop, because part of it is done while the work waits; the estimate lies between. The shortest way out hides best.
CASES = [("ddot_", 0, 1.5), ("ddot_", 300, 2), ("ddot_", 1500, 1.5), ("plain_ddot_", 0, 1.5), ("plain_ddot_", 1500, 1.5),
         ("MPI_Ssend", 0, 1.5), ("MPI_Ssend", 1500, 1.5), ("cudaLaunchKernel", 0, 2), ("cudaLaunchKernel", 1500, 2.5)]
HOOKS = ("blas", "mpi", "cuda", "*:plain_*")


def estimated_ns(run, name):
    return run.report(run.path("store", name))["job"]["tracing_cost_ns"]


def test(run):
    program = os.path.join(run.build, "tests", "bench", "bench_cost")
    run.trace(program, "none", 0, hooks=HOOKS, options=("-q", "--job", "none"), check=False)
    setup_ns = estimated_ns(run, "none")
    wrong = []
    for number, (function, gap, limit) in enumerate(CASES):
        done = run.trace(program, function, gap, hooks=HOOKS, options=("-q", "--job", f"case{number}"))
        calls, measured = int(done.stdout.split()[0]), float(done.stdout.split()[1])
        estimated = (estimated_ns(run, f"case{number}") - setup_ns) / calls
        factor = max(estimated / measured, measured / estimated)
        print(f"{function}, gap {gap}: measured {measured:.1f} ns, estimated {estimated:.1f} ns: factor {factor:.2f}, limit {limit}", flush=True)
        if factor > limit:
            wrong.append((function, gap))
    expect("estimates that are too far off", wrong, [])


if __name__ == "__main__":
    main(test)
