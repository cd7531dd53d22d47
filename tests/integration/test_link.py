#!/usr/bin/python3
"""Two leaves bring their ranks to one root over loopback: its report is that of the whole job, its chunks are the leaves'."""
import os

import loop
from harness import expect, main
from nodes import finish, root_and_leaves
from truth import rows_of

ROUNDS = 3000
RANKS_EACH = 2


def start_ranks(run, leaves, job, rounds):
    """RANKS_EACH loops under the agent on each leaf; their progress files by rank."""
    commands, paths, world = [], [], RANKS_EACH * len(leaves)
    for leaf in leaves:
        for _ in range(RANKS_EACH):
            rank = len(commands)
            path = run.path(f"progress-{job}-{rank}")
            env = {**loop.agent_environment(run, job), "HOOK_RANK": str(rank), "HOOK_WORLD_SIZE": str(world)}
            commands.append(leaf.popen(run.workload("calls_truth"), "--loop", path, rounds, env=env))
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
        expect(f"rank {row['rank']}: lost records", row["lost_records"], 0)


def expect_records(root, report, job):
    events = loop.events_of(root, job)
    counted = {(row["rank"], row["function"], os.path.basename(row["library"])): row["calls"] for row in report["calls"]
               if row["role"] == "main"}
    held = {key: len(calls) for key, calls in events.items() if key in counted}
    expect(f"{job}: calls in the export", held, counted)
    loop.expect_once(events)


def test(run):
    root, leaves = root_and_leaves(run, ["one", "two"])
    commands, _ = start_ranks(run, leaves, "both", ROUNDS)
    for command in commands:
        finish(command, "rank", run.path("job.log"))
    report = root.closed_report("both")
    expect_all(report, RANKS_EACH * len(leaves), ROUNDS)
    expect_records(root, report, "both")


if __name__ == "__main__":
    main(test)
