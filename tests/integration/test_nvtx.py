#!/usr/bin/python3
"""Ranges and marks by NVTX 3, through the injection that `hookcli run` sets up: each is counted and timed, on every thread.

The program is built twice: with the real header where a CUDA toolkit has it, and with what that header does. Another tool's
injection library gets every call too, with its own handles.
"""
import json
import os

from harness import expect, expect_true, main

THREADS, ROUNDS = 2, 50
NESTED = ("outer", "wide λ", "by attributes", "NCCL: registered", "NCCL: wïde")
MARKS = ("mark", "wide mark", "mark by attributes", "other: registered wide", "(range)")
ACROSS = ("started", "NCCL: process range")


def report_of(run, name, *environment):
    return json.loads(run.cli("report", run.path(name, name), "--format", "json").stdout)


def check_rows(what, report):
    rows = {row["function"]: row for row in report["calls"] if row["domain"] == "user"}
    expect(f"{what}: names", sorted(rows), sorted(NESTED + MARKS + ACROSS))
    for name in NESTED:
        expect(f"{what}: {name}", rows[name]["calls"], THREADS * ROUNDS)
        expect_true(f"{what}: {name} was not timed", rows[name]["total_ns"] > 0)
    for name in MARKS:
        expect(f"{what}: {name}", (rows[name]["calls"], rows[name]["total_ns"]), (THREADS * ROUNDS, None))
    for name in ACROSS:
        expect(f"{what}: {name}", rows[name]["calls"], ROUNDS)
        expect_true(f"{what}: {name} was not timed", rows[name]["total_ns"] > 0)
    # A range includes those within it.
    expect_true(f"{what}: times of ranges", rows["outer"]["total_ns"] > rows["wide λ"]["total_ns"] > rows["NCCL: wïde"]["total_ns"])
    expect_true(f"{what}: self times", rows["outer"]["self_ns"] < rows["outer"]["total_ns"])
    expect(f"{what}: library", {os.path.basename(row["library"]) for row in rows.values()}, {what})


def check(run, program):
    path = run.workload(program)
    done = run.trace(path, hooks=["mpi"], store=program, options=("-q", "--job", program))
    expect(f"{program}: what NVTX returned", done.stdout, "")
    check_rows(program, report_of(run, program))


def check_chain(run):
    """A library that the user has NVTX load."""
    other = run.workload("libnvtx_counter.so")
    done = run.trace(run.workload("nvtx_truth"), hooks=["mpi"], store="chain", options=("-q", "--job", "chain"),
                     env={"NVTX_INJECTION64_PATH": other})
    counts = json.loads(done.stdout)
    rounds = THREADS * ROUNDS
    # Of the functions that it has filled in: one of three pushes, all pops (one too many), one of four marks.
    expect("the other library", counts, {"pushes": rounds, "pops": 4 * rounds, "marks": rounds, "starts": ROUNDS, "ends": ROUNDS,
                                         "domain_pushes": 2 * rounds, "wrong": 0})
    report = report_of(run, "chain")
    rows = {row["function"]: row["calls"] for row in report["calls"] if row["domain"] == "user"}
    expect("names beside it", sorted(rows), sorted(NESTED + MARKS + ACROSS))


def check_lost(run):
    """LD_PRELOAD is lost, NVTX loads the agent into a running process: it does nothing there."""
    done = run.trace("env", "-u", "LD_PRELOAD", run.workload("nvtx_truth"), hooks=["mpi"], store="lost", options=("-q", "--job", "lost"), check=False)
    expect("lost: exit", done.returncode, 0)


def test(run):
    check(run, "nvtx_truth")
    if os.path.exists(run.workload("nvtx_truth_header")):
        check(run, "nvtx_truth_header")
    else:
        print("nvtx3/nvToolsExt.h is not here: the program without it stands for both")
    check_chain(run)
    check_lost(run)


if __name__ == "__main__":
    main(test)
