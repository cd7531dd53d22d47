#!/usr/bin/python3
"""Stacks of callers: the same ones, as often, as glibc's unwinder saw from inside the functions; with names, over two nodes, from a
stripped program, and with a ring or a tree that is full."""
import collections
import json
import os
import re
import subprocess

from harness import Run, end_process, expect, expect_true, main
from nodes import root_and_leaves

FUNCTIONS = ("stacks_plain", "stacks_described", "stacks_failed")
HOOKS = """int stacks_described(int value)
int stacks_failed(int value) error=nonzero
libstacks_truth_library.so:stacks_plain
"""


def hooks_of(run):
    path = run.path("stacks.hooks")
    with open(path, "w", encoding="utf-8") as out:
        out.write(HOOKS)
    return path


def truth_of(path):
    """How often each stack was noted: tuples of (object, address behind the call), innermost first."""
    truth = collections.Counter()
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            calls, *frames = line.split()
            truth[tuple((name, int(address, 16)) for name, address in (frame.rsplit("+", 1) for frame in frames))] += int(calls)
    return truth


def stacks_of(report):
    """How often the report has each stack."""
    stacks = collections.Counter()
    for row in report["stacks"]:
        frames = tuple((os.path.basename(frame["library"]), frame["address"]) for frame in row["frames"]
                       if "end" not in frame and not frame["inlined"])
        stacks[frames] += row["calls"]
    return stacks


def is_same(own, noted):
    """Addresses lie in the instruction under way; those noted lie behind a call, or are exact where a signal came."""
    return len(own) == len(noted) and all(
        name == other and address in (place, place - 1) for (name, address), (other, place) in zip(own, noted))


def expect_equal(what, stacks, truth):
    left = dict(stacks)
    for noted, calls in truth.items():
        same = [own for own in left if is_same(own, noted)]
        expect(f"{what}: stacks like {noted}: {same}", len(same), 1)
        expect(f"{what}: calls of {noted}", left.pop(same[0]), calls)
    expect(f"{what}: further stacks", left, {})


def symbols_of(program):
    """Functions of PROGRAM by address, as binutils reads them."""
    lines = subprocess.run(["nm", "--defined-only", program], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    return sorted((int(address, 16), name) for address, kind, name in (line.split() for line in lines) if kind in "tT")


def expect_names(what, report, program):
    symbols = symbols_of(program)
    seen = set()
    for row in report["stacks"]:
        for frame in row["frames"]:
            if os.path.basename(frame.get("library", "")) == os.path.basename(program) and not frame["inlined"]:
                start = max(address for address, _ in symbols if address <= frame["address"])
                expect_true(f"{what}: name of {frame}", (start, frame["function"]) in symbols)
                seen.add(frame["function"])
    for name in ("main", "recurse", "realigned", "compare", "handle", "run"):
        expect_true(f"{what}: {name} in {seen}", name in seen)


def by_stack(node, job, *options):
    return json.loads(node.cli("report", job, "--by", "stack", "--format", "json", *options).stdout)


def check_whole(run: Run):
    program = run.workload("stacks_truth")
    run.trace(program, run.path("noted"), hooks=[hooks_of(run)], level="record+stack", options=("--job", "whole"))
    job = run.path("store", "whole")
    report = by_stack(run, job)
    generated = [row for row in report["stacks"] if not all("library" in frame and frame["library"] for frame in row["frames"])]
    report["stacks"] = [row for row in report["stacks"] if row not in generated]
    expect_equal("whole", stacks_of(report), truth_of(run.path("noted")))
    expect_names("whole", report, program)
    expect("whole: refused", (report["refused"], report["calls_without"]), (0, 0))
    expect_generated(generated)
    only = by_stack(run, job, "--function", "*_plain")["stacks"]
    expect("whole: one function", {row["function"] for row in only}, {"stacks_plain"})
    expect_text(run, job)


def expect_generated(rows):
    """A stack that goes through generated code with a frame pointer."""
    expect("generated: calls", [row["calls"] for row in rows], [1])
    names = [frame.get("function") for frame in rows[0]["frames"]]
    expect("generated: names", names[:3], ["call_back", None, "call_generated"])
    expect_true(f"generated: main in {names}", "main" in names)


def expect_text(run, job):
    text = run.cli("report", job, "--by", "stack").stdout
    expect_true(f"text: {text[:300]}", re.search(r"^stacks_\w+ from stacks_truth: \d+ calls, .*\n    #0   call_all \(stacks_truth\.c:\d+\)\n    #1   recurse \(stacks_truth\.c:\d+\)\n", text,
                                                 re.MULTILINE))
    lines = run.cli("report", job, "--by", "stack", "--format", "csv").stdout.splitlines()
    expect("csv: head", lines[0], "function,library,rank,ranks,calls,total_ns,stack")
    expect_true(f"csv: {lines[1]}", lines[1].count(";main;") == 1)
    rows = by_stack(run, job)["stacks"]
    folded = run.cli("report", job, "--by", "stack", "--format", "folded").stdout.splitlines()
    expect("folded: time", [int(line.rsplit(" ", 1)[1]) for line in folded], [row["total_ns"] for row in rows])
    for line, row in zip(folded, rows):
        names = [frame.get("function") for frame in reversed(row["frames"])] + [row["function"]]
        expect_true(f"folded: {line}", all(name in (None, shown) for name, shown in zip(names, line.rsplit(" ", 1)[0].split(";"), strict=True)))
    expect("folded alone", run.cli("report", job, "--format", "folded").stdout.splitlines(), folded)
    done = run.cli("report", job, "--by", "rank", "--format", "folded", check=False)
    expect("folded by rank: status", (done.returncode, "--by stack" in done.stderr), (2, True))


def check_stripped(run: Run):
    """Without names the stacks are the same: the unwind table stays."""
    program = run.path("stripped")
    subprocess.run(["strip", "-o", program, run.workload("stacks_truth")], check=True)
    more = {"LD_LIBRARY_PATH": os.path.dirname(run.workload("stacks_truth"))}
    run.trace(program, run.path("noted-stripped"), hooks=[hooks_of(run)], level="record+stack", options=("--job", "stripped"), env=more)
    report = by_stack(run, run.path("store", "stripped"))
    report["stacks"] = [row for row in report["stacks"] if all("library" in frame and frame["library"] for frame in row["frames"])]
    expect_equal("stripped", stacks_of(report), truth_of(run.path("noted-stripped")))
    own = {frame["function"] for row in report["stacks"] for frame in row["frames"] if frame["library"] == program}
    expect_true(f"stripped: {own}", "recurse" not in own)


def check_limit(run: Run):
    """A limit keeps its stacks and counts all calls, exactly; the report says which part has stacks."""
    rate, program = 7, run.workload("stacks_truth")
    levels = [f"stacks_plain=record+stack:{rate}/s", "stacks_described=record+stack", "stacks_failed=record+args"]
    run.trace(program, run.path("noted-limit"), hooks=[hooks_of(run)], level=levels, options=("--job", "limit"))
    job = run.path("store", "limit")
    report, stacks = run.report(job), by_stack(run, job)
    calls = collections.Counter()
    for row in report["calls"]:
        calls[row["function"]] += row["calls"]
    truth = sum(truth_of(run.path("noted-limit")).values())
    expect("limit: calls of all three", sum(calls[name] for name in FUNCTIONS), truth + 1)  # generated code's is not noted
    shares = {row["function"]: row for row in stacks["functions"]}
    expect("limit: functions", sorted(shares), ["stacks_described", "stacks_plain"])
    for name, row in shares.items():
        expect(f"limit: calls of {name}", row["calls"], calls[name])
        expect(f"limit: stacks of {name}", row["stacks"], sum(one["calls"] for one in stacks["stacks"] if one["function"] == name))
    expect("limit: all stacks of a function without limit", shares["stacks_described"]["stacks"], calls["stacks_described"])
    kept, seconds = shares["stacks_plain"]["stacks"], report["job"]["duration_ns"] / 1e9
    most = rate + 2 * rate * seconds  # the forked child begins with what its parent left of the limit
    expect_true(f"limit: {kept} stacks, from {rate} to {most}", rate <= kept <= most)
    expect_true(f"limit: {kept} of {calls['stacks_plain']}", kept < calls["stacks_plain"])
    expect("limit: calls without", stacks["calls_without"], calls["stacks_plain"] - kept + calls["stacks_failed"])
    text = run.cli("report", job, "--by", "stack").stdout
    expect_true(f"limit: text {text[-300:]}", f"\n! stacks_plain: stacks of {kept} of {calls['stacks_plain']} calls; all took " in text)
    expect_true("limit: text of the other", "! stacks_described" not in text)


def check_leaf(run: Run):
    """Stacks and their names reach the root."""
    root, (leaf,) = root_and_leaves(run, ["leaf"])
    env = {"HOOK_RUN_DIR": leaf.run_directory}
    program = run.workload("stacks_truth")
    leaf.cli("run", "--hooks", hooks_of(run), "--level", "record+stack", "--job", "far", "--", program, run.path("noted-far"), env=env)
    root.closed_report("far")
    report = by_stack(root, "far")
    report["stacks"] = [row for row in report["stacks"] if all("library" in frame and frame["library"] for frame in row["frames"])]
    expect_equal("leaf", stacks_of(report), truth_of(run.path("noted-far")))
    expect_names("leaf", report, program)
    own = [frame for row in report["stacks"] for frame in row["frames"] if frame.get("library") == os.path.realpath(program) and frame["function"] == "call_all"]
    expect("leaf: files", {os.path.basename(frame["file"]) for frame in own}, {"stacks_truth.c"})
    expect_true("leaf: lines", all(frame["line"] > 0 for frame in own))
    for node in (root, leaf):
        end_process(node.collector)


def test(run):
    for check in (check_whole, check_stripped, check_limit, check_leaf):
        check(run)


if __name__ == "__main__":
    main(test)
