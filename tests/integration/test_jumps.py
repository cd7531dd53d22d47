#!/usr/bin/python3
"""Signal handlers that jump out of the tracer itself: it neither stays locked nor goes blind, and loses no record."""
import os

from harness import expect, expect_true, main
from truth import rows_of


def test(run):
    program = os.path.join(run.build, "tests", "integration", "frame", "jumps")
    traced = run.trace(program, hooks=["*:getppid"], level="record", options=("--job", "jumps"))
    returned, jumps = (int(word) for word in traced.stdout.split())
    report = run.report(run.path("store", "jumps"))
    calls = sum(row["calls"] for row in rows_of(report).values())
    # Every jump may leave one call that did not come back, or one that did and was not yet added up by the program.
    expect_true(f"calls: {calls} of {returned}", returned <= calls <= returned + jumps)
    # One that was left is recorded once, also if the jump came when its record was just written; a jump between two
    # instructions that belong together may make a difference of one.
    records = sum(row["records"] for row in report["processes"])
    expect_true(f"records: {records} of {calls} calls", abs(records - calls) <= jumps // 20)
    expect("lost records", [row["lost_records"] for row in report["processes"]], [0])
    expect("untracked calls", report["job"]["calls_untracked"], 0)


if __name__ == "__main__":
    main(test)
