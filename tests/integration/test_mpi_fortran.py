#!/usr/bin/python3
"""The same of a Fortran program: the names are the compiler's symbols."""
from harness import RANKS, expect_true, main
from truth import expect_calls, expect_whole, load, rows_of, settle, times_apart, wanted_of


def attempt(run, job):
    run.trace("mpirun", "-n", RANKS, run.workload("mpi_truth_fortran"), run.directory, hooks=["mpi"], options=("--job", job))
    report = run.report(run.path("store", job))
    expect_whole(report, RANKS)
    compared, apart = 0, {}
    for rank in range(RANKS):
        truth = wanted_of(load(run.path(f"truth-{rank}.json")))
        rows = rows_of(report, rank)
        expect_calls(f"rank {rank}", rows, truth)
        timed, short = times_apart(f"rank {rank}", rows, truth)
        compared, apart = compared + timed, apart | short
    expect_true(f"only {compared} rows of 1 ms and more", compared >= RANKS)
    return apart


def test(run):
    settle(lambda number: attempt(run, f"fortran-{number}"))


if __name__ == "__main__":
    main(test)
