#!/usr/bin/python3
"""Optimizers with a closure: the programs' numbers stay, and dumps, watches and agreements have what the step leaves. Debian's torch; with the
argument "long" the one that TORCH_PYTHON has, or PyPI's."""
import os
import sys

from harness import Run, expect, main
from test_apis_torch import torch_python
from test_precision_dump import HERE, environment


def test(run: Run, kind="short"):
    python = torch_python(run, kind)
    if run.command(python, "-c", "import torch, numpy", check=False).returncode != 0:
        print(f"skipped: {python} has no torch")
        sys.exit(77)
    os.mkdir(run.path("checks"))
    done = run.command(python, os.path.join(HERE, "closure_checks.py"), run.path("checks"), env=environment(run))
    expect("the end of closure_checks.py", done.stdout.splitlines()[-1], "done")


if __name__ == "__main__":
    main(test)
