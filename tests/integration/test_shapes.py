#!/usr/bin/python3
"""Functions of awkward shapes: the program behaves the same with and without tracing, and every call is counted."""
import os

from harness import expect, main
from truth import rows_of

# shapes.c by hand. The first column is the program's calls, the second the library's, which recurses through its own slot.
# Of 20 threads 10 end themselves in the library and 10 are cancelled in a callback; the child ends in a callback.
# callback 1 (of depth 5), fiber 3 (10), handler 200 (3), loop 2,000 (2), threads 5 waves of 8 (0 to 7) of 1,000 each.
RECURSE = (1 + 3 + 200 + 2000 + 5 * 8 * 1000, 5 + 3 * 10 + 200 * 3 + 2000 * 2 + 5 * 1000 * sum(range(8)))
CALLS = {("shapes", f"shape_{name}"): 1 for name in ("twenty", "pair", "sret", "long_double", "complex", "variadic",
                                                     "void_errno", "callback")}
CALLS |= {("shapes", "shape_callback"): 1 + 10, ("shapes", "shape_end_thread"): 10, ("shapes", "shape_jump"): 1000,
          ("shapes", "shape_recurse"): RECURSE[0], ("libshapes_library.so", "shape_recurse"): RECURSE[1],
          ("shapes", "raise"): 200}
CHILD = {("shapes", "shape_recurse"): 1, ("shapes", "shape_callback"): 1, ("libshapes_library.so", "shape_recurse"): 4}


def has_avx():
    with open("/proc/cpuinfo", encoding="utf-8") as stream:
        return any(line.startswith("flags") and " avx " in line for line in stream)


def calls(report, role):
    return {key: row["calls"] for key, row in rows_of(report, role=role).items()}


def test(run):
    program = os.path.join(run.build, "tests", "integration", "frame", "shapes")
    wanted = CALLS | ({("shapes", "shape_vector"): 1} if has_avx() else {})
    alone = run.command(program)
    for level in ("count", "sample", "time", "record", "record+args"):
        traced = run.trace(program, hooks=["*:shape_*", "*:raise"], level=level, options=("--job", level.replace("+", "-")))
        expect(f"{level}: output", traced.stdout, alone.stdout)
        report = run.report(run.path("store", level.replace("+", "-")))
        expect(f"{level}: calls", calls(report, "main"), wanted)
        expect(f"{level}: calls of the child", calls(report, "helper"), CHILD)
        expect(f"{level}: exits", sorted((row["role"], row["exit"]["kind"], row["exit"]["code"]) for row in report["processes"]),
               [("helper", "exited", 3), ("main", "exited", 0)])
        expect(f"{level}: lost records", [row["lost_records"] for row in report["processes"]], [0, 0])


if __name__ == "__main__":
    main(test)
