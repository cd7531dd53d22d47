#!/usr/bin/python3
"""A program that calls hk_pause (frame/pause.c): paused calls are counted and not recorded, on all its threads and in its child."""
import collections
import json
import os

from harness import calls_of, expect, main

ROUNDS, RECORDED, PAUSED, IN_CHILD = 3, 100, 50, 30
# Of both threads.
CALLS, RECORDS = 2 * ROUNDS * (RECORDED + PAUSED), 2 * ROUNDS * RECORDED
HOOKS = "int getppid()\nptr malloc(ulong size)  alloc pointer=result size=size\nvoid free(ptr ptr)  free pointer=ptr\n"


def events_of(path):
    with open(path, encoding="utf-8") as stream:
        return [event for event in json.load(stream)["traceEvents"] if event["ph"] != "M"]


def check_levels(run, name, level):
    hooks = run.path("pause.hooks")
    with open(hooks, "w", encoding="ascii") as file:
        file.write(HOOKS)
    traced = run.trace(os.path.join(run.build, "tests", "integration", "frame", "pause"), hooks=[hooks], level=level, store=name,
                       options=("--job", name))
    expect(f"{name}: output", traced.stdout, "done\n")
    store = run.path(name, name)
    rows = {function: row for (_, _, function), row in calls_of(run.report(store)).items()}
    expect(f"{name}: all calls are counted", rows["getppid"]["calls"], CALLS)
    expect(f"{name}: annotations are counted too", [rows[call]["calls"] for call in ("paused", "paused mark", "recorded", "step")],
           [ROUNDS, ROUNDS, ROUNDS, 3 * ROUNDS])
    run.cli("export", store, "--format", "chrome", "-o", run.path(f"{name}.json"))
    events = events_of(run.path(f"{name}.json"))
    main_pid = [event["pid"] for event in events if event["name"] == "recorded"]
    count = collections.Counter((event["pid"] in main_pid, event["name"]) for event in events)
    expect(f"{name}: records", {key: count[True, key] for key in ("getppid", "recorded", "paused", "paused mark", "step")},
           {"getppid": RECORDS, "recorded": ROUNDS, "paused": 0, "paused mark": 0, "step": 2 * ROUNDS})
    expect(f"{name}: work that was done before", sum(event["name"] == "work" for event in events), ROUNDS)
    expect(f"{name}: the child is paused until it says otherwise", count[False, "getppid"], IN_CHILD)
    # Blocks that come and go in a pause must not look leaked: their records are not left out.
    expect(f"{name}: blocks", (count[True, "malloc"], count[True, "free"]), (ROUNDS, ROUNDS))
    return store


def check_steps(run, store):
    run.cli("export", store, "--format", "kineto", "--exact", "-o", run.path("kineto"))
    events = events_of(run.path("kineto", "rank0.json"))
    steps = [event for event in events if event["name"].startswith("ProfilerStep#")]
    expect("steps end where the program says so", [event["name"] for event in steps], [f"ProfilerStep#{100 + i}" for i in range(ROUNDS)])
    ranges = [event for event in events if event["name"] == "recorded"]
    for step, around in zip(steps, ranges):
        expect(f"{step['name']} is within its range", around["ts"] <= step["ts"] and step["ts"] + step["dur"] <= around["ts"] + around["dur"], True)


def test(run):
    store = check_levels(run, "default", "record")
    check_steps(run, store)
    check_levels(run, "given", "record+args")


if __name__ == "__main__":
    main(test)
