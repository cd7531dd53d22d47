#!/usr/bin/python3
"""kill -9 of one rank at 20 seeded instants: its statistics, its records and its open calls are in the report."""
import os
import random
import signal
import time

import loop
from harness import RANKS, TIMEOUT, expect, expect_true, main, wait_for

SEED = 20
ALONE = 16    # instants with one process
TOGETHER = 4  # and with four ranks under mpirun
SOON, LATE = 30, 600  # rounds
# Until the last of four ranks has begun, the others make calls that all have to be looked at: fewer of them.
EVER, PAUSE_US = 10**9, 500
SIGNALED = 128 + signal.SIGKILL


def waits(pid):
    """Whether the main thread of PID sleeps: its threads run, so it is in pthread_join."""
    with open(f"/proc/{pid}/task/{pid}/stat", encoding="utf-8") as stream:
        return stream.read().rpartition(")")[2].split()[0] == "S"


def kill_at(chance, path):
    """Kills the loop that writes PATH at an instant drawn from CHANCE: a round, then somewhere within it."""
    loop.wait_rounds(path, chance.randrange(SOON, LATE))
    pid = loop.process_of(path)
    wait_for("the main thread to wait", lambda: waits(pid))
    end = time.perf_counter_ns() + chance.randrange(0, 150_000)
    while time.perf_counter_ns() < end:
        pass
    os.kill(pid, signal.SIGKILL)


def judge(run, what, job, paths, victim):
    report = loop.closed_report(run, job)
    events = loop.events_of(run, job)
    expect(f"{what}: ranks", [row["rank"] for row in report["ranks"]], sorted(paths))
    expect(f"{what}: exit", report["ranks"][victim]["exit"], {"kind": "signal", "code": signal.SIGKILL})
    begun = found = 0
    for rank, path in paths.items():
        table = loop.rows(path)
        expect(f"{what}: lost records", report["ranks"][rank]["lost_records"], 0)
        loop.expect_loop(f"{what}, rank {rank}", report, table, rank)
        loop.expect_records(f"{what}, rank {rank}", events, table, rank)
        if rank == victim:
            begun, found = loop.expect_open(f"{what}, rank {rank}", report, table, rank)
    loop.expect_once(events)
    return begun, found


def alone(run, chance, number):
    path, job = run.path(f"alone-{number}"), f"alone-{number}"
    command = loop.start(run, run.binary("hookcli"), "run", "-q", "--store", run.path("store"), "--job", job,
                         *loop.hook_options(), "--", run.workload("calls_truth"), "--loop", path)
    kill_at(chance, path)
    expect(f"{job}: status", command.wait(TIMEOUT), SIGNALED)
    return judge(run, job, run.path("store", job), {0: path}, 0)


def together(run, chance, number):
    job, victim = f"together-{number}", chance.randrange(RANKS)
    paths = {rank: run.path(f"{job}.{rank}") for rank in range(RANKS)}
    program = f"exec {run.workload('calls_truth')} --loop {run.path(job)}.$OMPI_COMM_WORLD_RANK {EVER} {PAUSE_US}"
    command = loop.start(run, "mpirun", "-n", RANKS, run.binary("hookcli"), "run", "-q", "--store", run.path("store"),
                         "--job", job, *loop.hook_options(), "--", "sh", "-c", program)
    for path in paths.values():
        loop.wait_rounds(path, SOON)
    kill_at(chance, paths[victim])
    expect_true(f"{job}: mpirun fails", command.wait(TIMEOUT) != 0)
    return judge(run, job, run.path("store", job), paths, victim)


def named(rows):
    return [(row["depth"], row["function"], os.path.basename(row["library"])) for row in rows]


def hang(run):
    """What a process that blocks was inside of, in full."""
    command = loop.start(run, run.binary("hookcli"), "run", "-q", "--store", run.path("store"), "--job", "hang",
                         *loop.hook_options(), "--", run.workload("calls_truth"), "--hang")

    def blocked():
        there = os.path.exists(run.path("store", "hang", "statistics"))
        rows = run.report(run.path("store", "hang"))["open_calls"] if there else []
        return rows if len(rows) == 2 else None
    wanted = [(1, "calls_block", "calls_truth"), (2, "read", "libcalls_truth_library.so")]
    rows = wait_for("two open calls", blocked)
    expect("open calls while it hangs", named(rows), wanted)
    os.kill(rows[0]["thread"], signal.SIGKILL)
    expect("status", command.wait(TIMEOUT), SIGNALED)
    report = loop.closed_report(run, run.path("store", "hang"))
    expect("open calls when it was killed", named(report["open_calls"]), wanted)
    expect_true("open for longer and longer", report["open_calls"][0]["open_ns"] >= rows[0]["open_ns"] > 0)
    expect("exit of what hung", report["ranks"][0]["exit"], {"kind": "signal", "code": signal.SIGKILL})


def test(run):
    chance = random.Random(SEED)
    pairs = [alone(run, chance, number) for number in range(ALONE)]
    pairs += [together(run, chance, number) for number in range(TOGETHER)]
    # Most of a round is nanosleep: a thread that had begun it was in it, but for a few instructions before and after.
    begun, found = (sum(column) for column in zip(*pairs))
    expect_true(f"{begun} calls were begun and not done, {found} are open", begun > 0 and found >= 0.9 * begun)
    hang(run)
    print(f"{len(pairs)} instants, {begun} calls begun and not done, {found} reported open")


if __name__ == "__main__":
    main(test)
