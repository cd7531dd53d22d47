#!/usr/bin/python3
"""Functions of every shape that AAPCS64 has a rule for: the program behaves the same under every tool, and every call is counted."""
import json
import os

from emulated import main
from harness import expect
from truth import rows_of

HOOKS = """*:shape_*
*:raise
*:plugin_run
long shape_twenty(int a, double b, long c, float d, int e, double f, int g, double h, long i, double j, int k, double l,\\
  long m, double n, int o, double p, long q, double r, double s, long t) io bytes=t
long shape_bytes(fd fd, ptr data, ulong bytes, float scale) io error=errno bytes=bytes
int shape_fails(int result) error=nonzero
void shape_sleep(long ns)
double shape_half(str why, float value)
"""

# calls.c by hand. The program's recursions: callback 1 (of depth 5), fiber 3 (10), handler 200 (3),
# backtraces 20,000 (1), threads 3 waves of 4 (0 to 3)
# of 200 each; the library's go through its own slot. Plugin: 3 of depth 4. Child: 1 of depth 4.
MAIN = {("cross_calls", f"shape_{name}"): 1 + 10
        for name in ("twenty", "stack32", "pair", "mixed", "large", "int128", "floats", "doubles", "longs", "vectors",
                     "long_double", "complex", "variadic")}
MAIN |= {("cross_calls", f"shape_{name}"): 1 for name in ("errno", "half", "wait", "sleep")}
MAIN |= {("cross_calls", "shape_bytes"): 100, ("cross_calls", "shape_fails"): 100, ("cross_calls", "shape_jump"): 1000,
         ("cross_calls", "shape_callback"): 1 + 100, ("cross_calls", "shape_throw"): 100,
         ("cross_calls", "shape_end_thread"): 10, ("cross_calls", "raise"): 200,
         ("cross_calls", "shape_recurse"): 1 + 3 + 200 + 20000 + 3 * 4 * 200,
         ("libcross_library.so", "shape_recurse"): 5 + 3 * 10 + 200 * 3 + 20000 + 3 * 200 * sum(range(4)) + 3 * 4,
         ("libcross_plugin.so", "shape_recurse"): 3, ("*", "plugin_run"): 3}  # looked up by name
CHILD = {("cross_calls", "shape_recurse"): 1, ("cross_calls", "shape_callback"): 1, ("libcross_library.so", "shape_recurse"): 4}


def calls(report, role):
    return {key: row["calls"] for key, row in rows_of(report, role=role).items()}


def sysroot(run):
    """The emulator's root for libraries, with a kernel that keeps time by the counter: without it the clock is a function."""
    root = run.path("sysroot")
    source = os.path.join(root, "sys", "devices", "system", "clocksource", "clocksource0")
    os.makedirs(source)
    with open(os.path.join(source, "current_clocksource"), "w", encoding="ascii") as stream:
        stream.write("arch_sys_counter\n")
    os.symlink(os.path.join(run.emulator[run.emulator.index("-L") + 1], "lib"), os.path.join(root, "lib"))
    return [*run.emulator, "-L", root]


def check_numbers(level, rows, duration_ns):
    for function in ("shape_wait", "shape_sleep"):  # the ordered way out, and the other
        ns = rows["cross_calls", function]["total_ns"]
        expect(f"{level}: {ns} ns of {function} for 20 ms in a run of {duration_ns}", 19_900_000 <= ns <= duration_ns, True)
    expect(f"{level}: bytes", rows["cross_calls", "shape_bytes"]["bytes"], sum(1000 + i for i in range(100)))
    expect(f"{level}: bytes on the stack", rows["cross_calls", "shape_twenty"]["bytes"], 20 * 11)
    expect(f"{level}: failures", rows["cross_calls", "shape_fails"]["errors"], 25)
    expect(f"{level}: results of -1", rows["cross_calls", "shape_bytes"]["errors"], 10)
    for row in rows.values():
        if row["function"] not in ("shape_jump", "shape_throw", "shape_end_thread"):
            # The emulator's counter stands still for a microsecond.
            expect(f"{level}: times of {row}", 0 <= row["min_ns"] <= row["p50_ns"] <= row["max_ns"] <= row["total_ns"], True)


def check_arguments(run, job):
    """Read back from registers and stack, and so is a floating result."""
    path = run.path("arguments.json")
    run.cli("export", run.path("store", job), "--format", "chrome", "-o", path)
    with open(path, encoding="utf-8") as stream:
        events = {event["name"]: event["args"] for event in json.load(stream)["traceEvents"] if "arguments" in event.get("args", {})}
    twenty, half = events["shape_twenty"], events["shape_half"]
    expect(f"{job}: twenty", (twenty["arguments"], twenty["result"]),
           ({name: i + 1 for i, name in enumerate("abcdefghijklmnopqrst")}, 2870))
    expect(f"{job}: half", (half["arguments"], half["result"]), ({"why": "on aarch64", "value": 2.5}, 1.25))


def check(job, level, report):
    expect(f"{job}: calls", calls(report, "main"), MAIN)
    expect(f"{job}: calls of the child", calls(report, "helper"), CHILD)
    expect(f"{job}: exits", sorted((row["role"], row["exit"]["kind"], row["exit"]["code"]) for row in report["processes"]),
           [("helper", "exited", 3), ("main", "exited", 7)])
    expect(f"{job}: not hooked", [row["notes"] for row in report["coverage"]], ["1 functions of a variant calling convention"] * 2)
    expect(f"{job}: lost records", [row["lost_records"] for row in report["processes"]], [0, 0])
    if level not in ("count", "sample"):
        rank = report["ranks"][0]
        check_numbers(job, rows_of(report, role="main"), rank["end_ns"] - rank["start_ns"])


def test(run):
    directory = os.path.join(run.build, "tests", "cross")
    program = [os.path.join(directory, "cross_calls"), directory]
    hooks = run.path("cross.hooks")
    with open(hooks, "w", encoding="ascii") as stream:
        stream.write(HOOKS)
    alone = run.command(*program, check=False)
    expect("status alone", alone.returncode, 7)
    counter = sysroot(run)
    for job, level, emulator in (("count", "count", None), ("sample", "sample", None), ("time", "time", None),
                                 ("record", "record", None), ("arguments", "record+args", None), ("counter-sample", "sample", counter),
                                 ("counter-record", "record", counter)):
        traced = run.trace(*program, hooks=[hooks], level=level, options=("--job", job), emulator=emulator, check=False)
        expect(f"{job}: status", traced.returncode, 7)
        expect(f"{job}: stderr", traced.stderr, alone.stderr)
        expect(f"{job}: output", traced.stdout, alone.stdout)
        check(job, level, run.report(run.path("store", job)))
    check_arguments(run, "arguments")


if __name__ == "__main__":
    main(test)
