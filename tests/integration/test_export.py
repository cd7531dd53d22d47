#!/usr/bin/python3
"""Both exports of jobs at record level hold exactly the calls that their reports count, by readers that are not ours.

Calls that never return have no end to record: those that shapes leaves by longjmp, by the end of a thread or of the process
are counted, and are in no export.
"""
import json
import os

from harness import RANKS, expect, expect_true, main

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "export_check.py")


def check(run, job, left):
    """LEFT: how many calls of a role's function never returned."""
    store = run.path("store", job)
    report = run.report(store)
    expect(f"{job}: lost records", sum(row["lost_records"] for row in report["processes"]), 0)
    recorded = sum(row["records"] for row in report["processes"])
    expect_true(f"{job}: {recorded} records", recorded > 1000)
    files = {"report": run.path(f"{job}.json"), "perfetto": run.path(f"{job}.pftrace"), "chrome": run.path(f"{job}.trace.json")}
    for row in report["calls"]:
        never = left.get((row["role"], row["function"]), 0)
        expect_true(f"{job}: {row['calls']} calls of {row['function']}", row["calls"] >= never)
        row["calls"] -= never
    report["calls"] = [row for row in report["calls"] if row["calls"]]
    with open(files["report"], "w", encoding="utf-8") as stream:
        json.dump(report, stream)
    for form in ("perfetto", "chrome"):
        run.cli("export", store, "--format", form, "-o", files[form])
    print(f"{job}:", run.command("/usr/bin/python3", CHECK, *files.values()).stdout.strip())


def test(run):
    run.trace("mpirun", "-n", RANKS, run.workload("mpi_truth"), run.directory, hooks=["mpi", "libc"], level="record",
              options=("--job", "mpi"))
    check(run, "mpi", left={})
    shapes = os.path.join(run.build, "tests", "integration", "frame", "shapes")
    run.trace(shapes, hooks=["*:shape_*", "*:raise", "libc"], level="record", options=("--job", "shapes"))
    check(run, "shapes", left={("main", "shape_jump"): 1000, ("main", "shape_end_thread"): 10, ("main", "shape_callback"): 10,
                                ("helper", "shape_callback"): 1})


if __name__ == "__main__":
    main(test)
