#!/usr/bin/python3
"""A function whose calls become longer in the course of a job is named by `hookcli why`, one whose calls do not is not."""
import json
import sys

from harness import expect, expect_true, main

# Writes at the begin of a file: of 4 KiB, or of more and more until they are as large as SIZE.
PROGRAM = """
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
size, most, seconds = 4096, int(sys.argv[2]), 4
block, began = bytes(most), time.monotonic()
while (elapsed := time.monotonic() - began) < seconds:
    os.pwrite(fd, block[:4096 + int((most - 4096) * elapsed / seconds)], 0)
"""


def drifts(run, name, most):
    run.trace(sys.executable, "-c", PROGRAM, run.path(name + ".data"), most, hooks=["libc"], options=("-q", "--job", name))
    findings = json.loads(run.cli("why", run.path("store", name), "--json").stdout)["findings"]
    return [finding for finding in findings if finding["kind"] == "drift"]


def test(run):
    grown = drifts(run, "grows", 1 << 20)
    expect("functions that get slower", [finding["function"] for finding in grown], ["pwrite64"])
    expect_true(f"the cost {grown[0]['cost_ns']} is part of the four seconds", 1e8 < grown[0]["cost_ns"] < 4e9)
    expect("functions that get slower, without reason", drifts(run, "flat", 4096), [])


if __name__ == "__main__":
    main(test)
