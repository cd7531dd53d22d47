#!/usr/bin/python3
"""One job after another under one collector for a few minutes: every count right, nothing lost, and no memory that only grows."""
import time

import loop
from harness import TIMEOUT, expect, expect_true, main

SECONDS = 120
ROUNDS = 4000
MEBIBYTE = 1 << 20


def memory_of(process):
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as stream:
        return next(int(line.split()[1]) * 1024 for line in stream if line.startswith("VmRSS:"))


def test(run):
    collector = run.start_collector()
    end, jobs, first = time.monotonic() + SECONDS, 0, None
    while time.monotonic() < end:
        job, path = f"soak-{jobs}", run.path(f"soak-{jobs}")
        started = loop.start(run, run.workload("calls_truth"), "--loop", path, ROUNDS, env=loop.agent_environment(run, job))
        expect(f"exit of {job}", started.wait(TIMEOUT), 0)
        report = loop.closed_report(run, job)
        expect(f"{job}: lost", report["ranks"][0]["lost_records"], 0)
        loop.expect_loop(job, report, loop.rows(path))
        jobs += 1
        # The first jobs fill caches and buffers that stay.
        first = memory_of(collector) if jobs == 3 else first
    expect_true(f"only {jobs} jobs in {SECONDS} s", first)
    grown = memory_of(collector) - first
    expect_true(f"the collector grew by {grown} bytes over {jobs} jobs", grown < 16 * MEBIBYTE)


if __name__ == "__main__":
    main(test)
