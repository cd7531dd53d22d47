#!/usr/bin/python3
"""Threads that allocate and free across each other: calls per library, and live and peak bytes to the byte."""
import os

from harness import expect, expect_true, main
from truth import expect_calls, expect_whole, load, rows_of, wanted_of

KEYS = ("allocs", "frees", "live_bytes", "peak_bytes")


def check_memory(report, truth):
    rows = {(row["kind"], os.path.basename(row["library"])): row for row in report["memory"]}
    expect("memory rows", len(rows), len(report["memory"]))
    for row in report["memory"]:
        expect("whose", (row["rank"], row["role"], row["device"]), (0, "main", -1))
        # Traced from the start and nothing lost: the peak is a number, not a range.
        expect(f"range of {row['kind']} {row['library']}", (row["peak_low"], row["peak_high"]), (row["peak_bytes"],) * 2)
        expect_true(f"time of the peak {row['peak_time_ns']}", 0 <= row["peak_time_ns"] <= report["ranks"][0]["end_ns"])
    heap = truth["memory"]["heap"]
    expect("libraries with a heap", sorted(name for kind, name in rows if kind == "heap"), sorted(heap))
    for library, wanted in heap.items():
        expect(f"heap of {library}", {key: rows["heap", library][key] for key in KEYS}, wanted)
    mapped = truth["memory"]["mapped"]["*"]
    for library in ("*", "heap_truth"):
        expect(f"mappings of {library}", {key: rows["map", library][key] for key in mapped}, mapped)


def check(run, level):
    truth_file = run.path(f"{level}.json")
    run.trace(run.workload("heap_truth"), truth_file, hooks=["libc"], level=level, options=("--job", level))
    report = run.report(run.path("store", level))
    truth = load(truth_file)
    expect_whole(report, 1)
    expect_calls(level, rows_of(report, domains={"memory"}), wanted_of(truth), keys=("calls", "errors"))
    check_memory(report, truth)


def test(run):
    check(run, "record")


if __name__ == "__main__":
    main(test)
