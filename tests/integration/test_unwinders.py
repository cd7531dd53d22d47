#!/usr/bin/python3
"""With every function of the unwinders hooked, each still counts the frames that it counts alone; stacks are switched as ever."""
import os
import re

from harness import expect, expect_true, main
from truth import rows_of

SWITCHES = 100
# What keeps its caller's frame, walks from it or leaves it for another stack. The counts are hooked calls of the rest.
DENIED = re.compile(r"(_U[a-z0-9_]*_|__)?(unw_)?getcontext|(unw_)?backtrace|[a-z]+_fcontext")


def test(run):
    program = os.path.join(run.build, "tests", "integration", "frame", "unwinders")
    alone = run.command(program).stdout
    expect_true(f"absent: {alone}", "absent" not in alone)
    # Six frames of the program's own, main, and libc's.
    depths = [int(number) for number in re.findall(r"(?:getcontext|backtrace) (\d+)", alone)]
    expect_true(f"frames alone: {alone}", len(depths) == 4 and min(depths) >= 8)
    expect_true(f"switches alone: {alone}", f"Boost.Context: {SWITCHES * (SWITCHES + 1) // 2}\n" in alone)
    hooks = ["libunwind*:*", "libc.so.6:backtrace", "libboost_context*:*"]
    for level in ("count", "record"):
        traced = run.trace(program, hooks=hooks, level=level, options=("--job", level))
        expect(f"{level}: output", traced.stdout, alone)
        calls = {name: row["calls"] for (_, name), row in rows_of(run.report(run.path("store", level))).items()}
        expect(f"{level}: denied functions that were hooked", [name for name in calls if DENIED.fullmatch(name)], [])
        steps = {name: count for name, count in calls.items() if name.endswith("step")}
        # A step that finds no further frame is a call too.
        expect(f"{level}: steps", sorted(steps.values()), sorted(depths[at] for at in (0, 2)))


if __name__ == "__main__":
    main(test)
