#!/usr/bin/python3
"""Arrows of exports join what the program says belongs together, and nothing else."""
import collections
import json
import re

import export_check
from harness import RANKS, expect, expect_true, main


def truth(output):
    """Messages as (sender's call, call that has it), ranks that join each collective."""
    arrows, joins = set(), {}
    for line in output.splitlines():
        words = line.split()
        if words[0] == "arrow":
            arrows.add(((int(words[1]), words[2], int(words[3])), (int(words[4]), words[5], int(words[6]))))
        else:
            joins[words[1]] = int(words[2])
    return arrows, joins


def perfetto(run, job, *options):
    path = run.path("flows.pftrace")
    done = run.cli("export", job, *options, "-o", path)
    found = export_check.Perfetto(path).read().flows
    expect("problems of the file", export_check.problems, [])
    return found, done.stderr


def check_perfetto(run, job, arrows, joins):
    flows, told = perfetto(run, job)
    found = collections.Counter((begin[:3], end[:3]) for begin, end in flows.messages())
    expect("messages that are there but should not be", sorted(set(found) - arrows), [])
    expect("messages that are not there", sorted(arrows - set(found)), [])
    # A Waitall may have several from one sender: each is an arrow of its own.
    joined = collections.Counter()
    for calls in flows.joined():
        functions = {call[1] for call in calls}
        expect("functions of one collective", len(functions), 1)
        expect("number of each rank's call in it", len({call[2] for call in calls}), 1)
        expect("ranks in it", len({call[0] for call in calls}), len(calls))
        joined[functions.pop()] += len(calls) - 1
    expect("ranks that join", dict(joined), joins)
    # Those with STATUS_IGNORE, and what comes after them with their tag.
    said = re.search(r"no arrow ends at (\d+) of (\d+) receives: (\d+) were from any rank", told)
    expect("receives without an arrow, all, from any rank", tuple(map(int, said.groups())) if said else told,
           (RANKS, len(arrows) + RANKS, RANKS - 1))


def check_window(run, job, arrows):
    """What began before an export does is not drawn, and what comes after is drawn no differently for it."""
    flows, _ = perfetto(run, job)
    times = sorted(begin[3] for begin, _ in flows.messages())
    report = run.report(job)
    origin = report["job"]["start_unix_ns"]
    cut, _ = perfetto(run, job, "--from", f"{times[len(times) // 2] - origin}ns")
    whole = {begin[3]: end[:2] for begin, end in flows.messages()}
    later = {begin[3]: end[:2] for begin, end in cut.messages()}
    expect_true(f"{len(later)} of {len(whole)} messages in half the time", 0 < len(later) < len(whole))
    expect("messages that end elsewhere in it", {time: end for time, end in later.items() if whole[time] != end}, {})
    expect("all of them", len(arrows) <= len(flows.messages()), True)


def check_chrome(run, job, arrows, joins):
    path = run.path("flows.json")
    run.cli("export", job, "--format", "chrome", "-o", path)
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    begins = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = [event for event in events if event["ph"] == "f" and event["name"] == "message"]
    flows, _ = perfetto(run, job)
    expect("ends of messages", len(ends), len(flows.messages()))
    for event in ends:
        expect_true(f"{event} has a beginning before it", begins[event["id"]]["ts"] <= event["ts"] and event["bp"] == "e")
    pairs = collections.Counter((begins[event["id"]]["pid"], event["pid"]) for event in ends)
    expect("ranks that messages go between", pairs, collections.Counter((b[0], e[0]) for b, e in flows.messages()))
    chains = collections.defaultdict(list)
    for event in events:
        if event["ph"] in "stf" and event["name"] == "collective":
            chains[event["id"]].append(event)
    for chain in chains.values():
        kinds = "".join(event["ph"] for event in sorted(chain, key=lambda event: (event["ts"], "stf".index(event["ph"]))))
        expect_true(f"a chain is begun, continued and ended: {kinds}", re.fullmatch("st*f", kinds))
    expect("ranks that join", sum(len(chain) - 1 for chain in chains.values()), sum(joins.values()))
    expect_true("the same as the program says", set(pairs) == {(begin[0], end[0]) for begin, end in arrows})


def test(run):
    done = run.trace("mpirun", "-n", RANKS, run.workload("mpi_messages"), hooks=["mpi"], level="record", options=("--job", "messages"))
    arrows, joins = truth(done.stdout)
    expect_true(f"{len(arrows)} arrows", len(arrows) > 50)
    job = run.path("store", "messages")
    check_perfetto(run, job, arrows, joins)
    check_window(run, job, arrows)
    check_chrome(run, job, arrows, joins)


if __name__ == "__main__":
    main(test)
