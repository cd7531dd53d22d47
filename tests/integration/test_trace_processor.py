#!/usr/bin/python3
"""Perfetto's own trace processor imports exports without an error, and finds in them what the report counts."""
import collections
import json
import os
import sys

import trace_processor
from harness import RANKS, expect, expect_true, main
from test_stack_exports import text_of

OURS = "hooktrace"  # category of what is no call: missing records, messages that arrived


def number(trace, sql):
    return int(trace.query(sql)[0][0] or 0)


def check_calls(what, trace, report):
    counted = {}
    for row in report["calls"]:
        counted[row["function"]] = counted.get(row["function"], 0) + row["calls"]
    rows = trace.query(f"""select slice.name, count(*) from slice join thread_track on thread_track.id = slice.track_id
                           where category != '{OURS}' group by slice.name""")
    expect(f"{what}: calls", {name: int(count) for name, count in rows}, counted)


def check_messages(run, load, arrows, joined):
    report = run.report(run.path("store", "messages"))
    for name in ("messages.pftrace", "messages.json"):
        trace = load(name)
        expect(f"{name}: errors of the import", trace.errors(), [])
        expect(f"{name}: arrows", number(trace, "select count(*) from flow"), arrows + joined)
        check_calls(name, trace, report)
        # From a message to what received it: nothing arrives at a send, or leaves a receive.
        expect(f"{name}: arrows that end at sends", number(trace, """select count(*) from flow join slice on slice.id = flow.slice_in
               where slice.name in ('MPI_Send', 'MPI_Isend', 'MPI_Issend')""") if name.endswith("pftrace") else 0, 0)
    trace = load("messages.pftrace")
    ranks = trace.query("select cast(substr(name, 6) as int) from process where name like 'rank %' order by upid")
    expect("ranks", sorted(int(rank) for rank, in ranks), list(range(RANKS)))


def check_steps(run, load):
    trace = load("steps.pftrace")
    expect("steps: errors of the import", trace.errors(), [])
    tracks = dict(trace.query("""select track.name, count(*) from slice join track on track.id = slice.track_id
                                 where track.name like 'stream %' or track.name like 'device %' group by track.name"""))
    expect_true(f"tracks of streams and devices: {tracks}", any(name.startswith("stream") for name in tracks) and
                any(name.startswith("device") for name in tracks))
    peaks = {row["rank"]: row["peak_bytes"] for row in run.report(run.path("store", "steps"))["memory"]
             if (row["library"], row["kind"], row["device"], row["role"]) == ("*", "device", 0, "main")}
    rows = trace.query("""select process.name, max(value) from counter join process_counter_track on process_counter_track.id =
                          counter.track_id join process using (upid) where process_counter_track.name = 'live device 0'
                          group by upid""")
    expect("highest points of device memory", {int(name.split()[1]): int(float(value)) for name, value in rows}, peaks)
    expect_true(f"{len(peaks)} peaks", peaks)


def check_stacks(run, load):
    """The argument `stack` of a call is its caller's stack as the report has it."""
    report = json.loads(run.cli("report", run.path("store", "stacks"), "--by", "stack", "--format", "json").stdout)
    wanted = collections.Counter()
    for row in report["stacks"]:
        wanted[row["function"], "\n".join(text_of(frame) for frame in row["frames"])] += row["calls"]
    trace = load("stacks.pftrace")
    expect("stacks: errors of the import", trace.errors(), [])
    rows = trace.query("""select slice.name, args.string_value, count(*) from slice join args using (arg_set_id)
                          where args.key = 'debug.stack' group by slice.name, args.string_value""")
    expect("stacks: calls", {(name, stack): int(count) for name, stack, count in rows}, dict(wanted))
    expect("stacks as Chrome's: errors of the import", load("stacks.json").errors(), [])


def test(run):
    traces = run.path("traces")
    os.mkdir(traces)
    done = run.trace("mpirun", "-n", RANKS, run.workload("mpi_messages"), hooks=["mpi"], level="record", options=("--job", "messages"))
    words = [line.split() for line in done.stdout.splitlines()]
    run.cli("export", run.path("store", "messages"), "-o", run.path("traces", "messages.pftrace"))
    run.cli("export", run.path("store", "messages"), "--format", "chrome", "-o", run.path("traces", "messages.json"))
    run.trace("mpirun", "-n", 2, run.workload("simcuda/cuda_steps"), hooks=["mpi", "cuda"], level="record", options=("--job", "steps"))
    run.cli("export", run.path("store", "steps"), "-o", run.path("traces", "steps.pftrace"))
    run.trace(run.workload("stacks_truth"), run.path("noted"), hooks=["*:stacks_plain"], level="record+stack", options=("--job", "stacks"))
    run.cli("export", run.path("store", "stacks"), "-o", run.path("traces", "stacks.pftrace"))
    run.cli("export", run.path("store", "stacks"), "--format", "chrome", "-o", run.path("traces", "stacks.json"))
    try:
        with trace_processor.opened(run.build, traces, run.directory) as load:
            check_messages(run, load, sum(line[0] == "arrow" for line in words),
                           sum(int(line[2]) for line in words if line[0] == "join"))
            check_steps(run, load)
            check_stacks(run, load)
    except trace_processor.Unavailable as error:
        print(error)
        sys.exit(77)


if __name__ == "__main__":
    main(test)
