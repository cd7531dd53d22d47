#!/usr/bin/python3
"""Dumps of torch's values: what they have is what NumPy and autograd have, and training comes out the same bit by bit. Debian's torch;
with the argument "long" the one that TORCH_PYTHON has, or PyPI's, which also has torch.compile."""
import collections
import json
import os
import re
import subprocess
import sys
import textwrap

from harness import Run, expect, expect_true, main
from test_apis import package_path
from test_apis_torch import torch_python

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "precision")
PAGE = os.path.join(HERE, "..", "..", "..", "deploy", "docs", "precision.md")
CASES = ("cnn", "transformer", "checkpoint", "changes", "threads")
OPTIONS = ({"task": "tensor", "level": "mix", "gradients": True, "parameters": True}, {"sample": 2, "scalars": False, "stacks": False})


def environment(run: Run):
    return {"PYTHONPATH": os.pathsep.join([package_path(run), HERE]), "PYTHONDONTWRITEBYTECODE": "1"}


def trained(run: Run, python, *words):
    return run.command(python, os.path.join(HERE, "torch_program.py"), *words, env=environment(run)).stdout.splitlines()


def check_same(run: Run, python, cases):
    plain = trained(run, python, ",".join(cases), "-")
    expect("cases", len(plain), len(cases))
    for number, options in enumerate(OPTIONS):
        os.mkdir(run.path(f"same{number}"))
        expect(f"digests with {options}", trained(run, python, ",".join(cases), run.path(f"same{number}"), json.dumps(options)), plain)


def check_killed(run: Run, python):
    """The rows of whole steps are there, and the dump says that it has no end."""
    path = run.path("killed")
    with subprocess.Popen([python, os.path.join(HERE, "killed.py"), path], stdout=subprocess.PIPE, env=run.environment(**environment(run))) as process:
        for _ in range(5):
            process.stdout.readline()
        process.kill()
    code = ("import sys; from hooktrace import precision; dump = precision.open(sys.argv[1]); "
            "print(len({row.step for row in dump.rows()}), dump.counts(0)['complete'])")
    steps, complete = run.command(python, "-c", code, path, env=environment(run)).stdout.split()
    expect_true(f"{steps} steps are there after 5", int(steps) >= 1)
    expect("whether the file was closed", complete, "False")


def check_full(run: Run, python):
    done = run.command(python, os.path.join(HERE, "full.py"), run.path("full"), env=environment(run))
    counts = json.loads(done.stdout.splitlines()[-1])
    expect_true(f"the summary says what failed: {done.stderr}", "writing failed" in done.stderr and "after a write that failed" in done.stderr)
    expect_true(f"counts {counts}", counts["error"] and counts["left_out"] and counts["calls"] % 4 == 0 and counts["rows"] > counts["calls"])


def check_page(run: Run, python):
    """The examples of the manual, one after another."""
    with open(PAGE, encoding="utf-8") as page:
        parts = re.findall(r"((?:^    .*\n|^\n)+)", page.read(), re.MULTILINE)
    code = "".join(textwrap.dedent(part) for part in parts if part.strip())
    shown = run.command(python, "-c", code, env=environment(run)).stdout.splitlines()
    expect_true(f"the examples show {shown}", len(shown) > 20 and any(line.startswith("forward torch.nn.functional.linear 0 0 input 0 (5, 4)") for line in shown)
                and shown[-1] == "torch.log 1")


def check_timeline(run: Run, python):
    """Each call with values is a call of the job, and an optimizer's step that the dump follows is none."""
    done = run.trace(python, os.path.join(HERE, "traced.py"), run.directory, hooks=["mpi"], options=("--job", "values"), env=environment(run))
    rows = collections.Counter(name for name, _, _ in json.loads(done.stdout.splitlines()[-1]))
    calls = {row["function"]: row["calls"] for row in run.report(run.path("store", "values"))["calls"] if row["domain"] == "torch"}
    expect_true(f"calls with values {rows}", len(rows) > 4)
    expect("calls on the timeline", {name: calls.get(name) for name in rows}, dict(rows))
    expect("steps on the timeline", [name for name in calls if name.endswith(".step")], [])


def test(run: Run, kind="short"):
    python = torch_python(run, kind)
    if run.command(python, "-c", "import torch, numpy", check=False).returncode != 0:
        print(f"skipped: {python} has no torch")
        sys.exit(77)
    check_same(run, python, CASES + (("compiled",) if kind == "long" else ()))
    os.mkdir(run.path("checks"))
    expect("the end of torch_checks.py", run.command(python, os.path.join(HERE, "torch_checks.py"), run.path("checks"),
                                                     env=environment(run)).stdout.splitlines()[-1], "done")
    device = run.command(python, os.path.join(HERE, "device_checks.py"), env=environment(run), check=False)
    expect_true(f"the end of device_checks.py: {device.stdout} {device.stderr}", device.returncode == 77 or device.stdout.endswith("done\n"))
    if device.returncode == 77:
        print("left out: no CUDA device")
    check_page(run, python)
    check_timeline(run, python)
    check_killed(run, python)
    check_full(run, python)


if __name__ == "__main__":
    main(test)
