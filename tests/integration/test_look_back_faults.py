#!/usr/bin/python3
"""What triggers keep stays whole and bounded when calls go on, room ends, a collector is killed, or something is in the way."""

import json
import os
import subprocess
import time

from harness import Run, expect, expect_true, main, wait_for
from nodes import root_and_leaves
from test_look_back import calls_in, fired_of, report_of, shed
from told import HOOKS, Told


def wait_records(run, job, count):
    wait_for("records", lambda: (report_of(run, job) or {"ranks": [{"records": 0}]})["ranks"][0]["records"] >= count)


def wait_end(run, job, collector):
    wait_for("the end", lambda: report_of(run, job)["job"]["closed"])
    rows = fired_of(run, job)
    collector.terminate()
    collector.wait()
    return rows


def check_sound(run, path):
    """No reader finds damage in PATH."""
    for line in (("export", path, "--format", "csv", "-o", run.path("sound.csv")), ("why", path), ("report", path, "--by", "wait")):
        done = run.cli(*line)
        expect_true(f"{line[0]}: {done.stderr} {done.stdout}", "damag" not in done.stderr + done.stdout)


def check_after(run: Run):
    """Calls go on after the window, and more were to be kept than may be: what is there is sound."""
    for job, options in (("after", ()), ("sized", ("--trigger-size", "64K"))):
        collector = run.start_collector("--trigger-for", "1s", *options)
        with Told(run, job) as told:
            told.call("one", 1000)
            wait_records(run, job, 1000)
            run.cli("ctl", "trigger", job)
            made = 1000
            while fired_of(run, job)[0]["open"]:
                told.call("one", 20000)
                made += 20000
            told.call("one", 20000)
        row = wait_end(run, job, collector)[0]
        expect_true(f"{job}: {row}", 1000 <= row["records"] <= made and (row["refused_records"] > 0) == bool(options))
        path = run.path("store", job, "trigger-1")
        check_sound(run, path)
        expect("records", len(calls_in(run, path)), row["records"])
        done = run.cli("export", path, "--format", "csv", "-o", run.path("shed.csv"))
        expect(f"the export names the refused records: {done.stderr}", str(row["refused_records"]) in done.stderr, bool(options))


def check_killed(run: Run):
    """A collector that is killed while records are kept: the next one continues, and nothing is given up before."""
    job, first = "killed", 10_000
    options = ("--keep", "64K", "--trigger-keep", "3600s", "--trigger-for", "3600s")
    collector = run.start_collector(*options)
    with Told(run, job) as told:
        told.call("one", first)
        wait_records(run, job, first)
        expect("all there", shed(run, job), 0)
        run.cli("ctl", "trigger", job)
        wait_for("the copy", lambda: fired_of(run, job)[0]["records"] == first)
        collector.kill()
        collector.wait()
        told.call("one", 5 * first)
        collector = run.start_collector(*options)
        wait_records(run, job, 6 * first)
        told.call("one", 5 * first)
        wait_for("old records to be given up", lambda: shed(run, job) > first)
        expect("while it is open", fired_of(run, job)[0]["open"], True)
    row = wait_end(run, job, collector)[0]
    expect("kept", (row["records"], row["refused_records"], row["problem"]), (11 * first, 0, None))
    path = run.path("store", job, "trigger-1")
    check_sound(run, path)
    expect("records", len(set(calls_in(run, path))), 11 * first)


def check_bounded(run: Run):
    """An open trigger that has kept all it may does not hold records against --keep."""
    job = "bounded"
    collector = run.start_collector("--keep", "64K", "--trigger-for", "3600s", "--trigger-size", "32K")
    with Told(run, job) as told:
        told.call("one", 1000)
        wait_records(run, job, 1000)
        run.cli("ctl", "trigger", job)
        for _ in range(20):
            told.call("one", 10_000)
            run.cli("ctl", "trigger", job)
        wait_for("old records to be given up", lambda: shed(run, job) > 100_000)
        expect("while it is open", [row["open"] for row in fired_of(run, job)], [True])
    row = wait_end(run, job, collector)[0]
    expect("each counted", row["records"] + row["refused_records"], 201_000)
    expect_true(f"bounded: {row}", row["bytes"] <= 32 << 10)
    check_sound(run, run.path("store", job, "trigger-1"))


def check_middle(run: Run):
    """A trigger in the middle of a job of MPI: no calls are matched by numbers that begin in the middle, and that is said."""
    path, gate = run.path("store", "middle"), run.path("gate")
    options = ("--job", "middle", "--store", run.path("store"), "--trigger", "signal", "--trigger-keep", "1s", "--trigger-for", "0s")
    with subprocess.Popen([run.binary("hookcli"), "run", "-q", *options, "--", "mpirun", "--oversubscribe", "-n", "3", run.workload("mpi_waits"), "160",
                           "7", run.path("notes"), "-1", "0", gate], env=run.environment(), cwd=run.directory) as process:
        wait_for("the ranks", lambda: len([rank for rank in (report_of(run, path) or {"ranks": []})["ranks"] if rank["records"] > 60]) == 3)
        begin = time.monotonic()
        run.cli("ctl", "trigger", path)
        wait_for("the first half", lambda: not fired_of(run, path)[0]["open"] and time.monotonic() > begin + 1.5)
        with open(f"{gate}.1", "w", encoding="ascii"):
            pass
        wait_for("the second half", lambda: min(rank["records"] for rank in report_of(run, path)["ranks"]) > 120)
        run.cli("ctl", "trigger", path)
        wait_for("it to be kept", lambda: not fired_of(run, path)[1]["open"])
        with open(f"{gate}.2", "w", encoding="ascii"):
            pass
        expect("status", process.wait(), 0)
    inside = os.path.join(path, "trigger-2")
    check_sound(run, inside)
    expect_true("records", fired_of(run, path)[1]["records"] > 0)
    expect_true("the whole job has arrows", arrows(run, path) > 0)
    expect("a part has none", arrows(run, inside), 0)
    said = run.cli("report", inside, "--by", "delay").stdout
    expect_true(f"and says so: {said}", "behind a gap in its records" in said)


def arrows(run, path):
    out = run.path("arrows.json")
    run.cli("export", path, "--format", "chrome", "-o", out)
    with open(out, encoding="utf-8") as stream:
        return stream.read().count('"ph":"s"')


def check_in_the_way(run: Run):
    """Something else has the name of the directory: nothing fires, and what is there stays as it is."""
    job = "way"
    collector = run.start_collector("--trigger-for", "1s")
    with Told(run, job) as told:
        told.call("one", 100)
        wait_records(run, job, 100)
        place, other = run.path("store", job, "trigger-1"), run.path("other")
        os.mkdir(other)
        with open(os.path.join(other, "report.json"), "w", encoding="ascii") as file:
            file.write("{}")
        for number, make in enumerate((lambda: os.symlink(other, place), lambda: os.symlink(run.path("nothing"), place), lambda: os.mkfifo(place)), 1):
            make()
            done = run.cli("ctl", "trigger", job, check=False)
            expect_true(f"refused: {done.stdout} {done.stderr}", done.returncode == 1 and "nothing is kept" in done.stderr)
            triggers = report_of(run, job)["triggers"]
            expect("counted once", (len(triggers["fired"]), triggers["refused"]), (0, number))
            expect_true("levels stay", "record or more" not in run.cli("ctl", "--job", job).stdout)
            os.unlink(place)
        expect("nothing was taken away", os.listdir(other), ["report.json"])
        expect_true("then it fires", run.cli("ctl", "trigger", job).stdout.startswith("trigger 1"))
    expect("kept", wait_end(run, job, collector)[0]["records"], 100)


def check_again(run: Run):
    """A trigger after the window of another one, whose last records of other nodes are still awaited, is one of its own."""
    root, leaves = root_and_leaves(run, ("a", "b"), root_options=("--trigger-keep", "60s", "--trigger-for", "0s"))
    env = {"HOOK_JOB": "wide", "HOOK_HOOKS": HOOKS, "HOOK_WORLD_SIZE": "2", "LD_PRELOAD": run.agent()}
    told = [subprocess.Popen([run.workload("told")], env=leaf.environment(HOOK_RANK=str(rank), **env), text=True, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE) for rank, leaf in enumerate(leaves)]

    def call(ranks):
        for process in ranks:
            process.stdin.write("one 10\n")
            process.stdin.flush()
            expect("told", process.stdout.readline().strip(), "done")

    def report():
        done = root.cli("report", "wide", "--format", "json", check=False)
        return json.loads(done.stdout) if done.returncode == 0 else {"ranks": []}
    call(told)
    wait_for("both ranks", lambda: [rank["records"] for rank in report()["ranks"]] == [10, 10])
    for number in (1, 2):
        # Rank 1 is silent now, so the first trigger waits for its records when the second one comes.
        said = root.cli("ctl", "trigger", "wide").stdout
        expect_true(f"number {number}: {said}", said.startswith(f"trigger {number}: "))
        call(told[:1])
        wait_for("the calls", lambda n=number: sum(rank["records"] for rank in report()["ranks"]) == 20 + 10 * n)
    rows = wait_for("the second", lambda: (lambda fired: not any(row["open"] for row in fired) and fired)(report()["triggers"]["fired"]))
    expect("each all before it", [(row["records"], row["prolonged"]) for row in rows], [(20, 0), (30, 0)])
    for process in told:
        process.stdin.close()
        process.stdout.close()
        process.wait()
    root.closed_report("wide")


def test(run: Run, *_):
    check_after(run)
    check_killed(run)
    check_bounded(run)
    check_middle(run)
    check_in_the_way(run)
    check_again(run)


if __name__ == "__main__":
    main(test)
