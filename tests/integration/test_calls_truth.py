#!/usr/bin/python3
"""libc calls of two threads, nested and recursive calls of a library, and a plugin that comes late."""
from harness import Failure, expect, expect_true, main
from truth import expect_calls, expect_quantiles, expect_times, expect_whole, load, rows_of, wanted_of

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
    compared = expect_times(level, rows, wanted, key="total_ns")
    expect(f"{level}: rows of 1 ms and more", compared, 4)
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


def test(run):
    for level in LEVELS:
        out = run.path(f"{level}.json")
        run.trace(run.workload("calls_truth"), "--count", out, hooks=HOOKS, level=level, options=("--job", level))
        report = run.report(run.path("store", level))
        expect_whole(report, 1)
        rows = {key: row for key, row in rows_of(report).items() if key[0] in LIBRARIES}
        wanted = wanted_of(load(out))
        check_counts(level, rows, wanted)
        if level in FULL:
            expect_quantiles(level, rows)
            check_times(level, rows, wanted)
        elif level == "count":
            expect_true("times at level count", all(row["total_ns"] is None and row["p99_ns"] is None for row in rows.values()))
        records = report["ranks"][0]["records"]
        if level == "record":
            made = sum(row["calls"] for row in report["calls"])
            expect("records", records, made)
        else:
            expect(f"{level}: records", records, 0)


if __name__ == "__main__":
    main(test)
