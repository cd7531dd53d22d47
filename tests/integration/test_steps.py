#!/usr/bin/python3
"""A signal at every instruction of a hooked call, at every level: its handler sees the caller, makes the call too, jumps away or forks."""
import os

from harness import expect, expect_true, main

LEVELS = ["off", "count", "sample", "time", "record", "record+args"]
CALLS_OF_CHILD = 2  # steps.c


def job_of(mode, level):
    return f"{mode}-{LEVELS.index(level)}"


def expect_counts(run, mode, level, calls, returned, children):
    report = run.report(run.path("store", job_of(mode, level)))
    counted = sum(row["calls"] for row in report["calls"])
    what = f"{mode} at {level}: calls"
    if level == "off":
        expect(what, counted, 0)
        return
    # A jump leaves one call, which may have been counted before; a child has its own calls, and may end the one that it is
    # born in for both.
    least = returned + children * CALLS_OF_CHILD
    expect_true(f"{what}: {counted} of {calls} made, {returned} returned, {children} children",
                least <= counted <= least + calls - returned + children)
    if not children and calls == returned:
        expect(what, counted, calls)
    expect(f"{mode} at {level}: untracked", report["job"]["calls_untracked"], 0)
    expect(f"{mode} at {level}: lost", sum(row["lost_records"] for row in report["processes"]), 0)


def test(run):
    program = os.path.join(run.build, "tests", "integration", "frame", "steps")
    for mode in ("see", "nest", "jump", "fork"):
        for level in LEVELS:
            traced = run.trace(program, mode, hooks=["*:getppid"], level=level, check=False,
                               options=("-q", "--job", job_of(mode, level)))
            expect(f"{mode} at {level}: exit, {traced.stderr[-300:]}", traced.returncode, 0)
            expect_counts(run, mode, level, *(int(word) for word in traced.stdout.split()))


if __name__ == "__main__":
    main(test)
