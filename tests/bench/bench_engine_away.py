#!/usr/bin/python3
"""A job beside a leaf whose stream engine answers, does not answer, or is away: bench_engine_away.py BUILD_DIR [SECONDS ROUNDS].

Two threads of one process write, read, call a function and sleep as shortly as the kernel lets them; each call is a record. In turns of
SECONDS the engine is there, its process is stopped (SIGSTOP), and killed. Prints the job's rounds a second in each state, as medians and as
shares of those while the engine is there, and what the leaf then keeps. In the end the engine comes, and the leaf sends all.
Limit: SLOWER. Exit status 77 without nats-server or libnats.
"""
import os
import signal
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))

import engine  # pylint: disable=wrong-import-position
import loop  # pylint: disable=wrong-import-position
from harness import Failure, main, wait_for  # pylint: disable=wrong-import-position
from nodes import Node  # pylint: disable=wrong-import-position
from test_engine import uplink_of  # pylint: disable=wrong-import-position

SECONDS, ROUNDS = 20, 3
SLOWER = 0.05
ENDLESS = 10**12


class Engine:
    """One server, and what is done to it."""

    def __init__(self, run):
        self.server, self.url = engine.single(run)
        engine.Stream(run, self.url).set_up()

    def there(self):
        self.server.process.send_signal(signal.SIGCONT)
        if self.server.process.poll() is not None:
            self.server.start()

    def stopped(self):
        self.there()
        self.server.process.send_signal(signal.SIGSTOP)

    def away(self):
        self.server.kill()


def speed(path, seconds):
    """Rounds a second of the program that writes PATH."""
    begun, before = time.monotonic(), loop.rounds_of(path)
    time.sleep(seconds)
    return (loop.rounds_of(path) - before) / (time.monotonic() - begun)


def test(run, seconds=SECONDS, rounds=ROUNDS):
    beside = Engine(run)
    leaf = Node(run, "leaf", ["--upstream", beside.url]).start()
    path = run.path("truth")
    job = leaf.popen(run.workload("calls_truth"), "--loop", path, ENDLESS, 0, env=loop.agent_environment(run, "job"))
    states, speeds = (beside.there, beside.stopped, beside.away), {}
    try:
        loop.wait_rounds(path, 1000)
        for _ in range(int(rounds)):
            for state in states:
                state()
                time.sleep(1)
                speeds.setdefault(state.__name__, []).append(speed(path, float(seconds)))
                print(f"{state.__name__:8} {speeds[state.__name__][-1]:8.0f} rounds/s, the leaf keeps {uplink_of(leaf)['unsent_bytes'] / 1e6:6.1f} MB", flush=True)
    finally:
        job.kill()
        job.wait()
    beside.there()
    wait_for("the leaf to have sent all", lambda: uplink_of(leaf)["connected"] and not uplink_of(leaf)["unsent_bytes"])
    usual = statistics.median(speeds["there"])
    for name, found in speeds.items():
        change = statistics.median(found) / usual - 1
        print(f"{name}: {statistics.median(found):.0f} rounds/s, {100 * change:+.1f} %")
        if change < -SLOWER:
            raise Failure(f"the job is slower while the engine is {name}")


if __name__ == "__main__":
    main(test)
