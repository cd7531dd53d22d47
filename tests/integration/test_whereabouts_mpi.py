#!/usr/bin/python3
"""hookcli stacks on an MPI job of four ranks that hangs: the ranks that wait are one line, and the one that does not come is named with
its function."""
import json
import os
import re
import subprocess
import time

from harness import RANKS, TIMEOUT, expect, expect_true, main, wait_for

LATE = 2
OTHERS = [rank for rank in range(RANKS) if rank != LATE]
SOON_S, ATTEMPTS = 2, 5
CALLS = {"sum_all": "MPI_Barrier", "load_batch": "open"}


def groups(run):
    """The groups of first threads of ranks, by the function of the program that they are in. A group whose open call the function does not
    make is left out: open calls and stacks are read at two moments, so the call can be an earlier one until the job hangs."""
    done = run.cli("stacks", "stuck", "--json", check=False)
    answer = json.loads(done.stdout) if done.returncode == 0 else {"groups": []}
    found = {}
    for group in answer["groups"]:
        functions = [frame.get("function") for frame in group["frames"]]
        for place, call in CALLS.items():
            if group["thread"] == "main" and place in functions and group["function"] == call:
                found.setdefault(place, []).append(group)
    return found


def ranks_of(found, place):
    return sorted(rank for group in found.get(place, []) for rank in group["ranks"])


def test(run):
    fifo = run.path("shard")
    os.mkfifo(fifo)
    run.start_collector()
    job = subprocess.Popen([run.binary("hookcli"), "run", "-q", "--job", "stuck", "--", "mpirun", "-n", str(RANKS), run.workload("mpi_stuck"),
                            str(LATE), fifo], env=run.environment(), cwd=run.directory, stdin=subprocess.DEVNULL)
    try:
        found = wait_for("the job to hang", lambda: (
            lambda g: g if ranks_of(g, "sum_all") == OTHERS and ranks_of(g, "load_batch") == [LATE] else None)(groups(run)))
        expect_true(f"for some time: {found}", all(group["open_min_ns"] > 0 for group in found["sum_all"]))
        times = []
        while not times or (min(times) > SOON_S and len(times) < ATTEMPTS):
            began = time.monotonic()
            text = run.cli("stacks", "stuck").stdout
            times.append(time.monotonic() - began)
        expect_true(f"an answer within {SOON_S} s: {times}", min(times) <= SOON_S)
        lines = [line for line in text.splitlines() if " main " in line]
        late, = (line for line in lines if line.startswith(f"rank {LATE} "))
        expect_true(f"the late rank is named with its call: {text}",
                    re.match(rf"rank {LATE} +main +1 x +in open for .* \| open\w* <- load_batch <- step <- main", late))
        expect_true(f"others wait: {text}", all(re.match(r"ranks? [\d,-]+ +main +\d x +in MPI_Barrier for ", line)
                                                for line in lines if line is not late))
    finally:
        with open(fifo, "w", encoding="ascii") as end:
            end.write("x")
        expect("exit of the job", job.wait(TIMEOUT), 0)


if __name__ == "__main__":
    main(test)
