#!/usr/bin/python3
"""A process that the kernel kills for want of memory: told apart from one that somebody kills, with the limit of its control group.

The control group is the test's own. Exit status 77 if none can be made here.
"""
import contextlib
import json
import os
import sys

from harness import expect, expect_true, main

LIMIT = 96 << 20
GROWS = "blocks = []\nwhile True: blocks.append(bytearray(1 << 20))"
KILLED = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"


@contextlib.contextmanager
def limited_group():
    """The directory of a control group with LIMIT bytes, without swap if that can be said."""
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        lines = [line.rstrip("\n").split(":", 2) for line in file]
    first = next((path for _, names, path in lines if "memory" in names.split(",")), None)
    second = next((path for _, names, path in lines if not names), "/")
    base, limit = ("/sys/fs/cgroup/memory" + first, "memory.limit_in_bytes") if first else ("/sys/fs/cgroup" + second, "memory.max")
    group = os.path.join(base, f"hk-test-{os.getpid()}")
    try:
        os.mkdir(group)
    except OSError as error:
        print(f"no control group can be made: {error}")
        sys.exit(77)
    try:
        with open(os.path.join(group, limit), "w", encoding="utf-8") as file:
            file.write(str(LIMIT))
        with contextlib.suppress(OSError), open(os.path.join(group, "memory.swap.max"), "w", encoding="utf-8") as file:
            file.write("0")
        yield group
    except FileNotFoundError as error:
        print(f"no memory can be limited here: {error}")
        sys.exit(77)
    finally:
        os.rmdir(group)


def run_in(run, group, program, job):
    """The job's report, its findings and the exit status of a Python PROGRAM in GROUP."""
    enter = f"echo $$ >{group}/cgroup.procs && exec {sys.executable} -c '{program}'"
    done = run.trace("sh", "-c", enter, options=("-q", "--job", job), check=False)
    return run.report(run.path("store", job)), json.loads(run.cli("why", run.path("store", job), "--json").stdout)["findings"], done.returncode


def deaths(findings):
    return [finding for finding in findings if finding["kind"] == "death"]


def test(run):
    with limited_group() as group:
        report, findings, status = run_in(run, group, GROWS, "grows")
        other, killed, _ = run_in(run, group, KILLED, "killed")
    expect("exit status of run", status, 128 + 9)
    for what, ranks in (("grows", report["ranks"]), ("killed", other["ranks"])):
        expect(f"{what}: limit of the rank", [rank["memory_limit_bytes"] for rank in ranks], [LIMIT])
    expect("exit of the process without memory", report["ranks"][0]["exit"]["kind"], "oom")
    expect("exit of the process that was killed", other["ranks"][0]["exit"], {"kind": "signal", "code": 9})
    text = deaths(findings)[0]["evidence"]
    expect_true(f"{text!r} says why", "memory ran out" in text)
    details = "; ".join(deaths(findings)[0]["details"])
    expect_true(f"{details!r} has the limit", "96.0 MiB" in details)
    expect_true("the killed one has another reason", "signal 9" in deaths(killed)[0]["evidence"])


if __name__ == "__main__":
    main(test)
