#!/usr/bin/python3
"""Two leaves bring their ranks to one root over loopback: its report is that of the whole job, its chunks are the leaves'."""
import glob
import json
import os

import loop
from harness import TIMEOUT, expect, expect_true, main, wait_for
from nodes import Node, finish, free_url, root_and_leaves
from proxy import Proxy, address_of
from truth import rows_of

ROUNDS = 3000
BAD_ROUNDS = 10_000
LONG_ROUNDS = 20_000
SEED = 7
RANKS_EACH = 2
CHUNK_HEADER = 256


def start_ranks(run, leaves, job, rounds, *more):
    """RANKS_EACH loops under the agent on each leaf, MORE for each of them; their progress files by rank."""
    commands, paths, world = [], [], RANKS_EACH * len(leaves)
    for leaf in leaves:
        for _ in range(RANKS_EACH):
            rank = len(commands)
            path = run.path(f"progress-{job}-{rank}")
            env = {**loop.agent_environment(run, job), "HOOK_RANK": str(rank), "HOOK_WORLD_SIZE": str(world)}
            commands.append(leaf.popen(run.workload("calls_truth"), "--loop", path, rounds, *more, env=env))
            paths.append(path)
    return commands, paths


def expect_all(report, ranks, rounds):
    expect("ranks", [row["rank"] for row in report["ranks"]], list(range(ranks)))
    for rank in range(ranks):
        rows = {key[1]: row["calls"] for key, row in rows_of(report, rank).items() if key[0] == loop.LIBRARY}
        for function in loop.FUNCTIONS:
            expect(f"rank {rank}: calls of {function}", rows[function], loop.THREADS * rounds)
    for row in report["ranks"]:
        expect(f"rank {row['rank']}: exit", row["exit"], {"kind": "exited", "code": 0})


def lost_in(report):
    return sum(row["lost_records"] for row in report["ranks"])


def expect_records(root, report, job):
    events = loop.events_of(root, job)
    counted = {(row["rank"], row["function"], os.path.basename(row["library"])): row["calls"] for row in report["calls"]
               if row["role"] == "main"}
    held = {key: len(calls) for key, calls in events.items() if key in counted}
    expect(f"{job}: calls in the export", held, counted)
    expect(f"{job}: lost records", lost_in(report), 0)
    loop.expect_once(events)


def plain(run):
    root, leaves = root_and_leaves(run, ["one", "two"])
    commands, _ = start_ranks(run, leaves, "both", ROUNDS)
    for command in commands:
        finish(command, "rank", run.path("job.log"))
    report = root.closed_report("both")
    expect_all(report, RANKS_EACH * len(leaves), ROUNDS)
    expect_records(root, report, "both")


def nodes_are(root, job, states):
    report = root.report(job)
    return report if [node["state"] for node in report["nodes"]] == states else None


def bad_network(run):
    """Messages late, twice, in another order; connections broken, the wire cut for longer than a leaf has patience."""
    url = free_url()
    with Proxy(address_of(url), seed=SEED) as proxy:
        proxy.set(up_ms="0-3", down_ms="0-3", twice=0.3, swap=0.3)
        root, leaves = root_and_leaves(run, ["three", "four"], url=url, upstream=proxy.url)
        commands, paths = start_ranks(run, leaves, "bad", BAD_ROUNDS, 0, BAD_ROUNDS - 1)
        for part in range(1, 5):
            for path in paths:
                loop.wait_rounds(path, BAD_ROUNDS * part // 6)
            proxy.reset()
        proxy.cut()
        for path in paths:
            loop.go_on(path)
        for command in commands:
            finish(command, "rank", run.path("job.log"))
        report = wait_for("both to be missed", lambda: nodes_are(root, "bad", ["silent"] * 2))
        expect_true("not closed while it is cut off", not report["job"]["closed"])
        for leaf in leaves:
            wait_for(f"{leaf.name} to have unsent chunks",
                     lambda one=leaf: json.loads(one.cli("status", "--json").stdout)["upstream"]["unsent_bytes"] > 0)
        proxy.heal()
        report = root.closed_report("bad")
    expect_all(report, RANKS_EACH * len(leaves), BAD_ROUNDS)
    expect_records(root, report, "bad")


def overtaken(run):
    """Each report comes twice, and the answer to the second, which is not looked at, before the one to the first: it is no answer to
    what the report said."""
    url = free_url()
    with Proxy(address_of(url)) as proxy:
        leaf = Node(run, "five", ["--upstream", proxy.url]).start()
        commands, _ = start_ranks(run, [leaf], "late", ROUNDS)
        for command in commands:
            finish(command, "rank", run.path("job.log"))
        leaf.closed_report("late")
        proxy.set(up_twice=1, down_swap=1)
        root = Node(run, "late-root", ["--listen", url]).start()
        wait_for("an answer", lambda: "connected to the root" in leaf.said())
        proxy.set(up_twice=0, down_swap=0)
        report = root.closed_report("late")
    expect_all(report, RANKS_EACH, ROUNDS)
    expect_records(root, report, "late")


def damaged(run):
    """A chunk whose bytes are not what was written is not brought, and its records count as lost; what is behind it, and the job, are."""
    url = free_url()
    leaf = Node(run, "six", ["--upstream", url]).start()
    commands, _ = start_ranks(run, [leaf], "hurt", LONG_ROUNDS)
    for command in commands:
        finish(command, "rank", run.path("job.log"))
    leaf.closed_report("hurt")
    path = max(glob.glob(os.path.join(leaf.store, "hurt", "*.chunks")), key=os.path.getsize)
    with open(path, "r+b") as stream:
        stream.seek(CHUNK_HEADER)
        byte = stream.read(1)[0]
        stream.seek(CHUNK_HEADER)
        stream.write(bytes([byte ^ 1]))
    root = Node(run, "hurt-root", ["--listen", url]).start()
    report = root.closed_report("hurt")
    expect_all(report, RANKS_EACH, LONG_ROUNDS)
    held = sum(len(calls) for calls in loop.events_of(root, "hurt").values())
    called = sum(row["calls"] for row in report["calls"])
    expect_true(f"{held} calls in the export of {called}: less, but not of one rank only", called / RANKS_EACH < held < called)
    expect("kept and lost", held + lost_in(report), called)


def stuck(run):
    """A connection that NNG never closes holds up neither a leaf's work nor its end."""
    leaf = Node(run, "stuck", ["--upstream", free_url()], ["env", f"LD_PRELOAD={run.workload('libstuck_close.so')}"]).start()
    wait_for("the leaf to begin anew", lambda: leaf.said().count("serving run=") > 1)
    expect("it goes on as the same process", leaf.collector.poll(), None)
    leaf.collector.terminate()
    expect("the leaf's end", leaf.collector.wait(TIMEOUT), 0)


def test(run):
    stuck(run)
    plain(run)
    overtaken(run)
    damaged(run)
    bad_network(run)


if __name__ == "__main__":
    main(test)
