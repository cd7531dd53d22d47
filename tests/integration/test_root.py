#!/usr/bin/python3
"""What users of a leaf and of its root see: hookcli run, report, ctl, a leaf that vanishes, records given up while the root is away."""
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

import loop
from harness import TIMEOUT, end_process, expect, expect_true, main, wait_for
from nodes import Node, finish, free_url, root_and_leaves
from proxy import Proxy, address_of
from test_link import RANKS_EACH, nodes_are, start_ranks

ROUNDS = 2000
LONG_ROUNDS = 20_000
FOREVER = 10_000_000
ENOUGH_BYTES = 512 << 10  # of records of LONG_ROUNDS: far more than is kept
NEVER_MS = 3_600_000
LOOKS, ATTEMPTS = 20, 5
REPORTS = 6


def over_time(report):
    return [[row[key] for key in ("rank", "role", "kind", "device", "max_bytes", "last_bytes")] for row in report["memory_series"]]


def run_on_leaf(run):
    """`hookcli run` on a leaf's machine shows the root's summary; hook-last and its report lead to the root."""
    root, (leaf,) = root_and_leaves(run, ["here"])
    done = leaf.cli("run", *loop.hook_options(), "--job", "mine", "--", run.workload("calls_truth"), "--loop", run.path("mine"), ROUNDS)
    expect_true(f"a summary: {done.stderr}", "== hooktrace: " in done.stderr and "job mine ==" in done.stderr)
    expect_true(f"no complaint: {done.stderr}", "this node's part" not in done.stderr)
    expect_true("the root has closed it", root.report("mine")["job"]["closed"])
    last = json.loads(leaf.cli("report", "--format", "json").stdout)
    expect("nodes in hook-last's report", [node["state"] for node in last["nodes"]], ["complete"])
    expect_true("hook-last is there", os.path.isdir(run.path("hook-last")))
    leaf.cli("run", "--hooks", "libc", "--job", "heap", "--", run.workload("heap_truth"), run.path("heap.json"))
    heap = over_time(json.loads(leaf.cli("report", "--format", "json").stdout))
    expect("kinds of memory over time", [row[2] for row in heap], ["heap", "map"])
    root.kill()
    expect("the leaf's own memory over time", over_time(json.loads(leaf.cli("report", "--format", "json").stdout)), heap)
    alone = leaf.cli("report", "--format", "json")
    expect_true(f"says that the root is away: {alone.stderr}", "this node's part" in alone.stderr)
    expect("nodes without the root", json.loads(alone.stdout)["nodes"], [])
    end_process(leaf.collector)


def root_away(run):
    """A leaf of the job's own does not reach its root: `run` says what waits where, and the line that brings it does."""
    url = free_url()
    alone = Node(run, "alone")
    done = alone.cli("run", "--upstream", url, *loop.hook_options(), "--job", "later", "--", run.workload("calls_truth"), "--loop",
                     run.path("later"), ROUNDS)
    line = re.search(r"does not answer: .* later by: HOOK_RUN_DIR=(\S+) hookcollector (--upstream \S+)\n", done.stderr)
    expect_true(f"what waits where: {done.stderr}", line)
    expect_true(f"and why: {done.stderr}", "no connection to the root: no program listens there" in done.stderr)
    expect_true(f"a summary of this node: {done.stderr}", "job later ==" in done.stderr)
    alone.run_directory = line[1]
    leaf = json.loads(alone.cli("status", "--json").stdout)["pid"]
    subprocess.run(["kill", str(leaf)], check=True)
    wait_for("the leaf to end", lambda: not os.path.exists(f"/proc/{leaf}"))
    root = Node(run, "late", ["--listen", url]).start()
    alone.start(*line[2].split())
    report = root.closed_report("later")
    for row in report["calls"]:
        if row["function"] in loop.FUNCTIONS and os.path.basename(row["library"]) == loop.LIBRARY:
            expect(f"calls of {row['function']}", row["calls"], loop.THREADS * ROUNDS)
    expect("records held", sum(len(calls) for calls in loop.events_of(root, "later").values()),
           sum(row["records"] for row in report["ranks"]))
    for node in (root, alone):
        end_process(node.collector)


def switches(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return int(re.search(r"^voluntary_ctxt_switches:\t(\d+)", status.read(), re.MULTILINE)[1])


def text_of(path):
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def comes_between(run, attempt):
    """Whether the root came between two looks of `run`, and all was brought; no: this machine was too slow for the times in it."""
    url, job = free_url(), f"brought-{attempt}"
    node = Node(run, f"hurried-{attempt}")
    log = run.path(f"{node.name}.log")
    command = node.popen(run.binary("hookcli"), "run", "--upstream", url, *loop.hook_options(), "--job", job, "--",
                         run.workload("calls_truth"), "--loop", run.path(job), ROUNDS, log=f"{node.name}.log")
    wait_for("the job to wait", lambda: glob.glob(os.path.join(node.run_directory, "*", "unsent.*")) or "does not answer" in text_of(log))
    begin = switches(command.pid)
    wait_for("run to see that", lambda: switches(command.pid) > begin + LOOKS or command.poll() is not None)
    command.send_signal(signal.SIGSTOP)
    in_time = "does not answer" not in text_of(log)
    root = Node(run, f"timely-{attempt}", ["--listen", url]).start()
    wait_for("the leaf to end", lambda: not glob.glob(os.path.join(node.run_directory, "*", "collector.sock")))
    in_time = in_time and not glob.glob(os.path.join(node.run_directory, "*", "unsent.*"))
    command.send_signal(signal.SIGCONT)
    finish(command, "run", log)
    if in_time:
        expect_true(f"run does not complain: {text_of(log)}", "does not answer" not in text_of(log))
        expect("left in the run directory", os.listdir(node.run_directory), [])
        expect_true("the root has closed it", root.closed_report(job))
    end_process(root.collector)
    return in_time


def root_comes(run):
    """The root comes, and the job's own leaf brings all and ends, between two looks of `run`: it does not say that anything waits."""
    expect_true("the root came in time once", any(comes_between(run, attempt) for attempt in range(ATTEMPTS)))


def rank_on(node, url, rank, fifo, status):
    """Rank RANK of two by `hookcli run` on its own machine: ends with STATUS when something is written to FIFO."""
    os.mkfifo(node.path(fifo))
    return node.popen(node.run.binary("hookcli"), "run", "--upstream", url, "--hooks", "libc", "--job", "pair", "--", sys.executable,
                      "-c", f"open('{node.path(fifo)}').read(); raise SystemExit({status})",
                      env={"HOOK_RANK": str(rank), "HOOK_WORLD_SIZE": "2"}, log=f"{node.name}.log")


def release(node, fifo):
    with open(node.path(fifo), "w", encoding="ascii") as stream:
        stream.write("go\n")


def slow_to_close(run):
    """One node's `run` is stopped while the other closes the job: its leaf leaves it to say how its rank ended."""
    url = free_url()
    root = Node(run, "pairs", ["--listen", url]).start()
    quick, slow = Node(run, "quick"), Node(run, "slow")
    first, second = rank_on(quick, url, 0, "first", 0), rank_on(slow, url, 1, "second", 3)

    def ranks():
        done = root.cli("report", "pair", "--format", "json", check=False)
        return len(json.loads(done.stdout)["ranks"]) if done.returncode == 0 else 0

    def seen():
        done = root.cli("status", "--json", check=False)
        return max(leaf["seen_unix_ns"] for leaf in json.loads(done.stdout)["leaves"]) if done.returncode == 0 else None

    wait_for("both ranks", lambda: ranks() == 2)
    second.send_signal(signal.SIGSTOP)
    release(quick, "first")
    finish(first, "the quick one", run.path("quick.log"))
    release(slow, "second")
    wait_for("its rank to end", lambda: [row["exit"]["kind"] != "running" for row in root.report("pair")["ranks"]] == [True, True])
    # As often as the root has told the slow one's leaf by now that the job has ended, it would have closed it and gone.
    times = {None, seen()}
    wait_for("more reports", lambda: times.add(seen()) or len(times) > REPORTS)
    second.send_signal(signal.SIGCONT)
    expect("the slow one's status", second.wait(TIMEOUT), 3)
    said = text_of(run.path("slow.log"))
    expect_true(f"no complaint in {said}", "goes on" not in said and "did not finish" not in said)
    report = root.closed_report("pair")
    expect("ends of the ranks", [row["exit"] for row in report["ranks"]], [{"kind": "exited", "code": code} for code in (0, 3)])
    end_process(root.collector)


def expect_leaves(root):
    """Status of a root lists its two leaves, one of which is gone; the clock of the other is known."""
    def leaves():
        return sorted(json.loads(root.cli("status", "--json").stdout)["leaves"], key=lambda leaf: leaf["connected"])

    wait_for("one to be connected", lambda: [bool(leaf["connected"] and leaf["clock_error_ns"]) for leaf in leaves()] == [False, True])
    for leaf in leaves():
        expect("what is known of a leaf", (leaf["host"], leaf["jobs"], leaf["shed_records"]), (socket.gethostname(), 1, 0))
        expect_true(f"times of a leaf: {leaf}", 0 < leaf["since_unix_ns"] <= leaf["seen_unix_ns"])
    text = root.cli("status").stdout
    for word in "given up", "silent", "\u00b1":
        expect_true(f"status says {word}: {text}", word in text)


def control(run):
    """`ctl` on the root, or on a leaf, reaches the ranks of all leaves; a leaf that vanishes is missed, its ranks are not."""
    root, leaves = root_and_leaves(run, ["red", "blue"])
    commands, _ = start_ranks(run, leaves, "told", FOREVER)

    wait_for("the job to be known", lambda: root.cli("report", "told", check=False).returncode == 0)
    wait_for("all ranks", lambda: len(root.report("told")["ranks"]) == len(commands))
    told = root.cli("ctl", "off", "--all", "--job", "told").stdout
    expect("who is told", told, f"{len(commands)} processes told\n")
    wait_for("all to be silent", lambda: quiet(root, len(commands)))
    leaves[0].cli("ctl", "on", "--job", "told")
    wait_for("all to go on", lambda: not quiet(root, len(commands)))
    end_process(leaves[1].collector)
    wait_for("the node to be missed", lambda: nodes_are(root, "told", ["connected", "silent"]) or
             nodes_are(root, "told", ["silent", "connected"]))
    expect_true("the summary says so", "is not connected" in root.cli("report", "told").stdout)
    report = root.report("told")
    expect("what is known of its ranks", sorted(row["exit"]["kind"] for row in report["ranks"]),
           ["running"] * RANKS_EACH + ["silent"] * RANKS_EACH)
    told = next(job for job in json.loads(root.cli("status", "--json").stdout)["jobs"] if job["id"] == "told")
    expect("known to live", told["processes_live"], RANKS_EACH)
    expect_leaves(root)
    for command in commands:
        end_process(command)
    for node in (root, leaves[0]):
        end_process(node.collector)


def quiet(root, ranks):
    """Whether no rank has called anything from one look to the next two seconds later."""
    def counts():
        return {row["rank"]: row["calls"] for row in root.report("told")["calls"] if row["function"] == "calls_inner"}

    first, seen = counts(), []
    wait_for("newer reports", lambda: seen.append(root.report("told")) or len(seen) > 12)
    return len(first) == ranks and counts() == first


def go_on(run, commands):
    for command in commands:
        command.send_signal(signal.SIGCONT)
    for command in commands:
        finish(command, "rank", run.path("job.log"))


def expect_shares(root, job):
    """Every call of the job is in the statistics; every record is held by the root, or was given up and is counted. Returns those."""
    report = root.closed_report(job)
    expect("ranks", len(report["ranks"]), RANKS_EACH)
    for row in report["calls"]:
        if row["function"] in loop.FUNCTIONS and os.path.basename(row["library"]) == loop.LIBRARY:
            expect(f"calls of {row['function']}", row["calls"], loop.THREADS * LONG_ROUNDS)
    held = sum(len(calls) for calls in loop.events_of(root, job).values())
    shed = sum(row["shed_records"] for row in report["ranks"])
    expect("records held and given up", held + shed, sum(row["records"] for row in report["ranks"]))
    return report, shed


def chunk_bytes(node, job):
    """Of the job's records in the store of NODE: all, and those that were not given back to the file system."""
    directory = os.path.join(node.store, job)
    files = [os.stat(os.path.join(directory, name)) for name in os.listdir(directory) if name.endswith(".chunks")]
    return sum(file.st_size for file in files), sum(file.st_blocks * 512 for file in files)


def gave_up(node, job):
    """Whether NODE has written most of the job's records, and given up most of those."""
    written, held = chunk_bytes(node, job)
    return written > ENOUGH_BYTES and held < written / 2


def room(run):
    """The root is away for longer than --keep has room: the oldest records are given up and counted, statistics are exact."""
    url = free_url()
    with Proxy(address_of(url)) as proxy:
        root, (leaf,) = root_and_leaves(run, ["small"], url=url, upstream=proxy.url, leaf_options=["--keep", "64K"])
        # However late the job is known, most of its records are made when the root is away.
        commands, paths = start_ranks(run, [leaf], "cut", LONG_ROUNDS, 0, LONG_ROUNDS // 20)
        for path in paths:
            loop.wait_stopped(path)
        wait_for("the job to be known", lambda: root.cli("report", "cut", check=False).returncode == 0)
        proxy.cut()
        proxy.reset()
        go_on(run, commands)
        wait_for("records to be given up", lambda: gave_up(leaf, "cut"))
        proxy.heal()
        report, shed = expect_shares(root, "cut")
    expect_true(f"records were given up: {shed}", shed > 0)
    expect("given up by the node", [node["shed_records"] for node in report["nodes"]], [shed])
    for node in (root, leaf):
        end_process(node.collector)


def in_doubt(run):
    """Records reach a root whose answers do not come back, and are given up meanwhile: they are held, and count as held."""
    url = free_url()
    with Proxy(address_of(url)) as proxy:
        root, (leaf,) = root_and_leaves(run, ["deaf"], url=url, upstream=proxy.url, leaf_options=["--keep", "64K"])
        commands, paths = start_ranks(run, [leaf], "doubt", LONG_ROUNDS, 0, LONG_ROUNDS // 20)
        for path in paths:
            loop.wait_stopped(path)
        wait_for("the job to be known", lambda: root.cli("report", "doubt", check=False).returncode == 0)
        before, _ = chunk_bytes(root, "doubt")
        proxy.set(down_more_ms=NEVER_MS)
        go_on(run, commands)
        wait_for("records to be given up", lambda: gave_up(leaf, "doubt"))
        wait_for("the root to have some of it", lambda: chunk_bytes(root, "doubt")[0] > before)
        proxy.set(down_more_ms=0)
        proxy.reset()
        report, shed = expect_shares(root, "doubt")
    expect("given up by the node", [node["shed_records"] for node in report["nodes"]], [shed])
    for node in (root, leaf):
        end_process(node.collector)


def root_keeps(run):
    """A root with --keep gives up what its leaf had no need to: counted, also by the one that comes after it was killed."""
    url = free_url()
    root, leaf = Node(run, "narrow", ["--listen", url, "--keep", "64K"]).start(), Node(run, "wide", ["--upstream", url]).start()
    commands, paths = start_ranks(run, [leaf], "kept", LONG_ROUNDS, 0, LONG_ROUNDS // 2)
    for path in paths:
        loop.wait_stopped(path)
    wait_for("records to be given up", lambda: any(row["shed_records"] > 0 for row in root.report("kept")["ranks"]))
    root.collector.kill()
    root.collector.wait()
    root.start()
    go_on(run, commands)
    report, shed = expect_shares(root, "kept")
    expect_true(f"records were given up: {shed}", shed > 0)
    expect("given up by the node", [node["shed_records"] for node in report["nodes"]], [0])
    for node in (root, leaf):
        end_process(node.collector)


def removed(run):
    """A job's directory on the root is deleted while its ranks run: the leaf brings the job all the same, and is rid of it."""
    root, (leaf,) = root_and_leaves(run, ["hers"])
    commands, paths = start_ranks(run, [leaf], "gone", FOREVER)
    for path in paths:
        loop.wait_rounds(path, ROUNDS)
    wait_for("the job to be known", lambda: root.cli("report", "gone", check=False).returncode == 0)
    # The root writes on meanwhile: it finds the directory gone at once, not file by file.
    os.rename(os.path.join(root.store, "gone"), run.path("removed"))
    shutil.rmtree(run.path("removed"))
    for command in commands:
        end_process(command)
    wait_for("nothing to be unsent", lambda: json.loads(leaf.cli("status", "--json").stdout)["upstream"]["unsent_jobs"] == 0 and
             "is on the root id=gone" in leaf.said())
    expect_true(f"chunks are refused for a moment, which is said once: {leaf.said()}", leaf.said().count("the root refuses") <= 1)
    report = root.closed_report("gone")
    for rank, path in enumerate(paths):
        loop.expect_loop("after rm", report, loop.rows(path), rank)
    for node in (root, leaf):
        end_process(node.collector)


def test(run):
    run_on_leaf(run)
    removed(run)
    root_away(run)
    root_comes(run)
    slow_to_close(run)
    control(run)
    room(run)
    in_doubt(run)
    root_keeps(run)


if __name__ == "__main__":
    main(test)
