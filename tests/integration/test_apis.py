#!/usr/bin/python3
"""API timing without a framework: a program that knows its own calls, on each CPython of the machine, under a simulated agent that
counts. `apis/program.py` says what is right; here it only has to reach its end.
"""
import os

import pythons
from harness import Failure, Run, expect, main

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "apis")


def package_path(run: Run):
    """PYTHONPATH of the package as it was built, and of what this directory has for it."""
    return os.pathsep.join([os.path.join(run.build, "python"), os.path.join(run.build, "tests", "integration", "apis"), HERE])


def test(run: Run):
    versions = []
    for version, python in pythons.found():
        try:
            done = run.command(python, os.path.join(HERE, "program.py"), os.path.join(run.build, "tests", "integration", "apis", "recorder.so"),
                               env={"PYTHONPATH": package_path(run), "PYTHONDONTWRITEBYTECODE": "1"})
        except Failure as failure:
            raise Failure(f"Python {version} ({python}): {failure}") from failure
        expect(f"end of the program on Python {version}", done.stdout, "done\n")
        versions.append(version)
    pythons.say_left_out(versions)


if __name__ == "__main__":
    main(test)
