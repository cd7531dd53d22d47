#!/usr/bin/python3
"""LAMMPS and HPCC on four ranks with default settings, beside an independent PMPI counter in the same run."""
import os
import re
import shutil

from harness import RANKS, Failure, expect, expect_true, main
from truth import expect_whole, load, rows_of

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LAMMPS = ("lmp", "-var", "STEPS", "100", "-in", os.path.join(TESTS, "workloads", "lammps_lj.in"))
HPCC_INPUT = os.path.join(os.path.dirname(TESTS), "deploy", "hpccinf.txt")

LAMMPS_TIMING = re.compile(r"CPU =|^Loop time|^Performance:|% CPU use|^Total wall time|"
                           r"^(Pair|Neigh|Comm|Output|Modify|Other) +\|")
# Times, rates, and what HPCC chooses by them: a node by the clock, a number of messages, the best of several parameters.
HPCC_TIMING = re.compile(r"time|Time|seconds|second\b|Flop|flop|GUP|GB/s|_GB|Byte/s|MB/s|msec| sec$|usec|"
                         r"[Ll]atency|[Bb]andwidth|ping|Node selected|STREAM_(Copy|Scale|Add|Triad)|^(Copy|Scale|Add|Triad):|"
                         r"clock|HPL_(NB|cpfact|crfact|ctop|RnormI)|PTRANS_nb|Scaled residual:|Tuning|Computing|Inverse FFT")
# Numbers that go by the clock in lines that are compared otherwise.
HPCC_BY_THE_CLOCK = tuple((re.compile(pattern, re.MULTILINE), kept) for pattern, kept in (
    (r"^(WALL +.*) [0-9.]+ PASSED .*$", r"\1 PASSED"),  # PTRANS
    (r"^CPU +.* PASSED .*\n", ""),  # PTRANS prints this line only where its processor time is above 0.
    # HPL looks for its neighbour's panel while it multiplies, and cuts the product where it came: so is the rounding, untraced too.
    (r"^(\|\|Ax-b\|\|_oo/.*=) +[0-9.]+ (\.+ PASSED)$", r"\1 \2"),
    (r"^(WR\S+ +\d+ +\d+ +\d+ +\d+) .*$", r"\1"),  # HPL
    # RandomAccess makes as many updates as it expects to manage in its minute.
    (r"^(Number of updates EXECUTED =) \d+ ", r"\1 "),
    (r"ExeUpdates=\d+$", "ExeUpdates="),
))


def lammps_output(directory):
    with open(os.path.join(directory, "log.lammps"), encoding="utf-8") as stream:
        return [line for line in stream.read().splitlines() if not LAMMPS_TIMING.search(line)]


def hpcc_output(directory):
    with open(os.path.join(directory, "hpccoutf.txt"), encoding="utf-8") as stream:
        text = stream.read()
    for pattern, kept in HPCC_BY_THE_CLOCK:
        text = pattern.sub(kept, text)
    lines = text.splitlines()
    return [line for line in lines if not HPCC_TIMING.search(line)]


def expect_same(what, got, wanted):
    if got != wanted:
        differing = [(a, b) for a, b in zip(got, wanted) if a != b][:3]
        raise Failure(f"{what}: the output has {len(got)} lines instead of {len(wanted)}, first {differing}")
    expect_true(f"{what}: the output has lines", len(got) > 30)


def directory_of(run, name):
    directory = run.path(name)
    os.mkdir(directory)
    shutil.copy(HPCC_INPUT, os.path.join(directory, "hpccinf.txt"))
    return directory


def expect_agreement(what, report, counters):
    """Counts equal the counter's; outermost MPI time is within 15 % of its, and no more than the wall time."""
    for rank in range(RANKS):
        counter = load(os.path.join(counters, f"pmpi-{rank}.json"))
        calls, mpi_ns = {}, 0
        for (_, function), row in rows_of(report, rank, domains={"mpi"}).items():
            calls[function] = calls.get(function, 0) + row["calls"]
            mpi_ns += row["outermost_ns"]
        expect(f"{what}: rank {rank}'s calls", calls, {name: counter["calls"][name]["calls"] if name in counter["calls"] else 0
                                                       for name in calls})
        # What mpi.hooks leaves out are look-ups: together they are next to nothing.
        left_out = sum(row["outermost_ns"] for name, row in counter["calls"].items() if name not in calls)
        expect_true(f"{what}: rank {rank} spends {left_out} ns of MPI in calls that are not hooked",
                    left_out < 0.02 * counter["outermost_ns"])
        wall_ns = report["ranks"][rank]["end_ns"] - report["ranks"][rank]["start_ns"]
        expect_true(f"{what}: rank {rank}'s MPI time {mpi_ns} of {wall_ns}", 0 < mpi_ns <= wall_ns)
        ratio = mpi_ns / counter["outermost_ns"]
        print(f"{what}: rank {rank}: {sum(calls.values())} MPI calls, MPI {mpi_ns / 1e9:.3f} of {wall_ns / 1e9:.3f} s, "
              f"{ratio:.4f} of the counter's")
        expect_true(f"{what}: rank {rank}'s MPI time is {ratio:.3f} of the counter's", 0.85 <= ratio <= 1.15)


def traced_run(run, name, command, env):
    """Traces COMMAND; does so a second time where the launcher answered no rank within PMIx's limit of two seconds (PMIX_Finalize,
    4.2): every rank then ends with 0 after an MPI_Finalize of two seconds, and mpirun still calls one of them improper."""
    for job_name in (name, f"{name}-again"):
        directory = directory_of(run, f"{job_name}-traced")
        done = run.trace("mpirun", "-n", RANKS, "-x", "PMPI_COUNTER_DIR", *command, options=("--job", job_name), check=False,
                         cwd=directory, env=env)
        report = run.report(run.path("store", job_name))
        if done.returncode == 0:
            return done, report, directory
        rows_by_rank = [rows_of(report, rank, domains={"mpi"}) for rank in range(RANKS)]
        slow = [row["outermost_ns"] for rows in rows_by_rank for (_, function), row in rows.items()
                if function == "MPI_Finalize" and row["outermost_ns"] >= 2_000_000_000]
        if "exiting improperly" not in done.stderr + done.stdout or not slow or any(row["exit"].get("code") for row in report["ranks"]):
            break
        print(f"{name}: mpirun was too slow for PMIx at the end: {len(slow)} ranks waited two seconds in MPI_Finalize")
    raise Failure(f"{name}: mpirun's exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")


def job(run, name, command, output, domains):
    alone, counters = (directory_of(run, f"{name}-{form}") for form in ("alone", "counters"))
    wanted = run.command("mpirun", "-n", RANKS, *command, cwd=alone)
    # The counter is preloaded behind the agent, so the agent sees the counter's functions as the program's MPI.
    preload = {"LD_PRELOAD": os.path.join(run.build, "tests", "workloads", "libpmpi_counter.so"), "PMPI_COUNTER_DIR": counters}
    done, report, traced = traced_run(run, name, command, preload)
    expect(f"{name}: lines on stdout", len(done.stdout.splitlines()), len(wanted.stdout.splitlines()))
    expect_whole(report, RANKS)
    expect_true(f"{name}: no records", all(row["records"] > 0 for row in report["ranks"]))
    for rank in range(RANKS):
        found = {row["domain"] for row in report["calls"] if (row["rank"], row["role"]) == (rank, "main")}
        expect_true(f"{name}: rank {rank} has {found}, not all of {domains}", domains <= found)
    expect_agreement(name, report, counters)
    expect_same(name, output(traced), output(alone))


def test(run):
    job(run, "lammps", LAMMPS, lammps_output, {"mpi", "io"})
    job(run, "hpcc", ("hpcc",), hpcc_output, {"mpi", "io", "blas"})


if __name__ == "__main__":
    main(test)
