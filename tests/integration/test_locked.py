#!/usr/bin/python3
"""No call waits for the loader's lock: a thread that reads the loader's list may be waiting for the thread that calls."""
import os
import sys

from harness import Run, calls_of, expect, expect_true, main, total_calls

ROUNDS = 300
LONG_ROUNDS = 20000


def check_values(run):
    """What the host's libraries have to be asked for is known though the loader's lock cannot be had."""
    run.trace(run.workload("simcuda/cuda_locked"), options=("-q", "--job", "values"))
    report = run.report(run.path("store", "values"))
    rows = [row for row in report["memory"] if row["kind"] == "device" and row["library"] == "*"]
    expect("memory of devices", [(row["device"], row["allocs"], row["peak_bytes"]) for row in rows], [(1, 1, 400)])
    sent = [row["bytes"] for (_, _, function), row in calls_of(report).items() if function == "MPI_Send"]
    expect("bytes sent", sent, [80])


def check_calls(run: Run, rounds):
    """Hooked calls, once in the worst order, and ROUNDS times by chance."""
    directory = os.path.join(run.build, "tests", "integration", "unload")
    program, library = os.path.join(directory, "locked"), os.path.join(directory, "liblocked_other.so")
    done = run.trace(program, library, hooks=["*:getppid"], options=("-q", "--job", "once"), check=False)
    expect("once, in the worst order", (done.returncode, done.stdout), (0, "calls 3\n"))
    # The library that came meanwhile is found when the list can be had.
    expect("once: seen", total_calls(run.report(run.path("store", "once"))), {(0, "getppid"): 3})
    done = run.trace(program, library, str(rounds), hooks=["*:getppid"], options=("-q", "--job", "again"), check=False)
    expect_true(f"again and again: {done.returncode} {done.stdout}", done.returncode == 0)
    calls = int(done.stdout.split()[1])
    expect("again and again: seen", total_calls(run.report(run.path("store", "again"))), {(0, "getppid"): calls})


def test(run: Run, length="short"):
    check_values(run)
    check_calls(run, LONG_ROUNDS if length == "long" else ROUNDS)


if __name__ == "__main__":
    main(test)
