#!/usr/bin/python3
"""What the agent adds to the life of a process that does nothing: bench_start.py BUILD_DIR.

/bin/true is started alone, with the agent switched off, and with the agent at work without and with a collector, in turns. An
added time is the median of the differences to the start alone in the same turn. Limit: 1 ms of processor time added; the clock on
the wall also shows what the program waits for, other programs included.
"""
import os
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

from harness import Run, expect, main  # pylint: disable=wrong-import-position

PROGRAM = "/bin/true"
TURNS = 400
LIMIT_MS = 1.0


def start(environment):
    """(wall, processor) time of one start and end in ms."""
    began = time.monotonic()
    pid = os.posix_spawn(PROGRAM, [PROGRAM], environment)
    _, status, usage = os.wait4(pid, 0)
    wall = time.monotonic() - began
    expect("exit status", status, 0)
    return wall * 1e3, (usage.ru_utime + usage.ru_stime) * 1e3


def measure(variants):
    """Prints what each variant adds to the first; the greatest processor time added."""
    turns = [{name: start(environment) for name, environment in variants.items()} for _ in range(TURNS)]
    alone = next(iter(variants))
    worst = 0
    for name in variants:
        wall, cpu = ([turn[name][i] - (turn[alone][i] if name != alone else 0) for turn in turns] for i in (0, 1))
        sign = "" if name == alone else "+"
        print(f"{name:32} {statistics.median(wall):{sign}.3f} ms, processor {statistics.median(cpu):{sign}.3f} ms")
        worst = max(worst, 0 if name == alone else statistics.median(cpu))
    return worst


def compare(run, agent, nobody):
    return measure({
        "alone": run.environment(),
        "agent, HOOK_DISABLE=1": run.environment(HOOK_DISABLE="1", **agent),
        "agent, no collector": {**run.environment(**agent), "HOOK_RUN_DIR": nobody},
        "agent": run.environment(**agent),
        "agent, all hooks of libc and MPI": run.environment(HOOK_HOOKS="libc,mpi", **agent),
        "agent, *:*": run.environment(HOOK_HOOKS="*:*", **agent),
    })


def test(run: Run):
    agent = {"LD_PRELOAD": run.agent()}
    # A directory without a collector. It lies in memory as run directories do: a disk's file system takes longer to remove a file.
    with tempfile.TemporaryDirectory(dir="/dev/shm") as nobody:
        run.start_collector()
        worst = compare(run, agent, nobody)
    print(f"at most {worst:.3f} ms of processor time added, limit {LIMIT_MS} ms")
    expect("within the limit", worst <= LIMIT_MS, True)


if __name__ == "__main__":
    main(test)
