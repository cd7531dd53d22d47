#!/usr/bin/python3
"""With every function of libc hooked, those that return twice or never are left alone, and the program notices nothing."""
import os
import re

from harness import expect, main
from truth import rows_of

ROUNDS = 50
DENIED = re.compile(r"_*(sig)?(set|long)jmp(_chk)?|vfork|(get|set|make|swap)context|_?exit|quick_exit")


def test(run):
    program = os.path.join(run.build, "tests", "integration", "frame", "twice")
    alone = run.command(program, check=False)
    expect("status alone", alone.returncode, 5)
    for level in ("count", "time", "record"):
        traced = run.trace(program, hooks=["libc.so.6:*"], level=level, options=("--job", level), check=False)
        expect(f"{level}: output", traced.stdout, alone.stdout)
        expect(f"{level}: exit status", traced.returncode, alone.returncode)
        calls = {name: row["calls"] for (library, name), row in rows_of(run.report(run.path("store", level))).items() if library == "twice"}
        expect(f"{level}: denied functions that were hooked", [name for name in calls if DENIED.fullmatch(name)], [])
        # From each raise the handler jumps; from each wait the program returns.
        expect(f"{level}: calls", {name: calls.get(name) for name in ("raise", "waitpid", "malloc", "free", "printf", "signal")},
               {"raise": ROUNDS, "waitpid": ROUNDS, "malloc": 1, "free": 1, "printf": 5, "signal": 1})


if __name__ == "__main__":
    main(test)
