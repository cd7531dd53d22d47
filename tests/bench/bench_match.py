#!/usr/bin/python3
"""Collectives of a thousand ranks matched on a root: bench_match.py BUILD_DIR [RANKS COLLECTIVES].

`load` reports once a second that every rank has entered a hundred collectives. The root's processor time and memory beside those of
the same reports without collectives are what matching costs. Limits: a share of a core, and memory.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

from harness import Failure, main, wait_for  # pylint: disable=wrong-import-position

RANKS, COLLECTIVES, SITES, LEAVES = 1024, 100, 8, 64
TICKS = (4, 24)
SHARE, MEMORY_MIB = 0.2, 64


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1024


def play(run, job, ticks, words, ranks):
    line = [run.build + "/tests/load/load", f"ipc://{run.run_directory}/collector.sock", "--job", job, "--ranks", ranks, "--sites", SITES,
            "--ticks", ticks, "--leaves", LEAVES, "--calls", 4]
    told = json.loads(run.command(*line, *words, timeout=300).stdout)
    report = wait_for(f"{job} to be closed", lambda: next(
        (found for found in [json.loads(run.cli("report", job, "--format", "json", check=False).stdout or "{}")]
         if found and found["job"]["closed"]), None))
    return told, report


def spent(run, name, ranks, *words):
    """The root's seconds of processor time for each period, without what a job costs but for its length; its memory; the longer job."""
    used = []
    collector = run.start_collector()
    for ticks in TICKS:
        before = cpu_s(collector.pid)
        told, report = play(run, f"{name}-{ticks}", ticks, words, ranks)
        used.append(cpu_s(collector.pid) - before)
    memory = peak_mib(collector.pid)
    collector.terminate()
    collector.wait()
    return (used[1] - used[0]) / (TICKS[1] - TICKS[0]), memory, told, report


def test(run, ranks=RANKS, collectives=COLLECTIVES):
    ranks, collectives = int(ranks), int(collectives)
    base, base_mib, _, _ = spent(run, "plain", ranks)
    with_them, mib, told, report = spent(run, "matched", ranks, "--collectives", collectives)
    full, full_mib, _, unmatched = spent(run, "silent", ranks, "--collectives", collectives, "--silent", 1)
    counts, wanted = report["matching"], TICKS[1] * collectives
    share, arrivals = with_them - base, ranks * collectives
    waits = report["waits"][0]
    print(f"{ranks} ranks x {collectives} collectives a second, {told['bytes'] / told['reports'] / 1024:.0f} KiB a report, "
          f"{told['missed']} of {TICKS[1]} periods late")
    print(f"root: {1e3 * base:.0f} ms of processor time a second without them, {1e3 * with_them:.0f} with them: matching takes "
          f"{100 * share:.1f} % of a core, limit {100 * SHARE:.0f}; {1e9 * share / arrivals:.0f} ns for each call")
    print(f"memory: {base_mib:.0f} MiB without them, {mib:.0f} with them: {mib - base_mib:.0f} MiB more, limit {MEMORY_MIB}")
    print(f"a rank that never enters: {100 * (full - base):.1f} % of a core and {full_mib - base_mib:.0f} MiB more; "
          f"{unmatched['matching']['incomplete']} collectives were pushed out, {unmatched['matching']['open']} wait")
    print(f"matched {counts['collectives']} of {wanted} collectives; awaited: rank {waits['awaited'][0]['rank']}, "
          f"{waits['awaited'][0]['times']} times")
    if counts["collectives"] != wanted or [row["rank"] for row in waits["awaited"]] != [ranks - 1]:
        raise Failure(f"not all was matched: {counts} {waits}")
    if unmatched["matching"]["collectives"] or not unmatched["matching"]["incomplete"]:
        raise Failure(f"matched without a rank: {unmatched['matching']}")
    if max(share, full - base) > SHARE or max(mib, full_mib) - base_mib > MEMORY_MIB:
        raise Failure("a limit is missed")


main(test)
