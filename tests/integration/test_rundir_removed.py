#!/usr/bin/python3
"""The run directory, or what lies in it, is removed while a collector serves it: the collector makes it again.

The truth is what the traced programs count themselves."""
import glob
import os
import shutil
import signal

import loop
from harness import TIMEOUT, end_process, expect, expect_true, main, wait_for
from nodes import Node

ROUNDS = 20_000


def start(node, job, rounds=ROUNDS):
    path = node.path(job)
    return path, node.popen(node.run.workload("calls_truth"), "--loop", path, rounds, 100,
                            env={**loop.agent_environment(node.run, job), "HOOK_ON_FULL": "wait:60000"})


def socket_of(node):
    return os.path.join(node.run_directory, "collector.sock")


def remove_directory(node):
    shutil.rmtree(node.run_directory)


def remove_contents(node):
    for path in glob.glob(os.path.join(node.run_directory, "*")):
        os.unlink(path)


def expect_whole(node, job, path, process):
    """Every call is counted, and every record stored."""
    expect(f"{job}: status", process.wait(TIMEOUT), 0)
    report = node.closed_report(job)
    loop.expect_loop(job, report, loop.rows(path))
    expect(f"{job}: lost", report["ranks"][0]["lost_records"], 0)
    expect(f"{job}: exit", report["job"]["exit"], "exit 0")


def check(node, what, remove):
    """A job that runs meanwhile, and one that begins afterwards."""
    path, process = start(node, f"{what}-during")
    loop.wait_rounds(path, ROUNDS // 10)
    wait_for("the job", lambda: node.cli("report", f"{what}-during", check=False).returncode == 0)
    remove(node)
    wait_for("the socket", lambda: os.path.exists(socket_of(node)))
    expect(f"{what}: mode of the directory", os.stat(node.run_directory).st_mode & 0o777, 0o700)
    expect(f"{what}: status", node.cli("status").returncode, 0)
    expect_whole(node, f"{what}-during", path, process)
    expect_whole(node, f"{what}-after", *start(node, f"{what}-after", 1000))


def check_socket(node):
    """The socket alone is removed: something answers there again."""
    os.unlink(socket_of(node))
    wait_for("the socket", lambda: os.path.exists(socket_of(node)))
    expect("socket: status", node.cli("status").returncode, 0)


def check_killed(node):
    """The collector dies after its run directory was made again: its successor continues the job."""
    path, process = start(node, "killed")
    loop.wait_rounds(path, ROUNDS // 10)
    wait_for("the job", lambda: node.cli("report", "killed", check=False).returncode == 0)
    remove_directory(node)
    wait_for("the socket", lambda: os.path.exists(socket_of(node)))
    end_process(node.collector, signal.SIGKILL)
    node.start()
    report = node.closed_report("killed")
    expect("killed: directories", sorted(name for name in os.listdir(node.store) if name.startswith("killed")), ["killed"])
    found = report["processes"][0]
    expect_true(f"killed: the process is named as out of reach: {found}", "run directory" in found["note"] and found["exit"]["kind"] == "vanished")
    process.terminate()
    process.wait(TIMEOUT)


def test(run):
    node = Node(run, "node").start()
    check(node, "directory", remove_directory)
    check(node, "contents", remove_contents)
    check_socket(node)
    expect_true("the log says so", "was removed and made again" in node.said())
    check_killed(node)


main(test)
