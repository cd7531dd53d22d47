#!/usr/bin/python3
"""A job without MPI: the processes of a pool are rows of their own, and their calls belong to the totals; each is named as it was invoked.

The truth: every worker counts the calls that it makes.
"""
import json
import os
import shutil
import sys

from harness import Run, expect, expect_true, main

WORKERS, CALLS = 4, 2500
POOL = f"""
import os, sys
for worker in range({WORKERS}):
    if os.fork() == 0:
        for _ in range({CALLS} + worker): os.getppid()
        os._exit(0)
for worker in range({WORKERS}): os.wait()
"""
ALL = sum(CALLS + worker for worker in range(WORKERS))


def rows_of(text, head):
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith(head))
    return [line for line in lines[first + 1:lines.index("", first) if "" in lines[first:] else len(lines)]]


def check_pool(run):
    done = run.trace(sys.executable, "-c", POOL, hooks=["*:getppid"], store="pool", options=("--job", "pool"))
    job = run.path("pool", "pool")
    calls = next(line.split() for line in done.stderr.splitlines() if line.startswith("getppid "))
    expect_true(f"the summary has all {ALL} calls: {calls}", str(ALL) in calls)
    report = run.report(job)
    helpers = [row for row in report["processes"] if row["role"] == "helper"]
    expect("calls of each worker", sorted(row["calls"] for row in helpers), [CALLS + worker for worker in range(WORKERS)])
    expect_true("time of each", all(0 < row["inside_ns"] for row in helpers))
    # What a rank's own view says is its main process's.
    expect("calls of rank 0 itself", sum(row["calls"] for row in report["calls"] if row["role"] == "main"), 0)
    text = run.cli("report", job, "--by", "process").stdout
    rows = [line.split() for line in rows_of(text, "process ") if "getppid" in line]
    for row in helpers:
        mine = [line for line in rows if str(row["pid"]) in line]
        expect_true(f"one row of {row['pid']} with its calls: {mine}", len(mine) == 1 and str(row["calls"]) in mine[0])
    top = run.cli("top", job, "--once").stdout
    expect_true(f"helpers in top: {top}", any(line.startswith("getppid ") for line in top.splitlines()))
    top = run.cli("top", job, "--once", "--view", "processes").stdout
    for row in helpers:
        expect_true(f"process {row['pid']} in {top}", any(line.startswith(f"{row['pid']} ") for line in top.splitlines()))


def caller_of(run, job, *command):
    """The library column of fgets in a run of COMMAND, which reads its input."""
    run.trace(*command, hooks=["*:fgets"], store="named", options=("--job", job))
    found = {row["library"] for row in run.report(run.path("named", job))["calls"] if row["function"] == "fgets"}
    expect(f"{job}: libraries", len(found), 1)
    return found.pop()


def check_library(run):
    """So are its calls: through a link, a hard link and a relative path, but not in a script, which is another file."""
    real = run.path("real-name")
    shutil.copy(run.workload("told"), real)
    os.symlink(real, run.path("alias"))
    os.link(real, run.path("hard"))
    with open(run.path("script"), "w", encoding="utf-8") as stream:
        stream.write(f"#!{real}\n")
    os.chmod(run.path("script"), 0o755)
    for command, name in ((real, "real-name"), (run.path("alias"), "alias"), ("./alias", "alias"), (run.path("hard"), "hard"),
                          (run.path("script"), "real-name")):
        expect(f"library of {command}", caller_of(run, f"job-{command.count('/')}-{os.path.basename(command)}", command), run.path(name))


def check_name(run):
    """A program that is started by another name is called by that."""
    name = run.path("as-invoked")
    os.symlink(sys.executable, name)
    run.trace(name, "-S", "-c", "import os; os.getppid()", hooks=["*:getppid"], store="named", options=("--job", "named"))
    text = run.cli("report", run.path("named", "named"), "--by", "process").stdout
    expect_true(f"its name in {text}", any(line.startswith(name) for line in rows_of(text, "process ")))


def check_launcher(run):
    """mpirun is shown as it was typed, without what passes the agent on."""
    run.trace("mpirun", "-n", "2", "--oversubscribe", "/bin/true", store="launched", options=("--job", "launched"))
    report = run.report(run.path("launched", "launched"))
    commands = [row["command"] for row in report["processes"] if row["role"] == "launcher"]
    for command in commands:
        expect_true(f"as typed: {command}", "LD_PRELOAD" not in command and "HOOK_" not in command)
    expect_true(f"mpirun in {json.dumps(commands)}", any(command.endswith("-n 2 --oversubscribe /bin/true") for command in commands))


def test(run: Run):
    check_pool(run)
    check_name(run)
    check_library(run)
    check_launcher(run)


if __name__ == "__main__":
    main(test)
