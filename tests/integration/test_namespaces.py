#!/usr/bin/python3
"""Processes of another pid namespace, whose pids mean nothing to the collector: each is known to have ended however it did, and
nothing is left behind. Skipped (77) where no such namespace can be had.
"""
import os
import subprocess
import sys

from harness import Run, expect, expect_true, main

SKIPPED = 77
# The first waits for all; one ends, one execs another program, one is killed.
SCRIPT = """
/usr/bin/python3 -c 'pass'
sh -c 'exec /usr/bin/python3 -c pass'
/usr/bin/python3 -c 'import os; os.kill(os.getpid(), 9)'
exit 5
"""


def namespace():
    """The command that makes a pid namespace; None: it cannot be had."""
    for options in [], ["--user", "--map-root-user"]:
        command = ["unshare", *options, "--pid", "--fork"]
        done = subprocess.run([*command, "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode == 0:
            return command
    return None


def test(run: Run):
    command = namespace()
    if command is None:
        print("skipped: no pid namespaces here (not root, and no user namespaces)")
        sys.exit(SKIPPED)
    run.start_collector()
    done = run.cli("run", "-q", "--job", "apart", "--", *command, "sh", "-c", SCRIPT, check=False)
    expect("exit status", done.returncode, 5)
    expect_true(f"the job ends with its command: {done.stderr}", "hookcli" not in done.stderr)
    expect("segments left", [name for name in os.listdir(run.run_directory) if name.endswith(".seg")], [])
    report = run.report("apart")
    ended = sorted((os.path.basename(row["command"].split()[0]), row["exit"]["kind"]) for row in report["processes"]
                   if row["command"].startswith(("/usr/bin/python3", "sh -c exec")))
    # How a process was killed only its own namespace sees.
    expect("how each ended", ended, [("python3", "exited"), ("python3", "exited"), ("python3", "vanished"), ("sh", "exec")])


if __name__ == "__main__":
    main(test)
