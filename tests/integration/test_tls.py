#!/usr/bin/python3
"""A leaf and its root over TLS and IPv6, each of which asks for the other's certificate: the job is brought, its clock is known; a leaf
without a certificate is refused. A root whose certificate is for another host says so to both leaves and people.
"""
import contextlib
import json
import os
import socket

import loop
from harness import end_process, expect, expect_true, main, wait_for
from nodes import Node, finish
from test_refused import upstream_of

ROUNDS = 1000
RANKS = 2


def loopback():
    """An address of this machine that is unreachable from others, of IPv6 where there is one."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as stream:
        stream.bind(("::1", 0))
        return "[::1]"
    return "127.0.0.1"


def options_of(own, other, token):
    return ["--tls-cert", f"{own}/collector.crt", "--tls-key", f"{own}/collector.key", "--tls-ca", f"{other}/collector.crt",
            "--token-file", token]


def other_host(run):
    """The certificate is trusted, but the root is not where it says."""
    crt, key = run.path("host.crt"), run.path("host.key")
    run.command("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=head.example", "-keyout", key, "-out", crt)
    os.chmod(key, 0o600)
    root = Node(run, "elsewhere", ["--listen", "tls+tcp://127.0.0.1:0", "--tls-cert", crt, "--tls-key", key,
                                   "--token-file", run.path("root-keys", "tokens")]).start()
    url = json.loads(root.cli("status", "--json").stdout)["listen"]
    trusting = ["--tls-ca", crt, "--token-file", run.path("root-keys", "control.token")]
    why = "the certificate there is for head.example, not for the name 127.0.0.1: "
    done = run.cli("status", "--collector", url, *trusting, check=False)
    expect(f"hookcli: {done.stderr}", (done.returncode, done.stderr.count("\n"), why in done.stderr), (1, 1, True))
    leaf = Node(run, "lost", ["--upstream", url, *trusting]).start()
    wait_for("the leaf to know", lambda: why in upstream_of(leaf)["problem"])
    wait_for("its log to say so", lambda: why in leaf.said())
    for node in (root, leaf):
        end_process(node.collector)


def names_of_keygen(run):
    """A certificate of keygen also serves clients that compare names and addresses: this machine's, and requested ones."""
    place = run.path("named-keys")
    names = ["head.example", "192.0.2.7", "2001:db8::7"]
    run.command(run.binary("hookcollector"), "keygen", place, *names)
    for name in ["hooktrace", "localhost", "127.0.0.1", "::1", *names, *([socket.gethostname()] if len(socket.gethostname()) < 64 else [])]:
        kind = "-checkip" if ":" in name or name[0].isdigit() else "-checkhost"
        said = run.command("openssl", "x509", "-in", f"{place}/collector.crt", "-noout", kind, name).stdout
        expect_true(f"{name} {said}", "does match" in said)
    done = run.command(run.binary("hookcollector"), "keygen", run.path("no-keys"), "no name", check=False)
    expect_true(f"{done.returncode} {done.stderr}", done.returncode == 2 and "'no name' is no host's name" in done.stderr)
    expect_true("nothing was made", not os.path.exists(run.path("no-keys")))


def unknown_host(run, trusting):
    """An unknown host name is reported as such, not as a mistake in the URL."""
    for where in "no-such-host.invalid:4440", "127.0.0.1":
        done = run.cli("status", "--collector", f"tls+tcp://{where}", *trusting, check=False)
        expect(f"hookcli: {done.stderr}", (done.returncode, done.stderr.count("\n"), "no such host or port" in done.stderr), (1, 1, True))


def unreachable_host(run, trusting):
    """A host that no way leads to is said to be that, to people and to leaves: here the address of all, which TCP never reaches."""
    url = "tls+tcp://255.255.255.255:4440"
    done = run.cli("status", "--collector", url, *trusting, check=False)
    expect(f"hookcli: {done.stderr}", (done.returncode, done.stderr.count("\n"), "cannot be reached" in done.stderr), (3, 1, True))
    leaf = Node(run, "alone", ["--upstream", url, *trusting]).start()
    wait_for("the leaf to know", lambda: "cannot be reached" in upstream_of(leaf)["problem"])
    end_process(leaf.collector)


def test(run):
    roots, leafs = run.path("root-keys"), run.path("leaf-keys")
    for place in (roots, leafs):
        run.command(run.binary("hookcollector"), "keygen", place)
    root = Node(run, "root", ["--listen", f"tls+tcp://{loopback()}:0", *options_of(roots, leafs, f"{roots}/tokens")]).start()
    url = json.loads(root.cli("status", "--json").stdout)["listen"]
    leaf = Node(run, "leaf", ["--upstream", url, *options_of(leafs, roots, f"{roots}/control.token")]).start()
    commands = []
    for rank in range(RANKS):
        env = {**loop.agent_environment(run, "secret"), "HOOK_RANK": str(rank), "HOOK_WORLD_SIZE": str(RANKS)}
        commands.append(leaf.popen(run.workload("calls_truth"), "--loop", run.path(f"progress-{rank}"), ROUNDS, env=env))
    for command in commands:
        finish(command, "rank", run.path("job.log"))
    report = root.closed_report("secret")
    for row in report["calls"]:
        if row["function"] in loop.FUNCTIONS and os.path.basename(row["library"]) == loop.LIBRARY:
            expect(f"calls of {row['function']} of rank {row['rank']}", row["calls"], loop.THREADS * ROUNDS)
    errors = [row["clock"]["error_ns"] for row in report["ranks"]]
    expect_true(f"the root's clock was probed: {errors}", len(errors) == RANKS and all(error is not None for error in errors))
    done = run.cli("status", "--collector", url, "--tls-ca", f"{roots}/collector.crt", "--token-file", f"{roots}/read.token", check=False)
    expect_true(f"who shows no certificate is not answered: {done.stdout}", done.returncode != 0)
    bare = Node(run, "bare", ["--upstream", url, "--tls-ca", f"{roots}/collector.crt", "--token-file", f"{roots}/control.token"]).start()
    wait_for("a leaf without one to know", lambda: "no TLS: " in upstream_of(bare)["problem"])
    expect_true("it is not connected", not upstream_of(bare)["connected"])
    other_host(run)
    names_of_keygen(run)
    for ask in unknown_host, unreachable_host:
        ask(run, ["--tls-ca", f"{roots}/collector.crt", "--token-file", f"{roots}/read.token"])


if __name__ == "__main__":
    main(test)
