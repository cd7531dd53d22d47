#!/usr/bin/python3
"""`hookcli compare --note JOB` puts the first wrong operator on the job's timeline: within its call, on its thread, and into the report."""
import csv
import os

from harness import expect, expect_true, main

PROGRAM = """
import sys, torch, hooktrace, hooktrace.precision
from torch.utils._python_dispatch import TorchDispatchMode
class Fault(TorchDispatchMode):
    calls = 0
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self.calls += func._schema.name == "aten::relu"
        return result + 1 if func._schema.name == "aten::relu" and self.calls == 2 and sys.argv[2] == "wrong" else result
hooktrace.start()
with hooktrace.precision.Dumper(sys.argv[1], quiet=True) as dumper, Fault():
    for _ in range(3):
        torch.nn.functional.relu(torch.ones(8) - 3)
        torch.nn.functional.softmax(torch.ones(8), dim=0)
"""
RELU = "torch.nn.functional.relu"


def times(row):
    return float(row["start_ns"]), float(row["start_ns"]) + float(row["duration_ns"])


def test(run):
    python, environment = os.environ.get("TORCH_PYTHON", "/usr/bin/python3"), {"PYTHONPATH": os.path.join(run.build, "python")}
    for name in ("right", "wrong"):
        run.trace(python, "-c", PROGRAM, run.path(name), name, options=("-q", "--job", name), env=environment)
    job = run.path("store", "wrong")
    for path in (job, run.path("store", "right")):
        expect("findings before", [one for one in run.report(path)["findings"] if one["kind"] == "divergence"], [])
    done = run.cli("compare", run.path("wrong"), run.path("right"), "--note", job, check=False)
    expect(f"compare: {done.stderr}", done.returncode, 1)
    said = [one["evidence"] for one in run.report(job)["findings"] if one["kind"] == "divergence"]
    expect_true(f"the finding: {said}", len(said) == 1 and said[0].startswith(f"first wrong: {RELU}.forward #1"))
    run.cli("export", job, "--format", "csv", "-o", run.path("calls.csv"))
    with open(run.path("calls.csv")) as file:
        rows = list(csv.DictReader(file))
    note = next(row for row in rows if row["domain"] == "precision")
    call = [row for row in rows if row["function"] == RELU][1]
    expect("the thread", note["tid"], call["tid"])
    begin, end = times(call)
    expect_true(f"{begin} <= {note['start_ns']} <= {end}", begin - 1000 <= float(note["start_ns"]) <= end)
    done = run.cli("compare", run.path("wrong"), run.path("right"), "--note", run.path("no-job"), check=False)
    expect("without such a job", done.returncode, 2)


if __name__ == "__main__":
    main(test)
