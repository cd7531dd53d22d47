#!/usr/bin/python3
"""Ranks with torchrun's variables on two machines: one job for each start of theirs, also when all start again."""
import os
import shutil
import subprocess
import sys

from harness import TIMEOUT, expect, expect_true, main
from machine import machines
from slurm import free_ports
from test_calls_truth import HOOKS
from truth import load, rows_of, wanted_of

SKIPPED = 77
NAMES = ("alpha", "beta")
HOOK_OPTIONS = [part for name in HOOKS for part in ("--hooks", name)]
LOCAL = 2
RANKS = LOCAL * len(NAMES)
# As the ranks of a real program do before they work: so no node's part is over before another's begins. That part is not traced.
MEET = f'touch "$0/$RANK" && until [ "$(ls "$0" | wc -l)" -ge {RANKS} ]; do sleep 0.01; done'
ELASTIC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "elastic.py")


def start_node(run, node, number, port, log):
    # In the first round there is no such directory: every rank fails, and all are started again.
    script = f'HOOK_DISABLE=1 sh -c "$1" "$2"; exec "$0" --count {run.path("round-{restart}")}/$RANK.json'
    return node.start(sys.executable, ELASTIC, number, len(NAMES), LOCAL, port, "trial", run.binary("hookcli"), "run", "--store",
                      run.path("store"), *HOOK_OPTIONS, "--", "sh", "-c", script, run.workload("calls_truth"), MEET,
                      run.path("meet-{restart}"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)


def check_rank(report, rank, path):
    rows = rows_of(report, rank)
    for key, wanted in wanted_of(load(path)).items():
        expect(f"rank {rank}: {key}", rows[key]["calls"], wanted["calls"])


def check_rounds(run, port):
    names = sorted(name for name in os.listdir(run.path("store")) if name != "hook-last")
    expect("jobs", names, [f"trial-127.0.0.1_{port}-{restart}" for restart in range(2)])
    failed, done = [run.report(run.path("store", name)) for name in names]
    expect_true(f"exit of the first round: {failed['job']['exit']}", failed["job"]["exit"] not in ("exit 0", "running"))
    expect("ranks of the first round", [rank["rank"] for rank in failed["ranks"]], list(range(RANKS)))
    expect("exit of the second round", (done["job"]["exit"], done["job"]["closed"]), ("exit 0", True))
    expect("ranks of the second round", [rank["rank"] for rank in done["ranks"]], list(range(RANKS)))
    for rank in range(RANKS):
        check_rank(done, rank, run.path("round-1", f"{rank}.json"))


def real(run):
    """torchrun itself, which takes seconds to start."""
    out = run.path("truth")
    line = ["--no_python", run.binary("hookcli"), "run", "--store", run.path("store"), *HOOK_OPTIONS, "--",
            "sh", "-c", f'exec "$0" --count {out}-$RANK.json', run.workload("calls_truth")]
    # The defaults of the first two are more than Debian's torchrun of 1.13 bears under Python 3.11.
    keep = ("--redirects", 1, "--tee", 1, "--log_dir", run.path("log"))
    done = run.command("torchrun", "--standalone", "--nproc_per_node", LOCAL, *keep, *line)
    expect("summaries", done.stderr.count("== hooktrace"), 1)
    names = [name for name in os.listdir(run.path("store")) if name != "hook-last"]
    expect("jobs", len(names), 1)
    expect_true(f"the job is called {names[0]}", names[0].endswith("-0"))
    report = run.report(run.path("store", names[0]))
    expect("ranks", [rank["rank"] for rank in report["ranks"]], list(range(LOCAL)))
    for rank in range(LOCAL):
        check_rank(report, rank, f"{out}-{rank}.json")


def test(run, form="variables"):
    if form == "real":
        if not shutil.which("torchrun"):
            print("skipped: no torchrun (python3-torch) here")
            sys.exit(SKIPPED)
        real(run)
        return
    port = free_ports(1)[0]
    for name in ("meet-0", "meet-1", "round-1"):
        os.mkdir(run.path(name))
    with machines(run, *NAMES) as nodes, open(run.path("stderr"), "wb") as log:
        launchers = [start_node(run, node, number, port, log) for number, node in enumerate(nodes)]
        for launcher in launchers:
            expect("exit of a node's launcher", launcher.wait(TIMEOUT), 0)
    with open(run.path("stderr"), encoding="utf-8", errors="replace") as log:
        expect("summaries", log.read().count("== hooktrace"), 2)
    check_rounds(run, port)


if __name__ == "__main__":
    main(test)
