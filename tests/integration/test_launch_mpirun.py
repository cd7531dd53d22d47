#!/usr/bin/python3
"""mpirun over three machines: `hookcli run` in each rank needs no configuration for one job, one report and one summary."""
import json
import os
import re
import shlex
import sys

from harness import expect, expect_true, main
from machine import machines, namespace_options
from nodes import Node, free_url
from truth import expect_calls, expect_whole, load, rows_of, wanted_of

SKIPPED = 77
NAMES = ("alpha", "beta", "gamma")
SLOTS = 4
RANKS = SLOTS * len(NAMES)
# The machines share one network: what they do not share are host name and run directory.
OPTIONS = ("--mca", "btl", "self,vader,tcp", "--mca", "btl_tcp_if_include", "lo", "--mca", "oob_tcp_if_include", "lo")


def write_remote_shell(run, nodes):
    """What mpirun starts its daemons by: remote-shell HOST COMMAND..."""
    path = run.path("remote-shell")
    with open(path, "w", encoding="utf-8") as script:
        script.write('#!/bin/sh\nhost=$1\nshift\ncase "$host" in\n')
        for node in nodes:
            line = " ".join(map(shlex.quote, node.line("sh", "-c")))
            script.write(f'{node.name}) HOOK_RUN_DIR={node.run_directory} exec {line} "$*" ;;\n')
        script.write("*) exit 1 ;;\nesac\n")
    os.chmod(path, 0o755)
    return path


def mpirun(run, nodes, *command, **more):
    hosts = ",".join(f"{node.name}:{SLOTS}" for node in nodes)
    return run.command("mpirun", "--mca", "plm_rsh_agent", write_remote_shell(run, nodes), *OPTIONS, "--host", hosts, "-n", RANKS,
                       *command, **more)


def check(run, report):
    expect_whole(report, RANKS)
    expect("world", report["job"]["world_size"], RANKS)
    expect_true("the job is closed", report["job"]["closed"])
    expect("hosts", [rank["host"] for rank in report["ranks"]], [name for name in NAMES for _ in range(SLOTS)])
    for rank in range(RANKS):
        expect_calls(f"rank {rank}", rows_of(report, rank), wanted_of(load(run.path(f"truth-{rank}.json"))))


def expect_clean(nodes, done):
    for node in nodes:
        expect(f"left in the run directory of {node.name} after {done.stderr}", os.listdir(node.run_directory), [])


def here(run, nodes):
    """Without a word about where: the directory that mpirun was started in is the nodes' as well."""
    done = mpirun(run, nodes, run.binary("hookcli"), "run", "--hooks", "mpi", "--", run.workload("mpi_truth"), run.directory)
    expect("summaries on stderr", done.stderr.count("== hooktrace"), 1)
    expect_true(f"ranks in {done.stderr}", f"{RANKS}/{RANKS} ranks, {len(NAMES)} nodes" in done.stderr)
    made = [name for name in os.listdir(run.directory) if name.startswith("hook-")]
    expect("hook-last and what it leads to", len(made), 2)
    check(run, run.report(run.path("hook-last")))
    with open(run.path("hook-last", "report.json"), encoding="utf-8") as stream:
        check(run, json.load(stream))
    expect_clean(nodes, done)


def rooted(run, nodes):
    """A leaf of the job's own on each machine: they end when the root has all, and rank 0's hookcli shows what the root has."""
    url = free_url()
    root = Node(run, "root", ["--listen", url]).start()
    done = mpirun(run, nodes, run.binary("hookcli"), "run", "--upstream", url, "--hooks", "mpi", "--", run.workload("mpi_truth"),
                  run.directory, cwd=run.path("rooted"))
    expect("summaries on stderr", done.stderr.count("== hooktrace"), 1)
    expect_true(f"ranks in {done.stderr}", f"{RANKS}/{RANKS} ranks, {len(NAMES)} nodes" in done.stderr)
    expect_true(f"nothing is missed in {done.stderr}", "not connected" not in done.stderr and "this node's part" not in done.stderr)
    job = re.search(r"== job (\S+) ==", done.stderr)[1]
    check(run, root.report(job))
    expect("nodes", [node["state"] for node in root.report(job)["nodes"]], ["complete"] * len(NAMES))
    expect_clean(nodes, done)
    root.kill()


def failing(run, nodes):
    """One rank fails: mpirun ends the others, and it is one job all the same."""
    script = 'if [ "$OMPI_COMM_WORLD_RANK" = 5 ]; then exit 3; fi; exec sleep 600'
    done = mpirun(run, nodes, run.binary("hookcli"), "run", "--store", run.path("failed"), "--", "sh", "-c", script, check=False)
    expect_true(f"exit status {done.returncode}", done.returncode != 0)
    # mpirun kills what is left a second after it said TERM, so there may be none on a busy machine.
    expect_true("summaries on stderr of a job that failed", done.stderr.count("== hooktrace") <= 1)
    expect("jobs", len([name for name in os.listdir(run.path("failed")) if name != "hook-last"]), 1)


def test(run):
    if namespace_options() is None:
        print("skipped: no namespaces for host names here (not root, and no user namespaces)")
        sys.exit(SKIPPED)
    with machines(run, *NAMES) as nodes:
        here(run, nodes)
        os.mkdir(run.path("rooted"))
        rooted(run, nodes)
        failing(run, nodes)


if __name__ == "__main__":
    main(test)
