#!/usr/bin/python3
"""Jobs over gloo, of which threads of the process group make the collectives: their calls and bytes, the rank that comes late, and the
waits for it, matched while the job runs and read afterwards.

    test_gloo.py BUILD [torch [RUNS]]

Without more words the job is simulated. With `torch` it is a job of torch (TORCH_PYTHON names a Python that has it), which counts its collectives
itself; RUNS jobs without a late rank follow, of which nothing may be claimed.
"""
import collections
import json
import os
import subprocess
import sys

from harness import RANKS, expect, expect_true, main, total_calls
from test_match import BELOW_ERROR, SLACK_NS, awaited, read_waits

SCRIPT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "workloads", "torch_ddp.py"))
STEPS, BUCKETS, LATE = 200, 3, 2
ELEMENTS_BYTES = 4000  # of a bucket (simulated)
TORCH_STEPS, TORCH_STEP = 250, 10
LATE_KINDS = ("late-rank", "fail-slow", "no-processor", "awaited-rank")
# Starts ranks with the variables that torchrun sets. They stay in one session, as processes of one priority.
LAUNCH = 'for RANK in $(seq 0 $((WORLD_SIZE - 1))); do RANK=$RANK "$@" & done; wait'


def traced(run, name, ranks, *command):
    """The path of the job in which RANKS processes run COMMAND."""
    run.trace("sh", "-c", LAUNCH, "sh", *command, store=name, options=("-q", "--job", name),
              env={"WORLD_SIZE": str(ranks), "MASTER_ADDR": "localhost", "MEETING": run.path(f"{name}.meeting"), "HOOK_BUDGET": "2", "OMP_NUM_THREADS": "1"})
    return run.path(name, name)


def torch(run, name, python, fault, *counts):
    return traced(run, name, RANKS, python, SCRIPT, fault, LATE, TORCH_STEP, TORCH_STEPS, *counts)


def findings_of(run, job):
    """The findings that suggest a change, the first one first."""
    return [one for one in json.loads(run.cli("why", job, "--json").stdout)["findings"] if one["weight"] == "finding"]


def gloo_calls(report, rank):
    """Calls of RANK by the last word of the C++ name."""
    calls = collections.Counter()
    for (one, function), count in total_calls(report).items():
        for word in ("allreduce", "barrier", "finalize_backward", "4wait"):
            calls[word] += count if one == rank and word in function else 0
    return calls


def bytes_of(report, rank):
    return sum(row["bytes"] for row in report["calls"] if row["rank"] == rank and "allreduce" in row["function"])


def expect_read(what, run, job, report):
    """The waits that were matched live are those of the records, in which each wait of each rank counts."""
    found, read = awaited(report), read_waits(run.cli, job)
    error = max(row["clock_error_ns"] for row in report["waits"]) + SLACK_NS
    for key in {**found, **read}:
        got, (waits, wanted) = found.get(key, [0, 0])[1], read.get(key, [0, 0])
        print(f"{what}: {key[0]} for rank {key[1]}: {got / 1e6:.3f} ms live, {wanted / 1e6:.3f} ms read")
        expect_true(f"{what}: time {key}: {got} and {wanted}, error {error}", abs(got - wanted) <= (waits + BELOW_ERROR) * 2 * error)


def expect_late(what, run, job):
    """Of the ranks the late one is named first; the waits for it that were matched live are those of the records."""
    report = run.report(job)
    findings = findings_of(run, job)
    first = next((one for one in findings if one["ranks"]), None)
    expect_true(f"{what}: the first finding: {findings}", first and first["kind"] in LATE_KINDS and first["ranks"] == [LATE])
    print(f"{what}: {first['evidence']}")
    sums = collections.Counter()
    for (_, rank), (_, ns) in awaited(report).items():
        sums[rank] += ns
    expect(f"{what}: the most awaited rank of {sums}", sums.most_common(1)[0][0], LATE)
    counts = report["matching"]
    expect(f"{what}: not matched", {name: count for name, count in counts.items() if name != "collectives" and count}, {})
    expect_read(what, run, job, report)
    return report


def expect_nothing(what, run, job):
    claims = [one for one in findings_of(run, job) if one["confidence"] != "low"]
    print(f"{what}: {[(one['kind'], one['ranks'], one['evidence']) for one in claims] or 'nothing'}")
    return not claims


def test_simulated(run):
    job = traced(run, "late", RANKS, run.workload("gloo_simulated"), STEPS, BUCKETS, LATE)
    report = expect_late("simulated", run, job)
    expect("collectives matched", report["matching"]["collectives"], STEPS * (BUCKETS + 1))
    for rank in range(RANKS):
        expect(f"calls of rank {rank}", dict(gloo_calls(report, rank)),
               {"allreduce": STEPS * BUCKETS, "barrier": STEPS, "finalize_backward": STEPS, "4wait": STEPS * (BUCKETS + 1)})
        expect(f"bytes of rank {rank}", bytes_of(report, rank), STEPS * BUCKETS * ELEMENTS_BYTES)


def test_torch(run, runs):
    python = os.environ.get("TORCH_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import torch.distributed"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        print(f"skipped: {python} has no torch: set TORCH_PYTHON")
        sys.exit(77)
    for fault in ("sleep", "work"):
        job = torch(run, fault, python, fault, run.path(f"{fault}.json"))
        report = expect_late(f"torch, {fault}", run, job)
        with open(run.path(f"{fault}.json"), encoding="ascii") as file:
            truth = json.load(file)
        print(f"torch, {fault}: the program's count: {truth}")
        for rank in range(RANKS):
            found = gloo_calls(report, rank)
            expect(f"calls of rank {rank}", {"allreduce": found["allreduce"], "barrier": found["barrier"], "bytes": bytes_of(report, rank)}, truth)
    clean = sum(expect_nothing(f"torch, run {number}", run, torch(run, f"clean{number}", python, "none")) for number in range(runs))
    expect(f"runs of {runs} without a claim", clean, runs)


def test(run, kind="simulated", runs=0):
    if kind == "torch":
        test_torch(run, int(runs))
    else:
        test_simulated(run)


if __name__ == "__main__":
    main(test)
