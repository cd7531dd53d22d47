#!/usr/bin/python3
"""Leaves whose clocks are far from the root's, behind a slow network: the root's report tells when everything was, and how surely.

The other machine's clocks are simulated (clock_skew), and so is the network (proxy). The truth is this machine's clock.
"""
import json
import re
import time

import loop
from harness import expect, expect_true, main
from nodes import Node, finish, free_url
from proxy import Proxy, address_of

ROUNDS = 3000
SECOND = 10**9
JITTER = {"up_ms": "0.2-2", "down_ms": "0.2-2"}
AHEAD, PPM, REALTIME_AHEAD = 5 * SECOND + 50 * 10**6, 50, -7 * SECOND


class Skew:
    """The clocks of the machine a leaf pretends to be on."""

    def __init__(self, run, ahead, ppm, realtime_ahead):
        self.reference, self.ahead, self.ppm = time.monotonic_ns(), ahead, ppm
        self.library = run.workload("libclock_skew.so")
        self.environment = {"CLOCK_SKEW": f"{self.reference} {ahead} {ppm} {realtime_ahead}"}

    def offset(self, monotonic_ns):
        """What is to be added to its clock at a time of the real one."""
        return -self.ahead - (monotonic_ns - self.reference) * self.ppm / 1e6


class SkewedNode(Node):
    """Whatever is started here sees the skewed clocks."""

    skew = None

    def environment(self, **more):
        preload = ":".join(filter(None, [self.skew.library, more.pop("LD_PRELOAD", "")]))
        return super().environment(LD_PRELOAD=preload, **self.skew.environment, **more)


def unix_minus_monotonic():
    return time.time_ns() - time.monotonic_ns()


def leaves_of(run, url, proxy):
    near = Node(run, "near", ["--upstream", url]).start()
    far = SkewedNode(run, "far", ["--upstream", proxy.url])
    far.skew = Skew(run, AHEAD, PPM, REALTIME_AHEAD)
    return near, far.start()


def run_job(run, nodes, job):
    """A rank on each node; when each can have lived, in Unix time: (not before, not after)."""
    commands, lives = [], []
    for rank, node in enumerate(nodes):
        env = {**loop.agent_environment(run, job), "HOOK_RANK": str(rank), "HOOK_WORLD_SIZE": str(len(nodes))}
        began = time.time_ns()
        commands.append(node.popen(run.workload("calls_truth"), "--loop", run.path(f"progress-{job}-{rank}"), ROUNDS, env=env))
        lives.append(began)
    for rank, command in enumerate(commands):
        finish(command, "rank", run.path("job.log"))
        lives[rank] = (lives[rank], time.time_ns())
    return lives


def expect_times(report, lives):
    """Everybody lived when they can have lived."""
    start = report["job"]["start_unix_ns"]
    for row, (began, ended) in zip(report["ranks"], lives):
        rank, error = row["rank"], row["clock"]["error_ns"]
        expect_true(f"rank {rank}: began {(start + row['start_ns'] - began) / 1e9} s after it was started",
                    began - error <= start + row["start_ns"] <= ended)
        expect_true(f"rank {rank}: ended {(ended - start - row['end_ns']) / 1e9} s before that was seen",
                    began <= start + row["end_ns"] <= ended + error)
    latest = max(ended for _, ended in lives)
    expect_true("the job is not longer than it was", start + report["job"]["duration_ns"] <= latest + SECOND)


def expect_clock(report, skew, slower_ns=0):
    """The far rank's clock is known to within what the report says."""
    home, clock = (row["clock"] for row in report["ranks"])
    began = report["job"]["start_unix_ns"] + report["ranks"][1]["start_ns"] - unix_minus_monotonic()
    off = clock["offset_ns"] - skew.offset(began)
    print(f"off by {off / 1e3:.1f} us, fit {clock['fit_error_ns'] / 1e3:.1f} us, bound {clock['error_ns'] / 1e3:.1f} us, "
          f"drift {clock['drift_ppm']:.2f} ppm; near node's bound {home['error_ns'] / 1e3:.1f} us")
    expect_true(f"off by {off} ns, which the bound of {clock['error_ns']} ns covers", abs(off) <= clock["error_ns"])
    expect_true(f"a bound of {clock['error_ns']} ns says something", slower_ns / 2 < clock["error_ns"] < 50 * 10**6)
    expect_true("the clock that is shared is known", abs(home["offset_ns"]) <= home["error_ns"] < 50 * 10**6)


def expect_shown(root, job, report):
    """Every output form shows the error."""
    summary = root.cli("report", job, "--format", "summary").stdout
    worst = max(row["clock"]["error_ns"] for row in report["ranks"])
    expect("the job's error", report["job"]["clock_error_ns"], worst)
    found = re.search(r"clocks ±(\d+) µs", summary)
    expect_true(f"the summary tells of the clocks: {summary}", found and int(found[1]) == -(-worst // 1000))
    errors = {row["rank"]: row["clock"]["error_ns"] for row in report["ranks"]}
    trace = json.loads(root.cli("export", job, "--format", "chrome", "-o", "-").stdout)
    expect("the errors in a Chrome export", {row["pid"]: row["error_ns"] for row in trace["otherData"]["clocks"]}, errors)
    root.cli("export", job, "--format", "perfetto", "-o", root.path("trace.pftrace"))
    with open(root.path("trace.pftrace"), "rb") as stream:
        packets = stream.read()
    for rank, error in errors.items():
        expect_true(f"the error of rank {rank} in a Perfetto export", f"within {error} ns of".encode() in packets)


def check_late_root(run):
    """The root starts after the job has ended: the job waits on the leaf until the clocks are known."""
    url = free_url()
    leaf = SkewedNode(run, "alone", ["--upstream", url])
    leaf.skew = Skew(run, AHEAD, PPM, REALTIME_AHEAD)
    lives = run_job(run, [leaf.start()], "late")
    leaf.closed_report("late")
    report = Node(run, "late", ["--listen", url]).start().closed_report("late")
    expect_true("the clock is known", report["ranks"][0]["clock"]["error_ns"] is not None)
    expect_times(report, lives)


def test(run):
    check_late_root(run)
    url = free_url()
    root = Node(run, "root", ["--listen", url]).start()
    with Proxy(address_of(url), seed=4) as proxy:
        proxy.set(**JITTER)
        near, far = leaves_of(run, url, proxy)
        lives = run_job(run, [near, far], "same")
        report = root.closed_report("same")
        expect("nodes", report["job"]["nodes"], 2)
        expect_times(report, lives)
        expect_clock(report, far.skew)
        expect_shown(root, "same", report)
        # One direction slower: that cannot be measured, so the bound must allow for it.
        far.kill()
        proxy.set(down_more_ms=2)
        far.start()
        lives = run_job(run, [near, far], "slower")
        report = root.closed_report("slower")
        expect_times(report, lives)
        expect_clock(report, far.skew, 2 * 10**6)


if __name__ == "__main__":
    main(test)
