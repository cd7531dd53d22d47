#!/usr/bin/python3
"""How many of a rank's instructions are the agent's: bench_instructions.py BUILD_DIR [JOB...], by default all of jobs.py.

Whole jobs with default settings, every rank under callgrind, which counts instructions by object file. The thunks lie in the
agent's own text, so its object is all that tracing executes in a rank. Exit status 77 if valgrind or every job is missing.
"""
import glob
import os
import re
import shutil
import sys

from jobs import DEFAULTS, JOBS, installed

from harness import RANKS, Run, expect, expect_true, main

LIMIT = 0.02
AGENT = "libhookagent.so"
TIMEOUT = 3000
NAME = re.compile(r"(c?)ob=\((\d+)\)(?: (.*))?")
COST = re.compile(r"[0-9+*-]")


def instructions(path):
    """{object: instructions executed in it} of one of callgrind's files: the costs of its lines, those of calls, which say what
    the callee took, left out."""
    names, counts, current, after_call = {}, {}, None, False
    with open(path, encoding="utf-8", errors="replace") as stream:
        for line in stream:
            named = NAME.match(line)
            if named:
                called, number, name = named.groups()
                names.setdefault(number, name)
                current = current if called else number
            elif line.startswith("calls="):
                after_call = True
            elif COST.match(line):
                if not after_call:
                    counts[current] = counts.get(current, 0) + int(line.split()[-1])
                after_call = False
    return {names[number].strip(): count for number, count in counts.items()}


def total_said(path):
    with open(path, encoding="utf-8", errors="replace") as stream:
        return next(int(line.split()[1]) for line in stream if line.startswith(("summary:", "totals:")))


def is_rank(path, job):
    with open(path, encoding="utf-8", errors="replace") as stream:
        return any(job.rank in line for line in stream if line.startswith("cmd:"))


def check(run, job):
    """Whether the agent keeps to its share in every rank; prints it."""
    valgrind = ("valgrind", "-q", "--tool=callgrind", "--trace-children=yes", f"--callgrind-out-file={run.path(job.name)}.%p")
    program = (*job.program, job.steps)
    # A launcher of ours goes under it with its ranks; mpirun starts each rank's own.
    command = (*job.launcher, *valgrind, *program) if job.launcher[0] == "mpirun" else (*valgrind, *job.launcher, *program)
    run.trace(*command, options=("-q", "--job", job.name), env=DEFAULTS, timeout=TIMEOUT)
    report = run.report(run.path("store", job.name))
    shares = []
    for path in sorted(glob.glob(run.path(f"{job.name}.*"))):
        if is_rank(path, job):
            counts = instructions(path)
            total = sum(counts.values())
            expect(f"{os.path.basename(path)}: instructions", total, total_said(path))
            own = sum(count for name, count in counts.items() if os.path.basename(name) == AGENT)
            expect_true("the agent was there", own > 0)
            shares.append(own / total)
            print(f"{job.name}: {own / 1e6:.1f} of {total / 1e6:.0f} M instructions are the agent's: {shares[-1] * 100:.2f} %")
    expect(f"{job.name}: ranks under callgrind", len(shares), RANKS)
    expect(f"{job.name}: ranks traced", len({row["rank"] for row in report["calls"] if row["role"] == "main"}), RANKS)
    worst = max(shares)
    verdict = "met" if worst <= LIMIT else f"MISSED by {(worst - LIMIT) * 100:.2f} points"
    print(f"{job.name}: at most {worst * 100:.2f} %   limit {LIMIT * 100:.0f} %  {verdict}", flush=True)
    return worst <= LIMIT


def test(run: Run, *names):
    jobs = [job for job in JOBS if (not names or job.name in names) and installed(job)]
    if not jobs or not shutil.which("valgrind"):
        print("skipped: valgrind or every job is missing; deploy/install.sh --long installs them")
        sys.exit(77)
    expect("within the limit", all([check(run, job) for job in jobs]), True)


if __name__ == "__main__":
    main(test)
