#!/usr/bin/python3
"""report --by wait: what ranks waited for each other. Beside Scalasca's definitions, applied here to the calls' exported times, which
must give the same numbers; and beside the program's own clock reads around its calls.

    test_waits.py BUILD [STEPS RUNS]

With RUNS two ranks run, which lose their processors rarely, and the sums over all runs must agree with the program's clock reads.
"""
import collections
import csv
import glob
import io
import json
import os
import shutil

from harness import RANKS, expect, expect_true, main

STEPS = 64
SHARE = 0.02
INSIDE = 600  # bytes into a file of records: in the first chunk, behind its head
COLLECTIVES = {"MPI_Barrier": "barrier", "MPI_Allreduce": "all-to-all", "MPI_Alltoall": "all-to-all", "MPI_Bcast": "late-broadcast",
               "MPI_Reduce": "early-reduce"}
SENDS = ("MPI_Send", "MPI_Ssend")

# One call: when it was entered and left, in ns.
Part = collections.namedtuple("Part", "rank function role enter leave")


def of_collective(pattern, parts):
    for part in parts:
        others = [other for other in parts if other is not part]
        if pattern == "late-broadcast":
            awaited = None if part.role == "root" else next(other for other in others if other.role == "root")
        elif pattern == "early-reduce" and part.role != "root":
            awaited = None
        else:
            awaited = max(others, key=lambda other: other.enter)
        if awaited and awaited.enter > part.enter:
            yield pattern, part, awaited


def of_message(parts):
    send = next(part for part in parts if part.role == "send")
    receive = next(part for part in parts if part.role == "receive")
    if send.enter > receive.enter:
        yield "late-sender", receive, send
    elif receive.enter > send.enter and send.leave >= receive.enter:
        yield "late-receiver", send, receive


def model(steps):
    """{(pattern, function, rank, awaited): [waits in ns]} by Scalasca's definitions."""
    waits = collections.defaultdict(list)
    for parts in steps:
        pattern = COLLECTIVES.get(parts[0].function)
        for name, part, awaited in of_collective(pattern, parts) if pattern else of_message(parts):
            waits[name, part.function, part.rank, awaited.rank].append(min(awaited.enter, part.leave) - part.enter)
    return waits


def read_notes(run, name, ranks):
    for rank in range(ranks):
        with open(run.path(f"{name}.notes.{rank}"), encoding="ascii") as notes:
            yield from notes


def noted(lines):
    """The parts of each step as the program noted them."""
    steps = collections.defaultdict(list)
    for line in lines:
        step, _, function, rank, role, enter, leave = line.split()
        steps[int(step)].append(Part(int(rank), function, role, int(enter), int(leave)))
    return [steps[step] for step in sorted(steps)]


def exported(run, job, steps, ranks):
    """The same with the times of the calls that hooktrace recorded, and any further barriers."""
    calls = collections.defaultdict(list)
    for row in csv.DictReader(io.StringIO(run.cli("export", job, "--format", "csv").stdout)):
        if row["role"] == "main":
            calls[int(row["rank"]), row["function"]].append((int(row["start_ns"]), int(row["start_ns"]) + int(row["duration_ns"])))
    calls = {key: sorted(times) for key, times in calls.items()}
    used = collections.Counter()

    def times(rank, function):
        used[rank, function] += 1
        return calls[rank, function][used[rank, function] - 1]

    result = [[Part(part.rank, part.function, part.role, *times(part.rank, part.function)) for part in parts] for parts in steps]
    left = len(calls[0, "MPI_Barrier"]) - used[0, "MPI_Barrier"]
    return result + [[Part(rank, "MPI_Barrier", "part", *times(rank, "MPI_Barrier")) for rank in range(ranks)] for _ in range(left)]


def sums_of(waits):
    sums = collections.Counter()
    for (pattern, function, _, _), each in waits.items():
        sums[pattern, function] += sum(each)
    return sums


def compare(run, steps, seed, ranks):
    """The report's waits are those of the model. Returns the job, its report, and the sums by the program and by hooktrace."""
    name = f"waits{seed}"
    run.trace("mpirun", "-n", str(ranks), run.workload("mpi_waits"), str(steps), str(seed), run.path(f"{name}.notes"), store=name,
              options=("-q", "--job", name))
    parts = noted(read_notes(run, name, ranks))
    expect("steps of the program", len(parts), steps)
    job = run.path(name, name)
    report = json.loads(run.cli("report", job, "--by", "wait", "--format", "json").stdout)
    expect("records that are missing", report["missing_records"], 0)
    expect("collectives that contradict", report["doubtful_collectives"], 0)
    found = {(row["pattern"], row["function"], row["rank"], row["awaited"]): (row["waits"], row["wait_ns"], row["longest_ns"])
             for row in report["waits"]}
    recorded = exported(run, job, parts, ranks)
    wanted = model(recorded)
    expect("waits", found, {key: (len(waits), sum(waits), max(waits)) for key, waits in wanted.items()})
    return job, report, sums_of(model(parts)), sums_of(model(recorded[:steps]))


def check_damage(run, job):
    """Calls behind damaged records would be matched with others than their own: there are no waits then, and the exit status says so."""
    copy = run.path("damaged")
    shutil.copytree(job, copy)
    with open(glob.glob(os.path.join(copy, "*.chunks"))[0], "r+b") as file:
        file.seek(INSIDE)
        file.write(bytes(byte ^ 0x55 for byte in range(100)))
    for words in (("report", copy, "--by", "wait", "--format", "json"), ("report", copy, "--by", "wait"), ("why", copy)):
        done = run.cli(*words, check=False)
        expect(f"exit of {words[0]} with damaged records", done.returncode, 1)
        if "json" in words:
            answer = json.loads(done.stdout)
            expect("no waits, and why", (answer["waits"], answer["damaged"]), ([], True))
        elif "report" in words:
            expect_true(f"damage in the text: {done.stdout}", "records are damaged" in done.stdout)
        else:
            expect_true(f"damage on stderr: {done.stderr}", "damaged" in done.stderr)


def test(run, steps=STEPS, runs=0):
    by_program, by_hooktrace = collections.Counter(), collections.Counter()
    for seed in range(int(runs) or 1):
        job, report, program, hooktrace = compare(run, int(steps), seed, 2 if int(runs) else RANKS)
        by_program.update(program)
        by_hooktrace.update(hooktrace)
    for key in sorted(by_program):
        share = by_hooktrace[key] / by_program[key] - 1
        print(f"{key[0]:14} {key[1]:13} {by_program[key] / 1e6:8.2f} ms by the program, {by_hooktrace[key] / 1e6:8.2f} by hooktrace: {100 * share:+.2f} %")
    whole = sum(by_hooktrace.values()) / sum(by_program.values()) - 1
    print(f"all: {100 * whole:+.2f} %")
    if int(runs):
        expect_true(f"within {100 * SHARE} % of the program's clock reads: {100 * whole:.2f} %", abs(whole) <= SHARE)
    rows = list(csv.DictReader(io.StringIO(run.cli("report", job, "--by", "wait", "--format", "csv").stdout)))
    expect("the rows as CSV", rows, [{key: str(value) for key, value in row.items()} for row in report["waits"]])
    text = run.cli("report", job, "--by", "wait").stdout
    for pattern in {row["pattern"] for row in report["waits"]}:
        expect_true(f"{pattern} in the text: {text}", f"\n{pattern} " in text)
    expect_true(f"what was matched: {text}", f"{report['messages']} messages and {report['collectives']} collectives were matched" in text)
    check_damage(run, job)
    run.trace("true", store="none", options=("-q", "--job", "none"))
    expect_true("a job without waits", "no rank waited" in run.cli("report", run.path("none", "none"), "--by", "wait").stdout)


if __name__ == "__main__":
    main(test)
