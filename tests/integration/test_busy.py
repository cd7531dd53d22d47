#!/usr/bin/python3
"""Askers who never leave a collector without a question do not keep it from its own work: a process that begins meanwhile is seen, its
job is closed when it ends."""
import contextlib
import json
import socket
import struct
import threading

import loop
from harness import TIMEOUT, expect_true, main, wait_for
from test_closed import GREETING, SNAPSHOT, request

ASKERS = 4
AT_ONCE = 12  # questions of each, less than would be held back
ROUNDS = 200
JOB, PROCESSES = "first", 40  # to be read from its files for each answer, which takes longer than to ask


def ask(stream, answered, ending):
    """Asks AT_ONCE questions, then one more for each answer."""
    question = request(b"", SNAPSHOT, b"\x0a" + bytes([len(JOB)]) + JOB.encode())
    with contextlib.suppress(OSError), stream, stream.makefile("rb") as answers:
        stream.sendall(GREETING + question * AT_ONCE)
        answers.read(len(GREETING))
        while not ending.is_set():
            size = struct.unpack(">Q", answers.read(8))[0]
            answers.read(size)
            answered.append(size)
            stream.sendall(question)


def is_closed(run, job):
    done = run.cli("report", job, "--format", "json", check=False)
    return done.returncode == 0 and json.loads(done.stdout)["job"]["closed"]


def test(run):
    run.start_collector("--listen", "tcp://127.0.0.1:0")
    port = int(json.loads(run.cli("status", "--json").stdout)["listen"].rsplit(":", 1)[1])
    many = loop.start(run, "sh", "-c", f"for i in $(seq {PROCESSES}); do /bin/ls / > /dev/null; done",
                      env=loop.agent_environment(run, JOB))
    expect_true("it ends", many.wait(TIMEOUT) == 0)
    loop.closed_report(run, JOB)
    answered, ending = [], threading.Event()
    askers = [threading.Thread(target=ask, args=(socket.create_connection(("127.0.0.1", port), 60), answered, ending))
              for _ in range(ASKERS)]
    for asker in askers:
        asker.start()
    try:
        wait_for("answers", lambda: len(answered) > 2 * ASKERS * AT_ONCE)
        second = loop.start(run, run.workload("calls_truth"), "--loop", run.path("second"), ROUNDS,
                            env=loop.agent_environment(run, "second"))
        expect_true("it ends", second.wait(TIMEOUT) == 0)
        before = len(answered)
        wait_for("its job to be closed", lambda: is_closed(run, "second"))
        expect_true("asked all the while", len(answered) > before)
    finally:
        ending.set()
        for asker in askers:
            asker.join()


if __name__ == "__main__":
    main(test)
