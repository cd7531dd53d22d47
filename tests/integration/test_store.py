#!/usr/bin/python3
"""A bound on the whole store: the oldest finished jobs are removed, others never."""
import os
import signal

import loop
from harness import Run, end_process, expect, expect_true, main, wait_for

ROUNDS = 2000


def jobs_of(run):
    return {entry.name for entry in os.scandir(run.path("store"))
            if not entry.is_symlink() and os.path.exists(os.path.join(entry.path, "job.json"))}


def finish(run, job):
    """A job that has ended, of about the same size as all others here."""
    run.command(run.workload("calls_truth"), "--loop", run.path(job), ROUNDS, env=loop.agent_environment(run, job))
    wait_for(f"{job} to be closed", lambda: not os.path.exists(os.path.join(run.run_directory, f"job.{job}"))
             and os.path.exists(run.path("store", job, "report.json")))


def bytes_of(run, job):
    return sum(os.stat(run.path("store", job, name)).st_blocks * 512 for name in os.listdir(run.path("store", job)))


def check_oldest_go(run: Run):
    collector = run.start_collector("--keep-store", "all")
    for job in ("first", "second", "third"):
        finish(run, job)
    end_process(collector, signal.SIGTERM)
    expect("kept", jobs_of(run), {"first", "second", "third"})
    # Files that belong to no job are ignored.
    os.mkdir(run.path("store", "notes"))
    with open(run.path("store", "notes", "mine.txt"), "w", encoding="utf-8") as file:
        file.write("mine")
    # A job that never ended counts, and stays however old it is.
    os.mkdir(run.path("store", "running"))
    with open(run.path("store", "running", "job.json"), "w", encoding="utf-8") as file:
        file.write('{"format": 1, "id": "running", "state": "running", "end_unix_ns": null}')
    room = bytes_of(run, "second") + bytes_of(run, "third") + bytes_of(run, "running")
    collector = run.start_collector("--keep-store", str(room + 4096))
    wait_for("the oldest to go", lambda: "first" not in jobs_of(run))
    expect("left", jobs_of(run), {"second", "third", "running"})
    finish(run, "fourth")
    wait_for("the next one to go", lambda: "second" not in jobs_of(run))
    expect_true(f"the newest stays: {jobs_of(run)}", {"fourth", "running"} <= jobs_of(run))
    expect("nobody's", os.listdir(run.path("store", "notes")), ["mine.txt"])
    end_process(collector)


def check_named_stay(run: Run):
    """What `run --store` put somewhere is its owner's, also if that is a store."""
    before = jobs_of(run)
    run.cli("run", "-q", *loop.hook_options(), "--store", run.path("store"), "--job", "named", "--", run.workload("calls_truth"),
            "--loop", run.path("named.out"), 10, env={"HOOK_KEEP_STORE": "1"})
    expect("all stay", jobs_of(run), before | {"named"})


def test(run):
    check_oldest_go(run)
    check_named_stay(run)


main(test)
