#!/usr/bin/python3
"""Arguments on the stack arrive in any number, and aligned as they were: of described functions and of others, from any place of any
stack, at any depth, and from more callers than can be told apart."""
import os

from harness import expect, expect_true, main
from truth import expect_calls, rows_of

PLACES = 4096 // 16
STACKS = 3  # main, thread, fiber
CALLS = PLACES * STACKS
DEPTH = 1000
CALLERS = 40000
DEEPER = 8  # times what a timed call costs; about once is seen

OPEN_ROOM, PLACES_ROOM = 256, 32768  # open calls of a thread, return addresses: what can be timed of undescribed functions


def expect_untimed(level, report, summary):
    """A call is timed and recorded, or counted among those for which there was no room."""
    untimed = report["job"]["calls_untimed"]
    if level == "count":
        expect("count: calls not timed for want of room", untimed, 0)
    elif level.startswith("record"):
        process, = report["processes"]
        expect(f"{level}: lost records", process["lost_records"], 0)
        expect(f"{level}: calls without a record", process["calls_untimed"], process["calls"] - process["records"])
        least = STACKS * (DEPTH + 1 - OPEN_ROOM) + CALLERS + 1 - PLACES_ROOM
        expect_true(f"{level}: {untimed} calls not timed of at least {least}", untimed >= least)
        expect_true(f"{level}: the summary says so: {summary}", f"{untimed} calls are counted and not timed" in summary)


def check_depth(run, program):
    """A call that is deeper than calls can be timed takes no look through all those above it: that costs fifty times as much."""
    shallow, deep = map(float, run.trace(program, 200, 5000, hooks=["*:stacks_deep"], options=("--job", "depth")).stdout.split())
    expect_true(f"{shallow:.0f} ns a call in 200 open ones, {deep:.0f} in 5000", deep <= DEEPER * shallow)


def test(run):
    program = os.path.join(run.build, "tests", "integration", "frame", "stacks")
    hooks = os.path.join(os.path.dirname(os.path.abspath(__file__)), "frame", "stacks.hooks")
    names = ("320", "1000", "4000", "12000", "long_double", "variadic", "aligned", "aligned_more", "aligned_given", "twenty", "structs", "default", "odd", "half", "most", "many", "none", "zero")
    wanted = {("stacks", f"stacks_{name}"): {"calls": CALLS, "bytes": 0} for name in names}
    wanted["stacks", "stacks_deep"] = {"calls": STACKS * (DEPTH + 1), "bytes": 0}
    wanted["stacks", "stacks_count"] = {"calls": CALLERS + 1, "bytes": 0}
    alone = run.command(program)
    if "vectors" in alone.stdout:
        wanted["stacks", "stacks_vectors"] = {"calls": CALLS, "bytes": 0}
    for level in ("count", "sample", "record", "record+args"):
        name = level.replace("+", "-")
        traced = run.trace(program, hooks=[hooks], level=level, options=("--job", name))
        expect(f"{level}: output", traced.stdout, alone.stdout)
        if level.startswith("record"):
            # The last argument of each lies on the stack: word 13, word 81.
            wanted["stacks", "stacks_twenty"]["bytes"] = 20 * CALLS
            wanted["stacks", "stacks_structs"]["bytes"] = 8 * CALLS
        expect_untimed(level, run.report(run.path("store", name)), run.cli("report", run.path("store", name)).stdout)
        keys = ("calls", "bytes") if level.startswith("record") else ("calls",)
        expect_calls(level, rows_of(run.report(run.path("store", name))), wanted, keys)
    check_depth(run, program)


if __name__ == "__main__":
    main(test)
