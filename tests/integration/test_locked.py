#!/usr/bin/python3
"""No call waits for the loader's lock: a thread that reads the loader's list may be waiting for the thread that calls."""
import os
import sys

from harness import Run, expect, expect_true, main, total_calls

ROUNDS = 300
LONG_ROUNDS = 20000


def test(run: Run, length="short"):
    directory = os.path.join(run.build, "tests", "integration", "unload")
    program, library = os.path.join(directory, "locked"), os.path.join(directory, "liblocked_other.so")
    done = run.trace(program, library, hooks=["*:getppid"], options=("-q", "--job", "once"), check=False)
    expect("once, in the worst order", (done.returncode, done.stdout), (0, "calls 3\n"))
    # The library that came meanwhile is found when the list can be had.
    expect("once: seen", total_calls(run.report(run.path("store", "once"))), {(0, "getppid"): 3})
    rounds = LONG_ROUNDS if length == "long" else ROUNDS
    done = run.trace(program, library, str(rounds), hooks=["*:getppid"], options=("-q", "--job", "again"), check=False)
    expect_true(f"again and again: {done.returncode} {done.stdout}", done.returncode == 0)
    calls = int(done.stdout.split()[1])
    expect("again and again: seen", total_calls(run.report(run.path("store", "again"))), {(0, "getppid"): calls})


if __name__ == "__main__":
    main(test)
