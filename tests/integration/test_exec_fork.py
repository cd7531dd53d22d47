#!/usr/bin/python3
"""Processes that make processes: their roles (main, helper, launcher), ends and calls."""
import collections
import os
import shutil
import signal

from harness import Run, expect, main, wait_for
from told import Told, calls_of
from truth import expect_calls, load, rows_of, wanted_of

PYTHON = "/usr/bin/python3"
# One child by vfork and exec, one that ends without exec, one by fork and exec; then a signal.
PARENT = """
import os, signal, subprocess, sys
program, out = sys.argv[1:]
subprocess.run([program, "--count", out + "/1.json"], check=True)
for action in (lambda: os._exit(7), lambda: os.execv(program, [program, "--count", out + "/2.json"])):
    child = os.fork()
    if child == 0:
        action()
    os.waitpid(child, 0)
os.kill(os.getpid(), signal.SIGTERM)
"""


def processes(report):
    """[(program, role, exit kind, exit code)] in order."""
    return sorted((os.path.basename(row["command"].split()[0]), row["role"], row["exit"]["kind"], row["exit"]["code"])
                  for row in report["processes"])


def exits(rows, role):
    return [row for row in rows if row[1] == role]


def check_calls(what, report, roles, *truths):
    """The counts of the program's own objects, summed over processes of these roles, are the truths' sums."""
    wanted, got = collections.Counter(), collections.Counter()
    for truth in truths:
        wanted.update({key: row["calls"] for key, row in wanted_of(load(truth)).items()})
    for role in roles:
        got.update({key: row["calls"] for key, row in rows_of(report, role=role).items() if key in wanted})
    expect(f"{what}: calls", got, wanted)


def trace(run, name, *command, status=0):
    done = run.trace(*command, hooks=["libc", "*:calls_outer", "*:calls_inner", "*:calls_recurse"], options=("--job", name),
                     check=False)
    expect(f"{name}: exit status ({done.stderr[-300:]})", done.returncode, status)
    return run.report(run.path("store", name))


def pipeline(run: Run):
    """Two programs at once and one after them, all of one shell."""
    first, second = run.path("first.json"), run.path("second.json")
    program = run.workload("calls_truth")
    script = f"{program} --count {first} | cat; {program} --count {second}; exit 5"
    report = trace(run, "pipeline", "/bin/sh", "-c", script, status=5)
    rows = processes(report)
    expect("pipeline: programs", [(name, *exit) for name, _, *exit in rows if name != "sh"],
           [("calls_truth", "exited", 0), ("calls_truth", "exited", 0), ("cat", "exited", 0)])
    expect("pipeline: roles of shells", {role for name, role, *_ in rows if name == "sh"}, {"launcher"})
    expect("pipeline: the shell", [row[2:] for row in rows if row[0] == "sh" and row[2] != "exec"], [("exited", 5)])
    # Which of a pipeline's two comes first is chance; the third comes when they are gone.
    expect("pipeline: launchers besides", {name for name, role, *_ in rows if role == "launcher"}, {"sh"})
    check_calls("pipeline", report, ("main", "helper"), first, second)


def chain(run: Run):
    """One process that becomes another program, twice."""
    out = run.path("chain.json")
    report = trace(run, "chain", "/bin/sh", "-c", f"exec env HERE=1 {run.workload('calls_truth')} --count {out}")
    expect("chain: processes", processes(report), [("calls_truth", "main", "exited", 0), ("env", "launcher", "exec", None),
                                                   ("sh", "launcher", "exec", None)])
    expect("chain: pids", {row["pid"] for row in report["processes"]}, {load(out)["pid"]})
    check_calls("chain", report, ("main",), out)


def children(run: Run):
    report = trace(run, "children", PYTHON, "-c", PARENT, run.workload("calls_truth"), run.directory, status=128 + signal.SIGTERM)
    rows = processes(report)
    expect("children: main", exits(rows, "main"), [("python3", "main", "signal", int(signal.SIGTERM))])
    expect("children: helpers", exits(rows, "helper"), [
        ("calls_truth", "helper", "exited", 0), ("calls_truth", "helper", "exited", 0),
        ("python3", "helper", "exec", None), ("python3", "helper", "exited", 7)])
    expect("children: processes", len(rows), 5)
    check_calls("children", report, ("helper",), run.path("1.json"), run.path("2.json"))


def ranks(run: Run):
    """A shell on every rank is its launcher; the program is the rank."""
    command = f"{run.workload('calls_truth')} --count {run.directory}/rank-$OMPI_COMM_WORLD_RANK.json"
    report = trace(run, "ranks", "mpirun", "-n", 2, "/bin/sh", "-c", f"{command}; true")
    expect("ranks", [row["rank"] for row in report["ranks"]], [0, 1])
    for rank in range(2):
        truth = load(run.path(f"rank-{rank}.json"))
        expect(f"rank {rank}'s pid", report["ranks"][rank]["pid"], truth["pid"])
        rows = rows_of(report, rank)
        wanted = wanted_of(truth)
        expect_calls(f"rank {rank}", {key: row for key, row in rows.items() if key in wanted}, wanted)


def renamed(run: Run):
    """A program whose file got another name, here before a collector saw it, has not become another program."""
    for name in ("told", "libtold_library.so"):
        shutil.copy(run.workload(name), run.directory)
    with Told(run, "renamed", program=run.path("told")) as told:
        told.call("one", 1)
        os.rename(run.path("told"), run.path("renamed"))
        run.start_collector()
        wait_for("the process", lambda: run.cli("report", "renamed", check=False).returncode == 0)
        expect("renamed: while it runs", processes(run.report("renamed")), [("told", "main", "running", None)])
        told.call("one", 2)
    wait_for("its end", lambda: processes(run.report("renamed")) == [("told", "main", "exited", 0)])
    expect("renamed: calls", calls_of(run.report("renamed"), "told_one"), 3)


def test(run):
    renamed(run)
    pipeline(run)
    chain(run)
    children(run)
    ranks(run)


if __name__ == "__main__":
    main(test)
