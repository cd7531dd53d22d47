#!/usr/bin/python3
"""What the collector takes of a core while a job idles, records a little and records much: bench_collector.py BUILD_DIR.

A process that is traced by a running collector calls one recorded function so many times a second, for a short and for a longer time:
what a job costs but for its length is in both, and not in the difference. The process computes between its calls.
"""
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))

from harness import Failure, Run, expect, main, total_calls  # pylint: disable=wrong-import-position

SECONDS = (2, 22)
# Records a second, most of a core that the collector may take.
RATES = ((0, 0.005), (10000, 0.005), (1000000, 0.015))
# What the machine of the last limit copies in a second. A slower one may take so many times longer.
COPY_BYTES, COPIED_PER_S = 36 << 20, 10.2e9


def cpu_s(pid):
    """Processor time of a process, of all its threads, to the ns."""
    return time.clock_gettime(~pid << 3 | 2)  # the clock that clock_getcpuclockid names


def slowness():
    """How many times longer a copy takes here than on the machine of the last limit, at least 1."""
    source, copy, took = bytearray(b"1" * COPY_BYTES), memoryview(bytearray(b"2" * COPY_BYTES)), []
    for _ in range(9):
        start = time.thread_time()
        copy[:] = source
        took.append(time.thread_time() - start)
    return max(1, statistics.median(took) * COPIED_PER_S / COPY_BYTES)


def record(run, collector, rate, seconds):
    """Processor time the collector takes for a job of SECONDS, its start and end included."""
    job, before = f"job-{rate}-{seconds}", cpu_s(collector.pid)
    command = [os.path.join(run.build, "tests", "bench", "bench_loss"), 1, rate * seconds, rate] if rate else ["sleep", seconds]
    run.cli("run", "-q", "--job", job, "--budget", "off", "--hooks", os.path.join(HERE, "call.hooks"), "--", *command)
    took = cpu_s(collector.pid) - before
    if rate:
        report = run.report(job)
        expect("calls", total_calls(report)[0, "bench_record"], rate * seconds)
        # Cheap because it is stored, not because it is not.
        expect("records", (report["ranks"][0]["records"], report["ranks"][0]["lost_records"]), (rate * seconds, 0))
    return took


def test(run: Run):
    collector, missed, slower = run.start_collector(), 0, slowness()
    print(f"memcpy takes {slower:.1f} x the time that the last limit is made for, and so may the collector")
    for rate, limit in RATES[:-1] + ((RATES[-1][0], RATES[-1][1] * slower),):
        short, long = (record(run, collector, rate, seconds) for seconds in SECONDS)
        share = (long - short) / (SECONDS[1] - SECONDS[0])
        each = f", {1e9 * share / rate:.0f} ns a record" if rate else ""
        print(f"{rate} records/s: {100 * share:.2f} % of a core{each}   limit {100 * limit:.1f} %  {'met' if share <= limit else 'MISSED'}",
              flush=True)
        missed += share > limit
    if missed:
        raise Failure(f"{missed} of the limits missed")


main(test)
