#!/usr/bin/python3
"""One token that takes what it can get of a root: others are answered, memory stays bounded, a local job is traced in full."""
import errno
import itertools
import json
import os
import re

import loop
import wire
from harness import Run, expect, expect_true, main, wait_for
from nodes import Node

MIB = 1 << 20
RSS_MAX = 512 * MIB
ROUNDS = 300
TOKENS = {"alice": b"alice-control-token-0001", "bob": b"bob-read-token-000000001", "carol": b"carol-control-token-0002"}
FILES = 1024
DATA_MAX = 1024 * MIB


def token_file(run, name, lines):
    path = run.path(name)
    with open(path, "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(lines)
    return path


class Root:
    """A collector with three tokens, no more than FILES descriptors, and DATA_MAX of memory: values get the least that there is."""

    def __init__(self, run, name):
        self.run, self.numbers = run, itertools.count(1)
        tokens = token_file(run, f"tokens-{name}", "".join(f"{'read' if user == 'bob' else 'control'} {token.decode()} {user}\n"
                                                           for user, token in TOKENS.items()))
        self.node = Node(run, name, ["--listen", "tcp://127.0.0.1:0", "--token-file", tokens],
                         before=["prlimit", f"--nofile={FILES}", f"--data={DATA_MAX}"]).start()
        self.node.before = []
        self.port = int(self.status()["listen"].rsplit(":", 1)[1])

    def status(self):
        return json.loads(self.node.cli("status", "--json").stdout)

    def refused(self, user):
        return sum(account["refused"] for account in self.status()["accounts"] if account["name"] == user)

    def peer(self, **options):
        return wire.Peer(self.port, **options)

    def most_memory(self):
        with open(f"/proc/{self.node.collector.pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmHWM:\s+(\d+) kB", file.read())[1]) * 1024

    def reports(self, token, jobs, node=b"n" * 16):
        return wire.request(token, wire.REPORT, wire.report(node, jobs, next(self.numbers)))

    def expect_alive(self, what):
        """Another user is answered, and so is the local socket."""
        peer = self.peer()
        expect_true(f"{what}: an answer", peer.ask(wire.request(TOKENS["carol"], wire.STATUS)))
        peer.close()
        self.status()
        expect_true(f"{what}: {self.most_memory() // MIB} MiB at most", self.most_memory() < RSS_MAX)

    def expect_traced(self, what):
        """A job of this machine's user, every call of it."""
        here = self.run.path(f"here-{what}")
        os.mkdir(here)
        truth = os.path.join(here, "truth")
        done = self.node.cli("run", "-q", *loop.hook_options(), "--job", f"local-{what}", "--", self.run.workload("calls_truth"),
                             "--loop", truth, ROUNDS, cwd=here)
        expect(f"{what}: what run says", done.stderr, "")
        report = json.loads(self.node.cli("report", os.path.join(here, "hook-last"), "--format", "json").stdout)
        loop.expect_loop(what, report, loop.rows(truth))


def check_announced(run: Run):
    """Memory is booked as bytes come: four messages that announce 64 MiB and stop hold up neither others nor their own account."""
    root = Root(run, "announced")
    peers = [root.peer() for _ in range(4)]
    head = wire.part(wire.TOKEN, TOKENS["alice"]) + wire.varint(wire.REPORT << 3 | 2) + wire.varint(60 * MIB)
    for peer in peers:
        peer.send(wire.framed(head.ljust(64 << 10, b"\0"), announced=64 * MIB))
    root.expect_alive("announced")
    own = root.peer()
    expect_true("the same token's short request", own.ask(wire.request(TOKENS["alice"], wire.STATUS)))
    expect_true("the same token's long request", own.ask(root.reports(TOKENS["alice"], [wire.job("long", command="c" * MIB)])))
    # A client that sends the rest gets its answer.
    peers[0].send(b"\0" * (64 * MIB - (64 << 10) - 4))
    expect_true("an answer to the long message", peers[0].answer())
    root.expect_alive("announced and sent")


def check_unread(run: Run):
    """Unread responses take bounded memory; clients that read get theirs."""
    root = Root(run, "unread")
    sites = [wire.site(index, "f" * 100 + str(index)) for index in range(40_000)]
    asked = root.peer().ask(root.reports(TOKENS["alice"], [wire.job("big", [wire.process(b"u" * 16, sites)])]))
    expect_true("the report is taken", b"big" in asked)
    snapshot = wire.request(TOKENS["alice"], wire.SNAPSHOT, wire.part(1, "big"))
    peers = []
    for _ in range(120):
        peers.append(root.peer(receive_bytes=4096))
        peers[-1].ask(wire.request(TOKENS["alice"], wire.PROBE))
        peers[-1].send(snapshot)
    root.expect_alive("unread")
    for peer in peers[1:]:
        peer.close()
    expect_true("a whole answer", len(peers[0].answer()) > 4 * MIB)


def check_connections(run: Run):
    """Connections of one user leave room for others and for the local socket."""
    root = Root(run, "connections")
    peers, again = [root.peer()], wire.number(1, 2 * errno.EAGAIN - 1)
    while len(peers) < FILES and not peers[-1].ask(wire.request(TOKENS["bob"], wire.STATUS)).startswith(again):
        peers.append(root.peer())
    expect_true(f"{len(peers)} connections", 64 < len(peers) < FILES // 4)
    for _ in range(8):
        root.expect_alive("connections")
    root.expect_traced("connections")


def check_jobs(run: Run):
    """Jobs of one token take neither the descriptors nor the time of others; they come bit by bit, as far as its limit."""
    root = Root(run, "jobs")
    peer = root.peer()
    jobs = [wire.job(f"j{index}") for index in range(3000)]
    peer.ask(root.reports(TOKENS["alice"], jobs))
    first = len(os.listdir(root.node.store))
    expect_true(f"{first} directories of one report", 0 < first <= 32)
    for _ in range(60):
        peer.ask(root.reports(TOKENS["alice"], jobs))
    wait_for("the limit", lambda: root.refused("alice") > 0)
    expect_true("directories", len(os.listdir(root.node.store)) <= 512)
    root.expect_alive("jobs")
    root.expect_traced("jobs")


def check_texts(run: Run):
    """Long texts of jobs do not make `status` too long for everybody."""
    root = Root(run, "texts")
    peer = root.peer()
    for name in ("one", "two"):
        body = wire.part(1, name) + wire.part(2, "x" * MIB) + wire.part(3, "c" * (40 * MIB))
        expect_true(f"{name} is opened", len(peer.ask(wire.request(TOKENS["alice"], wire.OPEN_JOB, body))) < MIB)
    expect("jobs", sorted(job["id"] for job in root.status()["jobs"]), ["one", "two"])
    root.expect_alive("texts")


def check_empty(run: Run):
    """Empty messages in a message take a hundred times their size in memory: such a request is refused."""
    root = Root(run, "empty")
    peer = root.peer()
    inner = wire.part(1, wire.part(2, "k") + wire.part(15, "k")) + b"\x12\0" * (30 * MIB)
    peer.ask(wire.request(TOKENS["alice"], wire.REPORT, wire.part(1, wire.part(1, b"y" * 16)) + wire.part(2, inner)))
    root.expect_alive("empty")
    expect_true("it is counted", root.refused("alice") > 0)


def check_values(run: Run):
    """Values of processes end at the account's limit."""
    root = Root(run, "values")
    peer = root.peer()
    sites = [wire.site(number, "v" * 64) for number in range(30_000)]
    for index in range(48):
        peer.ask(root.reports(TOKENS["alice"], [wire.job("v", [wire.process(index.to_bytes(16, "big"), sites)])]))
    wait_for("the limit", lambda: root.refused("alice") > 0)
    root.expect_alive("values")
    wait_for("the log to say why",
             lambda: "peer=alice" in root.node.said() and "why=too many values of processes" in root.node.said())
    said = root.node.cli("status").stdout
    expect_true(f"status says why: {said}", re.search(r"^alice .*too many values of processes", said, re.MULTILINE))
    mine = json.loads(root.node.cli("status", "--json", "--collector", f"tcp://127.0.0.1:{root.port}", "--token-file",
                                    token_file(run, "carol", f"read {TOKENS['carol'].decode()}\n")).stdout)["accounts"]
    expect("accounts that a user sees", [account["name"] for account in mine], ["carol"])


CHECKS = {"announced": check_announced, "unread": check_unread, "connections": check_connections, "jobs": check_jobs,
          "texts": check_texts, "empty": check_empty, "values": check_values}


def test(run: Run, *names):
    for name in names or CHECKS:
        CHECKS[name](run)


if __name__ == "__main__":
    main(test)
