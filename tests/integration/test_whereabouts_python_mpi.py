#!/usr/bin/python3
"""hookcli stacks on four ranks of Python of which one spins in a loop: it is named with its function, file and line, and the others are one
line in their barrier. On each CPython of the machine."""
import json
import os
import re
import subprocess
import time

import pythons
from harness import RANKS, TIMEOUT, expect, expect_true, main, wait_for

LATE = 2
OTHERS = [rank for rank in range(RANKS) if rank != LATE]
SOON_S, ATTEMPTS = 2, 5
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "workloads", "python_stuck.py")


def lines_of(function):
    """The lines of SCRIPT from the head of FUNCTION to the next one's."""
    with open(SCRIPT, encoding="ascii") as file:
        lines = file.read().splitlines()
    first = lines.index(next(line for line in lines if line.startswith(f"def {function}(")))
    behind = next((i for i in range(first + 1, len(lines)) if lines[i].startswith("def ")), len(lines))
    return range(first + 1, behind + 1)


def python_of(group):
    return [(frame["function"], os.path.basename(frame["file"]), frame["line"]) for frame in group["frames"]
            if frame.get("language") == "python"]


def groups(run, job):
    """The groups of first threads of ranks, by the innermost function of the program's that they are in. Open calls and stacks are read at
    two moments: a barrier counts when both say it."""
    done = run.cli("stacks", job, "--json", check=False)
    found = {}
    for group in json.loads(done.stdout)["groups"] if done.returncode == 0 else ():
        functions = [function for function, _, _ in python_of(group)]
        for place in ("sum_all", "find_batch"):
            if group["thread"] == "main" and place in functions and (place != "sum_all" or group["function"] == "MPI_Barrier"):
                found.setdefault(place, []).append(group)
    return found


def ranks_of(found, place):
    return sorted(rank for group in found.get(place, []) for rank in group["ranks"])


def expect_places(found):
    late, = found["find_batch"]
    frames = [frame for frame in python_of(late) if frame[1] == "python_stuck.py"]
    expect("the late rank's functions", [function for function, _, _ in frames], ["find_batch", "step", "main", "<module>"])
    expect_true(f"the late rank's lines: {frames}", all(line in lines_of(function) for function, _, line in frames[:3]))
    for group in found["sum_all"]:
        functions = [frame.get("function") for frame in group["frames"]]
        expect("their functions", [function for function, _, _ in python_of(group)], ["sum_all", "step", "main", "<module>"])
        expect_true(f"the barrier is called by Python: {functions}", functions.index("PMPI_Barrier") < functions.index("sum_all"))


def expect_text(run, job):
    times = []
    while not times or (min(times) > SOON_S and len(times) < ATTEMPTS):
        began = time.monotonic()
        text = run.cli("stacks", job).stdout
        times.append(time.monotonic() - began)
    expect_true(f"an answer within {SOON_S} s: {times}", min(times) <= SOON_S)
    lines = [line for line in text.splitlines() if " main " in line]
    late, = (line for line in lines if line.startswith(f"rank {LATE} "))
    named = re.match(rf"rank {LATE} +main +1 x .*find_batch \(python_stuck\.py:(\d+)\) <- .*step \(python_stuck\.py:\d+\) <- .*main ", late)
    expect_true(f"the late rank is named with its line: {text}", named and int(named[1]) in lines_of("find_batch"))
    # MPI polls in its barrier now and then: the innermost open call is poll at such a moment.
    waiting = re.compile(r"ranks? [\d,-]+ +main +\d x +in (MPI_Barrier|poll) for .* PMPI_Barrier <- .* sum_all \(python_stuck\.py:\d+\)")
    expect_true(f"others wait: {text}", all(waiting.match(line) for line in lines if line is not late))
    return min(times)


def check(run, name, python):
    end = run.path(f"end-{name}")
    job = subprocess.Popen([run.binary("hookcli"), "run", "-q", "--job", name, "--", "mpirun", "-n", str(RANKS), python, SCRIPT, str(LATE), end],
                           env=run.environment(), cwd=run.directory, stdin=subprocess.DEVNULL)
    try:
        found = wait_for("the job to hang", lambda: (
            lambda g: g if ranks_of(g, "sum_all") == OTHERS and ranks_of(g, "find_batch") == [LATE] else None)(groups(run, name)))
        expect_places(found)
        print(f"Python {name}: an answer in {expect_text(run, name):.3f} s")
    finally:
        with open(end, "w", encoding="ascii"):
            pass
        expect("exit of the job", job.wait(TIMEOUT), 0)


def test(run):
    run.start_collector()
    versions = []
    for version, python in pythons.found():
        check(run, f"{version}-{len(versions)}", python)
        versions.append(version)
    pythons.say_left_out(versions)


if __name__ == "__main__":
    main(test)
