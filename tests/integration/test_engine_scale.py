#!/usr/bin/python3
"""A job of many ranks, played by `load` into a stream engine of two partitions, with a root that began before the engine: what the root
has of it is exact."""
import os
import signal

import engine
from harness import Run, end_process, expect, main, wait_for
from test_scale import CALLS, RANKS, SITES, TICKS, check_report, check_top, play

PARTITIONS = 2


def test(run: Run):
    server, url = engine.single(run)
    stream = engine.Stream(run, url)
    stream.set_up("--partitions", PARTITIONS)
    server.kill()
    root = engine.Root(run, "root", ["--from", url]).start()
    wait_for("the root to miss the engine", lambda: "the engine cannot be asked" in root.said())
    server.start()
    for job in ("first", "second"):
        truth = play(run, url, job)
        expect("calls made", truth["calls"], RANKS * SITES * TICKS * CALLS)
        directory = os.path.join(root.store, job)
        wait_for(f"{job} on the root", lambda d=directory: run.cli("report", d, check=False).returncode == 0)
        check_report(run, directory, truth)
        check_top(run, directory)
    wait_for("all to be read", lambda: all(row["behind"] == 0 for row in stream.status()["partitions"]))
    end_process(root.collector, signal.SIGTERM)
    expect("exit of the root", root.collector.returncode, 0)


main(test)
