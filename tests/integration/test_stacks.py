#!/usr/bin/python3
"""Arguments on the stack arrive in any number, and aligned as they were: of described functions and of others, from any place of any
stack, at any depth, and from more callers than can be told apart."""
import os

from harness import expect, main
from truth import expect_calls, rows_of

PLACES = 4096 // 16
STACKS = 3  # main, thread, fiber
CALLS = PLACES * STACKS
DEPTH = 1000
CALLERS = 40000


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
        keys = ("calls", "bytes") if level.startswith("record") else ("calls",)
        expect_calls(level, rows_of(run.report(run.path("store", name))), wanted, keys)


if __name__ == "__main__":
    main(test)
