#!/usr/bin/python3
"""Collectors of several machines in one shared directory, without a network: one job, and the same report as through one."""
import glob
import json
import os
import subprocess

from harness import TIMEOUT, expect, expect_true, main, wait_for
from machine import closed_report, machines, rank_environment
from test_calls_truth import HOOKS, LIBRARIES
from truth import load, rows_of, wanted_of

RANKS = 12
NAMES = ("alpha", "beta", "gamma")
COUNTED = ("calls", "errors", "bytes")


def run_ranks(run, job, machine_of):
    """A job of RANKS ranks, each on the machine that MACHINE_OF says; {rank: what the program says itself}."""
    commands = []
    for rank in range(RANKS):
        out = run.path(f"{job}-{rank}.json")
        commands.append((out, machine_of(rank).start(run.workload("calls_truth"), "--count", out,
                                                      env=rank_environment(run, job, rank, RANKS, HOOKS),
                                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)))
    for out, command in commands:
        expect(f"exit of {out}", command.wait(TIMEOUT), 0)
    return {rank: load(out) for rank, (out, _) in enumerate(commands)}


def counts_of(report, rank):
    return {key: {name: row[name] or 0 for name in COUNTED} for key, row in rows_of(report, rank).items() if key[0] in LIBRARIES}


def check_truth(what, report, truths):
    expect(f"{what}: ranks", [rank["rank"] for rank in report["ranks"]], list(range(RANKS)))
    expect(f"{what}: world, exit", (report["job"]["world_size"], report["job"]["exit"]), (RANKS, "exit 0"))
    for rank, truth in truths.items():
        got = counts_of(report, rank)
        for key, wanted in wanted_of(truth).items():
            expect(f"{what}: rank {rank}: {key}", got[key]["calls"], wanted["calls"])


def check_records(run, what, directory, report):
    """Every record is in the export, once."""
    out = run.path("trace.json")
    run.cli("export", directory, "--format", "chrome", "-o", out)
    with open(out, encoding="utf-8") as trace:
        held = sum(event.get("ph") == "X" for event in json.load(trace)["traceEvents"])
    expect(f"{what}: records in the export", held, sum(rank["records"] for rank in report["ranks"]))
    lines = run.cli("log", directory).stdout.splitlines()
    expect(f"{what}: lines of the log", len(lines), held)


def shared_job(run, nodes, store):
    """The job through a shared directory; {rank: counts}."""
    for node in nodes:
        node.start_collector("--store", store, "--per-node")
    truths = run_ranks(run, "shared", lambda rank: nodes[rank * len(nodes) // RANKS])
    directory = os.path.join(store, "shared")
    report = closed_report(run, directory, RANKS)
    check_truth("shared", report, truths)
    expect("hosts", sorted({rank["host"] for rank in report["ranks"]}), sorted({node.name for node in nodes}))
    # Nodes that have not talked to each other do not know each other's clocks.
    unknown = [report["job"]["clock_error_ns"], *(rank["clock"]["error_ns"] for rank in report["ranks"])]
    expect("errors of the clocks", unknown, [None] * (1 + RANKS))
    expect("node directories", len(glob.glob(os.path.join(directory, "*", "statistics"))), len(nodes))
    check_records(run, "shared", directory, report)
    for name in ("report.json", "summary.txt"):
        expect_true(f"{name} of the whole", os.path.exists(os.path.join(directory, name)))
    with open(os.path.join(directory, "report.json"), encoding="utf-8") as stream:
        expect("ranks in report.json of the whole", len(json.load(stream)["ranks"]), RANKS)
    jobs = json.loads(run.cli("ls", "--json", env={"HOOK_STORE": store}).stdout)
    expect("jobs listed", [(job["id"], job["state"], job["world_size"], job["directory"]) for job in jobs],
           [("shared", "exit 0", RANKS, directory)])
    return report


def one_job(run, node):
    """The same through one collector."""
    store = run.path("one")
    node.start_collector("--store", store)
    truths = run_ranks(run, "one", lambda rank: node)
    report = closed_report(run, os.path.join(store, "one"), RANKS)
    check_truth("one", report, truths)
    node.end_collector()
    return report


def check_same(run, nodes):
    one = one_job(run, nodes[0])
    shared = shared_job(run, nodes, run.path("store"))
    for rank in range(RANKS):
        expect(f"rank {rank} through one collector and through three", counts_of(shared, rank), counts_of(one, rank))


def rerun(run, nodes, store):
    """New collectors, the same key: a job of its own, in which all meet again."""
    for node in nodes:
        node.end_collector()
    for node in nodes:
        node.start_collector("--store", store, "--per-node")
    truths = run_ranks(run, "shared", lambda rank: nodes[rank % len(nodes)])
    report = closed_report(run, os.path.join(store, "shared-2"), RANKS)
    check_truth("rerun", report, truths)
    expect("runs", sorted(os.listdir(store)), ["shared", "shared-2"])


def warned(run, directory, what):
    done = run.cli("report", directory, "--format", "json", check=False)
    expect(f"{what}: exit status", done.returncode, 1)
    expect_true(f"{what}: {done.stderr!r}", what in done.stderr)
    return json.loads(done.stdout)


def running(run, nodes, store):
    """One node continues while the others have ended; then its machine dies."""
    directory = os.path.join(store, "still")
    quick, slow = nodes[0], nodes[1]
    command = slow.start("cat", env=rank_environment(run, "still", 1, 2, ["libc"]), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    wait_for("the slow rank", lambda: glob.glob(os.path.join(directory, "*", "job.json")))
    done = quick.start("true", env=rank_environment(run, "still", 0, 2, ["libc"]))
    expect("exit of the quick rank", done.wait(TIMEOUT), 0)

    def look():
        done = run.cli("report", directory, "--format", "json", check=False)
        report = json.loads(done.stdout) if done.returncode == 0 else None
        ends = {rank["rank"]: rank["exit"]["kind"] for rank in report["ranks"]} if report else {}
        return report if ends == {0: "exited", 1: "running"} else None
    report = wait_for("the quick rank's end in the report", look)
    expect("exit of a job that goes on", report["job"]["exit"], "running")
    jobs = json.loads(run.cli("ls", "--json", env={"HOOK_STORE": store}).stdout)
    expect("state of it", [job["state"] for job in jobs if job["id"] == "still"], ["open"])
    expect("removing it", run.cli("rm", "-f", directory, check=False).returncode, 1)
    slow.end_collector(9)
    command.stdin.close()
    command.wait(TIMEOUT)
    for path in glob.glob(os.path.join(directory, "*", "*")):
        os.utime(path, (1, 1))
    report = warned(run, directory, "fell silent")
    expect("ranks of it", [rank["rank"] for rank in report["ranks"]], [0, 1])


def damaged(run, store):
    """A node's statistics are torn; the rest is shown."""
    directory = os.path.join(store, "shared")
    torn = sorted(glob.glob(os.path.join(directory, "*", "statistics")))[1]
    os.truncate(torn, 30)
    report = warned(run, directory, "damaged" if os.path.getsize(torn) > 0 else "missing")
    expect("ranks of the others", len(report["ranks"]), RANKS * 2 // 3)
    run.cli("rm", "-f", directory)
    expect_true("the directory after rm", not os.path.exists(directory))


def refused(run):
    """Nodes meet in a shared store or at a root: not both."""
    done = run.command(run.binary("hookcollector"), "--per-node", "--upstream", "tcp://127.0.0.1:4440", check=False)
    expect("exit status of both", done.returncode, 2)
    expect("lines about it", done.stderr.count("\n"), 1)
    expect_true(f"it says why: {done.stderr}", "--per-node and --upstream exclude each other" in done.stderr)


def test(run):
    refused(run)
    store = run.path("store")
    with machines(run, *NAMES) as nodes:
        check_same(run, nodes)
        rerun(run, nodes, store)
        running(run, nodes, store)
        damaged(run, store)


if __name__ == "__main__":
    main(test)
