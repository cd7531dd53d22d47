#!/usr/bin/python3
"""One hostile token with a thousand connections and every kind of message, for SECONDS: another user is answered quickly, a leaf's
link stays, memory is bounded, and a local job is traced in full."""
import contextlib
import functools
import json
import os
import random
import re
import select
import socket
import subprocess
import sys
import time

import loop
import wire
from harness import Run, end_process, expect, expect_true, main, wait_for
from nodes import Node

MIB = 1 << 20
RSS_MAX = 512 * MIB
P99_S = 0.25
IDLE_FACTOR = 20  # a machine that is slow or busy is so before the campaign as well
IDLE_ROUNDS = 200
CONNECTIONS = 1000
FILES, DATA_MAX = 4096, 1024 * MIB
ROUNDS, SEED = 300, 13
TOKENS = {"mallory": b"mallory-control-token-01", "carol": b"carol-read-token-0000001", "leaf": b"leaf-control-token-00001"}
CONTROL, CLOSE_JOB = 20, 7
CLOSED, READ = 0.002, 0.1  # of the hostile program's steps


# ---- the hostile program ----


class Hostile:
    """Sends whatever a control token can, over as many connections as it gets, and reads nearly nothing."""

    def __init__(self, port, token):
        self.port, self.token, self.random = port, token, random.Random(SEED)
        self.connections, self.pending, self.number, self.sent, self.steps = [], {}, 0, 0, 0
        self.sites = [wire.site(index, "f" * 50) for index in range(8000)]
        self.jobs = [wire.job(f"h{draw}") for draw in range(3000)]
        self.empty = wire.part(2, wire.part(1, wire.part(2, "e")) + b"\x12\0" * (2 * MIB))
        self.texts = [wire.job("k", command="c" * (8 * MIB))]
        self.noise = self.random.randbytes(MIB)

    def connect(self):
        stream = socket.socket()
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stream.setblocking(False)
        stream.connect_ex(("127.0.0.1", self.port))
        self.connections.append(stream)
        self.pending[stream] = memoryview(wire.GREETING + wire.request(self.token, wire.PROBE))

    @functools.cache
    def full_job(self, job, uid, step):
        return wire.job(f"h{job}", [wire.process(uid.to_bytes(16, "big"), self.sites[::step])])

    def report(self, jobs, node=b"m" * 16):
        self.number += 1
        return wire.request(self.token, wire.REPORT, wire.report(node, jobs, self.number))

    def message(self):
        draw = self.random
        kinds = (
            lambda: wire.framed(wire.part(wire.TOKEN, self.token).ljust(64 << 10, b"\0"), announced=64 * MIB),
            lambda: wire.request(self.token, wire.SNAPSHOT, wire.part(1, f"h{draw.randrange(20)}")),
            lambda: wire.request(self.token, wire.STATUS),
            lambda: wire.request(self.token, wire.LIST),
            lambda: self.report(draw.sample(self.jobs, 500)),
            lambda: self.report([wire.job(f"h{draw.randrange(3000)}", complete=True)]),
            lambda: self.report([self.full_job(draw.randrange(5), draw.randrange(40), 1)]),
            lambda: self.report([self.full_job(draw.randrange(5), draw.randrange(40), -1)]),
            lambda: self.report(self.texts),
            lambda: self.report([wire.job("n")], node=draw.randbytes(16)),
            lambda: wire.request(self.token, wire.REPORT, self.empty),
            lambda: wire.request(self.token, wire.OPEN_JOB, wire.part(1, f"o{draw.randrange(3000)}") + wire.part(3, "c" * MIB)),
            lambda: wire.request(self.token, CLOSE_JOB, wire.part(1, f"o{draw.randrange(3000)}")),
            lambda: wire.request(self.token, CONTROL, wire.part(1, "") + wire.part(2, wire.part(1, "*") + wire.number(2, 3))),
            lambda: wire.request(self.token, wire.CHUNK, wire.part(2, b"\0" * 16) + wire.number(3, 1) + wire.part(4, self.noise)),
            lambda: wire.framed(wire.part(wire.TOKEN, self.token) + draw.randbytes(2000)),
            lambda: draw.randbytes(100),
            lambda: wire.request(b"no such token", wire.STATUS),
        )
        return draw.choice(kinds)()

    def drop(self, stream):
        self.connections.remove(stream)
        self.pending.pop(stream, None)
        stream.close()

    def step(self):
        """Sends a bit on some connections; those that the collector ends are made again."""
        self.steps += 1
        if len(self.connections) < CONNECTIONS:
            with contextlib.suppress(OSError):
                self.connect()
        stream = self.random.choice(self.connections)
        draw = self.random.random()
        try:
            if draw < CLOSED:
                self.drop(stream)
                return
            if draw < READ and stream.recv(1 << 20) == b"":
                self.drop(stream)
                return
        except BlockingIOError:
            pass
        except OSError:
            self.drop(stream)
            return
        self.send(stream)

    def send(self, stream):
        if not self.pending.get(stream):
            self.pending[stream] = memoryview(self.message())
            self.sent += 1
        try:
            self.pending[stream] = self.pending[stream][stream.send(self.pending[stream][:256 << 10]):]
        except BlockingIOError:
            pass
        except OSError:
            self.drop(stream)


def be_hostile(port, token):
    """Until its standard input ends."""
    hostile = Hostile(port, token)
    while not select.select([0], [], [], 0)[0]:
        for _ in range(20):
            hostile.step()
    print(json.dumps({"connections": len(hostile.connections), "sent": hostile.sent, "steps": hostile.steps}))


# ---- what others see meanwhile ----


def token_file(run, name, lines):
    path = run.path(name)
    with open(path, "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(lines)
    return path


def p99(times):
    return sorted(times)[len(times) * 99 // 100]


def trace(run, root, index):
    """A local job under hookcli run, every call of it."""
    here = run.path(f"here-{index}")
    os.mkdir(here)
    truth = os.path.join(here, "truth")
    done = root.cli("run", "-q", *loop.hook_options(), "--job", f"local-{index}", "--", run.workload("calls_truth"), "--loop", truth,
                    ROUNDS, cwd=here)
    expect("what run says", done.stderr, "")
    report = json.loads(root.cli("report", os.path.join(here, "hook-last"), "--format", "json").stdout)
    loop.expect_loop("local job", report, loop.rows(truth))


def start(run):
    lines = "".join(f"{'read' if user == 'carol' else 'control'} {token.decode()} {user}\n" for user, token in TOKENS.items())
    root = Node(run, "root", ["--listen", "tcp://127.0.0.1:0", "--token-file", token_file(run, "tokens", lines)],
                before=["prlimit", f"--nofile={FILES}", f"--data={DATA_MAX}"]).start()
    root.before = []
    url = json.loads(root.cli("status", "--json").stdout)["listen"]
    own = token_file(run, "leaf.token", f"control {TOKENS['leaf'].decode()}\n")
    Node(run, "leaf", ["--upstream", url, "--token-file", own]).start()
    return root, int(url.rsplit(":", 1)[1])


def leaf_of(root):
    """How the root stands with the leaf: not with what the hostile program says it is."""
    leaves = json.loads(root.cli("status", "--json").stdout)["leaves"]
    return next((leaf for leaf in leaves if leaf["host"] != "peer"), None)


def most_memory(root):
    with open(f"/proc/{root.collector.pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmHWM:\s+(\d+) kB", file.read())[1]) * 1024


def test(run: Run, seconds):
    root, port = start(run)
    wait_for("the leaf", lambda: leaf_of(root))
    before = leaf_of(root)
    peer, question = wire.Peer(port), wire.request(TOKENS["carol"], wire.STATUS)
    idle = p99([peer.wait_s(question) for _ in range(IDLE_ROUNDS)])
    hostile = subprocess.Popen([sys.executable, __file__, "--hostile", str(port), TOKENS["mallory"].decode()],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        times, end, jobs = [], time.monotonic() + float(seconds), 0
        while time.monotonic() < end or jobs == 0:
            until = time.monotonic() + 2
            while time.monotonic() < until:
                times.append(peer.wait_s(question))
            trace(run, root, jobs)
            jobs += 1
        said = json.loads(hostile.communicate("")[0])
    finally:
        end_process(hostile)
    print(f"{said}; {len(times)} answers to another user: p99 {p99(times) * 1e3:.1f} ms, most {max(times) * 1e3:.0f} ms, "
          f"idle p99 {idle * 1e3:.1f} ms; {jobs} local jobs; {most_memory(root) / MIB:.0f} MiB at most")
    expect_true("the hostile program had its connections", said["connections"] > CONNECTIONS // 4 and said["sent"] > 100)
    expect_true(f"p99 {p99(times)} s, idle {idle} s", p99(times) < P99_S + (0 if float(seconds) > 20 else IDLE_FACTOR * idle))
    after = leaf_of(root)
    expect("the leaf's link", (after["connected"], after["since_unix_ns"]), (True, before["since_unix_ns"]))
    expect_true(f"{most_memory(root) / MIB} MiB at most", most_memory(root) < RSS_MAX)


if __name__ == "__main__":
    if sys.argv[1] == "--hostile":
        be_hostile(int(sys.argv[2]), sys.argv[3].encode())
    else:
        main(test)
