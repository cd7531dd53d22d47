#!/usr/bin/python3
"""A hookcli that gets no processor when its command ends, outside of a launcher or inside of one, finds its collector and the whole job when
it continues.
"""
import os
import signal
import subprocess
import time

from harness import TIMEOUT, expect, main, wait_for

# A job whose command is gone is closed after 2 s: so long that its collector would be gone.
STARVED_S = 4


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stream:
        return stream.read().rpartition(")")[2].split()[0]


def check(run, job, then, status, **more):
    command = subprocess.Popen([run.binary("hookcli"), "run", "-q", "--store", run.path("store"), "--job", job,
                                "--", "sh", "-c", f"kill -STOP $PPID; {then}"],
                               stderr=subprocess.PIPE, text=True, env=run.environment(**more))
    wait_for("hookcli to be stopped", lambda: state(command.pid) == "T")
    until = time.monotonic() + STARVED_S
    wait_for("the collector to miss it", lambda: time.monotonic() > until)
    os.kill(command.pid, signal.SIGCONT)
    _, said = command.communicate(timeout=TIMEOUT)
    expect("status", command.returncode, status)
    expect("what was said", said, "")
    processes = run.report(run.path("store", job))["processes"]
    # The shell may have become the program.
    expect("exit", [process["exit"] for process in processes if process["exit"]["kind"] != "exec"], [{"kind": "exited", "code": status}])


def test(run):
    check(run, "outside", "exit 3", 3)
    # Of the ranks of a launcher the collector does not know which processes are the commands.
    check(run, "inside", f"exec {run.workload('calls_truth')} --loop {run.path('progress')} 10", 0, OMPI_COMM_WORLD_RANK="0",
          OMPI_COMM_WORLD_SIZE="1")


main(test)
