#!/usr/bin/python3
"""ctl on running programs: levels change what calls leave behind and, but for off, never how many were counted."""
import json
import os
import re
import time

from harness import Run, expect, expect_true, main, wait_for
from told import Told, calls_of

JOB = "controlled"


def ctl(run, *arguments, check=True):
    return run.cli("ctl", "--job", JOB, *arguments, check=check)


def expect_calls(run, what, function, calls, rank=0, role="main"):
    expect(f"{what}: calls of {function}", calls_of(run.report(JOB), function, rank, role), calls)


def expect_records(run, what, count):
    """Records are visible once they are stored, within a second and in order: unwanted ones would come first."""
    def stored():
        return next(row["records"] for row in run.report(JOB)["ranks"] if row["rank"] == 0)
    wait_for(f"{count} records", lambda: stored() >= count)
    expect(f"records {what}", stored(), count)


def check_levels(run, told):
    """Counts go on whatever the level; records are made at level record only."""
    told.call("one", 100)
    expect_calls(run, "at record", "told_one", 100)
    said = ctl(run, "level", "told_one=count").stdout
    expect_true(f"what it reaches: {said}", "1 call site in 1 process" in said)
    told.call("one", 50)
    expect_calls(run, "at count", "told_one", 150)
    ctl(run, "level", "libtold*:told_one=sample")
    told.call("one", 1000)
    ctl(run, "level", "*:told_*=time", "told_one=time")
    told.call("one", 7)
    expect_calls(run, "at sample and time", "told_one", 1157)
    ctl(run, "level", "told_one=record+args")
    told.call("one", 2)
    ctl(run, "level", "told_one=record")
    told.call("one", 1)
    expect_calls(run, "at record again", "told_one", 1160)
    expect_records(run, "of the first and the last calls", 103)
    row = next(row for row in run.report(JOB)["calls"] if row["function"] == "told_one")
    expect_true(f"latencies stay: {row}", row["p50_ns"] is not None)
    ctl(run, "reset")
    expect_true("no rule is left", "no level" in ctl(run).stdout)


def check_limit(run):
    """A limit of stacks reaches a running process: of 50 calls one has its stack, and one more for each second that they take."""
    def shares():
        done = run.cli("report", "limited", "--by", "stack", "--format", "json", check=False)
        rows = json.loads(done.stdout)["functions"] if done.returncode == 0 else []
        return next(((row["calls"], row["stacks"]) for row in rows if row["function"] == "told_two"), (0, 0))
    with Told(run, "limited") as told:
        wait_for("the process", lambda: run.cli("report", "limited", check=False).returncode == 0)
        run.cli("ctl", "--job", "limited", "level", "told_two=record+stack:1/s")
        shown = run.cli("ctl", "--job", "limited").stdout
        expect_true(f"the limit in {shown}", re.search(r"told_two +record\+stack:1/s", shown))
        told.call("two", 50)
        wait_for("50 calls", lambda: shares()[0] == 50)
        _, stacks = shares()
        expect_true(f"{stacks} stacks of 50 calls", 1 <= stacks < 50)
        run.cli("ctl", "--job", "limited", "level", "told_two=record+stack")
        told.call("two", 20)
        wait_for("the stacks of all further calls", lambda: shares() == (70, stacks + 20))
    done = run.cli("ctl", "--job", "limited", "level", "told_two=record+stack:0/s", check=False)
    expect("no limit: status", (done.returncode, "record+stack:N/s" in done.stderr), (2, True))


def check_off(run, told):
    """off stops counting between two points, also for sites, threads and processes that have not been there before."""
    before = calls_of(run.report(JOB), "told_one")
    ctl(run, "off", "--all")
    told.call("one", 11)
    told.call("lazy", 5)
    told.call("thread", 13)
    told.call("fork", 17)
    expect_calls(run, "off", "told_one", before)
    expect_calls(run, "off", "strnlen", 0)
    expect_true("show says so", "(everything)" in ctl(run, "show").stdout)
    ctl(run, "on")
    told.call("one", 10)
    told.call("thread", 20)
    told.call("fork", 30)
    told.call("lazy", 4)
    expect_calls(run, "on", "told_one", before + 30)
    expect_calls(run, "on", "strnlen", 4)
    expect_calls(run, "on, in a child", "told_one", 30, role="helper")
    ctl(run, "level", "told_two=off")
    told.call("two", 9)
    told.call("one", 1)
    expect_calls(run, "one function off", "told_two", 0)
    expect_calls(run, "the other not", "told_one", before + 31)
    ctl(run, "level", "told_two=default")
    told.call("two", 2)
    expect_calls(run, "default again", "told_two", 2)


def check_step(run):
    """The wall clock steps two hours ahead: what was given for an hour holds on, and has no more left than that."""
    step = run.path("clock-step")
    collector = run.start_collector(LD_PRELOAD=run.workload("libclock_skew.so"), CLOCK_STEP=step)
    with Told(run, JOB) as told:
        told.call("two", 1)
        wait_for("the process", lambda: run.cli("report", JOB, check=False).returncode == 0)
        ctl(run, "level", "told_two=off", "--for", "1h")
        with open(f"{step}.new", "w", encoding="ascii") as stream:
            stream.write(str(7200 * 10**9))
        os.rename(f"{step}.new", step)
        ctl(run, "level", "told_one=off", "--for", "1ms")
        wait_for("a rule to end", lambda: "told_one" not in ctl(run).stdout)
        shown = ctl(run).stdout
        expect_true(f"an hour and a step: {shown}", re.search(r"told_two +off .* (59|60)m", shown))
        told.call("two", 1)
        expect_calls(run, "off for an hour", "told_two", 1)
    wait_for("the job to be closed", lambda: run.report(JOB)["job"]["closed"])
    collector.terminate()
    collector.wait()


def check_for(run, told):
    """What was given for some time ends by itself, and what held before comes back."""
    ctl(run, "level", "told_two=count")
    ctl(run, "level", "told_two=off", "--for", "1h")
    told.call("two", 5)
    expect_calls(run, "off for an hour", "told_two", 2)
    ctl(run, "level", "told_two=off", "--for", "1ms")
    wait_for("a rule to end", lambda: " off " not in ctl(run).stdout)
    told.call("two", 6)
    expect_calls(run, "count after it", "told_two", 8)
    ctl(run, "off", "--all", "--for", "1ms")
    wait_for("off to end", lambda: "(everything)" not in ctl(run).stdout)
    told.call("two", 1)
    expect_calls(run, "on after off", "told_two", 9)
    expect_true("the rule is still there", "told_two" in ctl(run).stdout)
    ctl(run, "reset")


def check_ranks(run, told):
    """Rules hold for the ranks they name and for processes that start later."""
    ctl(run, "level", "told_one=off", "--ranks", "1-3,7")
    shown = ctl(run).stdout
    expect_true(f"ranks: {shown}", "1-3,7" in shown)
    before = calls_of(run.report(JOB), "told_one")
    with Told(run, JOB, HOOK_RANK="1", HOOK_WORLD_SIZE="2") as other:
        wait_for("the second rank", lambda: any(row["rank"] == 1 for row in run.report(JOB)["processes"]))
        other.call("one", 5)
        other.call("two", 6)
        told.call("one", 7)
        expect_calls(run, "rank 1", "told_one", 0, rank=1)
        expect_calls(run, "rank 1", "told_two", 6, rank=1)
        expect_calls(run, "rank 0", "told_one", before + 7)
        ctl(run, "reset")
        other.call("one", 8)
        expect_calls(run, "rank 1 after reset", "told_one", 8, rank=1)


def check_under_calls(run, told):
    """Levels that change under running calls lose no count and spoil no record."""
    before = calls_of(run.report(JOB), "told_one")
    told.begin("spin")
    for level in ("count", "record", "sample", "record+args", "time", "record") * 3:
        ctl(run, "level", f"told_one={level}")
    calls, _ = told.spin_end()
    expect_calls(run, "after many changes", "told_one", before + calls)
    ctl(run, "reset")


def check_private(run):
    """The job of a `hookcli run` that has a collector of its own is found where it lies."""
    with Told(run, "own", launcher=(run.binary("hookcli"), "run", "-q", "--store", run.path("own-store"), "--")) as told:
        told.call("one", 2)
        # Before its collector has seen a process, the process receives no levels.
        wait_for("the process", lambda: calls_of(run.report(run.path("own-store", "own")), "told_one") == 2)
        run.cli("ctl", "--job", run.path("own-store", "own"), "level", "told_one=off")
        told.call("one", 3)
        run.cli("ctl", "--job", run.path("own-store", "own"), "reset")
        told.call("one", 4)
    expect("calls of the private job", calls_of(run.report(run.path("own-store", "own")), "told_one"), 6)


def check_refusals(run):
    for arguments, status, words in (
            (("level",), 2, "level needs PATTERN=LEVEL"), (("level", "told_one"), 2, "PATTERN=LEVEL"), (("level", "a=loud"), 2, "unknown level"),
            (("off",), 2, "--all"), (("explode",), 2, "unknown action"), (("on", "--for", "1s"), 2, "--for"),
            (("level", "a=off", "--ranks", "x"), 2, "no list"), (("level", "a=off", "--for", "-1"), 2, "no time"),
            (("level", "x" * 120 + "=off"), 2, "119 bytes"), (("level", *(f"p{i}=count" for i in range(17))), 2, "at most 16")):
        done = ctl(run, *arguments, check=False)
        expect_true(f"{arguments}: {done.returncode} {done.stderr}", done.returncode == status and words in done.stderr)
    expect_true("a warning", "nothing that is hooked" in ctl(run, "level", "nobody=count").stderr)
    ctl(run, "level", *(f"p{i}=count" for i in range(15)))
    done = ctl(run, "level", "one_more=count", check=False)
    expect_true(f"too many: {done.stderr}", done.returncode == 1 and "reset" in done.stderr)
    ctl(run, "reset")


def check_restart(run, told, collector):
    """A collector that dies leaves the levels as they are; the next one knows them and tells them on."""
    ctl(run, "level", "told_one=off")
    collector.kill()
    collector.wait()
    told.call("one", 3)
    run.start_collector()
    wait_for("the next collector", lambda: "told_one" in ctl(run).stdout)
    before = calls_of(run.report(JOB), "told_one")
    told.call("one", 4)
    expect_calls(run, "after a restart", "told_one", before)
    ctl(run, "reset")
    told.call("one", 2)
    expect_calls(run, "and reset", "told_one", before + 2)


def check_sample(run):
    """Every function of a loop is among the samples, and samples stand for the calls around them only."""
    def rows():
        return {row["function"]: row for row in run.report("sampled")["calls"]}
    with Told(run, "sampled") as told:
        begin = time.monotonic()
        told.call("slow", 100)
        run.cli("ctl", "--job", "sampled", "level", "told_*=sample")
        told.call("brief", 200000)
        row, most_s = rows()["told_sleep"], time.monotonic() - begin
        expect("calls of the function that was slow first", row["calls"], 200100)
        expect_true(f"99 of 100 of all calls were quick: {row}", max(row["p99_ns"], row["mean_ns"] / 10) < 2e6)
        expect_true(f"its time is at least 1 s, and near what passed, {most_s} s: {row}", 1e9 <= row["total_ns"] < 3e9 * most_s)
        told.call("turns", 6400)
        found = rows()
        for function in ("told_one", "told_two"):
            expect_true(f"{function} is among the samples: {found[function]}", found[function]["p50_ns"] is not None)


def test(run: Run):
    collector = run.start_collector()
    with Told(run, JOB, HOOK_RANK="0", HOOK_WORLD_SIZE="2") as told:
        wait_for("the job", lambda: run.cli("report", JOB, "--format", "json", check=False).returncode == 0)
        check_levels(run, told)
        check_off(run, told)
        check_for(run, told)
        check_ranks(run, told)
        check_under_calls(run, told)
        check_refusals(run)
        check_restart(run, told, collector)
    done = wait_for("the end", lambda: next(iter([d for d in [ctl(run, check=False)] if d.returncode]), None), 60)
    expect_true(f"ended: {done.stderr}", done.returncode == 3 and "has ended" in done.stderr)
    check_sample(run)
    check_limit(run)
    check_private(run)
    with Run(run.build) as apart:
        check_step(apart)
    with Told(run, "disabled", HOOK_DISABLE="1") as told:
        told.call("one", 1)
    expect("HOOK_DISABLE", run.cli("report", "disabled", check=False).returncode, 3)


if __name__ == "__main__":
    main(test)
