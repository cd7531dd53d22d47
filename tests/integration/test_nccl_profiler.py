#!/usr/bin/python3
"""The agent as NCCL's profiler plugin, in each version of the interface: events, bandwidths and rows against what was asked for.

The simulated NCCL opens the plugin as the real one does and plays events with known GPU times from a proxy thread, the last channel
first. The program prints what it did. Bandwidths are compared with the definitions of nccl-tests.
"""
import collections
import csv
import io
import json
import os

from harness import Run, expect, expect_true, main

RANKS, CHANNELS, STEPS = 4, 3, 2
VERSIONS = range(1, 7)
CHANNELS_SINCE, TIMES_SINCE, CALLS_SINCE = 3, 4, 5
FACTORS = {"AllReduce": 2 * (RANKS - 1) / RANKS, "AllGather": (RANKS - 1) / RANKS, "ReduceScatter": (RANKS - 1) / RANKS, "Send": 1}
MISCHIEF = 5000
EVENTS = 4096  # that the agent keeps


def program(run):
    return os.path.join(run.build, "tests", "workloads", "simcuda", "nccl_profiled")


def truth_of(text):
    """[(communicator's number, function, operations, bytes of one, ns of one)]."""
    return [(int(comm), func, int(count), int(size), int(ns)) for comm, func, count, size, ns in map(str.split, text.splitlines())]


def trace(run, name, *words, hooks=(), level=None, **environment):
    done = run.trace(program(run), *words, hooks=hooks, level=level, options=("--job", name), env=environment)
    return done, run.report(run.path("store", name)), truth_of(done.stdout)


def events_of(report):
    return collections.Counter({row["function"]: row["calls"] for row in report["calls"] if row["domain"] == "nccl.event"})


def operations_of(truth):
    counts = collections.Counter()
    for _, func, count, _, _ in truth:
        counts[func] += count
    return counts


def check_events(version, report, truth, steps=False):
    """One event for each operation and channel, all under their operation's name."""
    wanted = collections.Counter()
    for func, count in operations_of(truth).items():
        wanted[func] = wanted[f"{func} proxy send"] = count
        if version >= CHANNELS_SINCE:
            wanted[f"{func} channel"] = CHANNELS * count
        if steps:
            wanted[f"{func} proxy step"] = wanted[f"{func} network"] = STEPS * count
    expect(f"v{version}: events", events_of(report), wanted)


def check_bandwidths(version, report, truth):
    """Operations, bytes and times are the simulated ones, and the bandwidths what they are defined as."""
    got = {}
    for row in report["nccl"]:
        key = (int(row["communicator"], 16) >> 16 & 0xffff, row["function"], row["size_bytes"])
        expect_true(f"v{version}: two rows for {key}", key not in got)
        got[key] = row
        expect(f"v{version}: ranks", row["ranks"], RANKS)
    wanted = {(comm + 1, func, 1 << size.bit_length() - 1): (count, size, ns) for comm, func, count, size, ns in truth}
    expect(f"v{version}: rows", set(got), set(wanted))
    for key, (count, size, ns) in wanted.items():
        row = got[key]
        expect(f"v{version} {key}", [row[name] for name in ("operations", "bytes", "total_ns", "min_ns", "max_ns")],
               [count, count * size, count * ns, ns, ns])
        for name, value in (("algorithm_gbps", size / ns), ("bus_gbps", size / ns * FACTORS[key[1]])):
            expect_true(f"v{version} {key}: {name} {row[name]}, expected {value}", abs(row[name] - value) < 1e-9 * value)


def records_of(run, name):
    return list(csv.DictReader(io.StringIO(run.cli("export", run.path("store", name), "--format", "csv").stdout)))


def check_calls(version, records):
    """Events were asked for within a call of their function, but for those whose clocks were read with an interruption between."""
    calls = collections.defaultdict(list)
    for row in records:
        if row["domain"] == "nccl":
            start = int(row["start_ns"])
            calls[row["function"]].append((start, start + int(row["duration_ns"])))
    inside = {True: 0, False: 0}
    for row in records:
        if row["domain"] == "nccl.event":
            submitted = int(row["start_ns"]) - int(row["value_submitted_ago"])
            call = f"nccl{row['function'].split()[0]}"
            inside[any(start - 1000 <= submitted <= end + 1000 for start, end in calls[call])] += 1
    expect_true(f"v{version}: events inside of their calls: {inside}", inside[True] > 9 * inside[False])


def check_rows(run, name):
    """Rows of their own in a timeline."""
    trace_events = json.loads(run.cli("export", run.path("store", name), "--format", "chrome").stdout)["traceEvents"]
    names = {event["args"]["name"] for event in trace_events if event.get("name") == "thread_name"}
    for comm in ("abcdef000001", "abcdef000002"):
        wanted = {f"NCCL {comm} operations", f"NCCL {comm} proxy 0", *(f"NCCL {comm} channel {i}" for i in range(CHANNELS))}
        expect(f"rows of {comm}", wanted - names, set())


def check_version(run, version):
    name = f"v{version}"
    done, report, truth = trace(run, name, SIM_NCCL_NEWEST=str(version))
    check_events(version, report, truth)
    if version >= TIMES_SINCE:
        check_bandwidths(version, report, truth)
        expect_true(f"the summary has the table: {done.stderr}", "bus GB/s" in done.stderr)
    check_calls(version, records_of(run, name))
    if version == max(VERSIONS):
        check_rows(run, name)
    _, report, truth = trace(run, f"all-{name}", SIM_NCCL_NEWEST=str(version), HOOK_NCCL_EVENTS="all")
    if version >= CHANNELS_SINCE:
        check_events(version, report, truth, steps=True)


def check_mischief(run, version):
    """Events without a stop, of unknown types, stale and foreign handles: NCCL is not failed, and memory is bounded."""
    _, report, truth = trace(run, f"mischief-{version}", str(MISCHIEF), SIM_NCCL_NEWEST=str(version))
    events = events_of(report)
    expect(f"v{version}: of unknown type", events["NCCL event of unknown type"], MISCHIEF)
    lost = events["NCCL event without an end"]
    total = MISCHIEF + sum(operations_of(truth).values())
    expect_true(f"v{version}: without an end: {lost}", 0 < lost <= total)
    expect_true(f"v{version}: the rest is kept: {lost}", lost >= MISCHIEF - EVENTS)
    expect("the calls themselves", sum(row["calls"] for row in report["calls"] if row["function"] == "ncclAllReduce"),
           operations_of(truth)["AllReduce"])


def check_choices(run):
    """What NCCL is asked for: nothing without its hooks, by choice, or where the user has a plugin."""
    for name, options, environment in (("mpi", {"hooks": ["mpi"]}, {}), ("none", {}, {"HOOK_NCCL_EVENTS": "none"}),
                                       ("own", {}, {"NCCL_PROFILER_PLUGIN": "none"})):
        _, report, _ = trace(run, name, **options, **environment)
        expect(f"{name}: events", events_of(report), collections.Counter())
        expect(f"{name}: bandwidths", report["nccl"], [])
    _, report, truth = trace(run, "operations", HOOK_NCCL_EVENTS="operations")
    expect("operations alone", events_of(report), operations_of(truth))
    _, report, truth = trace(run, "count", level="nccl*:*=count")
    lines = run.cli("env").stdout
    expect_true(f"hookcli env sets it: {lines}", f"export NCCL_PROFILER_PLUGIN={run.agent()}" in lines)
    lines = run.cli("env", env={"NCCL_PROFILER_PLUGIN": "mine"}).stdout
    expect_true(f"hookcli env keeps the user's: {lines}", "export NCCL_PROFILER_PLUGIN=mine" in lines)


def test(run: Run):
    plain = run.command(program(run)).stdout
    for version in VERSIONS:
        check_version(run, version)
    for version in (2, 4, 6):
        check_mischief(run, version)
    check_choices(run)
    # Without LD_PRELOAD the agent is only a plugin that asks for nothing.
    alone = run.command(program(run), env={"NCCL_PROFILER_PLUGIN": run.agent(), "HOOK_KEEP_SEGMENT": "1"}).stdout
    expect("as a plugin alone", truth_of(alone), truth_of(plain))
    expect("segments of it", [name for name in os.listdir(run.run_directory) if name.endswith(".seg")], [])
    expect("what the program prints without hooktrace", truth_of(run.command(program(run)).stdout), truth_of(plain))


if __name__ == "__main__":
    main(test)
