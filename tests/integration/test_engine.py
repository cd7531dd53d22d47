#!/usr/bin/python3
"""Leaves and roots that meet in a stream engine, a real NATS server: what a root over NNG says of the same data, answers that flow back,
and an engine that is full, away, made again, or does not want us."""
import csv
import io
import json
import os
import shutil

import engine
import loop
from harness import expect, expect_true, main, wait_for
from nodes import Node, finish, free_url
from test_link import RANKS_EACH, expect_all, expect_records, start_ranks

ROUNDS = 3000
LONG_ROUNDS = 20_000
JOB = "both"
SMALL = 64 << 10  # bytes of a stream that is soon full


def copy_of(run, leaf, name, upstream):
    """A leaf with a copy of what LEAF has kept."""
    node = Node(run, name, ["--upstream", upstream])
    shutil.copytree(leaf.store, node.store)
    for entry in os.scandir(leaf.run_directory):
        if entry.is_symlink():
            os.symlink(os.readlink(entry.path).replace(leaf.store, node.store), os.path.join(node.run_directory, entry.name))
        elif entry.name == "node":
            shutil.copy(entry.path, node.run_directory)
    return node


def unsent(leaf):
    return any(entry.startswith("unsent.") for entry in os.listdir(leaf.run_directory))


def plain(report):
    """What a report says of the job, without where it was put together and by which clock."""
    drop = {"directory", "start", "start_unix_ns", "end_unix_ns", "clock", "clocks", "clock_bound_ns", "nodes", "findings", "start_ns",
            "end_ns", "first_ns", "last_ns", "wall_ns", "duration_ns", "data_quality", "clock_error_ns", "peak_time_ns", "width_ns"}
    if isinstance(report, dict):
        return {key: plain(value) for key, value in report.items() if key not in drop}
    return [plain(value) for value in report] if isinstance(report, list) else report


def differences(got, wanted, path=""):
    """Where two JSON values differ."""
    if isinstance(got, dict) and isinstance(wanted, dict):
        return [line for key in sorted({*got, *wanted}) for line in differences(got.get(key), wanted.get(key), f"{path}.{key}")]
    if isinstance(got, list) and isinstance(wanted, list) and len(got) == len(wanted):
        return [line for i, (one, other) in enumerate(zip(got, wanted)) for line in differences(one, other, f"{path}[{i}]")]
    return [] if got == wanted else [f"{path}: {got}, not {wanted}"]


def calls_exported(run, directory):
    """The calls of each thread in order, without their times, and all their durations in the same order."""
    done = run.cli("export", directory, "--format", "csv")
    calls, durations = {}, []
    for row in sorted(csv.DictReader(io.StringIO(done.stdout)), key=lambda row: (row["rank"], row["thread"])):
        durations.append(int(row["duration_ns"]))
        calls.setdefault((row["rank"], row["thread"]), []).append([value for key, value in row.items() if not key.endswith("_ns")])
    return calls, durations


def expect_exported(what, got, wanted):
    """The same calls. A root over NNG stretches times by the rate of its own clock, which it has measured for a second or two."""
    expect(f"{what}: the exported calls", differences(got[0], wanted[0]), [])
    apart = [pair for pair in zip(got[1], wanted[1]) if abs(pair[0] - pair[1]) > 2 + 1e-3 * pair[1]]
    expect(f"{what}: durations that differ", apart, [])


def same_as_nng(run):
    """What two leaves have kept goes to a root over NNG, and through an engine to roots of one and of three partitions."""
    dead, url = free_url(), free_url()
    leaves = [Node(run, name, ["--upstream", dead]).start() for name in ("one", "two")]
    commands, _ = start_ranks(run, leaves, JOB, ROUNDS)
    for command in commands:
        finish(command, "rank", run.path("job.log"))
    for leaf in leaves:
        wait_for(f"{leaf.name} to close the job", lambda leaf=leaf: unsent(leaf))
        leaf.kill()
    root = Node(run, "root", ["--listen", url]).start()
    for leaf in leaves:
        copy_of(run, leaf, f"{leaf.name}-nng", url).start()
    wanted = root.closed_report(JOB)
    expect_all(wanted, RANKS_EACH * len(leaves), ROUNDS)
    expect_records(root, wanted, JOB)
    exported = calls_exported(run, os.path.join(root.store, JOB))
    for partitions in (1, 3):
        server, nats = engine.single(run, f"alone{partitions}")
        engine.Stream(run, nats).set_up("--partitions", str(partitions))
        roots = engine.Root(run, f"roots{partitions}", ["--from", nats]).start()
        for leaf in leaves:
            copy_of(run, leaf, f"{leaf.name}-{partitions}", nats).start()
        directory = os.path.join(roots.store, JOB)
        with roots.told():
            wait_for("the job to be closed", lambda directory=directory: os.path.exists(os.path.join(directory, "summary.txt")))
        expect(f"{partitions} partitions: the report", differences(plain(run.report(directory)), plain(wanted)), [])
        expect_exported(f"{partitions} partitions", calls_exported(run, directory), exported)
        streamed = run.report(f"{nats}/{JOB}")
        expect(f"{partitions} partitions: straight from the stream", differences(plain(streamed), plain(wanted)), [])
        server.kill()


def uplink_of(leaf):
    return json.loads(leaf.cli("status", "--json").stdout)["upstream"]


def wait_problem(leaf, words):
    """Until status of LEAF names a problem with one of WORDS."""
    with leaf.told():
        wait_for(f"{leaf.name} to say one of {words}", lambda: any(word in (uplink_of(leaf)["problem"] or "").lower() for word in words))


def run_ranks(run, leaf, job, rounds=ROUNDS):
    commands, _ = start_ranks(run, [leaf], job, rounds)
    for command in commands:
        finish(command, "rank", run.path("job.log"))


def expect_whole(run, roots, job, rounds=ROUNDS):
    """All calls and records of JOB are in its directory, once it is closed."""
    directory = os.path.join(roots.store, job)
    with roots.told():
        wait_for(f"{job} to be closed", lambda: os.path.exists(os.path.join(directory, "summary.txt")))
    report = run.report(directory)
    expect_all(report, RANKS_EACH, rounds)
    events = loop.events_of(run, directory)
    counted = {(row["rank"], row["function"], os.path.basename(row["library"])): row["calls"] for row in report["calls"]
               if row["role"] == "main"}
    expect(f"{job}: calls in the export", {key: len(calls) for key, calls in events.items() if key in counted}, counted)
    expect(f"{job}: lost records", sum(row["lost_records"] for row in report["ranks"]), 0)
    loop.expect_once(events)


def not_set_up(run):
    """The stream is not made yet: leaf and root say so, and all arrives once it is made."""
    server, url = engine.single(run, "bare")
    leaf = Node(run, "early", ["--upstream", url]).start()
    roots = engine.Root(run, "roots-early", ["--from", url]).start()
    run_ranks(run, leaf, "early")
    wait_problem(leaf, ["not set up"])
    with roots.told():
        wait_for("the root to say so", lambda: "stream setup" in roots.said())
    engine.Stream(run, url).set_up()
    expect_whole(run, roots, "early")
    server.kill()


def full(run):
    """A stream that is full takes nothing more and loses nothing. The leaf keeps the rest until there is room."""
    server, url = engine.single(run, "small")
    stream = engine.Stream(run, url)
    stream.set_up("--keep", str(SMALL))
    leaf = Node(run, "waits", ["--upstream", url]).start()
    roots = engine.Root(run, "roots-small", ["--from", url]).start()
    run_ranks(run, leaf, "small", LONG_ROUNDS)
    wait_problem(leaf, ["stream is full"])
    expect_true(f"the stream keeps its limit: {stream.status()['bytes']}", stream.status()["bytes"] <= SMALL)
    expect_true("what is kept on the leaf is told", uplink_of(leaf)["unsent_bytes"] > 0)
    expect("setup again", stream.command("setup", "--keep", "1G").returncode, 0)
    expect_whole(run, roots, "small", LONG_ROUNDS)
    server.kill()


def away(run):
    """The server is killed while ranks run, and comes again; then its stream is removed, and made again."""
    server, url = engine.single(run, "away")
    stream = engine.Stream(run, url)
    stream.set_up()
    leaf = Node(run, "steady", ["--upstream", url]).start()
    roots = engine.Root(run, "roots-away", ["--from", url]).start()
    commands, paths = start_ranks(run, [leaf], "away", LONG_ROUNDS, 0, LONG_ROUNDS - 1)
    loop.wait_rounds(paths[0], LONG_ROUNDS // 4)
    server.kill()
    wait_problem(leaf, ["connection", "closed", "timeout", "no server"])
    loop.wait_rounds(paths[0], LONG_ROUNDS // 2)
    server.start()
    with leaf.told():
        wait_for("the leaf to be connected", lambda: uplink_of(leaf)["connected"] and not uplink_of(leaf)["unsent_bytes"])
    wait_for("the root to have read all", lambda: all(part["behind"] == 0 for part in (stream.status() or {"partitions": [{"behind": 1}]})["partitions"]))
    expect("removed", engine.ask(url, "$JS.API.STREAM.DELETE.HOOKTRACE")["success"], True)
    for path in paths:
        loop.go_on(path)
    for command in commands:
        finish(command, "rank", run.path("job.log"))
    wait_problem(leaf, ["no responders", "not found", "no stream"])
    stream.set_up()
    expect_whole(run, roots, "away", LONG_ROUNDS)
    server.kill()


def unwanted(run):
    """Credentials that the server does not take are named, and the job does not notice."""
    server, url = engine.single(run, "closed", 'authorization { user: "leaf", password: "sesame" }')
    with open(run.path("secret"), "w", encoding="utf-8") as secret:
        secret.write("leaf:sesame\n")
    os.chmod(run.path("secret"), 0o600)
    known = ["--credentials", run.path("secret")]
    engine.Stream(run, url).set_up(*known)
    leaf = Node(run, "stranger", ["--upstream", url]).start()
    run_ranks(run, leaf, "stranger")
    wait_problem(leaf, ["credentials"])
    done = engine.Stream(run, url).command("status")
    expect_true(f"status without credentials: {done.stderr}", done.returncode == 1 and "credentials" in done.stderr)
    leaf.kill()
    leaf.start(*known)
    roots = engine.Root(run, "roots-closed", ["--from", url, *known]).start()
    expect_whole(run, roots, "stranger")
    done = engine.Stream(run, url.replace("://", "://leaf:sesame@")).command("status")
    expect_true(f"a password in a URL: {done.stderr}", done.returncode == 2 and "--credentials" in done.stderr)
    expect_true("the password is repeated", "sesame" not in done.stderr)
    server.kill()


def left_out(run):
    """What a root asks for by subject and number, because the engine left it out, is what the stream has."""
    server, url = engine.single(run, "search")
    engine.Stream(run, url).set_up()
    leaf = Node(run, "sends", ["--upstream", url]).start()
    run_ranks(run, leaf, "search", LONG_ROUNDS)
    wait_for("all to be stored", lambda: uplink_of(leaf)["connected"] and not uplink_of(leaf)["unsent_bytes"])
    state = engine.ask(url, "$JS.API.STREAM.INFO.HOOKTRACE", b'{"subjects_filter":"hooktrace.data.>"}')["state"]
    expect_true(f"several subjects: {state['subjects']}", len(state["subjects"]) > RANKS_EACH)
    numbers = {}

    def find(subject, behind, before):
        return [int(line) for line in run.command(run.build + "/tests/load/left_out", url, subject, behind, before).stdout.split()]

    for subject, count in state["subjects"].items():
        numbers[subject] = find(subject, 0, state["last_seq"] + 1)
        expect(f"messages of {subject}", len(numbers[subject]), count)
    expect("each message is of one subject", sorted(sum(numbers.values(), [])), list(range(state["first_seq"], state["last_seq"] + 1)))
    subject = max(numbers, key=lambda one: len(numbers[one]))
    first, *between, last = numbers[subject]
    expect("behind one and before another", find(subject, first, last), between)
    expect("none", find(subject, last, state["last_seq"] + 1), [])
    server.kill()


def test(run):
    same_as_nng(run)
    not_set_up(run)
    full(run)
    away(run)
    unwanted(run)
    left_out(run)


if __name__ == "__main__":
    main(test)
