#!/usr/bin/python3
"""The two wheels of deploy/wheels.sh, installed in a clean virtual environment of each CPython of this machine: the README's Python example runs
there and its range is in the report, also when the program is started by `python -m hooktrace run`. Without the tools there is a warning.

Needs the network, for pip. test_wheels.py BUILD_DIR [DIR]: with the wheels of DIR, which are made otherwise.
"""
import glob
import json
import os
import re
import sys

import pythons
from harness import Failure, expect, expect_true, main, wait_for

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLE = re.compile(r"^## Python\n.*?^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BYTES_MAX = 16 << 20


def make(run):
    directory = run.path("wheels")
    run.command(os.path.join(SOURCE, "deploy", "wheels.sh"), directory,
                env={"PYTHON": sys.executable, "BUNDLE_BUILD": os.path.join(run.build, "bundle-tree"), "HOME": os.environ["HOME"]})
    return directory


def check_names(directory):
    names = sorted(os.path.basename(path) for path in glob.glob(os.path.join(directory, "*.whl")))
    machine = os.uname().machine
    expect_true(f"wheels: {names}", len(names) == 2 and names[0].startswith("hooktrace-") and names[1].startswith("hooktrace_tools-"))
    expect_true(f"one module for all versions: {names[0]}", f"-cp38-abi3-" in names[0])
    for name in names:
        expect_true(f"{name} runs with glibc 2.17", f"manylinux_2_17_{machine}" in name)
        size = os.path.getsize(os.path.join(directory, name))
        expect_true(f"{name}: {size} bytes", size < BYTES_MAX)


class Environment:
    """A virtual environment with nothing but pip, which finds WHEELS."""

    def __init__(self, run, version, python, wheels):
        self.run = run
        self.directory = run.path(f"{version}-{os.path.basename(os.path.dirname(os.path.dirname(python)))}")
        self.wheels = wheels
        run.command(python, "-m", "venv", self.directory)
        self.variables = {"PATH": os.pathsep.join([os.path.join(self.directory, "bin"), "/usr/bin", "/bin"])}

    def program(self, name):
        return os.path.join(self.directory, "bin", name)

    def install(self, name):
        self.run.command(self.program("pip"), "install", "--quiet", "--no-index", "--disable-pip-version-check", "--find-links", self.wheels, name)

    def command(self, *words):
        return self.run.command(*words, env=self.variables, cwd=self.directory)

    def closed(self, job):
        def look():
            done = self.run.command(self.program("hookcli"), "report", job, "--format", "json", env=self.variables, cwd=self.directory, check=False)
            report = json.loads(done.stdout) if done.returncode == 0 else {"job": {"closed": False}}
            return report if report["job"]["closed"] else None
        return wait_for(f"{job} to be closed", look)


def check(what, environment, example):
    environment.install("hooktrace")
    shown = environment.command("bash", "-e", "-c", example)
    expect_true(f"{what}, without the tools: {shown.stderr}", "RuntimeWarning" in shown.stderr and "pip install hooktrace-tools" in shown.stderr)
    expect(f"{what}, without the tools", shown.stdout, "working\n")
    environment.install("hooktrace[tools]")
    shown = environment.command("bash", "-e", "-c", example)
    expect(f"{what}: the example", shown.stdout, "working\n")
    job = re.fullmatch(r"hooktrace: the job is (\S+)\n", shown.stderr)
    expect_true(f"{what}: the job: {shown.stderr}", job)
    environment.command("python3", "-m", "hooktrace", "run", "-q", "--store", "store", "--job", "around", "step.py")
    for path in (job[1], "store/around"):
        ranges = {row["function"]: row["calls"] for row in environment.closed(path)["calls"] if row["domain"] == "user"}
        expect(f"{what}: ranges of {path}", ranges, {"step": 1})
    # hookcli finds the agent of its own wheel.
    environment.command(environment.program("hookcli"), "run", "-q", "--store", "store", "--job", "own", "--", "true")
    expect(f"{what}: a rank of hookcli run", len(environment.closed("store/own")["ranks"]), 1)


def test(run, directory=None):
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as readme:
        example = EXAMPLE.search(readme.read())
    if not example:
        raise Failure("the README has no Python example")
    wheels = os.path.abspath(directory) if directory else make(run)
    check_names(wheels)
    found = pythons.found()
    for version, python in found:
        check(version, Environment(run, version, python, wheels), example[1])
    pythons.say_left_out([version for version, _ in found])


if __name__ == "__main__":
    main(test)
