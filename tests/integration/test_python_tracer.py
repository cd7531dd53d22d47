#!/usr/bin/python3
"""The tracer of Python functions on each CPython of the machine.

A program that counts its own calls (python_calls.py) is traced twice: with a simulated agent that counts per thread and checks that
calls nest, and with the real one, whose report must have the same counts. python_tracer_edges.py has the unusual moments.
"""
import collections
import json
import os
import re

import pythons
from harness import Run, expect, expect_true, main

HERE = os.path.dirname(os.path.abspath(__file__))
WORKLOADS = os.path.join(HERE, "..", "workloads")
# Functions of the program without a counter of their own: see there.
UNCOUNTED = {"<listcomp>", "<genexpr>", "unbegun"}
SITE = re.compile(r"(.+) \(python_calls\.py:\d+\)")


def environment(run):
    return {"PYTHONPATH": os.path.join(run.build, "python"), "PYTHONDONTWRITEBYTECODE": "1"}


def traced(run, output, *mode):
    return [os.path.join(WORKLOADS, "python_traced.py"), output, *mode]


def name_of(function):
    """A function's own name, or None if it is not of the program."""
    match = SITE.fullmatch(function)
    name = match and match.group(1).rsplit(".", 1)[-1]
    return None if name in UNCOUNTED else name


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def check_threads(run: Run, version, python, recorder):
    """Each thread's calls and failures, per function."""
    output = run.path(f"simulated-{version}")
    run.command(python, *traced(run, output, "recorder", recorder), env=environment(run))
    wanted, recorded = load(output), load(output + ".recorded")
    found = {}
    for thread, seen in recorded["threads"].items():
        table = found.setdefault(thread, {})
        for function, _, domain, calls, ends, failures in seen["rows"]:
            expect("domain", domain, "python")
            if name_of(function):
                row = table.setdefault(name_of(function), [0, 0])
                row[0] += calls
                row[1] += failures
                # Up to 3.11 frames that were open at the start have no end that can be seen.
                expect_true(f"{version}: {function}: {calls} calls, {ends} ends", ends == calls or function.startswith("early"))
    found = {thread: table for thread, table in found.items() if table}
    expect(f"{version}: threads", sorted(found), sorted(wanted))
    for thread, table in wanted.items():
        expect(f"{version}: thread {thread}", found[thread], table)
    expect(f"{version}: ends of outer calls before inner ones", recorded["implicit"], 0)
    expect(f"{version}: ends of no call", recorded["unknown"], 0)


def check_report(run: Run, version, python):
    """The process's calls and errors, per function, through the real agent and collector."""
    output, job = run.path(f"real-{version}"), f"real-{version}"
    run.trace(python, *traced(run, output, "agent"), level="record", options=("--job", job), env=environment(run))
    wanted, found = collections.Counter(), collections.Counter()
    for table in load(output).values():
        for name, (calls, failures) in table.items():
            wanted[name, "calls"] += calls
            wanted[name, "errors"] += failures
    report = run.report(run.path("store", job))
    for row in report["calls"]:
        if row["domain"] == "python" and name_of(row["function"]):
            for key in ("calls", "errors"):
                found[name_of(row["function"]), key] += row[key]
    expect(f"{version}: report", dict(found), dict(wanted))
    (rank,) = report["ranks"]
    expect(f"{version}: exit, lost", (rank["exit"], rank["lost_records"]), ({"kind": "exited", "code": 0}, 0))


def check_torch(run: Run):
    """Modules and their parameters, of Debian's torch."""
    output, python = run.path("torch"), "/usr/bin/python3"
    run.trace(python, os.path.join(WORKLOADS, "torch_modules.py"), output, level="record", options=("--job", "torch"), env=environment(run))
    wanted = load(output)
    rows = [row for row in run.report(run.path("store", "torch"))["calls"] if row["function"].startswith("nn.Module: ")]
    expect("calls of modules", {row["function"][len("nn.Module: "):]: row["calls"] for row in rows}, wanted["calls"])
    expect_true(f"modules were called: {wanted['calls']}", len(wanted["calls"]) == 5)
    expect("noted tensors", sorted(map(str, wanted["noted"])), sorted(map(str, wanted["parameters"])))
    # Of the optimizer's parameters: at their first calls the modules' have none yet.
    expect("noted gradients", wanted["gradients"], wanted["tensors"])


def test(run, what="all"):
    if what == "torch":
        check_torch(run)
        return
    recorder = os.path.join(run.build, "tests", "workloads", "libpython_recorder.so")
    versions = {}
    for version, python in pythons.found():
        name = f"{version}-{len(versions)}"
        versions[name] = version
        check_threads(run, name, python, recorder)
        check_report(run, name, python)
        run.command(python, os.path.join(WORKLOADS, "python_tracer_edges.py"), recorder, env=environment(run))
    pythons.say_left_out(versions.values())


if __name__ == "__main__":
    main(test)
