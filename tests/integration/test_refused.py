#!/usr/bin/python3
"""A leaf that its root does not let in logs the reason once, retries ever less often, and continues as soon as it is accepted."""
import json
import math
import os
import time

from harness import end_process, expect, expect_true, main, wait_for
from nodes import Node

WATCHED_S = 6
FIRST_PAUSE_S, MOST_PAUSE_S = 0.1, 10


def write_token(path, line):
    with open(path + ".new", "w", encoding="ascii", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(line + "\n")
    os.rename(path + ".new", path)


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def upstream_of(leaf):
    return json.loads(leaf.cli("status", "--json").stdout)["upstream"]


def most_attempts(seconds):
    """Connections in SECONDS of a leaf that doubles its pauses, and checks the certificate once."""
    doublings = math.log2(MOST_PAUSE_S / FIRST_PAUSE_S)
    return min(math.log2(seconds / FIRST_PAUSE_S + 1), doublings + seconds / MOST_PAUSE_S) + 2


def refused(run, root, name, options, why):
    """A leaf with OPTIONS is refused, for WHY."""
    def turned_away():
        return json.loads(root.cli("status", "--json").stdout)["turned_away"]

    before, begun = turned_away(), time.monotonic()
    leaf = Node(run, name, ["--upstream", root.listens, *options]).start()
    wait_for(f"{name} to know why", lambda: why in upstream_of(leaf)["problem"])
    wait_for("more attempts", lambda: time.monotonic() - begun >= WATCHED_S and turned_away() - before > 1)
    attempts = turned_away() - before
    allowed = most_attempts(time.monotonic() - begun)
    expect_true(f"{name}: {attempts} attempts, at most {allowed:.0f}", attempts <= allowed)
    expect_true(f"{name} is not connected", not upstream_of(leaf)["connected"])
    expect_true("people are told as well", why in leaf.cli("status").stdout)
    lines = [line for line in leaf.said().splitlines() if "root" in line]
    expect(f"lines about the root: {lines}", len(lines), 1)
    expect_true(f"it says why: {lines[0]}", why in lines[0])
    return leaf


def test(run):
    keys, others = run.path("keys"), run.path("others")
    for place in (keys, others):
        run.command(run.binary("hookcollector"), "keygen", place)
    tls = ["--tls-cert", f"{keys}/collector.crt", "--tls-key", f"{keys}/collector.key"]
    root = Node(run, "root", ["--listen", "tls+tcp://127.0.0.1:0", "--token-file", f"{keys}/tokens", *tls]).start()
    root.listens = json.loads(root.cli("status", "--json").stdout)["listen"]
    trusting = ["--tls-ca", f"{keys}/collector.crt"]
    shown = run.path("shown.token")
    write_token(shown, read(f"{others}/control.token").strip())
    stranger = refused(run, root, "stranger", ["--tls-ca", f"{others}/collector.crt", "--token-file", shown], "no TLS: --tls-ca")
    end_process(stranger.collector)
    reader = refused(run, root, "reader", ["--token-file", f"{keys}/read.token", *trusting], "its token may only read")
    end_process(reader.collector)
    unknown = refused(run, root, "unknown", ["--token-file", shown, *trusting], "no token, or a wrong one")
    write_token(shown, read(f"{keys}/control.token").strip())
    wait_for("it to be let in", lambda: upstream_of(unknown)["connected"])
    expect("no problem any more", upstream_of(unknown)["problem"], "")
    expect_true("the log says so", "connected to the root" in unknown.said())


if __name__ == "__main__":
    main(test)
