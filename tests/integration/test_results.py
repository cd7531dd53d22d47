#!/usr/bin/python3
"""Arguments and results in general, vector and x87 registers arrive, at the first call of a function and at a later one."""
import os

from harness import expect, main
from truth import rows_of

NAMES = ("id", "di", "dd", "fff", "ii", "memory", "x87", "int128", "float", "long_double", "complex_float", "complex_double",
         "complex_long_double", "rounding")
TIMES = 2


def processor_flags():
    with open("/proc/cpuinfo", encoding="utf-8") as stream:
        return next((line.split() for line in stream if line.startswith("flags")), [])


def test(run):
    program = os.path.join(run.build, "tests", "integration", "frame", "results")
    flags = processor_flags()
    wanted = {("results", f"results_{name}"): TIMES for name in NAMES} | {("results", "results_variadic"): 2 * TIMES}
    wanted |= {("results", f"results_{name}"): TIMES for name, flag in (("m256", "avx"), ("m512", "avx512f")) if flag in flags}
    alone = run.command(program)
    # Sampled, a call takes either way.
    for level in ("count", "sample", "time", "record"):
        traced = run.trace(program, hooks=["*:results_*"], level=level, options=("--job", level))
        expect(f"{level}: output", traced.stdout, alone.stdout)
        rows = rows_of(run.report(run.path("store", level)))
        expect(f"{level}: calls", {key: row["calls"] for key, row in rows.items()}, wanted)


if __name__ == "__main__":
    main(test)
