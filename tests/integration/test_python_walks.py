#!/usr/bin/python3
"""Walks of Python frames in every memory call: of CPython's own tests of generators, coroutines, frames and others, and of a program that
makes and drops frames, code and threads. Nothing crashes, hangs or computes anything else. Argument "long": more tests, and repeatedly."""
import json
import os
import re
import subprocess

import pythons
from harness import Run, expect, expect_true, main

TESTS = {
    "short": ["test_generators"],
    "long": ["test_generators", "test_coroutines", "test_asyncgen", "test_frame", "test_contextlib", "test_sys_settrace", "test_json", "test_gc",
             "test_weakref", "test_exceptions", "test_compile", "test_fork1"],
}
ROUNDS = {"short": 3, "long": 300}
# Its memory comes from malloc alone, so that every object is one of these calls.
MALLOC = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}
EVALUATE = "_PyEval_EvalFrame"
SUB_INTERPRETER = "run_in_subinterp"  # of CPython's tests; the frames around it are another interpreter's, which are not read
CALLS = ("malloc", "calloc", "realloc", "free", "mmap", "munmap")


def has_tests(python):
    return subprocess.run([python, "-c", "import test.test_generators"], stderr=subprocess.DEVNULL, check=False).returncode == 0


def evaluates(row):
    """Whether the stack of ROW goes through the loop of the interpreter whose frames are read."""
    functions = [frame.get("function") or "" for frame in row["frames"]]
    inner = functions[:functions.index(SUB_INTERPRETER)] if SUB_INTERPRETER in functions else functions
    return any(function.startswith(EVALUATE) for function in inner)


def walked(run, what, job, least):
    """How many memory calls the job made, and how many stacks of them have Python frames."""
    report = run.report(run.path("store", job))
    expect(f"{what}: the job is closed, and its collector gone", report["job"]["closed"], True)
    calls = sum(row["calls"] for row in report["calls"] if row["function"] in CALLS)
    expect_true(f"{what}: memory calls: {calls}", calls >= least)
    report = run.cli("report", run.path("store", job), "--by", "stack", "--function", "calloc", "--format", "json").stdout
    stacks = json.loads(report)["stacks"]
    python = [row for row in stacks if any(frame.get("language") == "python" for frame in row["frames"])]
    blind = [row for row in stacks if row not in python and evaluates(row)]
    expect(f"{what}: stacks through the interpreter's loop without Python frames", blind, [])
    return calls, len(python)


def trace(run, job, *command):
    return run.trace(*command, hooks=["libc"], level="*=record+stack", options=("--job", job, "--keep", "64M"), env=MALLOC, check=False)


def outcome(done):
    """What a run says, without times and the tracer's own lines."""
    lines = [re.sub(r"[0-9.]+ (ms|sec)|Tests? duration.*", "", line) for line in done.stdout.splitlines()]
    return done.returncode, [line for line in lines if "Total" not in line and "load avg" not in line]


def check_own_tests(run: Run, name, python, kind):
    """Tests that pass without the tracer pass with it."""
    passing = [test for test in TESTS[kind]
               if run.command(python, "-m", "test", "-q", test, env=MALLOC, check=False).returncode == 0]
    expect_true(f"{name}: only {passing} pass untraced", len(passing) * 2 >= len(TESTS[kind]))
    calls = stacks = 0
    for test in passing:
        job = f"{name}-{test}"
        done = trace(run, job, python, "-m", "test", "-q", test)
        expect_true(f"{name}: {test}: exit {done.returncode}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}", done.returncode == 0)
        more, python_stacks = walked(run, f"{name}: {test}", job, 1000)
        calls, stacks = calls + more, stacks + python_stacks
    expect_true(f"{name}: no stack of {', '.join(passing)} has Python frames", stacks)
    return calls


def check_churn(run: Run, name, python, kind):
    """A program without a test package: also at its end, with threads that go on."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "workloads", "python_churn.py")
    plain = run.command(python, script, ROUNDS[kind], env=MALLOC)
    done = trace(run, f"{name}-churn", python, script, ROUNDS[kind])
    expect(f"{name}: churn: {done.stderr[-1500:]}", outcome(done), outcome(plain))
    calls, stacks = walked(run, f"{name}: churn", f"{name}-churn", 10000)
    expect_true(f"{name}: churn: no stack has Python frames", stacks)
    return calls


def test(run, kind="short"):
    versions = {}
    for version, python in pythons.found():
        name = f"{version}-{len(versions)}"
        versions[name] = version
        calls = check_churn(run, name, python, kind)
        own = check_own_tests(run, name, python, kind) if has_tests(python) else 0
        print(f"Python {version} ({python}): walks in {calls} memory calls of the program, {own} of CPython's own tests")
    pythons.say_left_out(versions.values())


if __name__ == "__main__":
    main(test)
