#!/usr/bin/python3
"""What annotations.c says of itself is in the report and in both exports, and a program without the agent says nothing."""
import collections
import json
import os

import export_check
from harness import calls_of, expect, expect_true, main

STEPS = 20
DEEP = 64 - 1  # ranges kept per thread, less the one around them
RANGES = {"main": 1, "phase 0": STEPS // 2, "phase 1": STEPS // 2, "shared": STEPS + 100, "deep": DEEP, "left open": 1,
          "left open by a thread": 1}
MARKS = {'a "mark"': STEPS, "tick": 100, "n" * 127: 1, "": 1, "step": STEPS}
LEFT = ("left open", "left open by a thread")


def check_report(program, report):
    rows = {function: row for (_, library, function), row in calls_of(report).items() if row["domain"] == "user"}
    expect(f"{program}: calls", {name: row["calls"] for name, row in rows.items()}, {**RANGES, **MARKS, "loss": STEPS})
    expect(f"{program}: libraries", {os.path.basename(row["library"]) for row in rows.values()}, {program})
    for name, row in rows.items():
        expect(f"{program}: {name} has times", row["p50_ns"] is not None, name in RANGES and name not in LEFT)
    inside = sum(rows[name]["total_ns"] for name in ("phase 0", "phase 1"))
    expect_true(f"{program}: main lasts as long as what is in it", rows["main"]["total_ns"] >= inside > 0)
    expect_true(f"{program}: main's own time is without it", rows["main"]["self_ns"] <= rows["main"]["total_ns"] - inside)
    expect(f"{program}: of one domain the outer counts", rows["phase 0"]["outermost_ns"], 0)


def check_chrome(run, job):
    with open(run.path("trace.json"), encoding="utf-8") as stream:
        events = [event for event in json.load(stream)["traceEvents"] if event.get("cat") == "user"]
    count = collections.Counter((event["ph"], event["name"]) for event in events)
    wanted = {("X", name): calls for name, calls in RANGES.items()}
    wanted |= {("i", name): calls for name, calls in MARKS.items()} | {("C", "loss"): STEPS}
    expect(f"{job}: Chrome events", dict(count), wanted)
    expect(f"{job}: left open", sorted(event["name"] for event in events if event["args"].get("unwound")), sorted(LEFT))
    ordered = sorted(events, key=lambda event: event["ts"])
    expect(f"{job}: steps", [event["args"]["step"] for event in ordered if event["name"] == "step"], list(range(STEPS)))
    expect(f"{job}: losses", [event["args"]["value"] for event in ordered if event["ph"] == "C"],
           [1.0 / (step + 1) for step in range(STEPS)])


def check_perfetto(run, job):
    instants, losses, counters, sequences = collections.Counter(), [], {}, {}
    for packet in export_check.packets(run.path("trace.pftrace")):
        sequence = sequences.setdefault(packet.sequence, export_check.Sequence())
        sequence.take(packet, job)
        if packet.HasField("descriptor") and packet.descriptor.HasField("counter"):
            counters[packet.descriptor.uuid] = packet.descriptor.name
        event = packet.track_event
        if event.type == export_check.INSTANT:
            instants[sequence.tables["names"][event.name_iid]] += 1
        elif event.type == export_check.COUNTER:
            expect_true(f"{job}: a counter without a track", event.track_uuid in counters)
            losses.append(event.double_counter_value)
    expect(f"{job}: Perfetto instants", dict(instants), MARKS)
    expect(f"{job}: Perfetto counters", list(counters.values()), ["loss"])
    expect(f"{job}: Perfetto losses", losses, [1.0 / (step + 1) for step in range(STEPS)])


def test(run):
    frame = os.path.join(run.build, "tests", "integration", "frame")
    for program in ("annotations", "annotations_fixed"):
        path = os.path.join(frame, program)
        expect(f"{program} alone", run.command(path).stdout, "done\n")
        traced = run.trace(path, hooks=["mpi"], level="record", options=("--job", program))
        expect(f"{program}: output", traced.stdout, "done\n")
        store = run.path("store", program)
        report = run.report(store)
        check_report(program, report)
        expect(f"{program}: no hook saw a call", [row["notes"] for row in report["coverage"]],
               ["nothing hooked: no object calls what 'mpi' names"])
        run.cli("export", store, "--format", "chrome", "-o", run.path("trace.json"))
        run.cli("export", store, "--format", "perfetto", "-o", run.path("trace.pftrace"))
        check_chrome(run, program)
        check_perfetto(run, program)
        expect_true(f"{program}: problems {export_check.Perfetto(run.path('trace.pftrace')).read() and export_check.problems}",
                    not export_check.problems)
    run.command(os.path.join(frame, "annotations"), "sandbox")
    run.trace(os.path.join(frame, "annotations"), "sandbox", hooks=["mpi"], level="record", options=("--job", "sandbox"))
    rows = {function: row["calls"] for (_, _, function), row in calls_of(run.report(run.path("store", "sandbox"))).items()}
    expect("calls around a sandbox", rows, {f"name {i}": 2 for i in range(5)} | {"count": 13, "step": 13})
    run.trace(os.path.join(frame, "annotations"), 5000, hooks=["mpi"], level="count", options=("--job", "names"))
    rows = calls_of(run.report(run.path("store", "names")))
    expect("calls of 5,000 names", sum(row["calls"] for row in rows.values()), 5000)
    expect("names kept", len(rows), 4096 + 1)
    expect("calls of the others", {name: row["calls"] for (_, _, name), row in rows.items()}["(more names)"], 5000 - 4096)


if __name__ == "__main__":
    main(test)
