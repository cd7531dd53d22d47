#!/usr/bin/python3
"""A traced job starts whatever state the running collector is in: stuck, unable to keep a job, or no collector at all."""
import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import loop
from harness import Run, end_process, expect, expect_true, main

STATUS, ROUNDS = 7, 300
PATIENCE, ATTEMPTS = 10, 3  # seconds that a collector has which shows that it runs


def check_line(what, done):
    lines = [line for line in done.stderr.splitlines() if "cannot keep the job" in line]
    expect(f"{what}: lines about the collector in {done.stderr}", len(lines), 1)


def check_run(run: Run, what):
    """hookcli run starts the job beside that collector and traces it in full; one line says why it is kept elsewhere."""
    truth = run.path(f"truth-{what}")
    os.mkdir(run.path(what))
    done = run.cli("run", "-q", *loop.hook_options(), "--", run.workload("calls_truth"), "--loop", truth, ROUNDS, check=False,
                   cwd=run.path(what))
    expect(f"{what}: status of the command, with {done.stderr}", done.returncode, 0)
    check_line(what, done)
    report = json.loads(run.cli("report", run.path(what, "hook-last"), "--format", "json").stdout)
    loop.expect_loop(what, report, loop.rows(truth))


def check_stuck(run: Run, collector):
    """Its socket takes connections, and nothing ever comes back: that is seen sooner than a busy collector is given up."""
    collector.send_signal(signal.SIGSTOP)
    least = PATIENCE
    for attempt in range(ATTEMPTS):
        began = time.monotonic()
        check_run(run, f"stuck-{attempt}")
        least = min(least, time.monotonic() - began)
        if least < PATIENCE:
            break
    collector.send_signal(signal.SIGCONT)
    expect_true(f"each job started after {PATIENCE} s or more", least < PATIENCE)


BUSY = """
import fcntl, os, select, socket, sys
lock = open("collector.lock", "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
print(os.getpid(), file=lock, flush=True)
server = socket.socket(socket.AF_UNIX)
server.bind("collector.sock")
server.listen()
print(flush=True)
streams = [server.accept()[0]]
while not select.select([server], [], [], 0)[0]:
    pass
server.accept()
print("asked again", flush=True)
sys.stdin.read()
"""


def check_busy(run: Run):
    """One that computes and computes is not taken for one that stands still: it is asked a second time."""
    os.unlink(os.path.join(run.run_directory, "collector.sock"))
    busy = subprocess.Popen([sys.executable, "-c", BUSY], cwd=run.run_directory,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        busy.stdout.readline()
        job = subprocess.Popen([run.binary("hookcli"), "run", "-q", "true"], env=run.environment(), cwd=run.directory,
                               stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        expect("busy: what it saw", busy.stdout.readline(), "asked again\n")
        end_process(job)
    finally:
        end_process(busy)


def check_no_store(run: Run):
    """It answers, and cannot make a directory for a job."""
    store = run.path("store")
    shutil.rmtree(store)
    with open(store, "w", encoding="ascii"):
        check_run(run, "refuses")
        check_nowhere(run)


def check_nowhere(run: Run):
    """No collector of its own can keep the job either, in a directory that was removed: the command runs, untraced."""
    words = f"mkdir gone; cd gone; rmdir ../gone; exec {run.binary('hookcli')} run -q sh -c 'echo \"$LD_PRELOAD\"; exit {STATUS}'"
    done = run.command("sh", "-c", words, check=False, env={"LD_PRELOAD": ""})
    expect(f"nowhere: status and output, with {done.stderr}", (done.returncode, done.stdout), (STATUS, "\n"))
    check_line("nowhere", done)
    expect_true(f"nowhere: {done.stderr}", "runs untraced" in done.stderr)


def check_impostor(run: Run, answer):
    """Something holds the run directory's lock, and hangs up on everybody after it has said ANSWER."""
    lock = os.open(os.path.join(run.run_directory, "collector.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.lockf(lock, fcntl.LOCK_EX)
    path = os.path.join(run.run_directory, "collector.sock")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen(64)

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    stream = server.accept()[0]
                    stream.sendall(answer)
                    stream.close()
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        check_run(run, "hangs-up")
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
    os.close(lock)


def test(run: Run):
    collector = run.start_collector()
    check_stuck(run, collector)
    check_no_store(run)
    end_process(collector)
    check_busy(run)
    check_impostor(run, b"\0SP\0\0\x31\0\0")


if __name__ == "__main__":
    main(test)
