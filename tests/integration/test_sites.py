#!/usr/bin/python3
"""Sites that sites.c defines of its own: counts, errors, nesting with hooked functions, levels, forks, and what was never left."""
import collections
import json
import os
import subprocess

from harness import expect, expect_true, main, wait_for

MANY = 30000
# Calls and errors by function, of /srv/model.py.
CALLS = {
    "outer (model.py:1)": (31, 5), "inner (model.py:2)": (15, 0), "leaf (model.py:3)": (4021, 0), "recurse (model.py:4)": (103, 0),
    "thread (model.py:7)": (4000, 0), "left by a thread (model.py:8)": (4, 0), "never left (model.py:9)": (10, 0),
    "fails (model.py:10)": (20, 7),
}
# Not inside of another call of the domain; those that were left count as such.
OUTERMOST = {"outer (model.py:1)": 31, "inner (model.py:2)": 5, "leaf (model.py:3)": 1, "recurse (model.py:4)": 2, "thread (model.py:7)": 4000}
CHILD = {"leaf (model.py:3)": 3, "child (model.py:5)": 1}
# The ends of these calls were never seen.
LEFT = {"inner (model.py:2)": 5, "left by a thread (model.py:8)": 4, "never left (model.py:9)": 10, "sites_around": 5}
AROUND, AROUND_INSIDE = 55, 10
# Of functions at pointers: calls with a result of 0 fail.
POINTERS = {"constant": (12, 1), "method": (12, 0), "fails": (12, 3)}
UNTRACKED = 2
JUMPS_EVERY = 5
# Clocks are read without order, so that nested calls may seem to overlap by so much.
OVERLAP_US = 0.2


def program(run):
    return os.path.join(run.build, "tests", "integration", "frame", "sites")


def python_rows(report, role="main"):
    return {row["function"]: row for row in report["calls"] if row["role"] == role and row["library"] == "/srv/model.py"}


def check_calls(report, timed):
    rows = python_rows(report)
    many = {function: row for function, row in rows.items() if function.startswith("many_")}
    expect("many sites", (len(many), {row["calls"] for row in many.values()}), (MANY, {1}))
    expect("calls and errors", {function: (row["calls"], row["errors"]) for function, row in rows.items() if function not in many}, CALLS)
    expect("domains", {row["domain"] for row in rows.values()}, {"python"})
    expect("libraries", {row["library"] for row in rows.values()}, {"/srv/model.py"})
    expect("calls of a child", {function: row["calls"] for function, row in python_rows(report, "helper").items()}, CHILD)
    around = [row for row in report["calls"] if row["function"] == "sites_around"]
    expect("calls of a hooked function", [row["calls"] for row in around], [AROUND])
    expect("outermost ones", [row["outermost_calls"] for row in around], [AROUND - AROUND_INSIDE if timed else None])
    expect("outermost calls", {function: row["outermost_calls"] for function, row in rows.items() if function in OUTERMOST},
           OUTERMOST if timed else dict.fromkeys(OUTERMOST))
    expect("calls of no site", report["job"]["calls_untracked"], UNTRACKED)
    pointers = {row["function"]: (row["calls"], row["errors"]) for row in report["calls"] if row["library"] == "torch"}
    expect("calls of functions at pointers", pointers, {name: (calls, timed and errors) for name, (calls, errors) in POINTERS.items()})
    same = [(row["function"], os.path.basename(row["library"]), row["domain"], row["calls"]) for row in report["calls"]
            if (row["domain"] in ("torch", "x" * 15) and row["library"] != "torch") or row["function"] == "same (a.py:1)"]
    expect("names that are alike", sorted((*row[1:3], row[3]) for row in same if row[2] != "x" * 15),
           [("a.py", "python", 1), ("b.py", "python", 1), ("b.py", "torch", 1), ("b.py", "torch", 1)])
    expect("one long name", sum(row[2] == "x" * 15 for row in same), 1)


def check_times(report):
    rows = python_rows(report)
    outer, recurse = rows["outer (model.py:1)"], rows["recurse (model.py:4)"]
    expect_true("a call has times", outer["p50_ns"] is not None and outer["min_ns"] <= outer["p50_ns"] <= outer["max_ns"])
    expect_true("what is inside is not its own", outer["self_ns"] < outer["total_ns"])
    expect_true("of a recursion the outermost counts", recurse["outermost_ns"] < recurse["total_ns"])


def is_nested(events):
    """Whether no two calls of one thread overlap, but for OVERLAP_US."""
    open_ends = []
    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        end = event["ts"] + event["dur"]
        while open_ends and open_ends[-1] <= event["ts"] + OVERLAP_US:
            open_ends.pop()
        if open_ends and end > open_ends[-1] + OVERLAP_US:
            return False
        open_ends.append(end)
    return True


def check_events(run, job, report):
    """Each call is a slice, and slices nest."""
    run.cli("export", job, "--format", "chrome", "-o", run.path("trace.json"))
    with open(run.path("trace.json"), encoding="utf-8") as stream:
        events = [event for event in json.load(stream)["traceEvents"] if event["ph"] == "X"]
    threads = collections.defaultdict(list)
    for event in events:
        threads[event["pid"], event["tid"]].append(event)
    count = collections.Counter(event["name"] for event in events if event["name"] in CALLS)
    wanted = {function: calls + CHILD.get(function, 0) for function, (calls, _) in CALLS.items()}
    expect("events", dict(count), wanted)
    expect("events of calls that were left", dict(collections.Counter(event["name"] for event in events if event["args"].get("unwound"))), LEFT)
    expect("lost records", [row["lost_records"] for row in report["processes"] if row["lost_records"]], [])
    expect("threads with calls that overlap", [key for key, list_ in threads.items() if not is_nested(list_)], [])


def check_log(run, job):
    """Names that have parentheses get no others."""
    lines = run.cli("log", job).stdout
    shown = [line.split(" ", 3)[3] for line in lines.splitlines() if "fails (model.py:10)" in line]
    expect("lines of failed calls", sum(line.startswith("model.py fails (model.py:10) failed <") for line in shown), 7)
    expect("lines of the others", sum(line.startswith("model.py fails (model.py:10) <") for line in shown), 13)


def check_levels(run):
    """Levels reach a running program; a site that is off is not counted."""
    def say(calls):
        told.stdin.write(f"{calls}\n")
        told.stdin.flush()
        return int(told.stdout.readline())

    def ctl(*arguments):
        return run.cli("ctl", "--job", "told", *arguments)

    def counted():
        row = python_rows(run.report("told"))["leaf (model.py:3)"]
        return row["calls"]
    run.start_collector()
    environment = run.environment(LD_PRELOAD=run.agent(), HOOK_HOOKS="mpi", HOOK_LEVEL="record", HOOK_JOB="told")
    with subprocess.Popen([program(run), "told"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as told:
        expect("on at first", say(10), 1)
        wait_for("the process", lambda: run.cli("report", "told", check=False).returncode == 0)
        for level, calls in (("count", 100), ("sample", 1000), ("time", 10), ("record", 10)):
            ctl("level", f"leaf*={level}")
            expect(f"on at {level}", say(calls), 1)
        ctl("level", "leaf*=off")
        expect("off", say(0), 0)
        expect("off still", say(5), 0)
        ctl("reset")
        expect("on again", say(0), 1)
        say(3)
        ctl("off", "--all")
        expect("everything off", say(0), 0)
        say(7)
        ctl("on")
        expect("everything on", say(0), 1)
        expect("calls at all levels", counted(), 10 + 100 + 1000 + 10 + 10 + 3)
        say("open")
        wait_for("an open call", lambda: [row["function"] for row in run.report("told")["open_calls"]] == ["outer (model.py:1)"])
        say("close")
        wait_for("its end", lambda: not run.report("told")["open_calls"])
        told.stdin.close()
        expect("exit status", told.wait(), 0)


def check_no_agent(run):
    expect("alone", run.command(program(run)).stdout, "no agent\n")
    off = run.trace(program(run), hooks=["mpi"], level="off", options=("--job", "off"))
    expect("off: output", off.stdout, "0\n")
    expect("off: calls", run.report(run.path("store", "off"))["calls"], [])


def check_pinned(run):
    """A level given at the start covers sites and functions at pointers, by function and library."""
    run.trace(program(run), hooks=["mpi"], level=["record", "fails*=count", "/srv/model.py:leaf*=off", "torch:method=count"],
              options=("--job", "pinned"))
    report = run.report(run.path("store", "pinned"))
    rows = python_rows(report)
    expect("a function at count", (rows["fails (model.py:10)"]["calls"], rows["fails (model.py:10)"]["p50_ns"]), (20, None))
    expect_true("its neighbour at record", rows["recurse (model.py:4)"]["p50_ns"] is not None)
    expect("a function that is off", "leaf (model.py:3)" in rows, False)
    pointers = {row["function"]: row["p50_ns"] is not None for row in report["calls"] if row["library"] == "torch"}
    expect("which functions at pointers have times", pointers, {"constant": True, "method": False, "fails": False})


def check_signals(run):
    """A handler's calls nest with those that it interrupts, and those that it leaves are over."""
    done = run.trace(program(run), "signals", hooks=["mpi"], level="record", options=("--job", "signals"))
    made, ticks = map(int, done.stdout.split())
    report = run.report(run.path("store", "signals"))
    rows = python_rows(report)
    jumps = ticks // JUMPS_EVERY
    expect("calls of the handler", {name: rows[name]["calls"] for name in ("leaf (model.py:3)", "inner (model.py:2)", "whole (model.py:11)")},
           {"leaf (model.py:3)": ticks, "inner (model.py:2)": ticks, "whole (model.py:11)": 1})
    ranges = next(row for row in report["calls"] if row["function"] == "tick")
    expect("ranges of the handler", (ranges["calls"], ranges["outermost_calls"]), (ticks, ticks))
    calls = rows["outer (model.py:1)"]["calls"]
    # A jump may leave the loop between its count and the call's, or within the call before it is counted.
    expect_true(f"calls: {calls} of {made}", made - jumps <= calls <= made)
    expect("the whole call is outermost", rows["whole (model.py:11)"]["outermost_calls"], 1)
    expect_true("and all others are inside", rows["outer (model.py:1)"]["outermost_calls"] <= jumps)


def test(run):
    check_no_agent(run)
    check_signals(run)
    check_pinned(run)
    for level in ("record", "record+stack", "time", "count", "sample"):
        job = level.replace("+", "-")
        done = run.trace(program(run), hooks=["*:sites_*"], level=level, options=("--job", job))
        expect(f"{level}: output", done.stdout, "1\n")
        report = run.report(run.path("store", job))
        if level != "sample":
            check_calls(report, level != "count")
        if level == "record":
            check_times(report)
            check_events(run, run.path("store", level), report)
            check_log(run, run.path("store", level))
    run.trace(program(run), "sealed", hooks=["mpi"], level="record", options=("--job", "sealed"))
    report = run.report(run.path("store", "sealed"))
    expect("calls in a sandbox", {function: row["calls"] for function, row in python_rows(report).items()},
           {"leaf (model.py:3)": 101, "inner (model.py:2)": 100})
    expect("calls of sites defined too late", report["job"]["calls_untracked"], 200)
    check_levels(run)


if __name__ == "__main__":
    main(test)
