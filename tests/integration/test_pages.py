#!/usr/bin/python3
"""An undescribed call is made from any place of a stack page without a system call."""
import os
import sys

from harness import expect, main
from truth import rows_of

SKIPPED = 77


def test(run):
    program = os.path.join(run.build, "tests", "integration", "frame", "pages")
    alone = run.command(program, check=False)
    if alone.returncode == SKIPPED:
        print("skipped: no seccomp filter for this processor or kernel")
        sys.exit(SKIPPED)
    traced = run.trace(program, hooks=["*:getppid"], level="record", options=("--job", "pages"))
    expect("output", traced.stdout, alone.stdout)
    report = run.report(run.path("store", "pages"))
    expect("calls", sum(row["calls"] for row in rows_of(report).values()), int(alone.stdout))


if __name__ == "__main__":
    main(test)
