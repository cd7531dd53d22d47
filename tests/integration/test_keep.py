#!/usr/bin/python3
"""What --keep leaves of a job: the newest records, whatever is killed meanwhile, and the truth about the others."""
import json
import os
import signal
import time

import loop
from harness import TIMEOUT, Run, end_process, expect, expect_true, main

ROUNDS = 40_000
KEPT = 150 << 10


def shed_marks(run, job):
    """Records that the Chrome export says were given up."""
    out = run.path("marks.json")
    run.cli("export", job, "--format", "chrome", "-o", out)
    with open(out, encoding="utf-8") as stream:
        events = json.load(stream)["traceEvents"]
    os.unlink(out)
    return sum(event["args"]["shed"] for event in events if event["name"] == "shed records")


def held(run, job):
    """Bytes that the chunk files of JOB take."""
    directory = run.path("store", job)
    return sum(os.stat(os.path.join(directory, name)).st_blocks * 512 for name in os.listdir(directory) if name.endswith(".chunks"))


def check_truth(run, job, rounds):
    """Counts are exact, every record is in the export or said to be shed; how many were shed."""
    report = loop.closed_report(run, job)
    for function in sorted(loop.FUNCTIONS):
        calls = sum(row["calls"] for row in report["calls"] if row["function"] == function
                    and os.path.basename(row["library"]) == loop.LIBRARY)
        expect(f"{job}: {function}", calls, loop.THREADS * rounds)
    rank = report["ranks"][0]
    made = sum(row["calls"] for row in report["calls"])
    events = loop.events_of(run, job)
    kept = sum(len(calls) for calls in events.values())
    expect(f"{job}: lost", rank["lost_records"], 0)
    expect(f"{job}: records", rank["records"], made)
    expect(f"{job}: kept and shed", kept + rank["shed_records"], made)
    expect(f"{job}: marks", shed_marks(run, job), rank["shed_records"])
    loop.expect_once(events)
    expect(f"{job}: why", report["job"]["store_error"], "")
    return rank["shed_records"], kept


def check_window(run: Run):
    """A window of bytes, with a collector that is killed again and again."""
    job, path = "window", run.path("window")
    collector = run.start_collector("--keep", str(KEPT))
    process = loop.start(run, run.workload("calls_truth"), "--loop", path, ROUNDS,
                         env={**loop.agent_environment(run, job), "HOOK_ON_FULL": "wait:60000"})
    for part in range(1, 5):
        loop.wait_rounds(path, part * ROUNDS // 5)
        end_process(collector, signal.SIGKILL)
        collector = run.start_collector("--keep", str(KEPT))
    expect("window: status", process.wait(TIMEOUT), 0)
    shed, kept = check_truth(run, job, ROUNDS)
    expect_true(f"window: {shed} shed, {kept} kept", shed > 0 and kept > 0)
    # A chunk more at the most, and the blocks that tombstones lie in.
    expect_true(f"window: {held(run, job)} bytes", held(run, job) <= KEPT + (1 << 20))
    expect_true("the summary says so", "given up (--keep)" in run.cli("report", job).stdout)
    expect_true("the log says so", "shed " in run.cli("log", job).stdout)
    names = os.listdir(run.path("store", job))
    expect("left over", [name for name in names if name.endswith((".ledger", ".new")) or name == "reserve"], [])
    end_process(collector)


def check_all(run: Run):
    """Everything is kept when it is asked for, and by `run` too."""
    run.cli("run", "-q", "--keep", "all", *loop.hook_options(), "--store", run.path("store"), "--job", "all", "--",
            run.workload("calls_truth"), "--loop", run.path("all.out"), 1000)
    expect("all: shed", check_truth(run, run.path("store", "all"), 1000)[0], 0)


def check_step(run: Run):
    """A window of an hour, and a wall clock that steps two hours ahead in mid-job: nothing is given up, and the job is no longer."""
    job, path, step = "step", run.path("step"), run.path("clock-step")
    collector = run.start_collector("--keep", "3600s", LD_PRELOAD=run.workload("libclock_skew.so"), CLOCK_STEP=step)
    began = time.monotonic()
    process = loop.start(run, run.workload("calls_truth"), "--loop", path, ROUNDS,
                         env={**loop.agent_environment(run, job), "HOOK_ON_FULL": "wait:60000"})
    loop.wait_rounds(path, ROUNDS // 2)
    with open(step + ".new", "w", encoding="ascii") as stream:
        stream.write(str(7200 * 10**9))
    os.rename(step + ".new", step)
    expect("step: status", process.wait(TIMEOUT), 0)
    shed, _ = check_truth(run, job, ROUNDS)
    expect("step: shed", shed, 0)
    duration = loop.closed_report(run, job)["job"]["duration_ns"] / 1e9
    expect_true(f"step: duration {duration} s", duration <= time.monotonic() - began)
    end_process(collector)


def check_wrong(run: Run):
    """What is no window is refused."""
    for words in ("0s", "1h", "-1", "10GB"):
        done = run.command(run.binary("hookcollector"), "--store", run.path("store"), "--keep", words, check=False)
        expect(f"--keep {words}", done.returncode, 2)


def test(run):
    check_window(run)
    check_all(run)
    check_step(run)
    check_wrong(run)


main(test)
