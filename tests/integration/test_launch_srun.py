#!/usr/bin/python3
"""srun: one collector per node, the job called as Slurm calls its step, and one summary of all nodes."""
import os
import re

from harness import expect, expect_true, main, wait_for
from machine import closed_report, machines, namespace_options
from slurm import cluster
from test_calls_truth import HOOKS
from truth import load, rows_of, wanted_of

NAMES = ("alpha", "beta", "gamma")
TASKS = 4  # on each node


def traced(run, store, out, hookcli=True):
    """A task of srun: what it calls goes to OUT-<rank>.json."""
    hooks = [part for name in HOOKS for part in ("--hooks", name)]
    before = [run.binary("hookcli"), "run", "--store", store, *hooks, "--"] if hookcli else []
    return [*before, "sh", "-c", f'exec "$0" --count {out}-$SLURM_PROCID.json', run.workload("calls_truth")]


def check(what, run, report, out, ranks, hosts):
    expect(f"{what}: ranks", [rank["rank"] for rank in report["ranks"]], list(range(ranks)))
    expect(f"{what}: world, exit", (report["job"]["world_size"], report["job"]["exit"]), (ranks, "exit 0"))
    expect(f"{what}: hosts", [rank["host"] for rank in report["ranks"]], hosts)
    for rank in range(ranks):
        rows = rows_of(report, rank)
        for key, wanted in wanted_of(load(f"{out}-{rank}.json")).items():
            expect(f"{what}: rank {rank}: {key}", rows[key]["calls"], wanted["calls"])


def step_of(what, store):
    """The one job in STORE, called as a job and a step of Slurm's."""
    names = [name for name in os.listdir(store) if name != "hook-last"]
    expect(f"{what}: jobs", len(names), 1)
    expect_true(f"{what}: the job is called {names[0]}", re.fullmatch(r"[0-9]+\.[0-9]+", names[0]))
    return os.path.join(store, names[0])


def on_nodes(run, slurm, nodes):
    what, count = f"{len(nodes)} nodes", TASKS * len(nodes)
    store, out = run.path(f"store-{len(nodes)}"), run.path(f"truth-{len(nodes)}")
    done = slurm.srun("-N", len(nodes), "-n", count, *traced(run, store, out))
    expect(f"{what}: summaries", done.stderr.count("== hooktrace"), 1)
    directory = step_of(what, store)
    hosts = [node.name for node in nodes for _ in range(TASKS)]
    check(what, run, run.report(directory), out, count, hosts)
    expect_true(f"{what}: ranks in {done.stderr}", f"{count}/{count} ranks" in done.stderr)


def of_site(run, nodes):
    """The scripts of deploy/slurm: the tasks know nothing of hooktrace but that they are traced."""
    store, out = run.path("site"), run.path("truth-site")
    count = TASKS * len(nodes)
    site = {"HOOKTRACE_BIN": os.path.dirname(run.binary("hookcollector")), "HOOKTRACE_STORE": store}
    task = {"HOOKTRACE_LIB": os.path.dirname(run.agent()), "HOOK_HOOKS": ",".join(HOOKS)}
    with cluster(run, nodes, site) as slurm:
        slurm.srun("-N", len(nodes), "-n", count, *traced(run, store, out, hookcli=False), env=task)
        expect_true("jobs of tasks that nobody asked to trace", not os.path.exists(store) or not os.listdir(store))
        slurm.srun("-N", len(nodes), "-n", count, *traced(run, store, out, hookcli=False), env={"HOOKTRACE": "1", **task})
        wait_for("the job", lambda: os.path.isdir(store) and os.listdir(store))
        report = closed_report(run, step_of("site", store), count)
        check("site", run, report, out, count, [node.name for node in nodes for _ in range(TASKS)])
        for node in nodes:
            wait_for(f"the end of {node.name}'s collector", lambda node=node: run.cli(
                "status", env={"HOOK_RUN_DIR": node.run_directory}, check=False).returncode == 3)


def test(run):
    names = NAMES if namespace_options() is not None else NAMES[:1]
    with machines(run, *names) as nodes, cluster(run, nodes) as slurm:
        on_nodes(run, slurm, nodes[:1])
        if len(nodes) > 1:
            on_nodes(run, slurm, nodes)
    with machines(run, *names) as nodes:
        of_site(run, nodes)


if __name__ == "__main__":
    main(test)
