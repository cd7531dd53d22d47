#!/usr/bin/python3
"""hookcli why on jobs that use their time badly on all ranks: many small messages, slow files, a slow data loader. The programs know what they
pass, and for how long they wait; the same programs with large messages, fast files and a fast loader are not named.

    test_why_usage.py BUILD [SEED]
"""
import json
import os
import random
import re
import sys

from harness import expect_true, main

WORKLOADS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "workloads")
RANKS = 2
MANY = 5500  # messages a second of a rank
SMALL, LARGE = (1, 8, 200, 1000), (4096, 65536)
# For a second at least, and until the share of a processor that it got says the same as the code: other tests take theirs.
COMPUTES = """
import time
start = time.monotonic()
while time.monotonic() < start + 1 or time.process_time() < 0.6 * (time.monotonic() - start):
    sum(range(1000))
"""
RETRIES = """
import os, sys, time
failed, end = 0, time.monotonic() + 1
while time.monotonic() < end:
    try:
        os.close(os.open(sys.argv[1], os.O_RDONLY))
    except FileNotFoundError:
        failed += 1
print(failed)
"""
NAMED_FROM = 0.08
SHARE = 0.15  # between our times and the program's, which include more


def findings_of(run, job):
    findings = json.loads(run.cli("why", job, "--json").stdout)["findings"]
    return {one["kind"]: one for one in findings if one["weight"] == "finding"}


def traced(run, name, *command, preload=(), options=(), **environment):
    """What the program printed, and the findings by kind."""
    libraries = " ".join(run.workload(f"lib{library}.so") for library in preload)
    environment = {**({"LD_PRELOAD": libraries} if libraries else {}), **environment}
    done = run.trace(*command, store=name, options=("-q", "--job", name, *options), env={"HOOK_BUDGET": "2", **environment})
    return done.stdout, findings_of(run, run.path(name, name))


def wall_s(run, name):
    return [(row["end_ns"] - row["start_ns"]) / 1e9 for row in run.report(run.path(name, name))["ranks"]]


def messages(run, choose):
    for how, total in (("blocking", 100_000), ("requests", 100_000), ("wait", 20_000)):
        size, count = choose.choice(SMALL), choose.randrange(50, 150)
        name = f"small-{how}"
        shown, found = traced(run, name, "mpirun", "-n", RANKS, run.workload("mpi_traffic"), how, size, count, total // count, preload=("gentle_yield",))
        passed = sum(int(line.split()[1]) for line in shown.splitlines())
        truth = passed / sum(wall_s(run, name))
        if truth < MANY:
            print(f"{name}: {truth:.0f} messages a second, on a busy machine")
            continue
        expect_true(f"{name}: {sorted(found)}", "small-messages" in found)
        said = found["small-messages"]
        rate, unit = re.search(r"passes ([\d.]+)([kM]?) messages of", said["evidence"]).groups()
        rate = float(rate) * {"": 1, "k": 1e3, "M": 1e6}[unit]
        expect_true(f"{name}: {said['evidence']}, not {truth}", abs(rate - truth) <= 0.01 * truth + 1)
        expect_true(f"{name}: {said['function']}", said["function"] in ("MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv", "MPI_Wait", "MPI_Waitall"))
        name = f"large-{how}"
        _, found = traced(run, name, "mpirun", "-n", RANKS, run.workload("mpi_traffic"), how, choose.choice(LARGE), count, 10_000 // count,
                          preload=("gentle_yield",))
        expect_true(f"{name}: {sorted(found)}", "small-messages" not in found)


def files(run, choose):
    for how, function in (("read", "pread64"), ("write", "pwrite64"), ("sync", None)):
        steps, us = choose.randrange(150, 300), choose.randrange(4000, 8000)
        name = f"files-{how}"
        shown, found = traced(run, name, "mpirun", "-n", RANKS, run.workload("mpi_files"), how, steps, preload=("gentle_yield", "slow_disk"),
                              SLOW_DISK_US=str(us))
        moved, spent = (sum(int(line.split()[column]) for line in shown.splitlines()) for column in (1, 2))
        expect_true(f"{name}: {sorted(found)}", "slow-io" in found)
        said = found["slow-io"]
        expect_true(f"{name}: {said['cost_ns']} and {spent}", (1 - SHARE) * spent <= said["cost_ns"] <= (1 + SHARE) * spent)
        expect_true(f"{name}: {said['function']}", function is None or said["function"].replace("64", "") == function.replace("64", ""))
        number, unit = re.search(r"([\d.]+) (\w*B)/s", said["evidence"]).groups()
        speed = float(number) * {"B": 1, "KiB": 1024, "MiB": 1024 ** 2, "GiB": 1024 ** 3}[unit]
        truth = moved / (said["cost_ns"] / 1e9)
        expect_true(f"{name}: {said['evidence']}, not {truth}", abs(speed - truth) <= SHARE * truth)
    _, found = traced(run, "files-fast", "mpirun", "-n", RANKS, run.workload("mpi_files"), "read", 300, preload=("gentle_yield",))
    expect_true(f"fast files: {sorted(found)}", "slow-io" not in found)


def loader(run, name, how, batch_ms, steps, interpreter=sys.executable, **environment):
    shown, found = traced(run, name, interpreter, os.path.join(WORKLOADS, "python_loader.py"), how, batch_ms, steps,
                          PYTHONPATH=os.path.join(run.build, "python"), **environment)
    return *map(int, shown.split()), found


def loaders(run):
    # Where a batch comes in parts, the queue waits for the first one in poll, for the others in read.
    for how, functions in (("queue", ("poll", "read")), ("pipe", ("read",))):
        waited, _, found = loader(run, f"slow-{how}", how, 20, 100)
        expect_true(f"{how}: {sorted(found)}", "slow-loader" in found)
        said = found["slow-loader"]
        expect_true(f"{how}: the function is {said['function']}", said["function"] in functions)
        expect_true(f"{how}: {said['cost_ns']} and {waited}", (1 - 2 * SHARE) * waited <= said["cost_ns"] <= (1 + SHARE) * waited + 1e8)
        # On a busy machine the workers may really be late.
        waited, took, found = loader(run, f"fast-{how}", how, 0, 300)
        expect_true(f"fast {how}: {sorted(found)}, waited {waited} of {took}", "slow-loader" not in found or waited > NAMED_FROM * took)
    waited, _, found = loader(run, "slow-files", "files", 0, 100, LD_PRELOAD=run.workload("libslow_disk.so"), SLOW_DISK_US="1000")
    expect_true(f"files: {sorted(found)}", "slow-io" in found)
    expect_true(f"files: {found['slow-io']['cost_ns']} and {waited}", (1 - SHARE) * waited <= found["slow-io"]["cost_ns"] <= (1 + SHARE) * waited)


def retries(run):
    """A file is opened again and again: one that is not there, and one that is. The program counts how often it fails."""
    for name, path in (("missing", run.path("missing")), ("there", "/dev/null")):
        shown, found = traced(run, f"retries-{name}", sys.executable, "-c", RETRIES, path, HOOK_BUDGET="off")
        expect_true(f"{name}: {sorted(found)}", ("retried-errors" in found) == (name == "missing"))
        if name == "missing":
            said = found["retried-errors"]
            failed, calls = map(int, re.match(r"(\d+) of (\d+) calls fail", said["details"][0]).groups())
            # The interpreter looks for files as well when it starts.
            expect_true(f"{said['details']}, not {shown}", int(shown) <= failed <= calls <= int(shown) + 1000)
            expect_true(f"the function is {said['function']}", said["function"].startswith("open"))


def beyond_default_hooks(run):
    """What the default hooks cannot show: why says what to turn on."""
    with open(run.path("own.py"), "w", encoding="ascii") as script:
        script.write(COMPUTES)
    run.trace(sys.executable, run.path("own.py"), store="own", options=("-q", "--job", "own"))
    shown = run.cli("why", run.path("own", "own")).stdout
    expect_true(shown, "in no hooked call" in shown and "python3 -m hooktrace run --python" in shown)
    with open(run.path("sleep.py"), "w", encoding="ascii") as script:
        script.write("import time\nfor _ in range(100):\n    time.sleep(0.005)\n")
    for name, options, wanted in (("sleep", (), "run with --level 'clock_nanosleep=record+stack'"),
                                  ("stacks", ("--level", "clock_nanosleep=record+stack"), "hookcli report stacks --by stack --function")):
        run.trace(sys.executable, run.path("sleep.py"), store=name, options=("-q", "--job", name, *options))
        shown = " ".join(run.cli("why", run.path(name, name)).stdout.split())
        expect_true(f"{wanted} in {shown}", wanted in shown)
        expect_true(shown, ("run with --level" in shown) == (name == "sleep"))


def test(run, seed=18):
    choose = random.Random(int(seed))
    messages(run, choose)
    files(run, choose)
    loaders(run)
    retries(run)
    beyond_default_hooks(run)


if __name__ == "__main__":
    main(test)
