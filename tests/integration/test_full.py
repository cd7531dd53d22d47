#!/usr/bin/python3
"""A run directory without room: the job does what it always does, and what could not be counted or kept is said."""
import os
import subprocess
import sys

import loop
from harness import TIMEOUT, Run, end_process, expect, expect_true, main, wait_for
from nodes import finish, root_and_leaves
from truth import load

SKIPPED = 77
PRIVATE = "--private"
BLOCK = 65536
ROUNDS = 30_000


def fill(run, but_bytes):
    """Leaves BUT_BYTES of the run directory's tmpfs free."""
    os.unlink(run.path("full", "filler")) if os.path.exists(run.path("full", "filler")) else None
    free = os.statvfs(run.run_directory)
    with open(run.path("full", "filler"), "wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(free.f_bavail * free.f_frsize - but_bytes, 1))


def count_of(calls):
    return {(library, function): row["calls"] for library, functions in calls.items() for function, row in functions.items()}


def trace(run, job, *words):
    """The program under the preloaded agent; hooktrace or not, it ends well and says nothing."""
    done = run.command(run.workload("calls_truth"), *words, env=loop.agent_environment(run, job))
    expect(f"{job}: output", (done.stdout, done.stderr), ("", ""))


def counted(report, function):
    return sum(row["calls"] for row in report["calls"] if row["function"] == function
               and os.path.basename(row["library"]) == loop.LIBRARY)


def rank_lost(report):
    return report["ranks"][0]["lost_records"]


def check_no_room(run: Run):
    """Not even a first page: no report is possible; the program runs as if there were no agent."""
    fill(run, 0)
    trace(run, "no-room", "--count", run.path("out.json"))
    expect_true("the program's own truth", count_of(load(run.path("out.json"))["calls"])["calls_truth", "write"] == 500)
    expect("segments", [name for name in os.listdir(run.run_directory) if name.endswith(".seg")], [])


def check_little_room(run: Run):
    """At every size between nothing and enough, calls are in the statistics or said to be missing."""
    sizes = []
    for blocks in range(1, 32, 2):
        fill(run, blocks * BLOCK)
        job, path = f"blocks-{blocks}", run.path(f"blocks-{blocks}")
        done = run.command(run.workload("calls_truth"), "--loop", path, 200,
                           env={**loop.agent_environment(run, job), "HOOK_KEEP_SEGMENT": "1"})
        expect(f"{job}: output", (done.stdout, done.stderr), ("", ""))
        left = [name for name in os.listdir(run.run_directory) if name.endswith(".seg")]
        fill(run, 1 << 20)
        collector = run.start_collector()
        if left:
            report = loop.closed_report(run, job)
            tracked = {function: counted(report, function) for function in loop.FUNCTIONS}
            untracked = report["job"]["calls_untracked"]
            expect_true(f"{job}: no call too many: {tracked}", all(calls <= 400 for calls in tracked.values()))
            missing = sum(400 - calls for calls in tracked.values())
            coverage = report["coverage"][0]
            # Room for a page but not for sites: those slots were left alone, which the coverage says.
            expect_true(f"{job}: {missing} calls are missing, {untracked} are said to be untracked; {coverage}",
                        missing <= untracked or "without memory" in coverage["notes"])
            sizes.append((missing, rank_lost(report)))
            rank = report["ranks"][0]
            expect(f"{job}: records and lost ones", rank["records"] + rank["lost_records"],
                   sum(row["calls"] for row in report["calls"]))
        end_process(collector)
    expect_true(f"some sizes hold none, some all: {sizes}", sizes[-1][0] == 0 and any(missing for missing, _ in sizes))


def check_drained(run: Run):
    """Records that find no room before the collector takes them are lost and counted; statistics stay exact."""
    fill(run, 0)
    os.unlink(run.path("full", "filler"))
    job, path = "storm", run.path("storm")
    trace(run, job, "--loop", path, 40)
    process = loop.start(run, run.workload("calls_truth"), "--loop", path, ROUNDS, env=loop.agent_environment(run, job))
    loop.wait_rounds(path, ROUNDS - 1000)
    collector = run.start_collector()
    expect("storm: status", process.wait(TIMEOUT), 0)
    report = loop.closed_report(run, job)
    rank = report["ranks"][0]
    expect_true(f"storm: lost {rank['lost_records']} of {rank['records']}", rank["lost_records"] > 0 and rank["records"] > 0)
    for function in sorted(loop.FUNCTIONS):
        expect(f"storm: {function}", counted(report, function), loop.THREADS * ROUNDS)
    expect("storm: records and lost ones", rank["records"] + rank["lost_records"], sum(row["calls"] for row in report["calls"]))
    expect("storm: untracked", report["job"]["calls_untracked"], 0)
    expect_true("the summary says so", "records lost" in run.cli("report", job).stdout)
    events = loop.events_of(run, job)
    expect("storm: calls in the export", sum(len(calls) for calls in events.values()), rank["records"])
    loop.expect_once(events)
    end_process(collector)


def check_leaves_room(run: Run):
    """Records never take the last quarter of a file system that others need too; statistics do not suffer."""
    jobs = ("first", "second", "third")
    # A process takes 1 MiB at most here: the third one's last step would go beyond.
    subprocess.run(["mount", "-o", "remount,size=4m", run.run_directory], check=True)
    for job in jobs:
        done = run.command(run.workload("calls_truth"), "--loop", run.path(job), ROUNDS,
                           env={**loop.agent_environment(run, job), "HOOK_KEEP_SEGMENT": "1"})
        expect(f"{job}: output", (done.stdout, done.stderr), ("", ""))
    space = os.statvfs(run.run_directory)
    expect_true(f"{space.f_bavail} of {space.f_blocks} blocks are free", space.f_bavail * 4 >= space.f_blocks)
    collector = run.start_collector()
    for job in jobs:
        report = loop.closed_report(run, job)
        for function in sorted(loop.FUNCTIONS):
            expect(f"{job}: {function}", counted(report, function), loop.THREADS * ROUNDS)
        expect(f"{job}: untracked", report["job"]["calls_untracked"], 0)
        expect_true(f"{job}: lost records are counted", rank_lost(report) > 0)
    end_process(collector)


def stored_bytes(run, job):
    """Blocks that the chunk files of JOB take."""
    return sum(os.stat(run.path("store", job, name)).st_blocks * 512 for name in os.listdir(run.path("store", job))
               if name.endswith(".chunks"))


def check_fills(run: Run):
    """The store fills up: records wait or are counted as lost, statistics go on, and once there is room records do too."""
    store = run.path("store")
    os.makedirs(store, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", store], check=True)
    try:
        with open(run.path("store", "filler"), "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 13 << 18)
        collector = run.start_collector("--keep", "all")
        trace(run, "fills", "--loop", run.path("first"), ROUNDS)
        wait_for("records to stop", lambda: run.report("fills")["job"]["store_error"])
        os.unlink(run.path("store", "filler"))
        with open(run.path("collector.log"), encoding="utf-8") as log:
            wait_for("records to go on", lambda: "stored again job=fills" in log.read())
        trace(run, "fills", "--loop", run.path("second"), 1000)
        report = loop.closed_report(run, "fills")
        for function in sorted(loop.FUNCTIONS):
            expect(f"fills: {function}", counted(report, function), loop.THREADS * (ROUNDS + 1000))
        expect("fills: why", report["job"]["store_error"], "No space left on device")
        _, second = sorted(report["processes"], key=lambda row: row["start_ns"])
        expect("fills: lost when there was room again", second["lost_records"], 0)
        events = sum(len(calls) for calls in loop.events_of(run, "fills").values())
        made = sum(row["calls"] for row in report["calls"])
        expect("fills: kept and lost", events + rank_lost(report), made)
        expect("fills: kept in the report", sum(rank["records"] for rank in report["ranks"]), events)
        expect_true("nothing is left of the reserve", "reserve" not in os.listdir(run.path("store", "fills")))
        end_process(collector)
    finally:
        subprocess.run(["umount", "-l", store], check=True)


def fill_root(run):
    root, (leaf,) = root_and_leaves(run, ["far"])
    with open(os.path.join(root.store, "filler"), "wb") as file:
        os.posix_fallocate(file.fileno(), 0, 13 << 18)
    rank = leaf.popen(run.workload("calls_truth"), "--loop", run.path("brought"), ROUNDS, env=loop.agent_environment(run, "brought"))
    with root.told():
        wait_for("the root to be full", lambda: "no room for records of other nodes" in root.said())
    finish(rank, "rank", run.path("job.log"))
    full = wait_for("its report to say so", lambda: (lambda job: job["store_full"] and job)(root.report("brought")["job"]))
    expect("why", full["store_error"], "No space left on device")
    expect_true("so does the summary, and what helps", "! the store is full, counts and times go on, records do not: free space in "
                in root.cli("report", "brought").stdout)
    os.unlink(os.path.join(root.store, "filler"))
    report = root.closed_report("brought")
    for function in sorted(loop.FUNCTIONS):
        expect(f"brought: {function}", counted(report, function), loop.THREADS * ROUNDS)
    expect("brought: lost, full", (rank_lost(report), report["job"]["store_full"]), (0, False))
    expect("brought: records on the root", sum(len(calls) for calls in loop.events_of(root, "brought").values()),
           sum(row["calls"] for row in report["calls"]))
    for line in ("no room for records of other nodes", "records of other nodes are stored again"):
        expect(f"how often its log says: {line}", root.said().count(line), 1)
    expect_true("which says what helps", "free space in " in root.said() and "--keep" in root.said())
    for node in (root, leaf):
        end_process(node.collector)


def check_root_fills(run: Run):
    """The store of a root fills up: that is said there as well, records wait on their nodes, and all come once there is room."""
    store = run.path("store-root")
    os.mkdir(store)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", store], check=True)
    try:
        fill_root(run)
    finally:
        subprocess.run(["umount", "-l", store], check=True)


def store_late(run, store, job):
    """A job that ends while its store is full, which gets room later."""
    with open(run.path("tiny", "filler"), "wb") as file:
        os.posix_fallocate(file.fileno(), 0, os.statvfs(store).f_bavail * os.statvfs(store).f_frsize)
    done = run.cli("run", "-q", *loop.hook_options(), "--store", store, "--job", "late", "--", run.workload("calls_truth"), "--loop",
                   run.path("late.out"), 10)
    expect_true(f"why: {done.stderr}", "cannot be written: No space left on device; make room" in done.stderr)
    os.unlink(run.path("tiny", "filler"))
    wait_for("the job to be stored", lambda: os.path.exists(os.path.join(job, "report.json")))
    report = run.report(job)
    for function in sorted(loop.FUNCTIONS):
        expect(f"late: {function}", counted(report, function), loop.THREADS * 10)


def check_full_store(run: Run):
    """Nothing can be stored: the command is not disturbed, the reason is reported, and the job is stored once there is room."""
    store, job = run.path("tiny"), run.path("tiny", "late")
    os.mkdir(store)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", store], check=True)
    try:
        store_late(run, store, job)
    finally:
        # Which is busy as long as the collector lives.
        wait_for("the store to be left",
                 lambda: subprocess.run(["umount", store], check=False, capture_output=True).returncode == 0)


def check_read_only(run: Run):
    """What is there may be read and nothing written."""
    before = os.listdir(run.run_directory)
    subprocess.run(["mount", "-o", "remount,ro", run.run_directory], check=True)
    trace(run, "read-only", "--count", run.path("out.json"))
    expect("read-only: files", os.listdir(run.run_directory), before)
    expect_true("the program's own truth", count_of(load(run.path("out.json"))["calls"])["calls_truth", "write"] == 500)


def test(run):
    check_full_store(run)
    check_root_fills(run)
    os.mkdir(run.path("full"), 0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "hooktrace-test", run.path("full")], check=True)
    run.run_directory = run.path("full")
    try:
        check_no_room(run)
        check_little_room(run)
        check_drained(run)
        check_leaves_room(run)
        check_fills(run)
        check_read_only(run)
    finally:
        subprocess.run(["umount", "-l", run.path("full")], check=True)


def private_mounts():
    """The command that gives this script mounts of its own; None if that is forbidden."""
    command = ["unshare", "--mount"] if os.getuid() == 0 else ["unshare", "--mount", "--user", "--map-root-user"]
    probe = subprocess.run([*command, "mount", "-t", "tmpfs", "none", "/mnt"], check=False, capture_output=True, text=True)
    if probe.returncode != 0:
        print(f"skipped: {probe.stderr.strip()}")
        return None
    return command


if __name__ == "__main__":
    if PRIVATE in sys.argv:
        sys.argv.remove(PRIVATE)
        main(test)
    else:
        unshare = private_mounts()
        if not unshare:
            sys.exit(SKIPPED)
        os.execvp(unshare[0], [*unshare, sys.executable, *sys.argv, PRIVATE])
