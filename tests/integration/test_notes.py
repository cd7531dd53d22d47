#!/usr/bin/python3
"""A note of a job is a finding of its report, and an instant of its timeline at the moment and on the thread that it is about."""
import csv
import json
import os
import sys

from harness import expect, expect_true, main

PROGRAM = """
import json, os, threading, time, hooktrace
hooktrace.start()
def work():
    hooktrace.mark("before")
    when = time.monotonic_ns()
    hooktrace.mark("after")
    print(json.dumps({"monotonic_ns": when, "pid": os.getpid(), "tid": threading.get_native_id()}))
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
TEXT = "first wrong: torch.relu"


def write(job, notes):
    with open(os.path.join(job, "notes.json"), "w") as file:
        file.write(notes if isinstance(notes, str) else json.dumps(notes))


def test(run):
    job = run.path("store", "noted")
    done = run.trace(sys.executable, "-c", PROGRAM, options=("-q", "--job", "noted"),
                     env={"PYTHONPATH": os.path.join(run.build, "python")})
    said = json.loads(done.stdout)
    note = {"kind": "divergence", "text": TEXT, "rank": 0, **said}
    write(job, [note, {**note, "pid": said["pid"] + 1, "text": "of no process"}])
    expect("findings", [one["evidence"] for one in run.report(job)["findings"] if one["kind"] == "divergence"], [TEXT, "of no process"])
    expect_true("the summary names it", TEXT in run.cli("report", job).stdout)
    run.cli("export", job, "--format", "csv", "-o", run.path("calls.csv"))
    with open(run.path("calls.csv")) as file:
        rows = [row for row in csv.DictReader(file) if row["domain"] in ("user", "precision")]
    expect("instants in order", [row["function"] for row in rows], ["before", TEXT, "after"])
    expect("threads", {row["tid"] for row in rows}, {str(said["tid"])})
    for form, name in (("perfetto", "a.pftrace"), ("chrome", "a.json"), ("html", "a.html")):
        if form != "html":
            run.cli("export", job, "--format", form, "-o", run.path(name))
        else:
            run.cli("report", job, "--format", "html", "-o", run.path(name))
        with open(run.path(name), "rb") as file:
            expect_true(f"{form} has the note", TEXT.encode() in file.read())
    for damaged in ("{", '{"a": 1}', json.dumps([note] * 65)):
        write(job, damaged)
        done = run.cli("report", job)
        expect_true("a damaged file is named", "notes.json is left out" in done.stderr and TEXT not in done.stdout)
    write(job, [1, {"rank": "x", "pid": -5, "monotonic_ns": -1, "text": 4}])
    run.cli("report", job)
    run.cli("rm", "--force", job)
    expect_true("the job is removed whole", not os.path.exists(job))


if __name__ == "__main__":
    main(test)
