#!/usr/bin/python3
"""hookcli why on jobs in which one rank has a fault of a known kind, and on jobs without a fault: the first finding names the kind and the
rank, and nothing is claimed without a fault.

    test_why_faults.py BUILD RUNS

Half of the seeded RUNS have a fault. As many ranks run as the machine has processors, at most 8. Prints the table of what was said.
"""
import collections
import json
import os
import random
import sys

from harness import expect_true, main

STEPS = 800
KINDS = {"work": "late-rank", "sleep": "late-rank", "read": "late-rank", "leak": "memory-growth", "small": "small-messages", "crash": "death"}
CAUSES = {"sleep": "nanosleep", "read": "read"}
# A rank that is late because it became slow: either may cost more.
SLOW = ("late-rank", "fail-slow")
RIGHT_LEAST, CLAIMS_MOST = 0.95, 0.02


def said(run, number, fault, rank, step, ranks):
    """The findings of a job that suggest a change, the first one first."""
    name = f"fault{number}"
    hooks = ("libc",) if fault == "leak" else ()
    run.trace("mpirun", "-n", str(ranks), run.workload("mpi_faults"), fault, str(rank), str(step), str(STEPS), store=name, hooks=hooks,
              options=("-q", "--job", name), check=fault != "crash", env={"HOOK_BUDGET": "2"})
    findings = json.loads(run.cli("why", run.path(name, name), "--json").stdout)["findings"]
    return [one for one in findings if one["weight"] == "finding"]


def is_right(fault, rank, findings):
    """Whether the first finding is about FAULT. Small messages are a property of the job."""
    if not findings:
        return False
    first = findings[0]
    cause = fault not in CAUSES or first["function"] == CAUSES[fault]
    kinds = SLOW if KINDS[fault] in SLOW else (KINDS[fault],)
    return first["kind"] in kinds and (fault == "small" or first["ranks"] == [rank]) and cause


def shown(findings):
    return findings[0]["kind"] if findings else "nothing"


def test(run, runs):
    ranks = min(len(os.sched_getaffinity(0)), 8)
    if ranks < 2:
        print("one processor: ranks would wait for it in every job")
        sys.exit(77)
    choose = random.Random(18)
    table = collections.defaultdict(collections.Counter)
    right = claims = 0
    for number in range(int(runs)):
        fault = list(KINDS)[number // 2 % len(KINDS)] if number % 2 else "none"
        rank, step = choose.randrange(ranks), choose.randrange(STEPS // 4)
        findings = said(run, number, fault, rank, step, ranks)
        table[fault][shown(findings)] += 1
        good = is_right(fault, rank, findings) if fault != "none" else not [one for one in findings if one["confidence"] != "low"]
        right += good and fault != "none"
        claims += not good and fault == "none"
        if not good:
            print(f"{fault} of rank {rank} from step {step}: " + json.dumps([(one["kind"], one["ranks"], one["function"], one["evidence"]) for one in findings]))
    faulty = int(runs) // 2
    for fault, row in table.items():
        print(f"{fault:6} " + ", ".join(f"{kind} {count}" for kind, count in row.most_common()))
    print(f"{ranks} ranks: right {right} of {faulty} with a fault; claims in {claims} of {int(runs) - faulty} without one")
    expect_true(f"right in {right} of {faulty}", right >= RIGHT_LEAST * faulty)
    expect_true(f"claims in {claims}", claims <= CLAIMS_MOST * (int(runs) - faulty))


if __name__ == "__main__":
    main(test)
