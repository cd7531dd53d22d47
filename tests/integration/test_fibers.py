#!/usr/bin/python3
"""Calls on stacks of the program's own, left and come back to in every order, on another thread too: each counts once."""
import os

from harness import expect, expect_true, main
from truth import rows_of

ROUNDS = 200
# Per round, counted by hand. Of the handler's jumps both calls that were left have a record, of no known values.
CASES = {
    "cross": {"fiber_call": 1, "fiber_outer": 1, "fiber_leaf": 3},
    "nest": {"fiber_outer": 1, "fiber_leaf": 8},
    "migrate": {"fiber_call": 1, "fiber_leaf": 13},
    "migrate_inside": {"fiber_call": 1, "fiber_outer": 1, "fiber_leaf": 13},
    "give_up": {"fiber_call": 1, "fiber_leaf": 1},
    "alternate": {"fiber_call": 1, "fiber_outer": 1, "fiber_leaf": 2},
    "alternate_above": {"fiber_call": 1, "fiber_outer": 1, "fiber_leaf": 2},
}
ON_SIGNAL_STACKS = {"alternate", "alternate_above"}
# How it changes stacks: by libc, which may be hooked, or by a few instructions of its own.
SWITCHES = ("ucontext", "by-hand")
# A handler's stack that lies above the frames it interrupts cannot be told from theirs at once: calls left there may have no
# record. Nor have those of fibers that were given up, but for the 16 calls that a thread is known to be in.
WITHOUT_RECORDS = {"alternate_above", "give_up"}


def test_case(run, program, case, switch, level):
    wanted = {("fibers", name): ROUNDS * count for name, count in CASES[case].items()}
    alone = run.command(program, case, switch)
    name = f"{case}-{switch}-{level}"
    traced = run.trace(program, case, switch, hooks=["*:fiber_*"], level=level, options=("--job", name))
    expect(f"{name}: output", traced.stdout, alone.stdout)
    report = run.report(run.path("store", name))
    rows = rows_of(report)
    expect(f"{name}: calls", {key: row["calls"] for key, row in rows.items()}, wanted)
    if level == "count":
        return
    expect(f"{name}: open calls", report["open_calls"], [])
    records = sum(row["records"] for row in report["processes"])
    if case not in WITHOUT_RECORDS:
        expect(f"{name}: records", records, sum(wanted.values()))
    expect(f"{name}: lost records", [row["lost_records"] for row in report["processes"]], [0])
    # Calls whose callers are gone do not hide those of later calls.
    leaf = rows["fibers", "fiber_leaf"]
    if case not in WITHOUT_RECORDS:
        # By the shortest of them: one during which the machine was busy elsewhere may last longer than all others together.
        least = leaf["calls"] * leaf["min_ns"] // 20
        expect_true(f"{name}: leaves have an outermost time: {leaf}", leaf["outermost_ns"] > least > 0)


def test(run):
    program = os.path.join(run.build, "tests", "integration", "frame", "fibers")
    for case in CASES:
        for switch in SWITCHES if case not in ON_SIGNAL_STACKS else SWITCHES[:1]:
            for level in ("count", "record"):
                test_case(run, program, case, switch, level)


if __name__ == "__main__":
    main(test)
