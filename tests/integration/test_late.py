#!/usr/bin/env python3
"""The agent is opened by a process that runs already, and is started and stopped there again and again.

Usage: test_late.py BUILD_DIR ROUNDS. Four threads call functions all the time, and check their results; one waits in a call while the
agent stops. Each round is a job with as many marked calls as the program made, and no slot leads into the agent afterwards.
"""
import os
import sys

import harness
from harness import expect, expect_true

THREADS = 4
CALLS = 1000


def program(run):
    return os.path.join(run.build, "tests", "integration", "late", "late_rounds")


def closed(run, job):
    """The report of JOB once its collector has closed it."""
    def look():
        done = run.cli("report", job, "--format", "json", check=False)
        report = harness.json.loads(done.stdout) if done.returncode == 0 else None
        return report if report and all(rank["exit"]["kind"] != "running" for rank in report["ranks"]) else None
    return harness.wait_for(f"{job} to end", look)


def check_rounds(run, rounds, level):
    run.command(program(run), run.agent(), rounds, THREADS, "HOOK_HOOKS=*:late_*", f"HOOK_LEVEL={level}")
    for number in range(1, rounds + 1):
        report = closed(run, f"round-{number}")
        rows = {function: row for (_, _, function), row in harness.calls_of(report).items()}
        expect(f"{level}, round {number}: marked calls", rows["late_marked"]["calls"], THREADS * CALLS)
        expect_true(f"{level}, round {number}: other calls", rows["late_work"]["calls"] >= THREADS and rows["late_many"]["calls"] >= THREADS)
        expect(f"{level}, round {number}: end", [rank["exit"]["kind"] for rank in report["ranks"]], ["detached"])
        # A thread may be in the midst of a call when tracing ends: its record comes too late.
        expect_true(f"{level}, round {number}: lost records", report["ranks"][0]["lost_records"] <= THREADS)


def check_refusals(run):
    for settings, reason in ((["HOOK_DISABLE=1"], "HOOK_DISABLE is set"), (["HOOK_RUN_DIR=relative"], "HOOK_RUN_DIR is not an absolute path")):
        done = run.command(program(run), run.agent(), 1, 1, *settings, check=False, timeout=60)
        expect_true(f"{settings}: {done.stderr!r}", done.returncode == 1 and reason in done.stderr)


def check_second_copy(run):
    """A copy of the agent under another name finds the preloaded one, and steps aside."""
    copy = run.path("libhookagent-copy.so")
    with open(run.agent(), "rb") as agent, open(copy, "wb") as to:
        to.write(agent.read())
    done = run.command(program(run), copy, 1, 1, env={"LD_PRELOAD": run.agent()}, check=False, timeout=60)
    expect_true(f"a second copy: {done.stderr!r}", done.returncode == 1 and "another copy of the agent traces this process" in done.stderr)


def test(run, rounds):
    run.start_collector()
    check_rounds(run, int(rounds), "record")
    run.collectors[0].terminate()
    run.collectors[0].wait()
    check_refusals(run)
    check_second_copy(run)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(2)
    harness.main(test)
