#!/usr/bin/python3
"""hooktrace.start(python=..., apis=...) in every CPython of this machine: C calls, ranges, Python functions and APIs are in one job, nested.

A program starts all parts, stops them and starts them once more. Every count in the report is the program's.
"""
import os

import pythons
from harness import Run, expect, expect_true, main
from test_python_package import Case

PROGRAM = """
import hooktrace, os, sys

def inner():
    os.getppid()

def outer(times):
    for _ in range(times):
        inner()

def fails():
    raise KeyError

outer(3)
for turn in (1, 2):
    assert hooktrace.start(hooks="*:getppid", store=sys.argv[1], quiet=True, python=turn == 1 or {"include": ["*parts.py"]}, apis=True)
    print(hooktrace.job_directory())
    with hooktrace.range("block"):
        outer(10 * turn)
        try:
            fails()
        except KeyError:
            pass
    hooktrace.stop()
    outer(5)
    assert not hooktrace.tracer.is_on() and not hooktrace.is_on()
"""


def check(case: Case):
    jobs = case.start(case.script("parts.py", PROGRAM), os.path.join(case.directory, "store")).stdout.split()
    expect(f"{case.version}: jobs", len(set(jobs)), 2)
    for turn, job in enumerate(jobs, 1):
        what, calls = f"{case.version}, turn {turn}", {}
        for row in case.closed(job)["calls"]:
            name, _, place = row["function"].partition(" (")
            if row["domain"] != "python" or "parts.py:" in place:  # others may have functions of these names
                calls.setdefault(name, []).append(row)
        wanted = {"getppid": 10 * turn, "inner": 10 * turn, "outer": 1, "fails": 1, "block": 1}
        expect(f"{what}: calls", {function: sum(row["calls"] for row in calls.get(function, [])) for function in wanted}, wanted)
        expect(f"{what}: errors", calls["fails"][0]["errors"], 1)
        expect(f"{what}: domains", [calls[function][0]["domain"] for function in ("inner", "block")], ["python", "user"])
        for around, inside in (("block", "outer"), ("outer", "inner"), ("inner", "getppid")):
            total, part = (sum(row["total_ns"] for row in calls[function]) for function in (around, inside))
            expect_true(f"{what}: {around} takes {total} ns, {inside} in it {part} ns", total >= part)


def test(run: Run):
    versions = []
    for version, python in pythons.found():
        versions.append(version)
        check(Case(run, version, python))
    pythons.say_left_out(versions)


if __name__ == "__main__":
    main(test)
