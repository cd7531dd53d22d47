#!/usr/bin/python3
"""What whole jobs take longer under `hookcli run` with its defaults: bench_jobs.py BUILD_DIR [PAIRS].

Traced and untraced runs take turns, and which comes first changes from pair to pair. The wall time is the whole command's: start
of the collector and the merged report included. The difference is the median over pairs, its interval a bootstrap of that median
with 95 %. Within noise is an interval that holds 0, if it is narrow enough to have found something. Exit status 77 if no job can
be run.
"""
import os
import random
import shutil
import statistics
import sys
import time

from jobs import DEFAULTS, JOBS, installed

from harness import Run, expect, expect_true, main

LEAST_PAIRS = 10
RESAMPLES = 10000
# A wider interval than this says that the machine was too busy, nothing more.
WIDEST = 0.10
TIMEOUT = 600


def seconds(action):
    began = time.monotonic()
    action()
    return time.monotonic() - began


def pair(run, job, turn):
    """(untraced, traced) s."""
    command = (*job.launcher, *job.program, job.steps)
    forms = [lambda: run.command(*command, env=DEFAULTS, timeout=TIMEOUT),
             lambda: run.trace(*command, options=("--job", job.name), env=DEFAULTS, timeout=TIMEOUT)]
    first = turn % 2
    took = {form: seconds(forms[form]) for form in (first, 1 - first)}
    calls = sum(row["calls"] for row in run.report(run.path("store", job.name))["calls"])
    expect_true(f"{job.name}: calls were traced", calls > 0)
    shutil.rmtree(run.path("store"))
    return took[0], took[1]


def interval(values):
    """Of the median, with 95 %. The same for the same values."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return medians[RESAMPLES // 40], medians[-1 - RESAMPLES // 40]


def check(run, job, pairs):
    """Whether the difference is within noise; prints it. The first pair only warms the caches."""
    took = [pair(run, job, turn) for turn in range(-1, pairs)][1:]
    differences = [traced / untraced - 1 for untraced, traced in took]
    low, high = interval(differences)
    untraced, traced = (statistics.median(column) for column in zip(*took))
    met = low <= 0 and high - low <= WIDEST
    verdict = f"MISSED by {low * 100:.1f} %" if low > 0 else "within noise: met" if met else "UNDECIDED: too noisy, more pairs may help"
    print(f"{job.name}: untraced {untraced:.2f} s, traced {traced:.2f} s; {statistics.median(differences) * 100:+.1f} % "
          f"[{low * 100:+.1f}, {high * 100:+.1f}] with 95 %, {pairs} pairs   {verdict}", flush=True)
    return met


def test(run: Run, pairs="12"):
    expect_true(f"at least {LEAST_PAIRS} pairs", int(pairs) >= LEAST_PAIRS)
    jobs = [job for job in JOBS if installed(job)]
    if not jobs:
        sys.exit(77)
    expect("within noise", all([check(run, job, int(pairs)) for job in jobs]), True)


if __name__ == "__main__":
    main(test)
