#!/usr/bin/python3
"""srun: one collector per node, the job called as Slurm calls its step, and one summary of all nodes."""
import contextlib
import json
import os
import re
import signal
import tempfile

from harness import expect, expect_true, main, wait_for
from machine import closed_report, machines, namespace_options
from slurm import cluster
from test_calls_truth import HOOKS
from truth import load, rows_of, wanted_of

# As the ranks of a real program do before they work: so no node's part is over before another's begins. That part is not traced.
MEET = 'touch "$0/$SLURM_PROCID" && until [ "$(ls "$0" | wc -l)" -ge {} ]; do sleep 0.01; done'
NAMES = ("alpha", "beta", "gamma")
TASKS = 4  # on each node


def meeting(out):
    """A new directory for the tasks to meet in."""
    return tempfile.mkdtemp(prefix=os.path.basename(out), dir=os.path.dirname(out))


def task(run, out, count):
    """A task of srun: what it calls goes to OUT-<rank>.json."""
    script = f'HOOK_DISABLE=1 sh -c "$1" "$2"; exec "$0" --count {out}-$SLURM_PROCID.json'
    return ["sh", "-c", script, run.workload("calls_truth"), MEET.format(count), meeting(out)]


def traced(run, store, out, count):
    hooks = [part for name in HOOKS for part in ("--hooks", name)]
    return [run.binary("hookcli"), "run", "--store", store, *hooks, "--", *task(run, out, count)]


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
    done = slurm.srun("-N", len(nodes), "-n", count, *traced(run, store, out, count))
    expect(f"{what}: summaries", done.stderr.count("== hooktrace"), 1)
    directory = step_of(what, store)
    hosts = [node.name for node in nodes for _ in range(TASKS)]
    check(what, run, run.report(directory), out, count, hosts)
    expect_true(f"{what}: ranks in {done.stderr}", f"{count}/{count} ranks" in done.stderr)


def end_collectors(run, nodes):
    """The collectors that the prolog started, which stay."""
    for node in nodes:
        done = run.cli("status", "--json", env={"HOOK_RUN_DIR": node.run_directory}, check=False)
        if done.returncode == 0:
            pid = json.loads(done.stdout)["pid"]
            os.kill(pid, signal.SIGTERM)
            wait_for(f"the end of {node.name}'s collector", lambda pid=pid: not os.path.exists(f"/proc/{pid}"))


def of_site(run, nodes):
    """The scripts of deploy/slurm: the tasks know nothing of hooktrace but that they are traced."""
    store, out, count = run.path("site"), run.path("truth-site"), TASKS * len(nodes)
    os.mkdir(store)
    site = {"HOOKTRACE_BIN": os.path.dirname(run.binary("hookcollector")), "HOOKTRACE_STORE": store}
    user = {"HOOKTRACE_LIB": os.path.dirname(run.agent()), "HOOK_HOOKS": ",".join(HOOKS)}
    with cluster(run, nodes, site) as slurm, contextlib.ExitStack() as stack:
        stack.callback(end_collectors, run, nodes)
        slurm.srun("-N", len(nodes), "-n", count, *task(run, out, count), env=user)
        expect("jobs of tasks that nobody asked to trace", os.listdir(store), [])
        slurm.srun("-N", len(nodes), "-n", count, *task(run, out, count), env={"HOOKTRACE": "1", **user})
        wait_for("the job", lambda: os.listdir(store))
        report = closed_report(run, step_of("site", store), count)
        check("site", run, report, out, count, [node.name for node in nodes for _ in range(TASKS)])


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
