#!/usr/bin/python3
"""libc calls of two threads, nested and recursive calls of a library, and a plugin that comes late."""
from harness import Failure, expect, expect_true, main
from truth import expect_calls, expect_quantiles, expect_whole, load, rows_of, settle, times_apart, wanted_of

HOOKS = ["libc", "*:calls_outer", "*:calls_inner", "*:calls_recurse"]
# What calls_truth calls besides, in its own text: both ends of a pipe are closed, the truth is opened and closed.
BESIDES = {("calls_truth", "close"): 2, ("calls_truth", "fopen"): 1, ("calls_truth", "fclose"): 1}
LIBRARIES = {"calls_truth", "libcalls_truth_library.so", "libcalls_truth_plugin.so"}
LEVELS = ("count", "sample", "time", "record")
FULL = ("time", "record")  # every call is measured


def check_counts(level, rows, wanted):
    besides = {key: rows.pop(key)["calls"] for key in BESIDES if key in rows}
    expect(f"{level}: calls besides", besides, BESIDES)
    expect_calls(level, rows, wanted, keys=("calls", "errors", "bytes") if level in FULL else ("calls",))


def check_times(level, rows, wanted):
    """Self is total less hooked callees; outermost counts only what no call of the same domain encloses."""
    outer, inner = rows["calls_truth", "calls_outer"], rows["libcalls_truth_library.so", "calls_inner"]
    sleep = rows["libcalls_truth_library.so", "nanosleep"]
    compared, apart = times_apart(level, rows, wanted, key="total_ns")
    # On a busy machine a short one, too, may take as long.
    expect_true(f"{level}: {compared} rows of 1 ms and more, at least 4", compared >= 4)
    expect(f"{level}: outermost of outer", outer["outermost_ns"], outer["total_ns"])
    expect(f"{level}: outermost of inner", inner["outermost_ns"], 0)
    expect(f"{level}: outermost of nanosleep", sleep["outermost_ns"], sleep["total_ns"])
    for row, callee in ((outer, inner), (inner, sleep)):
        # Ticks become nanoseconds call by call: a few are lost in rounding.
        if abs(row["total_ns"] - row["self_ns"] - callee["total_ns"]) > 4 * callee["calls"]:
            raise Failure(f"{level}: self of {row['function']}: {row}, of which {callee}")
    recurse = rows["calls_truth", "calls_recurse"]
    deeper = rows["libcalls_truth_library.so", "calls_recurse"]
    expect(f"{level}: outermost of the recursion", (recurse["outermost_ns"], deeper["outermost_ns"]), (recurse["total_ns"], 0))
    return apart


def attempt(run, level, number):
    job, out = f"{level}-{number}", run.path(f"{level}.json")
    run.trace(run.workload("calls_truth"), "--count", out, hooks=HOOKS, level=level, options=("--job", job))
    report = run.report(run.path("store", job))
    expect_whole(report, 1)
    rows = {key: row for key, row in rows_of(report).items() if key[0] in LIBRARIES}
    wanted = wanted_of(load(out))
    check_counts(level, rows, wanted)
    made = sum(row["calls"] for row in report["calls"])
    expect(f"{level}: records", report["ranks"][0]["records"], made if level == "record" else 0)
    if level == "count":
        expect_true("times at level count", all(row["total_ns"] is None and row["p99_ns"] is None for row in rows.values()))
    if level not in FULL:
        return {}
    expect_quantiles(level, rows)
    return check_times(level, rows, wanted)


def test(run):
    for level in LEVELS:
        settle(lambda number, level=level: attempt(run, level, number))


if __name__ == "__main__":
    main(test)
