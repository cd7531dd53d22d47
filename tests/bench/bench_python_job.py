#!/usr/bin/python3
"""Reading a job's records from Python beside writing them as CSV: bench_python_job.py BUILD_DIR [PROCESSES RECORDS].

The job is one of `load/records`. `Job.records()` is read to its end, with all columns and with three, in turns with
`hookcli export --format csv`. Processor time is compared: the machine may be busy. Memory must not grow with the records.
"""
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

from harness import Failure, Run, main  # pylint: disable=wrong-import-position

PROCESSES, RECORDS, TURNS = 8, 500000, 3
FASTER = 2.0  # at least, than the CSV
MEMORY_MIB = 256
READ = """
import resource, sys, hooktrace
job = hooktrace.open(sys.argv[1])
columns = sys.argv[2].split(",") if sys.argv[2] else None
rows = sum(len(table) for table in job.records(columns=columns))
print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def busy_s(run, *command, **options):
    """Processor time of COMMAND, and what it printed."""
    before = os.times()
    done = run.command(*command, timeout=3000, **options)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system, done.stdout


def read(run, job, columns):
    took, text = busy_s(run, sys.executable, "-c", READ, job, columns, env={"PYTHONPATH": os.path.join(run.build, "python")})
    rows, memory = text.split()
    return took, int(rows), float(memory)


def test(run: Run, processes=PROCESSES, records=RECORDS):
    if not os.path.exists(os.path.join(run.build, "python", "hooktrace", "_reader.abi3.so")):
        print("the package is not built: no headers of Python")
        sys.exit(77)
    job, total = run.path("job"), int(processes) * int(records)
    os.mkdir(job)
    run.command(run.build + "/tests/load/records", job, processes, records, timeout=600)
    times, memory = {"csv": [], "all columns": [], "three columns": []}, 0.0
    for _ in range(TURNS):
        times["csv"].append(busy_s(run, run.binary("hookcli"), "export", job, "--format", "csv", "-o", "/dev/null")[0])
        for name, columns in (("all columns", ""), ("three columns", "rank,function,duration_ns")):
            took, rows, mib = read(run, job, columns)
            if rows != total:
                raise Failure(f"{rows} of {total} records")
            times[name].append(took)
            memory = max(memory, mib)
    took = {name: statistics.median(each) for name, each in times.items()}
    for name, seconds in took.items():
        print(f"{name:>13}: {total / seconds / 1e6:6.2f} M records per second of processor time, {took['csv'] / seconds:.2f} x CSV")
    print(f"memory: {memory:.0f} MiB, limit {MEMORY_MIB}")
    if took["csv"] / took["all columns"] < FASTER or memory > MEMORY_MIB:
        raise Failure("a limit is missed")


main(test)
