#!/usr/bin/python3
"""A handler that jumps out of a library the tracer has asked about a call: the thread is still seen afterwards."""
import os

from harness import expect, main
from truth import rows_of

ROUNDS = 100


def test(run):
    program = os.path.join(run.build, "tests", "integration", "frame", "escapes")
    hooks = run.path("escapes.hooks")
    with open(hooks, "w", encoding="ascii") as stream:
        stream.write("long escapes_take(int value) device=current\n")
    traced = run.trace(program, hooks=[hooks], level="record", options=("--job", "escapes"))
    expect("output", traced.stdout, run.command(program).stdout)
    report = run.report(run.path("store", "escapes"))
    expect("calls", {key: row["calls"] for key, row in rows_of(report).items()}, {("escapes", "escapes_take"): 3 * ROUNDS})
    expect("records", [row["records"] for row in report["processes"]], [3 * ROUNDS])
    expect("untracked calls", report["job"]["calls_untracked"], 0)
    expect("open calls", report["open_calls"], [])


if __name__ == "__main__":
    main(test)
