#!/usr/bin/python3
"""Device time by CUPTI's activity records, on simulated devices: every piece of work with its time, stream and call.

The simulated driver writes what its devices did, on the host's clock, and by which thread; the simulated CUPTI has another clock. A
second tool in the same process uses CUPTI before, after and between: it must get what it would get without hooktrace.
"""
import collections
import csv
import io
import json
import os
import re
import time

from harness import expect, expect_true, main

# A nanosecond of rounding on each side, and what another thread may take between two clock reads of a pair.
CLOCK_ERROR_NS = 50_000
NAMES = {"Memcpy DtoD (simulated)": "Memcpy DtoD", "Memset (simulated)": "Memset"}
SUBMITS = {"kernel": "cudaLaunchKernel", "copy": "cudaMemcpyAsync", "set": "cudaMemset"}
WORK = {"kernels": 200, "copies": 100, "sets": 100}

Work = collections.namedtuple("Work", "kind name device stream bytes start_ns end_ns tid pid")


class Traced:
    def __init__(self, run, name, *scenes, words="", options=("--device-time",), **environment):
        here = os.path.join(run.build, "tests", "workloads", "simcuda")
        self.name = name
        truth = run.path(f"{name}.truth")
        done = run.trace(os.path.join(here, "device_truth"), *scenes, hooks=["cuda"], store=name, options=("-q", "--job", name, *options),
                         env={"LD_LIBRARY_PATH": here, "SIM_TRUTH": truth, "SIM_CUPTI": words, **environment})
        self.tool = json.loads(done.stdout.splitlines()[-1])
        self.work = []
        if os.path.exists(truth):
            with open(truth, encoding="utf-8") as file:
                for line in file:
                    kind, called, device, stream, *numbers = line.rstrip("\n").split("\t")
                    self.work.append(Work(kind, NAMES.get(called, called), int(device), 0 if stream == "(nil)" else int(stream, 16),
                                          *map(int, numbers)))
        self.report = json.loads(run.cli("report", run.path(name, name), "--format", "json").stdout)
        rows = run.cli("export", run.path(name, name), "--format", "csv").stdout
        self.rows = list(csv.DictReader(io.StringIO(rows)))

    def process(self, index=0):
        return self.report["processes"][index]

    def source(self, index=0):
        return self.process(index)["device_time"]

    def device_ns(self, role="main"):
        """{(domain, function): [calls, device time]}"""
        sums = {}
        for row in self.report["calls"]:
            if row["role"] == role and row["device_ns"] is not None and "simulated" not in row["function"]:
                of = sums.setdefault((row["domain"], row["function"]), [0, 0])
                of[0] += row["calls"]
                of[1] += row["device_ns"]
        return sums

    def notes(self):
        return " ".join(row["notes"] for row in self.report["coverage"])


def seconds_of(works):
    return sum(work.end_ns - work.start_ns for work in works)


def check_sums(what, traced, works=None):
    """Statistics: activities, and beside the calls the time of what these submitted; host time stays what it was."""
    works = traced.work if works is None else works
    sums = traced.device_ns()
    for name in {work.name for work in works}:
        mine = [work for work in works if work.name == name]
        calls, device_ns = sums[("device", name)]
        expect(f"{what}: {name}", calls, len(mine))
        expect_true(f"{what}: {name}: {device_ns} ns, not {seconds_of(mine)}", abs(device_ns - seconds_of(mine)) <= 2 * len(mine))
    for kind, function in SUBMITS.items():
        mine = [work for work in works if work.kind == kind]
        if mine:
            device_ns = sums[("cuda", function)][1]
            expect_true(f"{what}: {function}: {device_ns} ns, not {seconds_of(mine)}",
                        abs(device_ns - seconds_of(mine)) <= 2 * len(mine))
    for row in traced.report["calls"]:
        if row["domain"] == "device":
            expect(f"{what}: host time of {row['function']}", row["total_ns"], None)


def device_rows(traced):
    for row in traced.rows:
        if row["domain"] == "device" and "simulated" not in row["function"]:
            at = int(row["start_ns"])
            start = at - int(row["value_began_ago"])
            yield {"name": row["function"], "device": int(row["value_device"]), "stream": int(row["value_stream"], 0),
                   "bytes": int(row["value_bytes"]), "start": start, "end": start + int(row["value_duration"]),
                   "submitted": at - int(row["value_submitted_ago"]), "thread": int(row["value_thread"])}


def realtime_ahead():
    """How much CLOCK_REALTIME is ahead of CLOCK_MONOTONIC, in ns: of several looks, the one with the least time in it."""
    def look():
        before, real, after = (time.clock_gettime_ns(clock) for clock in (time.CLOCK_MONOTONIC, time.CLOCK_REALTIME, time.CLOCK_MONOTONIC))
        return after - before, real - (before + after) // 2
    return min(look() for _ in range(100))[1]


def check_each(what, traced):
    """Every piece of work: device, stream, bytes, times on the host's clock, and the call that submitted it."""
    base = traced.report["job"]["start_unix_ns"] - realtime_ahead()
    found = sorted(device_rows(traced), key=lambda row: row["start"])
    wanted = sorted(traced.work, key=lambda work: work.start_ns)
    by_key = collections.defaultdict(list)
    for row in found:
        by_key[row["name"], row["device"], row["stream"], row["bytes"]].append(row)
    calls = collections.defaultdict(list)
    for row in traced.rows:
        if row["function"] in SUBMITS.values():
            calls[int(row["tid"])].append((int(row["start_ns"]), int(row["start_ns"]) + int(row["duration_ns"]), row["function"]))
    order = {tid: sorted(rows) for tid, rows in calls.items()}
    turn, threads, worst = collections.Counter(), {}, 0
    expect(f"{what}: pieces of work", len(found), len(wanted))
    for work in wanted:
        key = work.name, work.device, work.stream, work.bytes
        row = by_key[key].pop(0)
        worst = max(worst, abs(row["start"] + base - work.start_ns))
        expect_true(f"{what}: {work}: took {row['end'] - row['start']} ns", abs(row["end"] - row["start"] - (work.end_ns - work.start_ns)) <= 2)
        expect(f"{what}: thread of {work}", threads.setdefault(row["thread"], work.tid), work.tid)
    expect_true(f"{what}: starts are {worst} ns off", worst <= CLOCK_ERROR_NS)
    # A thread's pieces of work, in the order of their submission, are its calls one by one.
    for row in sorted(found, key=lambda row: row["submitted"]):
        tid = threads[row["thread"]]
        start, end, function = order[tid][turn[tid]]
        turn[tid] += 1
        expect_true(f"{what}: {row} was not submitted by call {turn[tid]} of its thread, {start} to {end}", start <= row["submitted"] <= end)
        kind = "kernel" if row["name"].endswith("kernel") else "copy" if row["name"].startswith("Memcpy") else "set"
        expect(f"{what}: call of {row}", function, SUBMITS[kind])


def check_streams(run, what, traced):
    """report --by stream: counts, bytes and busy time of each stream."""
    lines = run.cli("report", run.path(what, what), "--format", "text", "--by", "stream").stdout.splitlines()
    head = lines[1].split() if not lines[0].startswith("rank") else lines[0].split()
    rows = [line.split() for line in lines if line[:1] in " 0123456789" and len(line.split()) == 11]
    expect_true(f"{what}: columns {head}", "busy%" in head)
    wanted = collections.defaultdict(lambda: [0, 0, 0, 0, 0])
    for work in traced.work:
        row = wanted[work.device, work.stream]
        row[("kernel", "copy", "set").index(work.kind)] += 1
        row[3] += work.bytes
        row[4] += work.end_ns - work.start_ns
    found = {(int(row[2]), int(row[3], 16)): row for row in rows}
    expect(f"{what}: streams", sorted(found), sorted(wanted))
    for key, (kernels, copies, sets, size, busy_ns) in wanted.items():
        row = found[key]
        expect(f"{what}: stream {key}", row[4:8], [str(number) for number in (kernels, copies, sets, size)])
        expect_true(f"{what}: stream {key} was busy for {row[8]} s, not {busy_ns} ns", abs(float(row[8]) * 1e9 - busy_ns) < 2000)
        busy, used = float(row[8]), float(row[9])
        expect_true(f"{what}: stream {key} was busy {row[10]} % of {used} s", abs(float(row[10]) - 100 * busy / used) <= 0.1 + 1e-4 / used
                    and 0 < busy <= used * 1.001 + 2e-6)


def check_summary(run, traced):
    """The summary has the device's time of calls in a column of its own, and what devices did in a table of its own."""
    text = run.cli("report", run.path(traced.name, traced.name), "--format", "summary").stdout
    calls, _, rest = text.partition("\non devices ")
    expect_true(f"summary: {text}", re.search(r"^call .* device s$", calls, re.MULTILINE))
    rows = [re.split(r"\s{2,}", line.strip()) for line in rest.split("\n\n")[0].splitlines()[1:]]
    wanted = {name: sums for (domain, name), sums in traced.device_ns().items() if domain == "device"}
    expect("summary: what devices did", {name: int(times) for name, times, *_ in rows}, {name: times for name, (times, _) in wanted.items()})
    most = sorted(wanted, key=lambda name: -wanted[name][1])
    expect("summary: most device time first", [name for name, *_ in rows], most)
    all_ns = sum(device_ns for _, device_ns in wanted.values())
    for name, _, seconds, share in rows:
        expect_true(f"summary: {name}: {seconds} s", abs(float(seconds) - wanted[name][1] / 1e9) <= 0.05 * float(seconds))
        expect_true(f"summary: {name}: {share} %", abs(float(share) - 100 * wanted[name][1] / all_ns) <= 0.06)
        expect_true(f"summary: {name} is no call", not re.search(rf"^{name} ", calls, re.MULTILINE))


def check_alone(run):
    for name, words in (("plain", ""), ("late", "late"), ("reverse", "reverse"), ("small", "bytes=2048"), ("tiny", "reverse bytes=600")):
        traced = Traced(run, name, "work", words=words)
        expect(f"{name}: source", (traced.source()["state"], traced.source()["library"], traced.source()["version"]), ("on", "CUPTI", 130001))
        expect(f"{name}: activities", (traced.source()["activities"], traced.source()["unlinked"], traced.source()["dropped"]),
               (len(traced.work), 0, 0))
        check_sums(name, traced)
        check_each(name, traced)
        check_streams(run, name, traced)
        if name == "plain":
            check_summary(run, traced)
    # No call waits for the device: what is left comes at exit.
    traced = Traced(run, "bare", "bare")
    check_sums("bare", traced)
    check_each("bare", traced)


def check_calls_within(run):
    """What the tracing library calls while the agent asks it is no call of the program's, and no lost one."""
    traced = Traced(run, "within", "work", options=("--device-time", "--hooks", "*:clock_gettime"))
    expect("within: calls without room", traced.report["job"]["calls_untracked"], 0)


def check_burst(run):
    """More launches without a wait than calls are remembered: records are asked for before they are forgotten."""
    traced = Traced(run, "burst", "burst")
    expect("burst: activities", (traced.source()["activities"], traced.source()["unlinked"], traced.source()["dropped"]),
           (len(traced.work), 0, 0))
    check_sums("burst", traced)


def check_kernels(run):
    """report --by kernel: the device's time is with the kernel that was launched, also where the device's name of it is another."""
    quiet = "__cudaRegisterFunction=off,__cudaGetKernel=off"
    for name, options, environment in (("told", (), {}), ("stub", ("--level", quiet), {"SIM_NO_NAMES": "1"})):
        traced = Traced(run, f"named_{name}", "named", "work", options=("--device-time", *options), **environment)
        report = json.loads(run.cli("report", run.path(traced.name, traced.name), "--by", "kernel", "--format", "json").stdout)
        rows = {row["symbol"]: row for row in report["kernels"]}
        wanted = collections.defaultdict(list)
        for work in traced.work:
            if work.kind == "kernel":
                wanted["long_stub_b" if name == "stub" and work.name.endswith("z") else work.name].append(work)
        expect(f"kernels, {name}", sorted(map(len, rows)), sorted(map(len, wanted)))
        for symbol, works in wanted.items():
            row = rows[symbol]
            what = f"kernels, {name}: {symbol[:11]} of {len(symbol)} bytes"
            expect(f"{what}: launches, activities", (row["launches"], row["device_activities"]), (len(works), len(works)))
            expect_true(f"{what}: {row['device_ns']} ns, not {seconds_of(works)}", abs(row["device_ns"] - seconds_of(works)) <= 2 * len(works))


def check_refused(run):
    for words, state, says in (("status=999", "no driver", "no driver"), ("status=15", "old driver", "update it"),
                               ("status=35", "no privilege", "NVreg_RestrictProfilingToAdminUsers=0"), ("status=39", "taken", "another tool"),
                               ("status=7", "failed", "refused"), ("version=150000", "unknown version", "not known"),
                               ("version=3", "unknown version", "not known")):
        traced = Traced(run, words.replace("=", ""), "work", words=words)
        expect(f"{words}: state", traced.source()["state"], state)
        expect_true(f"{words}: notes are {traced.notes()}", says in traced.notes())
        expect(f"{words}: device time", {key for key in traced.device_ns() if key[0] != "device"}, set())
    # The last kind alone is refused: none of the others stays on.
    traced = Traced(run, "partly", "work", words="refuses=2 bytes=600")
    expect("partly: state, records", (traced.source()["state"], traced.source()["activities"]), ("no privilege", 0))
    traced = Traced(run, "nolibrary", "work", HOOK_CUPTI="/nowhere/libcupti.so.13")
    expect("no library: state", traced.source()["state"], "no library")
    expect_true(f"no library: notes are {traced.notes()}", "HOOK_CUPTI" in traced.notes())
    # Not asked for: not opened, and nothing is said of it.
    traced = Traced(run, "unasked", "work", options=())
    expect("unasked: source", traced.source(), None)
    expect("unasked: the device's own log", traced.work, [])


def check_dropped(run):
    """All buffers are full until the end."""
    traced = Traced(run, "dropped", "work", words="late bytes=600")
    expect_true(f"dropped: {traced.source()}", traced.source()["dropped"] > 0)
    expect_true(f"dropped: notes are {traced.notes()}", f"{traced.source()['dropped']} records dropped" in traced.notes())


def expect_tool(what, traced, times):
    """The other tool lacks nothing, and gets nothing that is not its own."""
    for key, number in WORK.items():
        expect(f"{what}: {key} of the other tool", traced.tool[key], times * number)
    expect(f"{what}: calls of the other tool", (traced.tool["runtime"], traced.tool["driver"]), (times * 400, times * 400))
    expect(f"{what}: buffers that are not the other tool's", traced.tool["strangers"], 0)


def check_shared(run):
    for name, scenes, times, state, yields in (
            ("after", ("work", "tool"), 1, "shared", 1), ("before", ("tool", "work"), 1, "on", 0), ("tool", ("tool",), 1, "shared", 0),
            ("twice", ("work", "tool", "work", "again", "work"), 2, "on", 2)):
        for words in ("", "reverse bytes=2048"):
            traced = Traced(run, f"{name}{len(words)}", *scenes, words=words)
            what = f"{name} {words}"
            expect_tool(what, traced, times)
            expect(f"{what}: takeovers", traced.source()["yields"], yields)
            expect(f"{what}: unlinked", traced.source()["unlinked"], 0)
            check_sums(what, traced)
            check_each(what, traced)
            expect_true(f"{what}: {traced.source()}", state == traced.source()["state"] or state == "shared")
    # Its clock is in the records: twice as fast, and elsewhere.
    traced = Traced(run, "stamped", "stamped")
    expect_tool("stamped", traced, 1)
    sums = traced.device_ns()
    kernels = sum(sums["device", name][1] for name in ("small_kernel", "large_kernel"))
    expect_true(f"stamped: {kernels} ns, the other tool says {traced.tool['device_ns']} / 2", abs(2 * kernels / traced.tool["device_ns"] - 1) < 0.02)
    expect("stamped: kernels", sums["device", "small_kernel"][0] + sums["device", "large_kernel"][0], WORK["kernels"])


def check_yielded(run):
    """A subscriber has CUPTI for itself; after its end, or its flush, CUPTI is begun once more."""
    traced = Traced(run, "subscribed", "work", "subscribe", "work")
    expect("subscribed: source", (traced.source()["state"], traced.source()["yields"]), ("on", 1))
    expect("subscribed: the other's", traced.tool["kernels"], 0)
    check_sums("subscribed", traced)
    traced = Traced(run, "stays", "work", "stays", "work", "again", "work")
    expect_tool("stays", traced, 2)
    expect("stays: source", (traced.source()["state"], traced.source()["yields"]), ("on", 2))
    check_sums("stays", traced)
    traced = Traced(run, "finalized", "work", "finalize", "work", "tool", "finalize", "work")
    expect_tool("finalized", traced, 1)
    expect("finalized: state", traced.source()["state"], "on")
    check_sums("finalized", traced)


def check_flushed(run):
    """A process that flushes loses nothing by _exit, also no work of calls that are not seen."""
    traced = Traced(run, "gone", "work", "gone")
    check_sums("gone", traced)
    check_each("gone", traced)
    unseen = Traced(run, "unseen", "work", "gone", options=("--device-time", "--level", "cudaLaunchKernel=off,cuLaunchKernel=off"))
    kernels = [work for work in unseen.work if work.kind == "kernel"]
    expect("unseen: work without its call", unseen.source()["unlinked"], len(kernels))
    for name in {work.name for work in kernels}:
        mine = [work for work in kernels if work.name == name]
        calls, device_ns = unseen.device_ns()[("device", name)]
        expect(f"unseen: {name}", calls, len(mine))
        expect_true(f"unseen: {name}: {device_ns} ns, not {seconds_of(mine)}", abs(device_ns - seconds_of(mine)) <= 2 * len(mine))


def check_forked(run):
    traced = Traced(run, "forked", "work", "fork", "work")
    main_work = [work for work in traced.work if work.pid == traced.process()["pid"]]
    check_sums("forked", traced, main_work)
    child = next(process for process in traced.report["processes"] if process["pid"] != traced.process()["pid"])
    expect("forked: the child", child["device_time"]["state"], "parent")
    expect("forked: device time of the child", traced.device_ns("helper"), {})


def test(run):
    check_alone(run)
    check_calls_within(run)
    check_burst(run)
    check_kernels(run)
    check_refused(run)
    check_dropped(run)
    check_shared(run)
    check_yielded(run)
    check_flushed(run)
    check_forked(run)


if __name__ == "__main__":
    main(test)
