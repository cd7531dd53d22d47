#!/usr/bin/python3
"""Dumps on each CPython of the machine, of a simulated framework: a program that knows its own values."""
import os

import pythons
from harness import Failure, Run, expect, main
from test_apis import package_path

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "precision")


def test(run: Run):
    versions = []
    for version, python in pythons.found():
        try:
            done = run.command(python, os.path.join(HERE, "simulated_program.py"),
                               env={"PYTHONPATH": os.pathsep.join([package_path(run), HERE]), "PYTHONDONTWRITEBYTECODE": "1"})
        except Failure as failure:
            raise Failure(f"Python {version} ({python}): {failure}") from failure
        expect(f"end of the program on Python {version}", done.stdout, "done\n")
        versions.append(version)
    pythons.say_left_out(versions)


if __name__ == "__main__":
    main(test)
