#!/usr/bin/python3
"""What the kernel allows a process, the agent leaves to it: mappings, memory that it may lock, small signal stacks."""
import os
import sys

from harness import expect, expect_true, main

# Of life/limits.c.
THREADS, LOCKING_THREADS = 400, 8
# More mappings for each thread than without the agent: of 65,530 a thread's stack takes two.
MAPPINGS = 0.25
# The kernel's usual limit. The program alone has half of it.
LOCKED_BYTES = 8 << 20
NOT_ROOT = 77
# Of life/sigstack.c: its exit status, the largest stack, and what a call may take of each.
WELL, STACKS, FRAME = 7, 16384, 1024


def program(run):
    return os.path.join(run.build, "tests", "integration", "life", "limits")


def calls(report):
    return sum(row["calls"] for row in report["calls"] if row["function"] == "life_touch")


def check_mappings(run):
    alone = int(run.command(program(run), "threads", THREADS).stdout)
    for level in ("count", "record"):
        done = run.trace(program(run), "threads", THREADS, hooks=["*:life_*"], level=level, options=("--job", f"threads-{level}"))
        more = (int(done.stdout) - alone) / THREADS
        expect_true(f"threads at {level}: {more} more mappings each", more <= MAPPINGS)
        expect(f"threads at {level}: calls", calls(run.report(run.path("store", f"threads-{level}"))), 1 + THREADS)


def check_locked(run):
    alone = run.command(program(run), "lock", LOCKED_BYTES, check=False)
    if alone.returncode == NOT_ROOT:
        print("not tried: only root gives up the right to lock any memory")
        return
    done = run.trace(program(run), "lock", LOCKED_BYTES, hooks=["*:life_*"], level="record", options=("--job", "lock"), check=False)
    expect("lock: exit status", (done.returncode, alone.returncode), (0, 0))
    expect("lock: output", done.stdout, alone.stdout)
    report = run.report(run.path("store", "lock"))
    expect("lock: calls", calls(report), 1 + LOCKING_THREADS)
    expect("lock: untracked calls", report["job"]["calls_untracked"], 0)


def check_small_stacks(run):
    """A handler on an alternate stack may make the first call, or one without a page: what works alone, but for a kilobyte, works."""
    stack = os.path.join(run.build, "tests", "integration", "life", "sigstack")
    agent = {"LD_PRELOAD": run.agent(), "HOOK_HOOKS": "*:life_*", "HOOK_LEVEL": "record"}

    def status(size, when, env=None):
        return run.command(stack, size, when, env=env, check=False).returncode
    least = next(size for size in range(1024, STACKS, 256) if status(size, "first") == WELL)
    lines = {"HOOK_COMPAT": "1", "LOG_SYNC_MODE": "1", "LOG_LEVEL": "PROFILE=INFO"}
    for when, more in ("first", {}), ("forked", {}), ("later", {}), ("many", {}), ("off", {}), ("first", lines), ("later", lines):
        for size in range(least + FRAME, STACKS, 256):
            expect(f"{when} call on a stack of {size} bytes {more}", status(size, when, {**agent, **more}), WELL)
            for name in os.listdir(run.run_directory):
                os.unlink(os.path.join(run.run_directory, name))
    for size in (least + FRAME, STACKS):
        job = f"stack-{size}"
        run.trace(stack, size, "first", hooks=["*:life_*"], options=("--job", job), check=False)
        report = run.report(run.path("store", job))
        seen = sum(row["calls"] for row in report["calls"])
        expect(f"a stack of {size} bytes: calls seen or said to be missing", seen + report["job"]["calls_untracked"], 1)
    expect("calls seen on the largest stack", seen, 1)


def check_watches(run):
    """A user has so many watches of directories. Without one, processes are found once a second."""
    alone = ["unshare", "--user", "--map-root-user", "sh", "-c", "echo 0 > /proc/sys/user/max_inotify_instances && exec \"$@\"", "sh"]
    if run.command(*alone, "true", check=False).returncode != 0:
        print("watches are not tried: this user may not have a namespace of users")
        return
    watch = "import ctypes; print(ctypes.CDLL(None).inotify_init())"
    expect("a watch in the namespace", run.command(*alone, sys.executable, "-c", watch).stdout, "-1\n")
    run.command(*alone, run.binary("hookcli"), "run", "--store", run.path("store"), "--hooks", "*:life_*", "--job", "unwatched", "--",
                       program(run), "threads", THREADS)
    expect("calls without a watch", calls(run.report(run.path("store", "unwatched"))), 1 + THREADS)


def test(run):
    check_watches(run)
    check_mappings(run)
    check_locked(run)
    check_small_stacks(run)


if __name__ == "__main__":
    main(test)
