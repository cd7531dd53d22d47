#!/usr/bin/python3
"""A private collector whose store is too small, too limited or removed: run says which, counts what is lost, and ends soon."""
import os
import re
import shutil
import subprocess
import sys

import loop
from harness import Run, expect, expect_true, main, wait_for
from test_full import PRIVATE, SKIPPED, private_mounts

# Much more records than the store takes; the process's pages hold them all, so that they wait there when it has ended.
ROUNDS = 20000
LIMIT_KB, STORE_KB = 400, 500


def run_loop(run: Run, job, store, limit="unlimited"):
    """The loop below hookcli run, whose files may have LIMIT KiB; those of the loop have no limit. Returns what run said."""
    words = f"ulimit -S -f {limit}; exec \"$@\""
    done = run.command("bash", "-c", words, "bash", run.binary("hookcli"), "run", "--store", store, "--job", job, *loop.hook_options(),
                       "--", "bash", "-c", "ulimit -S -f unlimited; exec \"$@\"", "bash", run.workload("calls_truth"), "--loop",
                       run.path(f"{job}.progress"), ROUNDS)
    return done.stderr


def expect_no_collector(run: Run, what):
    wait_for(f"{what}: the collector to end", lambda: not [name for name in os.listdir(run.run_directory) if name.startswith("job-")], timeout=60)


def check_lost(run: Run, job, store, said, reason):
    """Every call is stored, or lost: so says run, and the report when all is over."""
    expect_no_collector(run, job)
    report = run.report(os.path.join(store, job))
    made = sum(row["calls"] for row in report["calls"])
    stored = sum(len(calls) for calls in loop.events_of(run, os.path.join(store, job)).values())
    lost = re.search(r"! (\d+) of (\d+) records lost.*\(not stored: (.*)\)", said)
    expect_true(f"{job}: lost records in {said}", lost)
    expect(f"{job}: lost, all, why, with {stored} stored", lost.groups(), (str(made - stored), str(made), reason))
    expect(f"{job}: lost in the report", sum(rank["lost_records"] for rank in report["ranks"]), made - stored)
    expect_true(f"{job}: {stored} stored", 0 < stored < made)
    expect_true(f"{job}: no advice that does not help in {said}", reason == "No space left on device" or "room" not in said)


def check_small(run: Run):
    store = run.path("small")
    os.mkdir(store)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={STORE_KB}k", "tmpfs", store], check=True)
    try:
        check_lost(run, "small", store, run_loop(run, "small", store), "No space left on device")
    finally:
        subprocess.run(["umount", "-l", store], check=True)


def check_limited(run: Run):
    """A limit of file sizes that lets the agent work, and cuts what the collector stores."""
    said = run_loop(run, "limited", run.path("limited"), LIMIT_KB)
    check_lost(run, "limited", run.path("limited"), said, "ulimit -f allows no larger file")


def check_removed(run: Run):
    store = run.path("removed")
    words = f"{run.workload('calls_truth')} --loop {run.path('progress')} 100; mv {store} {store}.gone; rm -rf {store}.gone; exit 7"
    done = run.cli("run", "--store", store, *loop.hook_options(), "--", "sh", "-c", words, check=False)
    expect("removed: status", done.returncode, 7)
    lines = done.stderr.splitlines()
    expect_true(f"removed: {lines}", len(lines) == 1 and "was removed while the job ran" in lines[0] and "room" not in lines[0])
    expect_no_collector(run, "removed")
    shutil.rmtree(store, ignore_errors=True)


def test(run):
    check_limited(run)
    check_removed(run)
    check_small(run)


if __name__ == "__main__":
    if PRIVATE in sys.argv:
        sys.argv.remove(PRIVATE)
        main(test)
    else:
        unshare = private_mounts()
        if not unshare:
            sys.exit(SKIPPED)
        os.execvp(unshare[0], [*unshare, sys.executable, *sys.argv, PRIVATE])
