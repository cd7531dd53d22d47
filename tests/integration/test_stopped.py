#!/usr/bin/python3
"""A collector that somebody has stopped: each command says so soon, and by what it is continued; the job ends with its status."""
import os
import signal
import time

from harness import Run, expect, expect_true, main, wait_for

STATUS = 7
# Much less than a command waits for an answer, much more than the 2 s it should take; the best of some attempts counts.
SOON_S, ATTEMPTS = 9, 3


def soon(what, action):
    """Calls ACTION until one of the attempts was fast enough; what it returns is seconds first."""
    least = float("inf")
    for _ in range(ATTEMPTS):
        seconds, done = action()
        least = min(least, seconds)
        if least < SOON_S:
            break
    expect_true(f"{what}: at least {least:.1f} s", least < SOON_S)
    return done


def timed(run: Run, *words):
    began = time.monotonic()
    done = run.cli(*words, check=False)
    return time.monotonic() - began, done


def expect_line(what, done, pid):
    expect_true(f"{what}: {done.stderr}", f"kill -CONT {pid}" in done.stderr and "does not answer" in done.stderr)


def check_shared(run: Run):
    collector = run.start_collector()
    collector.send_signal(signal.SIGSTOP)
    for command, status in ("ls", 0), ("status", 3):
        done = soon(command, lambda word=command: timed(run, word))
        expect(f"{command}: status", done.returncode, status)
        expect_line(command, done, collector.pid)
    collector.send_signal(signal.SIGCONT)
    wait_for("the collector to answer", lambda: run.cli("status", check=False).returncode == 0)
    collector.terminate()
    collector.wait()


def run_stopped(run: Run):
    """A job whose command stops the job's own collector: it is complete once that is continued."""
    words = f"cat $HOOK_RUN_DIR/collector.lock >{run.path('pid')}; kill -STOP $(cat {run.path('pid')}); exit {STATUS}"
    seconds, done = timed(run, "run", "--store", run.path("private"), "--", "sh", "-c", words)
    with open(run.path("pid"), encoding="ascii") as file:
        pid = int(file.read())
    os.kill(pid, signal.SIGCONT)
    expect(f"run: status, with {done.stderr}", done.returncode, STATUS)
    expect_line("run", done, pid)
    expect(f"run: lines of {done.stderr}", len(done.stderr.splitlines()), 1)
    wait_for("the collector to finish the job", lambda: not os.path.exists(f"/proc/{pid}"))
    processes = run.report(os.path.realpath(run.path("private", "hook-last")))["processes"]
    expect_true(f"exits of {processes}", {"kind": "exited", "code": STATUS} in [process["exit"] for process in processes])
    return seconds, done


def test(run):
    check_shared(run)
    soon("run", lambda: run_stopped(run))


if __name__ == "__main__":
    main(test)
