#!/usr/bin/python3
"""A job of many ranks, played by `load`: the root has each rank's calls to the last one, and top and report agree with it."""
import collections
import json
import re

from harness import Run, expect, expect_true, main, wait_for

RANKS, LEAVES, SITES, TICKS, CALLS = 64, 4, 50, 6, 7


def play(run, url, job, *options):
    numbers = {"ranks": RANKS, "leaves": LEAVES, "sites": SITES, "ticks": TICKS, "calls": CALLS, "period": 50}
    line = [part for name, value in numbers.items() for part in (f"--{name}", value)]
    load = run.build + "/tests/load/load"
    return json.loads(run.command(load, url, "--job", job, *line, *options).stdout)


def check_report(run, job, truth):
    wait_for(f"job {job} to close", lambda: run.report(job)["job"]["closed"])
    report = run.report(job)
    calls = collections.Counter()
    for row in report["calls"]:
        calls[row["rank"]] += row["calls"]
    expect("ranks", len(report["ranks"]), RANKS)
    expect("calls of each rank", set(calls.values()), {SITES * TICKS * CALLS})
    expect("calls", sum(calls.values()), truth["calls"])
    expect("time", sum(row["total_ns"] for row in report["calls"]), truth["total_ns"])
    expect("exits", {rank["exit"]["kind"] for rank in report["ranks"]}, {"exited"})
    expect("hosts", len({rank["host"] for rank in report["ranks"]}), LEAVES)


def check_top(run, job):
    text = run.cli("top", job, "--once", "--rows", "1000").stdout
    rows = [line.split() for line in text.splitlines() if line.startswith("function_")]
    expect_true(f"head of {text[:200]}", re.search(rf"\b{RANKS}/{RANKS} ranks", text))
    expect("rows of top", len(rows), SITES)
    expect_true("each function has its latencies", all("-" not in row for row in rows))


def test(run: Run):
    run.start_collector()
    url = f"ipc://{run.run_directory}/collector.sock"
    for job in ("first", "second"):
        truth = play(run, url, job)
        expect("calls made", truth["calls"], RANKS * SITES * TICKS * CALLS)
        check_report(run, job, truth)
        check_top(run, job)


if __name__ == "__main__":
    main(test)
