#!/usr/bin/python3
"""kill -9 of the collector at 20 seeded instants and a new one each time: statistics exact, no record twice, none missing."""
import glob
import os
import random
import signal
import subprocess

import loop
import test_heap_truth
from harness import RANKS, TIMEOUT, end_process, expect, expect_true, main, wait_for
from truth import expect_calls, expect_whole, load, rows_of, wanted_of

SEED = 21
KILLS = 20
ROUNDS = 60_000
MPI_KILLS = 5
PRIVATE_KILLS = 4
PRIVATE_ROUNDS = 20_000
MPI_ROUNDS = 1500
HEAP_KILLS = 4
HEAP_ROUNDS = 300


def job_line(run, job):
    return [run.binary("hookcli"), "run", "-q", "--job", job]


def finish(run, command, what):
    status = command.wait(TIMEOUT)
    with open(run.path("job.log"), encoding="utf-8", errors="replace") as log:
        expect_true(f"{what}: exit {status}: {log.read()[-1000:]}", status == 0)


def calls_job(run, chance):
    """One process; the kills are spread over its rounds."""
    path = run.path("progress")
    collector = run.start_collector()
    command = loop.start(run, *job_line(run, "calls"), *loop.hook_options(),
                         "--", run.workload("calls_truth"), "--loop", path, ROUNDS, 0, ROUNDS - 1)
    for number in range(KILLS):
        loop.wait_rounds(path, ROUNDS * number // (KILLS + 4) + chance.randrange(1, ROUNDS // (KILLS + 4)))
        end_process(collector)
        # For a while there is none.
        loop.wait_rounds(path, min(loop.rounds_of(path) + chance.randrange(1, 300), ROUNDS))
        collector = run.start_collector()
    loop.go_on(path)
    finish(run, command, "calls")
    report = loop.closed_report(run, "calls")
    expect_whole(report, 1)
    rows = {key[1]: row["calls"] for key, row in rows_of(report).items() if key[0] == loop.LIBRARY}
    for function in loop.FUNCTIONS:
        expect(f"calls of {function}", rows[function], loop.THREADS * ROUNDS)
    judge_records(run, "calls", report)
    end_process(collector)


def judge_records(run, job, report):
    events = loop.events_of(run, job)
    counted = {(row["rank"], row["function"], os.path.basename(row["library"])): row["calls"] for row in report["calls"]
               if row["role"] == "main"}
    held = {key: len(calls) for key, calls in events.items() if key in counted}
    expect(f"{job}: calls in the export", held, counted)
    loop.expect_once(events)
    for rank in report["ranks"]:
        expect(f"{job}: records of rank {rank['rank']}", rank["records"],
               sum(row["calls"] for row in report["calls"] if (row["rank"], row["role"]) == (rank["rank"], "main")))


def mpi_job(run, chance, rounds):
    """Four ranks; their progress is not known, so the kills are timed. Returns the number of kills."""
    job, truths = f"mpi-{rounds}", run.path(f"truth-{rounds}")
    os.mkdir(truths)
    collector = run.start_collector()
    command = loop.start(run, "mpirun", "-n", RANKS, *job_line(run, job), "--hooks", "mpi", "--level", "record", "--",
                         run.workload("mpi_truth"), truths, rounds)
    killed = 0
    while command.poll() is None:
        try:
            command.wait(chance.uniform(0.1, 0.4))
        except subprocess.TimeoutExpired:
            end_process(collector)
            killed += 1
            collector = run.start_collector()
    finish(run, command, job)
    report = loop.closed_report(run, job)
    expect_whole(report, RANKS)
    for rank in range(RANKS):
        truth = wanted_of(load(f"{truths}/truth-{rank}.json"))
        expect_calls(f"rank {rank}", rows_of(report, rank, domains={"mpi"}), truth, keys=("calls", "bytes"))
    judge_records(run, job, report)
    end_process(collector)
    return killed


def heap_job(run, chance, rounds):
    """Memory, at the peak and over time too, is to the byte what it was. Returns how many kills there were."""
    job, truth = f"heap-{rounds}", run.path(f"heap-{rounds}.json")
    collector = run.start_collector()
    command = loop.start(run, *job_line(run, job), "--hooks", "libc", "--", run.workload("heap_truth"), truth, rounds,
                         env={"HOOK_ON_FULL": "wait:60000"})
    killed = 0
    while command.poll() is None:
        try:
            command.wait(chance.uniform(0.1, 0.4))
        except subprocess.TimeoutExpired:
            end_process(collector)
            killed += 1
            collector = run.start_collector()
    finish(run, command, job)
    report = loop.closed_report(run, job)
    expect_whole(report, 1)
    test_heap_truth.check_memory(job, report, 0, load(truth))
    end_process(collector)
    return killed


def collector_of(run):
    """Process id that the private collector of the only job has left in its run directory; 0 for none."""
    for name in glob.glob(os.path.join(run.run_directory, "job-*", "collector.lock")):
        with open(name, encoding="utf-8") as lock:
            return int(lock.read() or 0)
    return 0


def private_job(run, job, command, words):
    """A collector that `hookcli run` started is replaced by `hookcli run`, by any of the job's members."""
    path, seen = run.path(job), set()
    command = loop.start(run, *command, run.binary("hookcli"), "run", "-q", "--store", run.path("private"), "--job", job,
                         *loop.hook_options(), "--", *words, "--loop", path, PRIVATE_ROUNDS, 0,
                         PRIVATE_ROUNDS - 1)
    for number in range(PRIVATE_KILLS):
        loop.wait_rounds(path, PRIVATE_ROUNDS * number // (8 * PRIVATE_KILLS) + 1)
        collector = wait_for("a collector", lambda: collector_of(run) not in seen | {0} and collector_of(run))
        seen.add(collector)
        os.kill(collector, signal.SIGKILL)
    wait_for("the last collector", lambda: collector_of(run) not in seen | {0})
    loop.go_on(path)
    finish(run, command, job)
    report = run.report(run.path("private", job))
    expect_whole(report, 1)
    for function in loop.FUNCTIONS:
        expect(f"{job}: calls of {function}", rows_of(report)[loop.LIBRARY, function]["calls"], loop.THREADS * PRIVATE_ROUNDS)
    judge_records(run, run.path("private", job), report)
    expect(f"{job}: run directories left", glob.glob(os.path.join(run.run_directory, "job-*")), [])


def test(run):
    private_job(run, "outside", [], [run.workload("calls_truth")])
    private_job(run, "inside", ["mpirun", "-n", 1], [run.workload("calls_truth")])
    chance = random.Random(SEED)
    calls_job(run, chance)
    rounds = HEAP_ROUNDS
    while (killed_heap := heap_job(run, chance, rounds)) < HEAP_KILLS:
        rounds *= 2
    rounds = MPI_ROUNDS
    while (killed := mpi_job(run, chance, rounds)) < MPI_KILLS:
        rounds *= 2
    print(f"{KILLS} kills during the first job, {killed_heap} during the one of memory, {killed} during the MPI job")


if __name__ == "__main__":
    main(test)
