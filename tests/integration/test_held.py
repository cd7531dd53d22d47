#!/usr/bin/python3
"""The agent's lock is held by a thread that does not exist any more: calls that need it for a new level do not wait for ever; such calls
are made, and counted as untracked.
"""
import os
import subprocess
import sys

import loop
from harness import TIMEOUT, expect, expect_true, main, wait_for

SKIPPED = 77
SLEEPS = 50  # of a call that waits in vain, and whatever else the process sleeps for


def lock_of(agent):
    """Where the agent has the function that takes its lock, in hexadecimal; None in a build without symbols."""
    lines = subprocess.run(["nm", agent], check=False, capture_output=True, text=True).stdout.splitlines()
    return next((line.split()[0] for line in lines if line.endswith(" hk_process_lock")), None)


def test(run):
    offset = lock_of(run.agent())
    if not offset:
        print("skipped: the agent has no symbols")
        sys.exit(SKIPPED)
    collector = run.start_collector()
    program = os.path.join(run.build, "tests", "integration", "life", "held")
    stop = run.path("stop")
    env = {**loop.agent_environment(run, "held", level="count"), "HOOK_HOOKS": "*:getppid"}
    with open(run.path("out"), "wb") as out:
        process = subprocess.Popen([program, offset, stop], env=run.environment(**env), cwd=run.directory, stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=out)
    try:
        wait_for("the job", lambda: run.cli("report", "held", check=False).returncode == 0 and run.report("held")["calls"])
        run.cli("ctl", "level", "*:getppid=time", "--job", "held")
        wait_for("calls that are passed on", lambda: run.report("held")["job"]["calls_untracked"] > 0)
        with open(stop, "w", encoding="ascii"):
            pass
        expect("exit", process.wait(TIMEOUT), 0)
    finally:
        process.kill()
        process.wait()
    with open(run.path("out"), encoding="ascii") as out:
        made, slept = map(int, out.read().split())
    report = loop.closed_report(run, "held")
    counted = sum(row["calls"] for row in report["calls"])
    expect("calls counted and untracked", counted + report["job"]["calls_untracked"], made)
    # Thousands of threads may wait at once: polling threads would take the processor from the holder of the lock.
    expect_true(f"slept {slept} times", slept <= SLEEPS * (report["job"]["calls_untracked"] + 1))
    expect_true(f"the collector is there: {collector.poll()}", collector.poll() is None)


if __name__ == "__main__":
    main(test)
