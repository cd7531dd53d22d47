#!/usr/bin/python3
"""A hookcli that gets no processor when its command ends finds its collector there when it goes on, and the job whole."""
import os
import signal
import subprocess
import time

from harness import expect, main, wait_for

# A job whose command is gone is closed after 2 s: so long that its collector would be gone.
STARVED_S = 4


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stream:
        return stream.read().rpartition(")")[2].split()[0]


def check(run):
    command = subprocess.Popen([run.binary("hookcli"), "run", "-q", "--store", run.path("store"), "--job", "starved",
                                "--", "sh", "-c", "kill -STOP $PPID; exit 3"],
                               stderr=subprocess.PIPE, text=True, env=run.environment())
    wait_for("hookcli to be stopped", lambda: state(command.pid) == "T")
    until = time.monotonic() + STARVED_S
    wait_for("the collector to miss it", lambda: time.monotonic() > until)
    os.kill(command.pid, signal.SIGCONT)
    _, said = command.communicate(timeout=60)
    expect("status", command.returncode, 3)
    expect("what was said", said, "")
    processes = run.report(run.path("store", "starved"))["processes"]
    expect("exit", [process["exit"] for process in processes], [{"kind": "exited", "code": 3}])


main(check)
