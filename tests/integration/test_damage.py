#!/usr/bin/python3
"""Damaged files of a job: what can be read is shown, one line tells of the rest, the exit status is 1; never a crash."""
import json
import os
import random
import shutil

import loop
from harness import Run, expect, expect_true, main

SEED = 22
ROUNDS = 400
FLIPS = 25
FAILED, ABSENT = 1, 3


def look(run, what, job, *arguments):
    """Runs a command on a job that is not well: it leaves with 0, 1 or 3, and says why if it is not 0."""
    done = run.cli(*arguments, job, check=False)
    expect_true(f"{what}: {arguments[0]} exits {done.returncode}: {done.stderr}", done.returncode in (0, FAILED, ABSENT))
    if done.returncode:
        expect_true(f"{what}: {arguments[0]} exits {done.returncode} and says {done.stderr!r}",
                    1 <= done.stderr.count("\n") <= 3 and "hookcli: " in done.stderr)
    return done


def exported(run, what, job):
    """The exit status and the calls of an export, which is whole JSON whatever happened."""
    done = look(run, what, job, "export", "--format", "chrome")
    events = json.loads(done.stdout)["traceEvents"] if done.stdout else []
    return done.returncode, sum(1 for event in events if event["ph"] == "X")


def copy(run, whole):
    shutil.rmtree(run.path("hurt"), ignore_errors=True)
    shutil.copytree(whole, run.path("hurt"))
    return run.path("hurt")


def chunk_file(job):
    """The largest of the job's chunk files."""
    return max((os.path.join(job, name) for name in os.listdir(job) if name.endswith(".chunks")), key=os.path.getsize)


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def flipped(chance, data):
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1:]


def check_chunks(run: Run, whole, chance):
    status, calls = exported(run, "whole", whole)
    expect("whole: status", status, 0)
    counted = sum(row["calls"] for row in run.report(whole)["calls"])
    expect("whole: calls", calls, counted)

    def hurt(what, change, wanted=(FAILED,)):
        job = copy(run, whole)
        path = chunk_file(job)
        write(path, change(read(path)))
        status, held = exported(run, what, job)
        expect_true(f"{what}: status {status}", status in wanted)
        expect_true(f"{what}: {held} of {calls} calls", held <= calls and (status != 0 or held == calls))
        done = look(run, what, job, "report", "--format", "json")
        expect(f"{what}: the statistics are whole", (done.returncode, json.loads(done.stdout)["calls"]), (0, whole_calls))
    whole_calls = run.report(whole)["calls"]
    hurt("chunks cut short", lambda data: data[:len(data) - 100])
    hurt("half of the chunks", lambda data: data[:len(data) // 2])
    hurt("empty chunks", lambda data: b"")
    hurt("foreign chunks", lambda data: b"no chunk " * 1000)
    hurt("chunks of zeros", lambda data: bytes(len(data)))
    # A torn tail, as a collector leaves that dies while it writes: nothing that the job knows of is missing.
    hurt("something appended", lambda data: data + b"garbage" * 50, wanted=(0,))
    for number in range(FLIPS):
        hurt(f"flip {number}", lambda data: flipped(chance, data))


def check_statistics(run: Run, whole, chance):
    data = read(os.path.join(whole, "statistics"))

    def hurt(what, content, wanted):
        job = copy(run, whole)
        write(os.path.join(job, "statistics"), content)
        for arguments in (("report", "--format", "json"), ("report",), ("export", "--format", "chrome")):
            done = look(run, what, job, *arguments)
            expect_true(f"{what}: {arguments[0]} leaves with {done.returncode}: {done.stderr}", done.returncode in wanted)
            if done.stdout and arguments != ("report",):
                json.loads(done.stdout)
    hurt("statistics cut short", data[:-20], (0, FAILED))
    hurt("half of the statistics", data[:len(data) // 2], (0, FAILED))
    hurt("empty statistics", b"", (FAILED, ABSENT))
    hurt("foreign statistics", b"no statistics " * 1000, (FAILED, ABSENT))
    hurt("huge frame", data[:4] + b"\xff\xff\xff\x7f" + data[8:], (FAILED, ABSENT))
    for number in range(FLIPS):
        hurt(f"statistics flip {number}", flipped(chance, data), (0, FAILED))


def check_missing(run: Run, whole):
    job = copy(run, whole)
    os.unlink(chunk_file(job))
    status, held = exported(run, "no chunks", job)
    expect_true(f"no chunks: {held} calls, status {status}", (status, held) == (FAILED, 0) or held > 0)
    job = copy(run, whole)
    write(os.path.join(job, "job.json"), b"{")
    look(run, "torn job.json", job, "report", "--format", "json")
    expect("ls with a torn job.json", run.cli("ls", cwd=run.directory).returncode, 0)


def test(run):
    chance = random.Random(SEED)
    run.trace(run.workload("calls_truth"), "--loop", run.path("progress"), ROUNDS, hooks=loop.HOOKS, level="record",
              options=("-q", "--job", "whole"))
    whole = run.path("store", "whole")
    check_chunks(run, whole, chance)
    check_statistics(run, whole, chance)
    check_missing(run, whole)


if __name__ == "__main__":
    main(test)
