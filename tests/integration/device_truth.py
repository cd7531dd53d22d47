"""device_truth: compares a job on simulated runtimes with what its programs know: calls, memory, communicators, arguments."""
import collections
import json
import os

from harness import expect, expect_true
from truth import expect_calls, expect_whole, load, rows_of, wanted_of

KEYS = ("allocs", "frees", "live_bytes", "peak_bytes")
RANKS = 4


def events_of(run, job):
    """The calls of each rank, [[(function, arguments)]], in order of their start."""
    out = run.path("timeline.json")
    run.cli("export", job, "--format", "chrome", "-o", out)
    with open(out, encoding="utf-8") as stream:
        events = json.load(stream)
    events = events["traceEvents"] if isinstance(events, dict) else events
    ranks = {}
    for event in sorted((event for event in events if event.get("ph") == "X"), key=lambda event: event["ts"]):
        ranks.setdefault(event["pid"], []).append((event["name"], event["args"]))
    return list(ranks.values())


def check_memory(what, report, rank, wanted, program, idle=()):
    """Memory by device and kind: of the whole, and of the program, which is all that allocates. IDLE accounts have no rows."""
    rows = {}
    for row in report["memory"]:
        if row["rank"] == rank and row["kind"] not in ("heap", "map"):
            rows[f"{row['kind']} {row['device']}", os.path.basename(row["library"])] = row
    kinds = [kind for kind in wanted if kind not in idle]
    expect(f"{what}: rows of memory", sorted(rows), sorted((kind, library) for kind in kinds for library in ("*", program)))
    for (kind, library), row in rows.items():
        expect(f"{what}: {kind} of {library}", {key: row[key] for key in KEYS}, wanted[kind])
    for kind in kinds:
        row = rows[kind, "*"]
        expect(f"{what}: range of {kind}", (row["peak_low"], row["peak_high"]), (row["peak_bytes"],) * 2)


def check_communicators(ranks, world, part, collective, calls):
    """WORLD makes one communicator of all ranks, PART one of half of them; COLLECTIVE is called CALLS times on each."""
    expect("ranks in the export", len(ranks), RANKS)
    numbers, halves = set(), collections.Counter()
    for events in ranks:
        made = [arguments["newcomm"] for name, arguments in events if name in (world, part)]
        expect("communicators that a rank makes", len(set(made)), 2)
        expect_true(f"each has a number: {made}", not {None, 0, "0x0"} & set(made))
        numbers.add(made[0])
        halves[made[1]] += 1
        used = collections.Counter(arguments.get("comm") for name, arguments in events if name == collective)
        expect(f"{collective} by communicator", dict(used), dict(zip(made, calls)))
    expect("numbers of the world", len(numbers), 1)
    expect("members of the halves", sorted(halves.values()), [RANKS // 2] * 2)


def trace(run, program, hooks, domains, idle=()):
    """Runs PROGRAM on all ranks and compares its own calls and its memory. Returns the report and the job."""
    name = os.path.basename(program)
    run.trace("mpirun", "-n", RANKS, program, run.directory, hooks=hooks, options=("--job", name))
    job = run.path("store", name)
    report = run.report(job)
    expect_whole(report, RANKS)
    for rank in range(RANKS):
        truth = load(run.path(f"truth-{rank}.json"))
        rows = {key: row for key, row in rows_of(report, rank, domains=domains).items() if key[0] == name}
        expect_calls(f"rank {rank}", rows, wanted_of(truth))
        check_memory(f"rank {rank}", report, rank, truth["memory"], name, idle)
    return report, job


def arguments_of(run, program, hooks, functions):
    """What one rank passed to FUNCTIONS, from a job at level record+args."""
    name = os.path.basename(program) + "-args"
    run.trace("mpirun", "-n", 2, program, run.directory, hooks=hooks, level="record+args", options=("--job", name))
    found = {}
    for function, more in events_of(run, run.path("store", name))[0]:
        if function in functions:
            found.setdefault(function, []).append(more["arguments"])
    return found
