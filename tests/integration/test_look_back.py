#!/usr/bin/python3
"""Triggers keep the records around a moment, whatever --keep gives up: against what this test made the program call, and when."""
import csv
import json
import os
import signal
import subprocess
import sys
import time

from harness import RANKS, Run, expect, expect_true, main, wait_for
from nodes import root_and_leaves
from told import HOOKS, Told

BATCH = 4
PRIVATE = "--private"
SLOW_RANK = 2
SECOND = 10**9


def report_of(run, job, *options):
    done = run.cli("report", job, *options, "--format", "json", check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def shed(run, job):
    return sum(rank["shed_records"] for rank in report_of(run, job)["ranks"])


def fired_of(run, job):
    report = report_of(run, job)
    return report["triggers"]["fired"] if report else []


def calls_in(run, path):
    """[(rank, function, start in unix ns)] of every record in the job directory PATH."""
    out = run.path("calls.csv")
    run.cli("export", path, "--format", "csv", "-o", out)
    begin = report_of(run, path)["job"]["start_unix_ns"]
    with open(out, encoding="utf-8", newline="") as stream:
        return [(int(row["rank"]), row["function"], begin + round(float(row["start_ns"]))) for row in csv.DictReader(stream)]


class Ranks:
    """Told processes that make calls in batches; keeps a list of which rank called what between which times."""

    def __init__(self, run, job, **more):
        self.told = [Told(run, job, HOOK_RANK=str(rank), HOOK_WORLD_SIZE=str(RANKS), **more) for rank in range(RANKS)]
        self.batches = []  # (rank, function, calls, begin, end)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for told in self.told:
            told.__exit__()

    def call(self, rank, what, count=BATCH):
        begin = time.time_ns()
        self.told[rank].call(what, count)
        function = {"brief": "told_sleep", "slow": "told_sleep"}.get(what, f"told_{what}")
        self.batches.append((rank, function, count, begin, time.time_ns()))

    def work_until(self, condition):
        """All ranks call in turn until CONDITION holds, which is asked a few times a second."""
        asked = 0
        while True:
            for rank in range(RANKS):
                self.call(rank, "one")
                self.call(rank, "two")
            if time.monotonic() - asked > 0.2:
                asked = time.monotonic()
                if condition():
                    return

    def made(self, begin, end):
        """{(rank, function): (at least, at most)} calls between two times."""
        sums = {}
        for rank, function, count, first, last in self.batches:
            least, most = sums.get((rank, function), (0, 0))
            sums[rank, function] = (least + (count if first >= begin and last <= end else 0), most + (count if first <= end and last >= begin else 0))
        return sums


def check_kept(run, ranks, job, row):
    """The records that a trigger kept are those of the calls that were made, no more and no less."""
    report = report_of(run, job)
    start = report["job"]["start_unix_ns"]
    begin, end = start + row["from_ns"], start + row["until_ns"]
    path = os.path.join(run.path("store", job), row["directory"])
    found = calls_in(run, path)
    expect(f"{job}: records kept", len(found), row["records"])
    expect(f"{job}: each once", len(set(found)), len(found))
    for (rank, function), (least, most) in ranks.made(begin, end).items():
        if function == "told_two":
            continue
        count = sum((r, f) == (rank, function) and begin <= at <= end for r, f, at in found)
        expect_true(f"{job}: rank {rank}, {function}: {count} of {least} to {most}", least <= count <= most)
    return found, begin, end


def check_event(run: Run):
    """One of four ranks is slow once: the records of all around it are there, with raised levels behind it; older ones are gone."""
    job = "event"
    collector = run.start_collector("--keep", "1s", "--trigger", "told_sleep max>5ms", "--trigger-keep", "1s", "--trigger-for", "2s")
    with Ranks(run, job) as ranks:
        ranks.call(SLOW_RANK, "brief")
        wait_for("the job", lambda: report_of(run, job))
        run.cli("ctl", "--job", job, "level", "told_two=count")
        ranks.work_until(lambda: shed(run, job) > 0)
        expect("fired before", fired_of(run, job), [])
        slow_begin = time.time_ns()
        ranks.call(SLOW_RANK, "slow", 1)
        slow_end = time.time_ns()
        raised = []

        def closed():
            shown = run.cli("ctl", "--job", job).stdout
            raised.append("record or more" in shown)
            return any(not row["open"] for row in fired_of(run, job))
        ranks.work_until(closed)
        expect_true("levels were raised", any(raised))
        wait_for("levels to be back", lambda: "record or more" not in run.cli("ctl", "--job", job).stdout)
        expect_true("what the user set is still there", "told_two" in run.cli("ctl", "--job", job).stdout)
        rows = fired_of(run, job)
        expect("triggers", len(rows), 1)
        behind, after = time.time_ns(), shed(run, job)
        ranks.work_until(lambda: shed(run, job) > after + rows[0]["records"])
    row = rows[0]
    wait_for("the end", lambda: report_of(run, job)["job"]["closed"])
    expect("who", (row["rank"], row["function"], row["condition"]), (SLOW_RANK, "told_sleep", "told_sleep max>5ms"))
    expect_true(f"what it saw: {row}", row["value"] > 9e6 and row["limit"] == 5e6 and "> 5.0" in row["saw"])
    expect("refused", (row["refused_records"], row["problem"], row["level"]), (0, None, "record"))
    found, begin, end = check_kept(run, ranks, job, row)
    slow = [at for rank, function, at in found if (rank, function) == (SLOW_RANK, "told_sleep") and slow_begin <= at <= slow_end]
    expect("the slow call is among them", len(slow), 1)
    expect_true("and within the window", begin <= slow[0] <= end)
    start = report_of(run, job)["job"]["start_unix_ns"]
    at = start + row["time_ns"]
    two = [when for _, function, when in found if function == "told_two" and when <= end]
    expect_true(f"told_two at record after the trigger only: {len(two)}", two and min(two) > at)
    # Each rank takes the levels up at its next call: from a second on all of them are recorded.
    recorded = at + SECOND
    made = ranks.made(recorded, end)
    for rank in range(RANKS):
        count = sum((r, f) == (rank, "told_two") and recorded <= when <= end for r, f, when in found)
        expect_true(f"rank {rank}: {count} of {made[rank, 'told_two']} told_two", made[rank, "told_two"][0] <= count <= made[rank, "told_two"][1])
    main_calls = calls_in(run, run.path("store", job))
    expect("older records are gone", [when for _, _, when in main_calls if when <= slow_end], [])
    expect("told_two is counted only again", [when for _, function, when in main_calls if function == "told_two" and when > behind], [])
    check_shown(run, job, row)
    collector.terminate()
    collector.wait()


def check_shown(run, job, row):
    """Each reader says what fired, and opens what was kept."""
    words = f"kept {row['records']} records"
    for arguments in (("report", job), ("report", job, "--format", "text"), ("why", job)):
        shown = run.cli(*arguments).stdout
        expect_true(f"{arguments}: {shown}", "trigger 1 at " in shown and words in shown)
    inside = report_of(run, job, "--trigger", "1")
    expect("records there", sum(rank["records"] for rank in inside["ranks"]), row["records"])
    expect("whose", inside["triggers"]["kept"]["number"], 1)
    path = os.path.join(run.path("store", job), "trigger-1")
    for arguments in (("why", path), ("report", path, "--by", "step"), ("report", path), ("export", path, "--format", "perfetto", "-o", run.path("p"))):
        run.cli(*arguments)
    expect("ls", [entry["triggers"] for entry in json.loads(run.cli("ls", "--json").stdout) if entry["id"] == job], [1])
    done = run.cli("report", job, "--trigger", "2", check=False)
    expect_true(f"no such trigger: {done.stderr}", done.returncode == 3 and "trigger 2" in done.stderr)


def check_hand(run: Run):
    """By hand: the second one while the first is open prolongs it; eight in a job; what is too large is counted."""
    job = "hand"
    collector = run.start_collector("--trigger-keep", "3600s", "--trigger-for", "0s", "--trigger-size", "256")
    with Told(run, job) as told:
        told.call("one", 100)
        wait_for("records", lambda: (report_of(run, job) or {"ranks": [{"records": 0}]})["ranks"][0]["records"] == 100)
        for number in range(1, 9):
            said = run.cli("ctl", "trigger", job).stdout
            expect_true(f"number {number}: {said}", said.startswith(f"trigger {number}"))
            wait_for("it to be kept", lambda n=number: len(fired_of(run, job)) == n and not fired_of(run, job)[-1]["open"])
        done = run.cli("ctl", "trigger", job, check=False)
        expect_true(f"the ninth: {done.stderr}", done.returncode == 1 and "most of a job" in done.stderr)
        report = report_of(run, job)
        expect("counted", (report["triggers"]["refused"], len(report["triggers"]["fired"])), (1, 8))
        expect_true("and said", "1 trigger refused" in run.cli("report", job).stdout)
        first = report["triggers"]["fired"][0]
        expect("too large", (first["records"], first["refused_records"], first["problem"]), (0, 100, "more than --trigger-size"))
        status = json.loads(run.cli("status", "--json").stdout)
        expect("status", len(status["jobs"][-1]["triggers"]["fired"]), 8)
    wait_for("the end", lambda: report_of(run, job)["job"]["closed"])
    run.cli("rm", "-y", job) if "-y" in run.cli("rm", "--help").stdout else run.cli("rm", job)
    expect_true("rm removes all", not os.path.exists(run.path("store", job)))
    collector.terminate()
    collector.wait()


def check_prolonged(run: Run):
    """A second trigger before the end of the first prolongs it, and the levels with it."""
    job = "prolonged"
    collector = run.start_collector("--trigger-for", "3600s")
    with Told(run, job) as told:
        told.call("one", 100)
        wait_for("the job", lambda: report_of(run, job))
        run.cli("ctl", "trigger", job)
        first = fired_of(run, job)[0]
        said = run.cli("ctl", "trigger", job).stdout
        expect_true(f"prolonged: {said}", said.startswith("trigger 1, prolonged"))
        rows = fired_of(run, job)
        expect("one", (len(rows), rows[0]["prolonged"], rows[0]["open"]), (1, 1, True))
        expect_true("later", rows[0]["until_ns"] > first["until_ns"])
        expect("one rule", run.cli("ctl", "--job", job).stdout.count("record or more"), 1)
        collector.kill()
        collector.wait()
        collector = run.start_collector("--trigger-for", "3600s")
        wait_for("the next collector", lambda: report_of(run, job))
        told.call("one", 11)
    wait_for("the end", lambda: report_of(run, job)["job"]["closed"])
    row = fired_of(run, job)[0]
    expect("kept over a restart, until the job's end", (row["records"], row["open"]), (111, False))
    collector.terminate()
    collector.wait()


def check_signal(run: Run):
    """A rank that is killed: what was before is kept, though the job ends at once."""
    process = subprocess.Popen([run.binary("hookcli"), "run", "-q", "--store", run.path("own"), "--job", "killed", "--hooks", HOOKS, "--trigger", "signal",
                                "--trigger-keep", "3600s", "--", run.workload("told")],
                               env=run.environment(), cwd=run.directory, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write("one 77\n")
    process.stdin.flush()
    expect("told", process.stdout.readline().strip(), "done")
    path = run.path("own", "killed")
    child = wait_for("the process", lambda: next((row["pid"] for row in (report_of(run, path) or {"ranks": []})["ranks"]), None))
    os.kill(child, signal.SIGSEGV)
    expect("status", process.wait(), 128 + signal.SIGSEGV)
    row = report_of(run, path)["triggers"]["fired"][0]
    expect("what fired", (row["condition"], row["saw"], row["value"], row["records"]), ("signal", "signal 11", 11, 77))
    expect("records", len(calls_in(run, os.path.join(path, "trigger-1"))), 77)
    process.stdin.close()
    process.stdout.close()


def check_steps(run: Run):
    """A step that takes long, as the program marks steps."""
    job = "steps"
    collector = run.start_collector("--trigger", "step>500ms", "--trigger", "finding=hang", "--trigger-keep", "3600s", "--trigger-for", "0s")
    with Told(run, job) as told:
        told.call("step", 1000)
        wait_for("the steps", lambda: (report_of(run, job) or {"ranks": [{"records": 0}]})["ranks"][0]["records"] == 1000)
        expect("none is longer", fired_of(run, job), [])
        told.call("slow", 100)
        told.call("step", 1)
        rows = wait_for("the trigger", lambda: [row for row in fired_of(run, job) if not row["open"]])
        expect("what fired", (rows[0]["condition"], rows[0]["function"], rows[0]["rank"]), ("step>500ms", "step", 0))
        expect_true(f"how long it took: {rows[0]}", rows[0]["value"] >= SECOND * 0.98)
    wait_for("the end", lambda: report_of(run, job)["job"]["closed"])
    collector.terminate()
    collector.wait()


READS = """
import os, sys, threading, time
zero = os.open("/dev/zero", os.O_RDONLY)
for _ in range(300):
    os.read(zero, 1)
from_pipe, to_pipe = os.pipe()
threading.Timer(0.2, lambda: os.write(to_pipe, b"x")).start()
os.read(from_pipe, 1)
while not os.path.isdir(sys.argv[1]):
    time.sleep(0.01)
"""


def check_watched(run: Run):
    """A function that a condition names is recorded from the start, though its default level is below that."""
    path = run.path("store", "watched")
    run.trace(sys.executable, "-c", READS, os.path.join(path, "trigger-1"), options=("-q", "--job", "watched", "--trigger", "read max>100ms"))
    reads = [call for call in calls_in(run, os.path.join(path, "trigger-1")) if call[1] == "read"]
    expect_true(f"{len(reads)} reads before the moment", len(reads) > 300)


def check_unseen(run: Run):
    """A condition about a function that no process has, as a mistyped one, is named; one about a hooked function is not."""
    said = "trigger 'raed max>1s' is about a function that no process has hooked"
    for name, conditions, unseen in (("mistyped", ("read max>60m", "raed max>1s"), "raed max>1s"), ("typed", ("read max>60m", "signal"), None)):
        options = [word for condition in conditions for word in ("--trigger", condition)]
        summary = run.trace(sys.executable, "-c", "open('/dev/null').read()", options=("--job", name, *options)).stderr
        expect(f"named in the summary of {name}", said in summary, unseen is not None)
        expect(f"named in the report of {name}", report_of(run, run.path("store", name))["triggers"]["unseen"], unseen)


def check_finding(run: Run):
    """A finding that the report of a running job has: a file that is not there is opened again and again."""
    program = "import os, sys\nwhile not os.path.exists(sys.argv[1]):\n    try:\n        os.open(sys.argv[2], os.O_RDONLY)\n    except FileNotFoundError:\n        pass"
    stop, path = run.path("stop"), run.path("store", "found")
    process = subprocess.Popen([run.binary("hookcli"), "run", "-q", "--store", run.path("store"), "--job", "found", "--trigger", "finding=retried-errors",
                                "--", sys.executable, "-c", program, stop, run.path("missing")], env=run.environment(), cwd=run.directory)
    rows = wait_for("the trigger", lambda: fired_of(run, path))
    with open(stop, "w", encoding="ascii"):
        pass
    expect("status", process.wait(), 0)
    expect("what fired", rows[0]["condition"], "finding=retried-errors")
    expect("what it saw", rows[0]["saw"], "finding retried-errors")


def check_mpi(run: Run):
    """A job of MPI whose ranks wait for each other: what a trigger kept is a job that shows that."""
    run.trace("mpirun", "-n", "4", run.workload("mpi_slowing"), "none", "0", "0", "300", "7", run.path("notes"),
              options=("--job", "mpi", "--trigger", "MPI_Allreduce max>1ns", "--trigger", "finding=late-rank", "--trigger-for", "3600s",
                       "--trigger-level", "record+stack"))
    path = run.path("store", "mpi")
    row = fired_of(run, path)[0]
    expect("what fired", (row["function"], row["level"], row["open"]), ("MPI_Allreduce", "record+stack", False))
    inside = report_of(run, os.path.join(path, "trigger-1"))
    expect("records of each rank", [rank["records"] for rank in inside["ranks"]], [rank["records"] for rank in report_of(run, path)["ranks"]])
    expect_true("and the waits", "MPI_Allreduce" in run.cli("report", path, "--trigger", "1", "--by", "wait").stdout)


def check_nodes(run: Run):
    """The root decides for the ranks of its leaves: levels reach them, and their records are kept there."""
    root, leaves = root_and_leaves(run, ("a", "b"), root_options=("--trigger", "told_sleep max>5ms", "--trigger-keep", "60s", "--trigger-for", "2s"))
    env = {"HOOK_JOB": "wide", "HOOK_HOOKS": HOOKS, "HOOK_WORLD_SIZE": "2", "LD_PRELOAD": run.agent(), "HOOK_LEVEL": "time"}
    told = [subprocess.Popen([run.workload("told")], env=leaf.environment(HOOK_RANK=str(rank), **env), text=True, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE) for rank, leaf in enumerate(leaves)]

    def call(rank, what, count):
        told[rank].stdin.write(f"{what} {count}\n")
        told[rank].stdin.flush()
        expect("told", told[rank].stdout.readline().strip(), "done")

    def rows():
        done = root.cli("report", "wide", "--format", "json", check=False)
        return json.loads(done.stdout)["triggers"]["fired"] if done.returncode == 0 else []
    call(0, "one", 10)
    call(1, "slow", 1)
    wait_for("the trigger", rows)
    expect("who", (rows()[0]["rank"], rows()[0]["function"]), (1, "told_sleep"))
    made = 0
    while rows()[0]["open"]:
        call(0, "two", 5)
        made += 5
    kept = rows()[0]
    expect_true(f"the other rank's calls were recorded: {kept}", 0 < kept["records"] <= made)
    done = leaves[0].cli("ctl", "trigger", "--collector", f"ipc://{leaves[0].run_directory}/collector.sock", check=False)
    for process in told:
        process.stdin.close()
        process.stdout.close()
        process.wait()
    root.closed_report("wide")
    inside = calls_in_node(root, os.path.join(root.store, "wide", "trigger-1"))
    expect("records", len(inside), kept["records"])
    expect("whose", {(rank, function) for rank, function in inside}, {(0, "told_two")})
    expect_true(f"a leaf does not decide: {done.stderr}", done.returncode != 0)


def calls_in_node(node, path):
    out = node.path("node.csv")
    node.cli("export", path, "--format", "csv", "-o", out)
    with open(out, encoding="utf-8", newline="") as stream:
        return [(int(row["rank"]), row["function"]) for row in csv.DictReader(stream)]


def check_full(run: Run):
    """A disk without room for what a trigger keeps: the job's own records stay, and the loss is counted and named."""
    job, store = "full", run.path("store")
    os.makedirs(store, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", store], check=True)
    try:
        collector = run.start_collector("--trigger-keep", "3600s", "--trigger-for", "0s")
        with Told(run, job) as told:
            told.call("one", 100_000)
            wait_for("records", lambda: (report_of(run, job) or {"ranks": [{"records": 0}]})["ranks"][0]["records"] == 100_000)
            free = os.statvfs(store)
            with open(os.path.join(store, "filler"), "wb") as file:
                os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize - 8192)
            run.cli("ctl", "trigger", job, check=False)
            row = wait_for("the trigger", lambda: next((row for row in fired_of(run, job) if not row["open"]), None))
            expect("refused", (row["records"] + row["refused_records"], row["problem"]), (100_000, "No space left on device"))
            expect_true("all of them but a chunk", row["refused_records"] > 0)
            expect_true("and said", "records refused: No space left on device" in run.cli("report", job).stdout)
            os.unlink(os.path.join(store, "filler"))
        wait_for("the end", lambda: report_of(run, job)["job"]["closed"])
        expect("the job's own records", len(calls_in(run, os.path.join(store, job))), 100_000)
        collector.terminate()
        collector.wait()
    finally:
        subprocess.run(["umount", "-l", store], check=True)


def check_refusals(run: Run):
    """A condition that cannot be read is refused before the program starts, with what would be right."""
    for option, value, words in (("--trigger", "MPI_Send p98>1ms", "FUNCTION p99>10ms"), ("--trigger", "MPI_Send p99>1", "10ms"),
                                 ("--trigger", "step>1", "step>1.5x"), ("--trigger", "signal=0", "1 to 64"), ("--trigger", "finding=x", "late-rank"),
                                 ("--trigger", "error>5", "error>5/s"), ("--trigger", "MPI_Send", "FUNCTION p99>10ms"), ("--trigger-keep", "1h", "10s"),
                                 ("--trigger-level", "time", "record+stack"), ("--trigger-size", "0", "K, M or G")):
        for line in ((run.binary("hookcollector"), "--store", run.path("store")), (run.binary("hookcli"), "run", "--store", run.path("store"))):
            ends = ("--", "touch", run.path("ran")) if "run" in line else ()
            done = run.command(*line, option, value, *ends, check=False)
            expect_true(f"{option} {value}: {done.returncode} {done.stderr}", done.returncode in (2, 125) and words in done.stderr
                        and done.stderr.count("\n") == 1 and not os.path.exists(run.path("ran")))


def test(run: Run, *_):
    check_refusals(run)
    check_event(run)
    check_hand(run)
    check_prolonged(run)
    check_signal(run)
    check_steps(run)
    check_watched(run)
    check_unseen(run)
    check_finding(run)
    check_mpi(run)
    check_nodes(run)
    if PRIVATE in sys.argv:
        check_full(run)


def private_mounts():
    """The command that gives this script mounts of its own; None if that is forbidden: then no disk is filled."""
    command = ["unshare", "--mount"] if os.getuid() == 0 else ["unshare", "--mount", "--user", "--map-root-user"]
    probe = subprocess.run([*command, "mount", "-t", "tmpfs", "none", "/mnt"], check=False, capture_output=True)
    return command if probe.returncode == 0 else None


if __name__ == "__main__":
    unshare = None if PRIVATE in sys.argv else private_mounts()
    if unshare:
        os.execvp(unshare[0], [*unshare, sys.executable, *sys.argv, PRIVATE])
    main(test)
