#!/usr/bin/python3
"""API timing without a framework: a program that knows its own calls, on each CPython of the machine, under a simulated agent that
counts. `apis/program.py` says what is right; here it only has to reach its end. Then the same framework under the agent itself.
"""
import json
import os

import pythons
from harness import Failure, Run, expect, expect_true, main

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "apis")


def package_path(run: Run):
    """PYTHONPATH of the package as it was built, and of what this directory has for it."""
    return os.pathsep.join([os.path.join(run.build, "python"), os.path.join(run.build, "tests", "integration", "apis"), HERE])


def check_agent(run: Run, job, python):
    """The report's rows of the domain are the calls that the program made, also while its Python functions are traced."""
    for words in ([], ["python"]):
        check_traced(run, "-".join([job] + words), python, words)


def check_traced(run: Run, job, python, words):
    done = run.trace(python, os.path.join(HERE, "traced.py"), *words, hooks=["mpi"], options=("--job", job),
                     env={"PYTHONPATH": package_path(run), "PYTHONDONTWRITEBYTECODE": "1"})
    calls = [row for row in run.report(run.path("store", job))["calls"] if row["domain"] in ("toy", "python")]
    expect(f"calls of {job}", {row["function"].split(" ")[0]: [row["calls"], row["errors"]] for row in calls}, json.loads(done.stdout))
    for row in calls:
        if row["domain"] == "python":
            continue
        expect(f"library of {row['function']}", row["library"], row["function"].rpartition(".")[0])
        expect_true(f"times of {row}", 0 < row["min_ns"] <= row["p50_ns"] <= row["max_ns"] <= row["total_ns"])


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
        check_agent(run, f"python{version}-{len(versions)}", python)
    pythons.say_left_out(versions)


if __name__ == "__main__":
    main(test)
