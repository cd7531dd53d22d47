#!/usr/bin/python3
"""Simulated NCCL under mpirun: calls, errors and bytes per rank, one number per communicator on all ranks, device memory."""
import collections
import json

from harness import expect, expect_true, main
from truth import expect_calls, expect_whole, load, rows_of, wanted_of

RANKS = 4
# Made before any other communicator, by all ranks; and what each rank has for itself.
WORLD, OTHER, HALF, OWN = "ncclCommInitRank", "ncclCommInitRankConfig", "ncclCommSplit", "ncclCommInitAll"


def numbers_of(run, job):
    """{rank: {function: Counter of the communicator numbers its calls carry}}, from an export, which has all records."""
    out = run.path("timeline.json")
    run.cli("export", job, "--format", "chrome", "-o", out)
    with open(out, encoding="utf-8") as stream:
        events = json.load(stream)
    events = events["traceEvents"] if isinstance(events, dict) else events
    ranks = {}
    for event in events:
        if event.get("ph") == "X" and event["name"].startswith("nccl"):
            arguments = event["args"]
            number = arguments.get("newcomm") or arguments.get("comm")
            ranks.setdefault(event["pid"], {}).setdefault(event["name"], collections.Counter())[number] += 1
    return list(ranks.values())


def check_communicators(ranks):
    expect("ranks in the export", len(ranks), RANKS)
    halves, own = collections.Counter(), collections.Counter()
    for calls in ranks:
        made = {function: list(calls[function]) for function in (WORLD, OTHER, HALF, OWN)}
        expect("communicators made by each call", [len(numbers) for numbers in made.values()], [1] * 4)
        world, other, half, alone = (numbers[0] for numbers in made.values())
        expect("numbers of a rank's communicators", len({world, other, half, alone, None, "0x0"}), 6)
        expect("world and other", (world, other), (list(ranks[0][WORLD])[0], list(ranks[0][OTHER])[0]))
        # 20 of its 43 calls on each of the first two, one on the half, one on each of the two of this process.
        expect("ncclAllReduce by communicator", dict(calls["ncclAllReduce"]), {world: 20, other: 20, half: 1, alone: 2})
        expect("ncclSend by communicator", dict(calls["ncclSend"]), {world: 2, other: 1})
        halves[half] += 1
        own[alone] += 1
    expect("members of the halves", sorted(halves.values()), [RANKS // 2, RANKS // 2])
    expect("communicators of one process", len(own), RANKS)


def check_memory(report, rank):
    rows = [row for row in report["memory"] if row["rank"] == rank and row["kind"] == "device"]
    rounded = [row for row in rows if row["peak_bytes"] > 4000]
    expect("what NCCL asks the driver for is not counted beside what it was asked for", rounded, [])
    for library in ("*", "nccl_truth"):
        row = next(row for row in rows if row["library"].endswith(library))
        got = {key: row[key] for key in ("device", "allocs", "frees", "live_bytes", "peak_bytes")}
        expect(f"device memory of {library}", got, {"device": 1, "allocs": 2, "frees": 1, "live_bytes": 3000, "peak_bytes": 4000})
    expect("rows of device memory", len(rows), 2)


def check_reload(run):
    """What was found out about a library that has gone is not used any more."""
    done = run.trace(run.workload("simcuda/nccl_reload"), hooks=["nccl"], options=("--job", "reload"))
    expect("output", done.stdout, "3\n")
    report = run.report(run.path("store", "reload"))
    expect_whole(report, 1)
    # One double to each of five ranks, three times.
    rows = rows_of(report, domains={"nccl"})
    seen = {function: (row["calls"], row["bytes"]) for (_, function), row in rows.items()}
    expect("ncclReduceScatter", seen.get("ncclReduceScatter"), (3, 3 * 5 * 8))


def test(run):
    program = run.workload("simcuda/nccl_truth")
    run.trace("mpirun", "-n", RANKS, program, run.directory, hooks=["cuda", "nccl"], options=("--job", "nccl"))
    job = run.path("store", "nccl")
    report = run.report(job)
    expect_whole(report, RANKS)
    for rank in range(RANKS):
        truth = load(run.path(f"truth-{rank}.json"))
        expect_calls(f"rank {rank}", rows_of(report, rank, domains={"nccl"}), wanted_of(truth))
        check_memory(report, rank)
    check_communicators(numbers_of(run, job))
    expect_true("NCCL has a share of its own", "NCCL" in run.cli("report", job).stdout)
    check_reload(run)


if __name__ == "__main__":
    main(test)
