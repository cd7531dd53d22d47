#!/usr/bin/python3
"""A collector that starts late finds everything in the segments: of jobs that run, were killed, or asked to leave them."""
import os
import signal

import loop
from harness import TIMEOUT, end_process, expect, expect_true, main, wait_for
from truth import rows_of

ROUNDS = 3000
EARLY = 200


def start_loop(run, job, path, *rounds, **more):
    return loop.start(run, run.workload("calls_truth"), "--loop", path, *rounds, env={**loop.agent_environment(run, job), **more})


def segments(run):
    return [name for name in os.listdir(run.run_directory) if name.endswith(".seg")]


def judge(run, job, table):
    report = loop.closed_report(run, job)
    expect(f"{job}: ranks", len(report["ranks"]), 1)
    expect(f"{job}: lost", report["ranks"][0]["lost_records"], 0)
    loop.expect_loop(job, report, table)
    events = loop.events_of(run, job)
    loop.expect_records(job, events, table)
    loop.expect_once(events)
    return report


def orphaned(run):
    """A process that ends when its collector is dead leaves the rest to the next one."""
    path, rounds = run.path("orphan"), 12_000
    collector = run.start_collector()
    process = start_loop(run, "orphan", path, rounds)
    loop.wait_rounds(path, EARLY)
    wait_for("the job to be seen", lambda: run.cli("report", "orphan", check=False).returncode == 0)
    expect_true("the job still runs", loop.rounds_of(path) < rounds)
    end_process(collector)
    expect("exit of the orphan", process.wait(TIMEOUT), 0)
    expect("segments it left", len(segments(run)), 1)
    collector = run.start_collector()
    report = judge(run, "orphan", loop.rows(path))
    expect("its exit", report["ranks"][0]["exit"], {"kind": "exited", "code": 0})
    end_process(collector)


def test(run):
    expect("exit of a job alone", start_loop(run, "gone", run.path("gone"), EARLY).wait(TIMEOUT), 0)
    expect("segments it left", segments(run), [])
    chain = [os.path.join(run.build, "tests", "integration", "life", "life"), "exec-chain", 3]
    for keep, left in ((0, 0), (1, 4)):
        run.command(*chain, env={**loop.agent_environment(run, "chain"), "HOOK_KEEP_SEGMENT": str(keep)}, check=False)
        expect(f"segments of {left} images that are to be kept", len(segments(run)), left)

    paths = {job: run.path(job) for job in ("kept", "killed", "running")}
    expect("exit of a job that keeps", start_loop(run, "kept", paths["kept"], EARLY, HOOK_KEEP_SEGMENT="1").wait(TIMEOUT), 0)
    expect_true("it left its segment", segments(run))
    killed = start_loop(run, "killed", paths["killed"])
    loop.wait_rounds(paths["killed"], EARLY)
    end_process(killed)
    running = start_loop(run, "running", paths["running"], ROUNDS)
    loop.wait_rounds(paths["running"], EARLY)
    expect_true("the job still runs", loop.rounds_of(paths["running"]) < ROUNDS)
    collector = run.start_collector()
    expect("exit of the job", running.wait(TIMEOUT), 0)

    report = judge(run, "running", loop.rows(paths["running"]))
    rows = {key[1]: row["calls"] for key, row in rows_of(report).items() if key[0] == loop.LIBRARY}
    expect("calls from the first on", {name: rows[name] for name in loop.FUNCTIONS},
           dict.fromkeys(loop.FUNCTIONS, loop.THREADS * ROUNDS))
    expect("exit", report["ranks"][0]["exit"], {"kind": "exited", "code": 0})
    kept = judge(run, "kept", loop.rows(paths["kept"]))
    expect("exit of the kept one", kept["ranks"][0]["exit"], {"kind": "exited", "code": 0})
    # Its parent was not traced.
    gone = judge(run, "killed", loop.rows(paths["killed"]))
    expect("exit of the killed one", gone["ranks"][0]["exit"]["kind"], "vanished")
    expect_true("its open calls", "pthread_join" in [row["function"] for row in gone["open_calls"]])
    wait_for("the segments to be cleared away", lambda: not segments(run))
    expect("the collector ends when asked", (collector.send_signal(signal.SIGTERM), collector.wait(TIMEOUT))[1], 0)
    orphaned(run)


if __name__ == "__main__":
    main(test)
