#!/usr/bin/python3
"""The watch of values asks the overflow flag of an Ascend device, which is simulated, on each CPython of the machine; and in a traced job.
Runtimes without the flag, that refuse, or that are not there are passed over."""
import os
import sys

import pythons
from harness import Failure, Run, expect, main
from test_apis import package_path

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "precision")


def line_of(run: Run, python, kind):
    directory = run.workload("simdevices")
    library = os.path.join(directory, *(["old"] if kind == "old" else []), "libascendcl.so")
    return [python, os.path.join(HERE, "overflow_program.py"), library, kind]


def test(run: Run):
    environment = {"PYTHONPATH": os.pathsep.join([package_path(run), HERE]), "PYTHONDONTWRITEBYTECODE": "1"}
    versions = []
    for version, python in pythons.found():
        for kind in ("new", "old"):
            try:
                done = run.command(*line_of(run, python, kind), env=environment)
            except Failure as failure:
                raise Failure(f"Python {version} ({python}), {kind} runtime: {failure}") from failure
            expect(f"end of the program on Python {version}, {kind} runtime", done.stdout, "done\n")
        versions.append(version)
    traced = run.trace(*line_of(run, sys.executable, "new"), hooks=["acl"], options=("-q", "--job", "overflow"), env=environment)
    expect("end of the traced program", traced.stdout, "done\n")
    pythons.say_left_out(versions)


if __name__ == "__main__":
    main(test)
