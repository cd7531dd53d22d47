#!/usr/bin/python3
"""Threads that allocate and free across each other: calls per library, and live and peak bytes to the byte."""
import os

from harness import RANKS, expect, expect_true, main
from truth import expect_calls, expect_whole, load, rows_of, wanted_of

KEYS = ("allocs", "frees", "live_bytes", "peak_bytes", "at_peak_bytes")
BINS = 256


def check_memory(what, report, rank, truth):
    rows = {}
    for row in report["memory"]:
        if (row["rank"], row["role"]) == (rank, "main"):
            key = (row["kind"], os.path.basename(row["library"]))
            expect_true(f"{what}: two rows for {key}", key not in rows)
            rows[key] = row
            expect(f"{what}: device", row["device"], -1)
            # Traced from the start and nothing lost: the peak is a number, not a range.
            expect(f"{what}: range of {key}", (row["peak_low"], row["peak_high"]), (row["peak_bytes"],) * 2)
            at_ns = row["peak_time_ns"]
            expect_true(f"{what}: the peak was at {at_ns} ns", 0 <= at_ns <= report["ranks"][rank]["end_ns"])
    heap = truth["memory"]["heap"]
    expect(f"{what}: libraries with a heap", sorted(name for kind, name in rows if kind == "heap"), sorted(heap))
    for library, wanted in heap.items():
        expect(f"{what}: heap of {library}", {key: rows["heap", library][key] for key in KEYS}, wanted)
    mapped = truth["memory"]["mapped"]["*"]
    for library in ("*", "heap_truth"):
        expect(f"{what}: mappings of {library}", {key: rows["map", library][key] for key in mapped}, mapped)
    check_series(what, report, rank, {kind: rows[kind, "*"] for kind in ("heap", "map")})


def check_series(what, report, rank, wanted):
    """Live bytes over time of each kind: from the first allocation to the end, through the peak, to what is live at last."""
    series = {row["kind"]: row for row in report["memory_series"] if (row["rank"], row["role"]) == (rank, "main")}
    expect(f"{what}: kinds over time", sorted(series), sorted(wanted))
    for kind, row in series.items():
        expect(f"{what}: bins of {kind}", len(row["last_bytes"]), len(row["max_bytes"]))
        expect_true(f"{what}: {len(row['max_bytes'])} bins of {kind}", 1 < len(row["max_bytes"]) <= BINS)
        expect(f"{what}: highest bin of {kind}", max(row["max_bytes"]), wanted[kind]["peak_bytes"])
        expect(f"{what}: last of {kind}", row["last_bytes"][-1], wanted[kind]["live_bytes"])
        peak_bin = (wanted[kind]["peak_time_ns"] - row["start_ns"]) // row["width_ns"]
        # The boundaries of bins are rounded to ns on the way.
        expect_true(f"{what}: bin {peak_bin} has the peak of {kind}",
                    wanted[kind]["peak_bytes"] in row["max_bytes"][max(peak_bin - 1, 0):peak_bin + 2])
        end_ns = row["start_ns"] + row["width_ns"] * (len(row["max_bytes"]) - 1)
        expect_true(f"{what}: {kind} ends at {end_ns} of {row['end_ns']} ns", 0 <= row["start_ns"] < end_ns <= row["end_ns"])
        # What a bin begins with is the last of the one before.
        before = 0
        for most, last in zip(row["max_bytes"], row["last_bytes"]):
            expect_true(f"{what}: {kind}: {before}, at most {most}, {last}", most >= max(before, last))
            before = last


def check(run, job, truths):
    report = run.report(run.path("store", job))
    expect_whole(report, len(truths))
    for rank, path in enumerate(truths):
        truth = load(path)
        expect_calls(f"{job}: rank {rank}", rows_of(report, rank, domains={"memory"}), wanted_of(truth), keys=("calls", "errors"))
        check_memory(f"{job}: rank {rank}", report, rank, truth)


def test(run):
    run.trace(run.workload("heap_truth"), run.path("alone.json"), hooks=["libc"], options=("--job", "alone"))
    check(run, "alone", [run.path("alone.json")])
    # Ranks of a job each have their own books.
    command = f"exec {run.workload('heap_truth')} {run.path('rank-')}$OMPI_COMM_WORLD_RANK.json"
    run.trace("mpirun", "-n", RANKS, "/bin/sh", "-c", command, hooks=["libc"], options=("--job", "ranks"))
    check(run, "ranks", [run.path(f"rank-{rank}.json") for rank in range(RANKS)])


if __name__ == "__main__":
    main(test)
