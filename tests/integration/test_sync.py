#!/usr/bin/python3
"""An MPI job over two leaves, one of them with other clocks and behind a slow network: its collective calls agree with what the probes
found, and say more exactly than those how wrong the clocks can be.
"""
import json

import loop
from harness import expect, expect_true, main
from nodes import Node, free_url
from proxy import Proxy, address_of
from test_clock import JITTER, leaves_of, unix_minus_monotonic

RANKS_EACH = 2


def words_of(run, node, job):
    """What mpirun starts on NODE."""
    environment = node.environment(**{**loop.agent_environment(run, job), "HOOK_HOOKS": "mpi"})
    ours = {name: value for name, value in environment.items() if name.startswith(("HOOK_", "CLOCK_SKEW")) or name == "LD_PRELOAD"}
    return ["-n", RANKS_EACH, "env", *(f"{name}={value}" for name, value in ours.items()), run.workload("mpi_truth"), run.directory]


def run_job(run, leaves, job):
    commands = [words_of(run, leaf, job) for leaf in leaves]
    run.command("mpirun", *commands[0], ":", *commands[1])


def errors_of(report):
    return [row["clock"]["error_ns"] for row in report["ranks"]]


def expect_checked(report):
    checks = report["job"]["sync_checks"]
    expect_true(f"calls that were checked: {checks}", checks > 0)
    expect("calls that contradict the clocks", report["job"]["sync_violations"], 0)
    for node in report["nodes"]:
        expect(f"checks of {node['host']}", (node["sync_checks"], node["sync_violations"]), (checks, 0))


def expect_tighter(root, job, report):
    """The collector wrote its report by the probes alone."""
    with open(f"{root.store}/{job}/report.json", encoding="utf-8") as stream:
        probed = errors_of(json.load(stream))
    checked = errors_of(report)
    print(f"bounds by probes {probed} ns, checked {checked} ns")
    expect_true("no bound has grown", all(after <= before for before, after in zip(probed, checked)))
    trace = json.loads(root.cli("export", job, "--format", "chrome", "-o", "-").stdout)
    expect("the errors in an export", [row["error_ns"] for row in sorted(trace["otherData"]["clocks"], key=lambda row: row["pid"])],
           checked)


def expect_true_offset(report, skew):
    """The bound covers what the far clock really is off by."""
    for row in report["ranks"][RANKS_EACH:]:
        began = report["job"]["start_unix_ns"] + row["start_ns"] - unix_minus_monotonic()
        off = row["clock"]["offset_ns"] - skew.offset(began)
        expect_true(f"off by {off} ns, which {row['clock']['error_ns']} ns cover", abs(off) <= row["clock"]["error_ns"])


def test(run):
    url = free_url()
    root = Node(run, "root", ["--listen", url]).start()
    with Proxy(address_of(url), seed=11) as proxy:
        proxy.set(**JITTER)
        near, far = leaves_of(run, url, proxy)
        run_job(run, (near, far), "collective")
        report = root.closed_report("collective")
        expect("ranks", len(report["ranks"]), 2 * RANKS_EACH)
        expect_checked(report)
        expect_tighter(root, "collective", report)
        expect_true_offset(report, far.skew)


if __name__ == "__main__":
    main(test)
