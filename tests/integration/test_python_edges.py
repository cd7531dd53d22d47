#!/usr/bin/python3
"""Python frames in unusual places: an interpreter that comes late and goes, signal handlers, sub-interpreters, deep recursion, and
interpreters that are left alone."""
import glob
import json
import os

import pythons
from harness import Run, expect, expect_true, main

SUB = """
import os, sys, tempfile
file = tempfile.TemporaryFile()
code = '''import os
def inner():
    os.getppid()
    os.fsync(%d)
def outer():
    inner()
outer()
''' % file.fileno()
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
def begin():
    interpreters.run_string(interpreters.create(), code)
begin()
"""
DEEP = """
import os
def recurse(n):
    return recurse(n - 1) if n else os.getppid()
def first():
    recurse(600)
first()
"""


def stacks_of(run, job, function="*"):
    report = run.cli("report", run.path("store", job), "--by", "stack", "--function", function, "--format", "json").stdout
    return json.loads(report)["stacks"]


def python_of(row):
    return [(frame["function"], frame["line"]) for frame in row["frames"] if frame.get("language") == "python"]


def natives_of(row):
    return [frame.get("function") for frame in row["frames"] if "library" in frame and not frame["inlined"]]


def trace(run, job, *command, hooks=("*:getppid",)):
    return run.trace(*command, hooks=hooks, level="record+stack", options=("--job", job))


def library_of(python):
    """The libpython that PYTHON is linked with, or beside it."""
    root = os.path.dirname(os.path.dirname(os.path.realpath(python)))
    found = glob.glob(os.path.join(root, "lib", "libpython3.*.so.1.0")) + glob.glob("/usr/lib/*/libpython3.11.so.1.0")
    return found[0] if found else None


def check_embedded(run: Run, name, python):
    library = library_of(python)
    if not library:
        print(f"left out, no libpython: {python}")
        return
    job = f"embedded-{name}"
    trace(run, job, run.workload("python_embedded"), library)
    rows = stacks_of(run, job)
    expect(f"{job}: calls", sum(row["calls"] for row in rows), 7)
    expect(f"{job}: calls without Python", sum(row["calls"] for row in rows if not python_of(row)), 5)
    frames = {natives_of(row)[0]: python_of(row) for row in rows if python_of(row)}
    inner = next(frames[function] for function in frames if function != "handle")
    expect(f"{job}: from Python", [(function.rsplit(".")[-1], line) for function, line in inner], [("inner", 3), ("outer", 5), ("<module>", 7)])
    expect(f"{job}: in a signal handler", frames["handle"], [("outer", 6), ("<module>", 7)])
    expect(f"{job}: rows without main", [row for row in rows if "main" not in natives_of(row)], [])


def check_sub_interpreter(run: Run, name, version, python):
    """Without the GIL the thread's sub-interpreter is known from 3.12 on. Before, its evaluation loops stay native."""
    job = f"sub-{name}"
    trace(run, job, python, "-c", SUB, hooks=("*:getppid", "*:fsync"))
    (held,) = stacks_of(run, job, "getppid")
    expect(f"{job}: with the GIL", python_of(held), [("inner", 3), ("outer", 6), ("<module>", 7)])
    expect_true(f"{job}: {natives_of(held)}", version in ("3.8", "3.9", "3.10") or natives_of(held).count("_PyEval_EvalFrameDefault") == 1)
    (released,) = stacks_of(run, job, "fsync")
    if version in ("3.12", "3.13"):
        expect(f"{job}: without the GIL", python_of(released), [("inner", 4), ("outer", 6), ("<module>", 7)])
    else:
        expect(f"{job}: without the GIL, {natives_of(released)}", python_of(released), [("begin", 17), ("<module>", 18)])
        order = [frame.get("function") for frame in released["frames"]]
        expect_true(f"{job}: {order}", order.index("begin") > max(i for i, one in enumerate(order) if one == "_PyEval_EvalFrameDefault"))


def check_deep(run: Run, name, version, python):
    """The inner frames, and where they end."""
    job = f"deep-{name}"
    trace(run, job, python, "-c", DEEP)
    (row,) = stacks_of(run, job)
    frames = python_of(row)
    least = 50 if version in ("3.8", "3.9", "3.10") else 240
    expect_true(f"{job}: {len(frames)} frames", least <= len(frames) <= 240)
    expect(f"{job}: frames", set(frames[1:]), {("recurse", 4)})
    expect(f"{job}: end", row["frames"][-1], {"end": "[ends here: the stack is deeper]"})


def check_left_alone(run: Run):
    cases = [("30e00f0", "0", "Python 3.14", "the structures of this version are not known"),
             ("30d00f0", "1", "Python 3.13", "it is a free-threaded build"),
             ("30d00f0", "0", "Python 3.13", "its exported data does not fit this version"),
             ("30700f0", "0", "Python 3.7", "the structures of this version are not known")]
    for i, (version, words, name, reason) in enumerate(cases):
        trace(run, f"alone-{i}", run.workload("python_simulated"), version, words)
        wanted = f"no frames of {name} in stacks: {reason}"
        (coverage,) = run.report(run.path("store", f"alone-{i}"))["coverage"]
        expect_true(f"{version}: coverage {coverage['notes']}", wanted in coverage["notes"])
        text = run.cli("report", run.path("store", f"alone-{i}"), "--by", "stack").stdout
        expect_true(f"{version}: text {text}", f"! {wanted}" in text)
        (row,) = stacks_of(run, f"alone-{i}")
        expect_true(f"{version}: {row}", "main" in natives_of(row) and not python_of(row))


def test(run):
    check_left_alone(run)
    versions = {}
    for version, python in pythons.found():
        name = f"{version}-{len(versions)}"
        versions[name] = version
        check_embedded(run, name, python)
        check_deep(run, name, version, python)
        check_sub_interpreter(run, name, version, python)
    pythons.say_left_out(versions.values())


if __name__ == "__main__":
    main(test)
