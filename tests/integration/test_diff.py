#!/usr/bin/python3
"""hookcli diff: two jobs whose differences are known, gates that close and that do not, and what cannot be compared."""
import json
import os
import re

from harness import Failure, expect, expect_true, main

SAME, EXCEEDED, ERROR = 0, 1, 2
HOOKS = ("libc", "*:getppid", "*:clock_nanosleep")
# Of a Python whose own calls to these there are none but these; SLEEP in seconds, BYTES allocated at once.
PROGRAM = """
import os, time
for _ in range({calls}): os.getppid()
for _ in range(400): time.sleep({sleep})
bytearray({megabytes} << 20)
"""
BEFORE = {"calls": 1000, "sleep": 0.0005, "megabytes": 32}
AFTER = {"calls": 1250, "sleep": 0.003, "megabytes": 96}


def job(run, name, settings):
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else "python3"
    run.trace(python, "-S", "-E", "-c", PROGRAM.format(**settings), hooks=HOOKS, options=("--job", name, "-q"))
    return run.path("store", name)


def diff(run, a, b, code, *options):
    done = run.cli("diff", a, b, *options, check=False)
    expect(f"diff {options}: exit ({done.stderr!r})", done.returncode, code)
    return done


def check_json(run, before, after):
    found = json.loads(diff(run, before, after, SAME, "--format", "json").stdout)
    expect("jobs", (found["a"]["id"], found["b"]["id"]), ("before", "after"))
    rows = {row["function"]: row for row in found["functions"] if row["role"] == "main"}
    expect("getppid", rows["getppid"]["calls"], {"a": 1000, "b": 1250, "change": 0.25, "change_low": 0.25, "change_high": 0.25})
    expect("what only waits", {name: rows[name]["idle"] for name in ("getppid", "clock_nanosleep")},
           {"getppid": False, "clock_nanosleep": True})
    expect("sleeps", rows["clock_nanosleep"]["calls"]["change"], 0)
    report = run.report(after)
    wanted = next(row for row in report["calls"] if row["function"] == "clock_nanosleep")
    for name in ("total_ns", "p50_ns", "p99_ns"):
        expect(f"sleeps: {name} is the report's", rows["clock_nanosleep"][name]["b"], wanted[name])
    median = rows["clock_nanosleep"]["p50_ns"]
    # Six times as long, less what a sleep takes besides; its interval is narrower than that.
    expect_true(f"median of the sleeps {median}", 0 < median["change_low"] <= median["change"] <= median["change_high"] and median["b"] > 3e6)
    peak = next(row["peak_bytes"] for row in found["memory"] if row["kind"] == "heap" and row["role"] == "main")
    expect_true(f"heap {peak}", abs(peak["b"] - peak["a"] - (64 << 20)) < 1 << 20)
    expect("nothing asked", found["exceeded"], [])


def check_gates(run, before, after):
    for gate in ("getppid:calls>24%", "calls!=0", "getppid:calls>249", "clock_nanosleep:p50>10%", "*sleep:p50>1ms", "peak>60M", "peak > 50%",
                 "p99>100000%, peak>60M", "wall>1%"):
        done = diff(run, before, after, EXCEEDED, "--fail-on", gate)
        expect_true(f"{gate}: {done.stderr!r}", done.stderr.startswith("hookcli: error: ") and " was " in done.stderr)
    for gate in ("getppid:calls>26%", "clock_nanosleep:calls!=0", "getppid:calls>250", "clock_nanosleep:p50>1000%", "peak>65M", "wall<-1%",
                 "getppid:calls<0"):
        expect(f"{gate}: stderr", diff(run, before, after, SAME, "--fail-on", gate).stderr, "")
    # Few calls have no 99th percentile that is known for sure: a gate that can judge nothing says so.
    gate = "clock_nanosleep:p99>10%"
    done = diff(run, before, after, SAME, "--fail-on", gate)
    expect(f"{gate}: stderr", done.stderr, f"hookcli: warning: --fail-on '{gate}': no function has enough calls and ranks to judge it for sure\n")
    expect_true(f"{gate}: {done.stdout!r}", f"\n? {gate}: no function has " in done.stdout)
    found = json.loads(diff(run, before, after, SAME, "--fail-on", gate + ",calls>1000%", "--format", "json").stdout)
    expect("undecided", [row["condition"] for row in found["undecided"]], [gate])
    # The other way round.
    diff(run, after, before, EXCEEDED, "--fail-on", "getppid:calls<-19%")
    diff(run, after, before, SAME, "--fail-on", "getppid:calls>0")
    # With itself, nothing at all.
    everything = "calls!=0,errors!=0,bytes!=0,total!=0,mean!=0,p50!=0,p90!=0,p99!=0,peak!=0,wall!=0"
    diff(run, before, before, SAME, "--fail-on", everything)
    found = json.loads(diff(run, before, after, EXCEEDED, "--fail-on", "calls!=0", "--format", "json").stdout)
    expect("exceeded", [(row["condition"], row["what"], row["compared"]["b"]) for row in found["exceeded"] if row["what"] == "getppid"],
           [("calls!=0", "getppid", 1250)])


def check_text(run, before, after):
    text = diff(run, before, after, SAME).stdout
    line = next((line for line in text.splitlines() if line.startswith("getppid")), "")
    expect("text of getppid", line.split()[3:6], ["1000", "1250", "+25.0%"])
    # What only waits differs most, and says least: it stands aside, in the document it is marked.
    expect_true(f"waits stand aside: {text!r}", "clock_nanosleep" not in text and " put aside, that wait for events and threads " in text)
    text = diff(run, before, after, SAME, "--rows", "0").stdout
    expect_true(f"nothing stands aside: {text!r}", " put aside" not in text)
    line = next((line for line in text.splitlines() if line.startswith("clock_nanosleep")), "")
    expect_true(f"the median of the sleeps is marked: {line!r}", "%*" in line or "x" in line)
    few = diff(run, before, after, SAME, "--rows", "1").stdout
    expect_true(f"a cut table says so: {few!r}", " more, with less difference: --rows 0 " in few)


def check_page(run, before, after):
    """The page holds the same document, and asks no network for anything."""
    page = diff(run, before, after, SAME, "--format", "html").stdout
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL).group(1)
    expect("the page's document", json.loads(data), json.loads(diff(run, before, after, SAME, "--format", "json").stdout))
    expect("addresses in the page", re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', page), [])


def check_errors(run, before, after):
    for gate, says in (("p98>10%", "no figure 'p98'"), ("p99", "none of > < !="), ("p99>x", "no value of p99"), ("", "none of"),
                       ("f:peak>1M", "not of a function"), ("calls>1M", "no value of calls"), ("p99>nan%", "no value")):
        expect_true(f"--fail-on {gate}", says in diff(run, before, after, ERROR, "--fail-on", gate).stderr)
    twice = diff(run, before, after, ERROR, "--fail-on", "calls!=0", "--fail-on", "peak>900%").stderr
    expect_true(f"--fail-on twice: {twice}", "twice" in twice)
    idle = diff(run, before, after, ERROR, "--fail-on", "MPI_Alreduce:p99>10%").stderr
    expect_true(f"a pattern without functions: {idle!r}", "neither job calls" in idle)
    expect_true("no such job", "No such" in diff(run, before, run.path("nowhere"), ERROR).stderr)
    done = run.cli("diff", before, check=False)
    expect_true(f"one job: {done.stderr!r}", done.returncode == ERROR and "two jobs are needed" in done.stderr)
    os.truncate(os.path.join(after, "statistics"), os.path.getsize(os.path.join(after, "statistics")) // 2)
    done = diff(run, before, after, ERROR, "--fail-on", "calls>1000000")
    expect_true(f"damaged: {done.stderr!r}", done.stderr)


def test(run):
    before, after = job(run, "before", BEFORE), job(run, "after", AFTER)
    if not os.path.isdir(before):
        raise Failure(f"no job in {before}")
    check_json(run, before, after)
    check_gates(run, before, after)
    check_text(run, before, after)
    check_page(run, before, after)
    check_errors(run, before, after)


if __name__ == "__main__":
    main(test)
