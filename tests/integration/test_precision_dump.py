#!/usr/bin/python3
"""Dumps of torch's values: what they have is what NumPy and autograd have, and training comes out the same bit by bit. Debian's torch;
with the argument "long" the one that TORCH_PYTHON has, or PyPI's, which also has torch.compile."""
import json
import os
import subprocess
import sys

from harness import Run, expect, expect_true, main
from test_apis import package_path
from test_apis_torch import torch_python

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "precision")
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


def test(run: Run, kind="short"):
    python = torch_python(run, kind)
    if run.command(python, "-c", "import torch, numpy", check=False).returncode != 0:
        print(f"skipped: {python} has no torch")
        sys.exit(77)
    check_same(run, python, CASES + (("compiled",) if kind == "long" else ()))
    os.mkdir(run.path("checks"))
    expect("the end of torch_checks.py", run.command(python, os.path.join(HERE, "torch_checks.py"), run.path("checks"),
                                                     env=environment(run)).stdout.splitlines()[-1], "done")
    check_killed(run, python)
    check_full(run, python)


if __name__ == "__main__":
    main(test)
