#!/usr/bin/python3
"""CPython's own tests of generators, coroutines, tracing and threads, in a process whose Python functions are traced.

    test_python_suites.py BUILD_DIR [VERSION ...]

Each test must end as it does without tracing, on every CPython of the machine that has its tests installed.
"""
import json
import os

import pythons
from harness import Run, expect, expect_true, main

WORKLOADS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "workloads")
SUITES = ("test_generators", "test_coroutines", "test_asyncgen", "test_sys_settrace", "test_threading")


def outcomes(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def check(run: Run, name, python):
    environment = {"PYTHONPATH": os.path.join(run.build, "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    bare, traced = run.path(f"bare-{name}"), run.path(f"traced-{name}")
    script = os.path.join(WORKLOADS, "python_suite.py")
    run.command(python, script, bare, "bare", *SUITES)
    run.trace(python, script, traced, "traced", *SUITES, level="record", options=("--job", name), env=environment)
    wanted, found = outcomes(bare), outcomes(traced)
    expect(f"{name}: tests", sorted(found), sorted(wanted))
    expect(f"{name}: other outcomes", {test: (wanted[test], found[test]) for test in wanted if found[test] != wanted[test]}, {})
    passed = sum(outcome == "passed" for outcome in found.values())
    expect_true(f"{name}: {passed} tests passed", passed > 300)
    rows = [row for row in run.report(run.path("store", name))["calls"] if row["domain"] == "python" and "test_generators" in row["library"]]
    expect_true(f"{name}: the tests were not traced", len(rows) > 20)
    print(f"{name}: {len(found)} tests, {passed} passed")


def has_tests(run, python):
    return run.command(python, "-c", "import test.test_generators", check=False).returncode == 0


def test(run, *wanted):
    versions = {}
    for version, python in pythons.found():
        if (not wanted or version in wanted) and has_tests(run, python):
            name = f"{version}-{len(versions)}"
            versions[name] = version
            check(run, name, python)
    if not wanted:
        pythons.say_left_out(versions.values())


if __name__ == "__main__":
    main(test)
