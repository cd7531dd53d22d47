#!/usr/bin/python3
"""A running job is found from any directory, also that of a private collector; ranks that only RANK and WORLD_SIZE number are distinguished;
`ls --store` lists the jobs of one directory."""
import json
import os

import loop
from harness import Run, end_process, expect, expect_true, main, wait_for

RANKS = 3


def elsewhere(run, *words, **options):
    return run.cli(*words, cwd=run.path("elsewhere"), **options)


def jobs(run):
    return {job["id"]: job for job in json.loads(elsewhere(run, "ls", "--json").stdout)}


def check_running(run):
    path = run.path("progress")
    job = loop.start(run, run.binary("hookcli"), "run", "--store", run.path("mine"), "--job", "private",
                     *loop.hook_options(), "--",
                     run.workload("calls_truth"), "--loop", path)
    loop.wait_rounds(path, 50)
    wait_for("the job in the list", lambda: "private" in jobs(run))
    expect("its state", (jobs(run)["private"]["state"], jobs(run)["private"]["live"]), ("running", True))
    for words in ("top", "--once"), ("top", "private", "--once"), ("report", "--format", "text"), ("log", "priv", "--filter", "error"):
        done = elsewhere(run, *words, check=False)
        expect(f"{words}: {done.stderr}", done.returncode, 0)
    wait_for("calls in top", lambda: "calls_inner" in elsewhere(run, "top", "--once").stdout)
    expect_true("status", "private" in elsewhere(run, "status").stdout)
    # The user's own collector is shown before private ones; a job of it that began later is the newest.
    run.start_collector()
    status = json.loads(elsewhere(run, "status", "--json").stdout)
    expect("the first collector", status["run_directory"], run.run_directory)
    expect("others", len(status["others"]), 1)
    text = elsewhere(run, "status").stdout
    expect_true(f"both collectors: {text}", text.count("run directory") == 2 and "private" in text)
    expect_true("the job that runs", "hooktrace private" in elsewhere(run, "top", "--once").stdout)
    os.kill(loop.process_of(path), 9)
    end_process(job)


def check_bare_ranks(run):
    line = " ".join(f"RANK={rank} WORLD_SIZE={RANKS} python3 -c 'import os; os.getppid()' &" for rank in range(RANKS)) + " wait"
    run.trace("sh", "-c", line, store="bare", hooks=["*:getppid"], options=("--job", "bare"))
    report = run.report(run.path("bare", "bare"))
    expect("ranks", [row["rank"] for row in report["ranks"]], list(range(RANKS)))
    expect("world", report["job"]["world_size"], RANKS)
    # Without a job that others can name, each command is one of its own, and says so.
    done = run.trace("/bin/true", store="alone", env={"RANK": "1", "WORLD_SIZE": "2"})
    expect_true(f"one rank of two: {done.stderr}", "1/2 ranks" in done.stderr)


def check_store(run):
    listed = elsewhere(run, "ls", "--store", run.path("bare"), "--ids").stdout.split()
    expect("jobs of the store", listed, ["bare"])
    done = elsewhere(run, "ls", "--store", run.path("nothing"), check=False)
    expect(f"no such store: {done.stderr}", done.returncode, 3)


def test(run: Run):
    os.mkdir(run.path("elsewhere"))
    check_bare_ranks(run)
    check_store(run)
    check_running(run)


if __name__ == "__main__":
    main(test)
