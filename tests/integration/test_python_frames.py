#!/usr/bin/python3
"""Python frames in stacks of callers: the same functions, files and lines in the same order, as often, as Python itself saw from inside
of the calls, between the same native frames as glibc's unwinder saw. On each CPython of the machine. Then random trees of calls: 300 on
one of them; with argument "long" 10,000 on each. HK_SEED is the seed."""
import collections
import json
import os
import re

import pythons
from harness import Run, expect, expect_true, main

TREES = {"short": 300, "long": 10_000}
# Of one process. 10,000 trees in one have 1.3 million different frames on Python 3.8, and a process keeps 2^20: it refuses 6,941 of 30,947.
BATCH = 2500
SEED = int(os.environ.get("HK_SEED", "1"))
HOOKS = ["*libpython_truth_library.so:python_noted", "*libpython_truth_library.so:python_doubled"]


def truth_of(path):
    """By process: how often each stack was noted."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            truth = collections.Counter()
            for calls, python, native in json.loads(line):
                truth[tuple(map(tuple, python)), tuple(one if one == "E" else tuple(one) for one in native)] += calls
            yield truth


def key_of(row):
    """The stack of ROW as the workload notes it."""
    python, native = [], []
    for frame in row["frames"]:
        if "end" in frame:
            native.append(("end", frame["end"]))
        elif frame.get("language") == "python":
            python.append((frame["function"], frame["file"], frame["line"]))
            native += [] if native[-1:] == ["E"] else ["E"]
        elif not frame["inlined"]:
            native.append((os.path.basename(os.path.realpath(frame["library"])), frame["address"]))
    return tuple(python), tuple(native)


def stacks_of(report):
    stacks = collections.Counter()
    for row in report["stacks"]:
        stacks[key_of(row)] += row["calls"]
    return stacks


def expect_stacks(what, stacks, truth):
    expect_true(f"{what}: few stacks: {len(truth)}", len(truth) > 100)
    for key in list(stacks | truth):
        if stacks[key] != truth[key]:
            near = [other for other in (truth if stacks[key] else stacks) if other[0] == key[0]][:2]
            expect(f"{what}: calls from {key}, near {near}", stacks[key], truth[key])


def by_stack(run, job, *options):
    return run.cli("report", job, "--by", "stack", "--function", "python_noted", *options).stdout


def workload(run):
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "workloads", "python_truth.py"), os.path.realpath(run.workload("libpython_truth_library.so"))


def check_frames(run: Run, name, python):
    script, library = workload(run)
    output = run.path(f"noted-{name}")
    run.trace(python, script, library, output, hooks=HOOKS, level="record+stack", options=("--job", name))
    job = run.path("store", name)
    report = json.loads(by_stack(run, job, "--format", "json"))
    expect(f"{name}: refused", report["refused"], 0)
    expect(f"{name}: calls without", report["calls_without"], 0)
    expect_stacks(name, stacks_of(report), sum(truth_of(output), collections.Counter()))
    expect_forms(run, name, job)
    return len(report["stacks"])


def expect_forms(run, name, job):
    """Text, CSV and folded stacks have the same frames."""
    text = by_stack(run, job)
    expect_true(f"{name}: text {text[:400]}", re.search(r"#\d+ +call \(python_truth\.py:\d+\)\n.*#\d+ +recurse \(python_truth\.py:\d+\)\n", text,
                                                        re.DOTALL))
    rows = json.loads(by_stack(run, job, "--format", "json"))["stacks"]
    folded = by_stack(run, job, "--format", "folded").splitlines()
    for row, line in zip(rows, folded, strict=True):
        frames = line.rsplit(" ", 1)[0].split(";")[:-1][::-1]
        for frame, shown in zip(row["frames"], frames, strict=True):
            if frame.get("language") == "python":
                expect(f"{name}: folded", shown, f"{frame['function']} ({os.path.basename(frame['file'])}:{frame['line']})")
    lines = by_stack(run, job, "--format", "csv").splitlines()
    expect_true(f"{name}: csv {lines[1][:300]}", ";main (python_truth.py:" in lines[1] or ";many (python_truth.py:" in lines[1])


def check_batch(run: Run, name, python, trees, seed):
    script, library = workload(run)
    job = f"trees-{name}-{seed}"
    output = run.path(f"{job}-noted")
    run.trace(python, os.path.join(os.path.dirname(script), "python_trees.py"), library, output, trees, seed, hooks=HOOKS[:1],
              level="record+stack", options=("--job", job, "--keep", "64M"))
    report = json.loads(by_stack(run, run.path("store", job), "--format", "json"))
    expect(f"{name}: {trees} trees of seed {seed}: refused, calls without", (report["refused"], report["calls_without"]), (0, 0))
    truth = sum(truth_of(output), collections.Counter())
    expect_stacks(f"{name}: {trees} trees of seed {seed}", stacks_of(report), truth)
    return sum(truth.values()), len(truth)


def check_trees(run: Run, name, python, trees):
    """Returns how many calls and stacks they made."""
    batches = [check_batch(run, name, python, min(BATCH, trees - done), SEED + done // BATCH) for done in range(0, trees, BATCH)]
    return [sum(counts) for counts in zip(*batches)]


def test(run, kind="short"):
    versions = {}
    for version, python in pythons.found():
        name = f"{version}-{len(versions)}"
        versions[name] = version
        print(f"Python {version} ({python}): {check_frames(run, name, python)} stacks")
        if kind == "long" or len(versions) == 1:
            trees = TREES[kind]
            calls, stacks = check_trees(run, name, python, trees)
            print(f"Python {version}: {trees} trees from seed {SEED} on: {calls} calls, {stacks} stacks", flush=True)
    pythons.say_left_out(versions.values())


if __name__ == "__main__":
    main(test)
