#!/usr/bin/python3
"""Three hosts (network namespaces on a bridge, a slow network), a leaf and four ranks on each, one root behind TLS and a token: one
report whose counts equal the truth, also when a host was cut off in mid-job. `test_nodes.py BUILD_DIR [SECONDS_CUT_OFF]`; needs root.
"""
import json
import os
import signal
import subprocess
import sys
import time

import loop
from harness import expect, expect_true, main, wait_for
from network import Network
from nodes import Node, finish
from truth import rows_of

HOSTS = ("alpha", "beta", "gamma")
RANKS_EACH = 4
ROUNDS = 4_000
PAUSE_US = 20
PORT = 4440  # in network namespaces of our own, where it is free


def start_proxy(run, network, host):
    """A network of 1 to 3 ms each way between HOST and the root."""
    words = [*network.words(host), sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "proxy.py"),
             f"127.0.0.1:{PORT}", f"10.99.0.1:{PORT}", "raw=1", "up_ms=1-3", "down_ms=1-3"]
    proxy = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    run.collectors.append(proxy)
    expect_true(f"the proxy of {host} listens", proxy.stdout.readline().startswith("tcp://"))
    return proxy


def start_all(run, network):
    keys = run.path("keys")
    run.command(run.binary("hookcollector"), "keygen", keys)
    root = Node(run, "root", ["--listen", f"tls+tcp://10.99.0.1:{PORT}", "--token-file", f"{keys}/tokens",
                              "--tls-cert", f"{keys}/collector.crt", "--tls-key", f"{keys}/collector.key"],
                before=network.words("root")).start()
    leaves = []
    for host in HOSTS:
        start_proxy(run, network, host)
        leaves.append(Node(run, host, ["--upstream", f"tls+tcp://127.0.0.1:{PORT}", "--token-file", f"{keys}/control.token",
                                       "--tls-ca", f"{keys}/collector.crt"], before=network.words(host)).start())
    return root, leaves


def start_ranks(run, leaves, job):
    commands, paths = [], []
    for rank in range(RANKS_EACH * len(leaves)):
        paths.append(run.path(f"progress-{job}-{rank}"))
        env = {**loop.agent_environment(run, job), "HOOK_RANK": str(rank), "HOOK_WORLD_SIZE": str(RANKS_EACH * len(leaves))}
        words = [run.workload("calls_truth"), "--loop", paths[-1], ROUNDS, PAUSE_US, ROUNDS // 2]
        commands.append(leaves[rank // RANKS_EACH].popen(*words, env=env))
    return commands, paths


def states(root, job):
    return {node["host"]: node["state"] for node in root.report(job)["nodes"]}


def cut_off(network, root, leaves, paths, seconds):
    """Takes the last host off the network in mid-job, for SECONDS and until both sides have noticed; the ranks, which wait half-way, go
    on meanwhile."""
    ranks = [loop.wait_stopped(path) for path in paths]
    wait_for("all to be connected", lambda: states(root, "job") == dict.fromkeys(HOSTS, "connected"))
    network.link(HOSTS[-1], "down")
    begun = time.monotonic()
    wait_for("the root to notice", lambda: states(root, "job")[HOSTS[-1]] == "silent")
    wait_for("the leaf to notice", lambda: not json.loads(leaves[-1].cli("status", "--json").stdout)["upstream"]["connected"])
    for rank in ranks:
        os.kill(rank, signal.SIGCONT)
    wait_for("the end of the cut", lambda: time.monotonic() - begun >= seconds)
    network.link(HOSTS[-1], "up")


def judge(root, ranks):
    report = root.closed_report("job")
    expect("ranks", [row["rank"] for row in report["ranks"]], list(range(ranks)))
    expect("hosts", [row["host"] for row in report["ranks"]], [HOSTS[rank // RANKS_EACH] for rank in range(ranks)])
    expect("nodes", {node["host"]: node["state"] for node in report["nodes"]}, dict.fromkeys(HOSTS, "complete"))
    for rank in range(ranks):
        rows = {key[1]: row["calls"] for key, row in rows_of(report, rank).items() if key[0] == loop.LIBRARY}
        for function in loop.FUNCTIONS:
            expect(f"rank {rank}: calls of {function}", rows[function], loop.THREADS * ROUNDS)
        expect(f"rank {rank}: lost records", report["ranks"][rank]["lost_records"], 0)
    events = loop.events_of(root, "job")
    loop.expect_once(events)
    expect("calls in the export", sum(len(calls) for calls in events.values()), sum(row["calls"] for row in report["calls"]))


def test(run, seconds="0"):
    with Network("root", HOSTS) as network:
        root, leaves = start_all(run, network)
        commands, paths = start_ranks(run, leaves, "job")
        cut_off(network, root, leaves, paths, float(seconds))
        for command in commands:
            finish(command, "rank", run.path("job.log"))
        judge(root, len(commands))
        for process in run.collectors:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main(test)
