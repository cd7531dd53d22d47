#!/usr/bin/python3
"""Calls left by exceptions, pthread_exit and cancellation, with the C++ runtime in any object: the program notices nothing, and each
call counts once."""
import os

from harness import expect, expect_true, main
from truth import rows_of

ROUNDS, THREADS = 500, 20
PROGRAMS = {"throws": "libthrows_library.so", "throws_static": "libthrows_library_static.so"}
# throws.cc by hand: what the program calls, then what the library does through its own slots.
EXCEPTIONS = {"throws_value": 3 * ROUNDS, "throws_call": 3 * ROUNDS, "throws_plain": 2 * ROUNDS, "throws_object": ROUNDS}
INSIDE = {"throws_value": ROUNDS, "throws_plain": ROUNDS}
TERMINATE = {"throws_never": 1, "throws_call": 1, "throws_value": 1}


def compare(run, name, case):
    """Runs CASE with and without; the report of the first, and what both wrote to stderr."""
    program = os.path.join(run.build, "tests", "integration", "frame", name)
    alone = run.command(program, case, check=False)
    job = f"{name}-{case}"
    traced = run.trace(program, case, hooks=["*:throws_*"], level="record", options=("-q", "--job", job), check=False)
    expect(f"{job}: output", traced.stdout, alone.stdout)
    # A shell's status for the signal that ended it alone.
    expect(f"{job}: exit status", traced.returncode, alone.returncode if alone.returncode >= 0 else 128 - alone.returncode)
    report = run.report(run.path("store", job))
    expect(f"{job}: lost records", [row["lost_records"] for row in report["processes"]], [0])
    return report, traced.stderr, alone.stderr


def expect_calls(what, report, wanted, records=True):
    expect(f"{what}: calls", {key: row["calls"] for key, row in rows_of(report).items()}, wanted)
    if records:
        expect(f"{what}: records", sum(row["records"] for row in report["processes"]), sum(wanted.values()))
        expect(f"{what}: open calls", report["open_calls"], [])


def test(run):
    # Through two copies of libgcc that do not know each other neither an exception nor a forced unwinding passes, with or
    # without us: a hidden one throws and catches by itself.
    for name, library in (PROGRAMS | {"throws_hidden": "libthrows_library_hidden.so"}).items():
        report, _, _ = compare(run, name, "inside")
        wanted = {(library, function): count for function, count in INSIDE.items()}
        expect_calls(f"{name}: inside", report, wanted | {(name, "throws_inside"): ROUNDS})
    for name in PROGRAMS:
        report, _, _ = compare(run, name, "exceptions")
        expect_calls(f"{name}: exceptions", report, {(name, function): count for function, count in EXCEPTIONS.items()})
        report, traced, alone = compare(run, name, "terminate")
        expect(f"{name}: last words", traced, alone)
        # No statistics are closed: open calls are reported as open.
        expect_calls(f"{name}: terminate", report, {(name, function): count for function, count in TERMINATE.items()}, records=False)
        expect(f"{name}: open at the end", sorted(row["function"] for row in report["open_calls"]), sorted(TERMINATE))
        report, traced, _ = compare(run, name, "anywhere")
        calls, turns = sum(row["calls"] for row in rows_of(report).values()), int(traced)
        expect_true(f"{name}: {calls} calls in {turns} turns", turns <= calls <= turns + THREADS)
        expect(f"{name}: open calls", report["open_calls"], [])
    report, _, _ = compare(run, "throws", "threads")
    expect_calls("threads", report, {("throws", "throws_call"): 2 * THREADS})


if __name__ == "__main__":
    main(test)
