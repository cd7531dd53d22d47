#!/usr/bin/python3
"""API timing of Paddle and MindSpore from PyPI, on the processor: the calls are those that the program made. Both are installed in the
test's own directory, 4 GB; PADDLE_PYTHON and MINDSPORE_PYTHON name Pythons that have them."""
import os

import pythons
from harness import Run, expect, main
from test_apis import HERE, package_path

# MindSpore starts with an older numpy only.
PACKAGES = {"paddle": ["paddlepaddle"], "mindspore": ["mindspore", "numpy<2"]}
NEWEST = {"paddle": ["3.12", "3.13", "3.11"], "mindspore": ["3.11", "3.10"]}


def install(run: Run, framework):
    given = os.environ.get(f"{framework.upper()}_PYTHON")
    if given:
        return given
    found = dict(pythons.found())
    python = next(found[version] for version in NEWEST[framework] if version in found)
    run.command(python, "-m", "venv", run.path(framework))
    run.command(run.path(framework, "bin", "pip"), "install", "-q", *PACKAGES[framework])
    return run.path(framework, "bin", "python")


def test(run: Run):
    for framework in PACKAGES:
        python = install(run, framework)
        done = run.command(python, os.path.join(HERE, "framework_program.py"), framework,
                           env={"PYTHONPATH": package_path(run), "PYTHONDONTWRITEBYTECODE": "1"})
        expect(f"the end of the program of {framework}", done.stdout.splitlines()[-1], "done")


if __name__ == "__main__":
    main(test)
