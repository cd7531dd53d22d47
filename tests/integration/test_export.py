#!/usr/bin/python3
"""Both exports of jobs at record level hold exactly the calls that their reports count, by readers that are not ours.

Calls that shapes leaves by longjmp, by the end of a thread or of the process are in the timeline too, with an end that is when
this was noticed: their time is in no statistics, so it is not compared.
"""
import json
import os

from harness import RANKS, expect, expect_true, main

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "export_check.py")


def check(run, job, left=(), least=1000):
    """LEFT: functions some of whose calls never returned."""
    store = run.path("store", job)
    report = run.report(store)
    expect(f"{job}: lost records", sum(row["lost_records"] for row in report["processes"]), 0)
    recorded = sum(row["records"] for row in report["processes"])
    expect_true(f"{job}: {recorded} records", recorded > least)
    files = {"report": run.path(f"{job}.json"), "perfetto": run.path(f"{job}.pftrace"), "chrome": run.path(f"{job}.trace.json")}
    # Marks and counters are no calls.
    report["calls"] = [row for row in report["calls"] if row["domain"] != "user" or row["total_ns"] is not None]
    for row in report["calls"]:
        if row["function"] in left:
            row["total_ns"] = None
    with open(files["report"], "w", encoding="utf-8") as stream:
        json.dump(report, stream)
    for form in ("perfetto", "chrome"):
        run.cli("export", store, "--format", form, "-o", files[form])
    print(f"{job}:", run.command("/usr/bin/python3", CHECK, *files.values()).stdout.strip())


def test(run):
    run.trace("mpirun", "-n", RANKS, run.workload("mpi_truth"), run.directory, hooks=["mpi", "libc"], level="record",
              options=("--job", "mpi"))
    check(run, "mpi")
    run.trace("mpirun", "-n", RANKS, run.workload("simcuda/cuda_steps"), hooks=["mpi", "cuda"], level="record",
              options=("--job", "steps"))
    check(run, "steps", least=500)
    shapes = os.path.join(run.build, "tests", "integration", "frame", "shapes")
    run.trace(shapes, hooks=["*:shape_*", "*:raise", "libc"], level="record", options=("--job", "shapes"))
    check(run, "shapes", left=("shape_jump", "shape_end_thread", "shape_callback"))


if __name__ == "__main__":
    main(test)
