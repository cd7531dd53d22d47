#!/usr/bin/python3
"""A collector is killed while it sums up what a process does when: its successor continues, and each call is in one bin.

test_activity.py BUILD_DIR [N]: also before each of the first N file operations. The truth is the list of calls that the program was asked for."""
import concurrent.futures
import glob
import json
import os
import sys

import loop
from harness import Failure, Run, end_process, expect, expect_true, main, wait_for
from test_timeline import overview_of
from told import Told, calls_of

MOST = 40
AT_ONCE = 4
TURNS = 5
# More records than a ring of a MiB holds: some are lost, and then the page shows what the collector saw.
STORM = 100_000
FEW = 1000
# A process that ends just when there is no collector leaves what it has for the next one.
SMALL = {"HOOK_SEGMENT_BYTES": str(1 << 20), "HOOK_KEEP_SEGMENT": "1"}


def seen_calls(run, job):
    done = run.cli("report", job, "--format", "json", check=False)
    return calls_of(json.loads(done.stdout), "told_one") if done.returncode == 0 else 0


def expect_bins(run, job, made):
    report = loop.closed_report(run, job)
    expect(f"{job}: calls", calls_of(report, "told_one"), made)
    expect_true(f"{job}: records are lost", report["ranks"][0]["lost_records"] > 0)
    rank, = overview_of(run, job)["ranks"]
    expect(f"{job}: seen", rank["seen"], True)
    expect(f"{job}: calls in bins", sum(rank["calls"]), made)


def check_turns(run: Run):
    """Killed again and again, and away for a while."""
    with Told(run, "turns", **SMALL) as told:
        for turn in range(TURNS):
            told.call("one", STORM)
            collector = run.start_collector()
            wait_for("all calls to be counted", lambda made=(turn + 1) * STORM + turn * FEW: seen_calls(run, "turns") == made)
            told.call("one", FEW)
            end_process(collector)
    collector = run.start_collector()
    expect_bins(run, "turns", TURNS * (STORM + FEW))
    end_process(collector)


def check_killed(run: Run, number):
    """Killed before its file operation NUMBER; returns whether it came to that."""
    faults = os.path.join(run.build, "tests/integration/faults/libfaults.so")
    with Told(run, "killed", **SMALL) as told:
        told.call("one", STORM)
        try:
            collector = run.start_collector(LD_PRELOAD=faults, FAULT_AT=str(number), FAULT_MARK=run.path("met"))
        except Failure:
            run.collectors[-1].wait()
            collector = run.start_collector()
        told.call("one", FEW)

    def closed():
        nonlocal collector
        collector = collector if collector.poll() is None else run.start_collector()
        # One that died before it had saved anything has left an empty directory of that name.
        return next((path for path in glob.glob(run.path("store", "killed*")) if os.path.exists(f"{path}/summary.txt")), None)
    expect_bins(run, wait_for("the job to be closed", closed), STORM + FEW)
    return os.path.exists(run.path("met"))


def run_killed(build, number):
    try:
        with Run(build) as run:
            return check_killed(run, number), None
    except Failure as failure:
        return True, f"killed at {number}: {failure}"


def test(run, most=MOST):
    check_turns(run)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        done = list(pool.map(lambda number: run_killed(run.build, number), range(1, int(most) + 1)))
    failures = [failure for _, failure in done if failure]
    expect_true("\n".join(failures), not failures)
    print(f"killed before {sum(met for met, _ in done)} file operations")


if __name__ == "__main__":
    main(test)
