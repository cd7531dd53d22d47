#!/usr/bin/python3
"""Four ranks of PyTorch's data-parallel training under torchrun, traced from Python functions down to C calls, by an agent that was loaded
after torch and by one that was preloaded. They are one job, in which ranges, Python functions, APIs and C calls nest, and whose numbers in
Python are those of the report. TORCH_PYTHON names a Python with another torch."""
import importlib
import os
import sys

from harness import RANKS, Run, expect, expect_true, main, wait_for

STEPS, LAYERS = 4, 2
SCRIPT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "workloads", "torch_nested.py"))
# A call's end reads the clock before the end of the one around it; where the clock is read out of order they may change places.
OUT_OF_ORDER_NS = 100
CHAIN = ("training step", "train_step (", "torch.nn.functional.linear", "sgemm_")


def torchrun(python):
    return [python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(RANKS), SCRIPT]


def record(run: Run, form, python):
    """The job's directory."""
    store, environment = run.path(f"store-{form}"), {"PYTHONPATH": os.path.join(run.build, "python")}
    if form == "late":
        run.command(*torchrun(python), "late", store, env=environment)
    else:
        run.trace(*torchrun(python), "preloaded", store=f"store-{form}", level=["record", "writev=record"], options=("--job", "nested"), env=environment)
    return os.path.join(store, "nested")


def check_nesting(what, calls):
    """CALLS of one thread by start, the outer one first. Returns how many end within each other."""
    open_ends, nested = [], 0
    for start, duration, function in calls:
        end = start + duration
        while open_ends and open_ends[-1][0] <= start + OUT_OF_ORDER_NS:
            open_ends.pop()
        if open_ends:
            expect_true(f"{what}: {function} at {start} ends {end - open_ends[-1][0]} ns after {open_ends[-1][1]}, which it began in",
                        end <= open_ends[-1][0] + OUT_OF_ORDER_NS)
            nested += 1
        open_ends.append((end, function))
    return nested


def check_chain(what, calls):
    """In each step, one call of each function of CHAIN contains the next one."""
    for step in [call for call in calls if call[2] == CHAIN[0]]:
        around = step
        for name in CHAIN[1:]:
            inside = [call for call in calls if call[2].startswith(name) and around[0] <= call[0] and call[0] + call[1] <= around[0] + around[1] + OUT_OF_ORDER_NS]
            expect_true(f"{what}: no {name} in {around[2]}", inside)
            around = inside[0]


def check_rank(what, job, rank):
    threads = {}
    columns = ["tid", "start_ns", "duration_ns", "function", "domain"]
    for table in job.records(ranks=rank, columns=columns):
        for row in table.rows():
            threads.setdefault(row["tid"], []).append((row["start_ns"], row["duration_ns"], row["function"]))
    nested = 0
    for tid, calls in threads.items():
        calls.sort(key=lambda call: (call[0], -call[1]))
        nested += check_nesting(f"{what}, thread {tid}", calls)
    main_thread = next(calls for calls in threads.values() if any(call[2] == CHAIN[0] for call in calls))
    counts = [sum(call[2].startswith(name) for call in main_thread) for name in CHAIN[:3]]
    expect(f"{what}: counts of {CHAIN[:3]}", counts, [STEPS, STEPS, STEPS * LAYERS])
    check_chain(what, main_thread)
    written = sum(call[2] in ("writev", "sendmsg", "send", "write") for calls in threads.values() for call in calls)
    expect_true(f"{what}: gloo writes nothing to its sockets", written)
    return sum(map(len, threads.values())), nested


def check_report(what, job, report):
    mine = {(row["rank"], row["role"], row["function"], row["library"]): (row["calls"], row["total_ns"]) for row in job.calls().rows()}
    theirs = {(row["rank"], row["role"], row["function"], row["library"]): (row["calls"], row["total_ns"]) for row in report["calls"]}
    expect(f"{what}: calls of the report", mine, theirs)


def closed(run, directory):
    report = run.report(directory)
    return report if report["job"]["closed"] else None


def check(run: Run, form, python, hooktrace):
    directory = record(run, form, python)
    report = wait_for("the job to be closed", lambda: closed(run, directory))
    job = hooktrace.open(directory)
    expect(f"{form}: ranks", [row["rank"] for row in job.ranks().rows()], list(range(RANKS)))
    expect(f"{form}: lost", sum(row["lost_records"] for row in report["ranks"]), 0)
    for rank in range(RANKS):
        records, nested = check_rank(f"{form}, rank {rank}", job, rank)
        print(f"{form}, rank {rank}: {records} calls, {nested} of them within others")
    check_report(form, job, report)


def test(run: Run):
    python = os.environ.get("TORCH_PYTHON", sys.executable)
    sys.path.insert(0, os.path.join(run.build, "python"))
    hooktrace = importlib.import_module("hooktrace")
    for form in ("late", "preloaded"):
        check(run, form, python, hooktrace)


if __name__ == "__main__":
    main(test)
