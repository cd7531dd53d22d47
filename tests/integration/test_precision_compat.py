#!/usr/bin/python3
"""ptdbg_ascend's names: a program written for it, on Debian's torch."""
import os
import sys

from harness import Run, expect, main
from test_precision_dump import HERE, environment


def path(run: Run):
    """compare() starts hookcli."""
    return {**environment(run), "PATH": os.pathsep.join([os.path.join(run.build, "cli"), os.environ["PATH"]])}


def test(run: Run):
    if run.command("/usr/bin/python3", "-c", "import torch, numpy", check=False).returncode != 0:
        print("skipped: /usr/bin/python3 has no torch")
        sys.exit(77)
    os.mkdir(run.path("program"))
    done = run.command("/usr/bin/python3", os.path.join(HERE, "ptdbg_program.py"), env=path(run), cwd=run.path("program"))
    expect("the end of ptdbg_program.py", done.stdout.splitlines()[-1], "done")


if __name__ == "__main__":
    main(test)
