#!/usr/bin/python3
"""The governor: a loop over a hooked function is brought down to counting, its count stays exact, and every view says so; a level
that the user gave stays, and is reported."""
import json

from harness import Run, expect, expect_true, main, wait_for
from told import Told, calls_of


def steps_of(run, job):
    """None while the collector has not seen the job."""
    done = run.cli("report", job, "--format", "json", check=False)
    return json.loads(done.stdout)["governor"] if done.returncode == 0 else ()


def check_lowered(run):
    with Told(run, "governed", HOOK_BUDGET="0.1") as told:
        told.begin("spin")
        # A busy machine may look slow enough for a level between.
        wait_for("the governor", lambda: any(s["to"] == "count" for s in steps_of(run, "governed")))
        step = steps_of(run, "governed")[0]
        expect("the first step", (step["rank"], step["pattern"], step["from"], step["pinned"]),
               (0, "libtold_library.so:told_one", "record", False))
        top = run.cli("top", "governed", "--once").stdout
        expect_true(f"top marks it: {top}", "told_one *" in top and "lowered by the governor" in top)
        calls, _ = told.spin_end()
        told.call("two", 3)
        report = run.report("governed")
        expect("calls of told_one", calls_of(report, "told_one"), calls)
        expect("calls of told_two", calls_of(report, "told_two"), 3)
        summary = run.cli("report", "governed").stdout
        expect_true(f"the summary says so: {summary}", "libtold_library.so:told_one on rank 0 from record to" in summary)
        expect_true("its cost", 0 < report["ranks"][0]["tracing_cost_ns"] == report["job"]["tracing_cost_ns"])
        text = run.cli("report", "governed", "--format", "text").stdout
        expect_true(f"so does the text: {text}", "libtold_library.so:told_one  record" in text and "cost%" in text)
        expect_true("nothing else was touched", {s["pattern"] for s in report["governor"]} == {step["pattern"]})


def check_pinned(run):
    with Told(run, "pinned", level="record", HOOK_BUDGET="0.1") as told:
        told.begin("spin")
        step = wait_for("the report", lambda: next(iter(steps_of(run, "pinned")), None))
        expect("the step", (step["pattern"], step["from"], step["to"], step["pinned"]),
               ("libtold_library.so:told_one", "record", "record", True))
        told.spin_end()
        summary = run.cli("report", "pinned").stdout
        expect_true(f"the summary says so: {summary}", "costs more than the budget at level record" in summary)


def check_ctl_wins(run):
    """A level given while it runs takes the site out of the governor's hands."""
    with Told(run, "won", HOOK_BUDGET="0.1") as told:
        told.begin("spin")
        wait_for("the governor", lambda: any(s["to"] == "count" for s in steps_of(run, "won")))
        run.cli("ctl", "--job", "won", "level", "told_one=time")
        step = wait_for("the governor's word", lambda: next((s for s in steps_of(run, "won") if s["pinned"]), None))
        expect("it stays", (step["from"], step["to"]), ("time", "time"))
        calls, _ = told.spin_end()
        expect("calls", calls_of(run.report("won"), "told_one"), calls)


def check_settings(run):
    for value in ("0", "-1", "101", "2%", "some", "1.2.3", "."):
        done = run.cli("run", "--budget", value, "--", "true", check=False)
        expect_true(f"--budget {value}: {done.returncode} {done.stderr}", done.returncode == 125 and "percentage" in done.stderr)
    config = json.loads(run.cli("status", "--config", "--json", env={"HOOK_BUDGET": "0.5"}).stdout)
    expect("HOOK_BUDGET", [line["value"] for line in config if line["name"] == "budget"], ["0.5"])


def test(run: Run):
    run.start_collector()
    check_lowered(run)
    check_pinned(run)
    check_ctl_wins(run)
    check_settings(run)


if __name__ == "__main__":
    main(test)
