#!/usr/bin/python3
"""What triggers keep stays whole and bounded when calls go on, room ends, a collector is killed, or something is in the way."""

from harness import Run, expect, expect_true, main, wait_for
from test_look_back import calls_in, fired_of, report_of, shed
from told import Told


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
        expect(f"what is left out is told: {done.stderr}", str(row["refused_records"]) in done.stderr, bool(options))


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


def test(run: Run, *_):
    check_after(run)
    check_killed(run)
    check_bounded(run)


if __name__ == "__main__":
    main(test)
