#!/usr/bin/python3
"""report --by delay and --by path on a program of known delays: one rank sleeps in a known function, and the others wait for it one
after the other; another rank computes. The waits are those by the program's own clock reads.

    test_delays.py BUILD
"""
import collections
import csv
import io
import json
import os
import shutil

from harness import RANKS, expect, expect_true, main

STEPS, LATE, HEAVY, MS = 24, 1, 3, 24
MOST = 0.8  # of a cost that must be charged to what caused it: other programs delay ranks too
INSIDE = 600  # bytes into a file of records: in the first chunk, behind its head


def read_notes(run):
    """{(step, rank, function): [(enter, duration)]}"""
    notes = collections.defaultdict(list)
    for rank in range(RANKS):
        with open(run.path(f"notes.{rank}"), encoding="ascii") as lines:
            for line in lines:
                step, rank_, function, enter, duration = line.split()
                notes[int(step), int(rank_), function].append((int(enter), int(duration)))
    return notes


def waits_of(notes):
    """What each rank behind the late one waited in messages, in ns, in the order of the chain, and what all waited for the rank that
    computes."""
    chain = [0] * (RANKS - 1)
    computed = 0
    for step in range(STEPS):
        for place in range(RANKS - 1):
            sender, receiver = (LATE + place) % RANKS, (LATE + place + 1) % RANKS
            sent, = notes[step, sender, "MPI_Send"]
            received, = notes[step, receiver, "MPI_Recv"]
            chain[place] += max(0, sent[0] - received[0])
        entered = [notes[step, rank, "MPI_Allreduce"][0][0] for rank in range(RANKS)]
        expect_true("the last one is the one that computes", entered[HEAVY] == max(entered))
        computed += sum(max(entered) - enter for enter in entered)
    return chain, computed


def names_of(row):
    return [frame.get("function") for frame in row.get("frames", [])]


def find(rows, what, **wanted):
    found = [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]
    expect_true(f"{what}: {rows[:6]}", found)
    return found[0]


def within(what, value, most):
    print(f"{what}: {value / 1e6:.1f} of {most / 1e6:.1f} ms, {100 * value / most:.1f} %")
    expect_true(f"{what}: {value} of {most}", MOST * most <= value <= (2 - MOST) * most)


def check_delays(run, job, notes):
    delays = json.loads(run.cli("report", job, "--by", "delay", "--format", "json").stdout)
    waits = json.loads(run.cli("report", job, "--by", "wait", "--format", "json").stdout)
    expect("waits", (delays["waits"], delays["wait_ns"]), (sum(row["waits"] for row in waits["waits"]), sum(row["wait_ns"] for row in waits["waits"])))
    charged = sum(row["cost_ns"] for row in delays["delays"]) + delays["uncharged_ns"]
    expect_true(f"costs add up: {charged} of {delays['wait_ns']}", abs(charged - delays["wait_ns"]) <= len(delays["delays"]) + 1)
    chain, computed = waits_of(notes)
    slept = [row for row in delays["delays"] if row.get("function") == "nanosleep" and row["rank"] == LATE and "fetch" in names_of(row)]
    expect("a row of fetch", len(slept), 1)
    within("waits because of fetch", slept[0]["cost_ns"], sum(chain))
    within("of these passed on", slept[0]["passed_ns"], sum(chain[1:]))
    ground = find(delays["delays"], "own work", rank=HEAVY, after="MPI_Barrier", before="MPI_Allreduce", **{"class": "own work"})
    within("waits because of grind", ground["cost_ns"], computed)
    text = run.cli("report", job, "--by", "delay").stdout
    expect_true(f"the functions in the text: {text}", "own work between MPI_Barrier and MPI_Allreduce" in text and "fetch" in text)
    expect_true(f"what was not recorded: {text}", "other calls were recorded" in text)
    rows = list(csv.DictReader(io.StringIO(run.cli("report", job, "--by", "delay", "--format", "csv").stdout)))
    expect("rows as CSV", [(row["rank"], row["text"], row["cost_ns"]) for row in rows],
           [(str(row["rank"]), row["text"], str(row["cost_ns"])) for row in delays["delays"]])


def check_path(run, job, notes):
    """In each step the path goes through fetch and grind."""
    path = json.loads(run.cli("report", job, "--by", "path", "--format", "json").stdout)
    slept = sum(duration for (_, _, function), each in notes.items() if function == "fetch" for _, duration in each)
    ground = sum(duration for (_, _, function), each in notes.items() if function == "grind" for _, duration in each)
    row = next(row for row in path["path"] if row.get("function") == "nanosleep" and row["rank"] == LATE and "fetch" in names_of(row))
    within("fetch on the path", row["ns"], slept)
    row = find(path["path"], "own work", rank=HEAVY, after="MPI_Barrier", before="MPI_Allreduce")
    within("grind on the path", row["ns"], ground)
    whole = sum(row["ns"] for row in path["path"])
    expect_true(f"the path adds up: {whole} of {path['path_ns']}", abs(whole - path["path_ns"]) <= len(path["path"]))
    expect_true(f"classes add up: {path['path_classes']}", abs(sum(path["path_classes"].values()) - path["path_ns"]) <= 5)
    expect("nothing is uncertain on one node", path["path_unsure"], 0)
    expect("nothing is unknown", path["path_classes"]["unknown"], 0)
    text = run.cli("report", job, "--by", "path").stdout
    expect_true(f"the path's line: {text}", "critical path: " in text and f"ends in rank {path['path_last']}" in text)


def check_why(run, job):
    """The findings about the late ranks say what the others waited for."""
    lines = json.loads(run.cli("why", job, "--json").stdout)["findings"]
    details = [line for finding in lines if finding["ranks"] in ([LATE], [HEAVY]) for line in finding["details"]]
    if details:
        expect_true(f"costs in the evidence: {details}", any(line.startswith("delay cost: ") for line in details))
    expect_true(f"a path in the findings: {lines}", any(finding["kind"] == "path" and "critical path" in finding["evidence"] for finding in lines))


def check_incomplete(run, job):
    """Damaged records give nothing; a level below record on one rank is named."""
    copy = run.path("damaged")
    shutil.copytree(job, copy)
    name = sorted(name for name in os.listdir(copy) if name.endswith(".chunks"))[0]
    with open(os.path.join(copy, name), "r+b") as file:
        file.seek(INSIDE)
        file.write(bytes(byte ^ 0x55 for byte in range(100)))
    for by, rows in (("delay", "delays"), ("path", "path")):
        done = run.cli("report", copy, "--by", by, "--format", "json", check=False)
        expect(f"exit of {by} with damaged records", done.returncode, 1)
        answer = json.loads(done.stdout)
        expect("no rows, and why", (answer[rows], answer["damaged"]), ([], True))
        expect_true(f"damage is named: {answer}", any("damaged" in line for line in answer["incomplete"]))
    run.trace("mpirun", "-n", str(RANKS), run.workload("mpi_delays"), "2", str(LATE), str(HEAVY), "1", run.path("other"), store="counted",
              level="MPI_Barrier=count", options=("-q", "--job", "counted"))
    text = run.cli("report", run.path("counted", "counted"), "--by", "delay").stdout
    expect_true(f"counted calls are named: {text}", "calls of MPI were recorded: on rank" in text)


def test(run):
    run.trace("mpirun", "-n", str(RANKS), run.workload("mpi_delays"), str(STEPS), str(LATE), str(HEAVY), str(MS), run.path("notes"),
              level="nanosleep=record+stack", options=("-q", "--job", "delays"))
    job = run.path("store", "delays")
    notes = read_notes(run)
    check_delays(run, job, notes)
    check_path(run, job, notes)
    check_why(run, job)
    check_incomplete(run, job)


if __name__ == "__main__":
    main(test)
