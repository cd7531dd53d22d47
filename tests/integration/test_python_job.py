#!/usr/bin/python3
"""hooktrace.open() gives what hookcli gives: every row of the CSV, every number of the report, of whole, hurt and running jobs.

`arrow`: with pyarrow, pandas, polars and DuckDB from PyPI.
"""
import json
import os
import random
import re
import shutil
import subprocess
import sys

import pythons
from harness import RANKS, Failure, expect, expect_true, main, total_calls, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
CHECK = os.path.join(HERE, "job_check.py")
SEED, FLIPS = 26, 60
FAILED = 1
LINE = re.compile(r"^(-?)(\d+)\.(\d{9}) (\d+|-)(?:/helper)? \d+ \S+ (\w+)\(")


def python(run, program, *arguments, **options):
    environment = {"PYTHONPATH": os.path.join(run.build, "python"), **options.pop("env", {})}
    return run.command(program, *arguments, env=environment, **options)


def written(run, job, name, *options):
    """The path of what hookcli writes of JOB."""
    path = run.path(name)
    run.cli(options[0], job, *options[1:], "-o", path)
    return path


def compare(run, job, programs):
    files = (written(run, job, "calls.csv", "export", "--format", "csv"), written(run, job, "report.json", "report", "--format", "json"),
             written(run, job, "stacks.json", "report", "--by", "stack", "--format", "json"))
    for _, program in programs:
        print(os.path.basename(job), python(run, program, CHECK, "compare", job, *files).stdout.strip())


def check_parts(run, job, program):
    """Ranks and times are chosen as by the options of export."""
    report = run.report(job)
    middle = report["ranks"][0]["start_ns"] + 3 * (report["ranks"][0]["end_ns"] - report["ranks"][0]["start_ns"]) // 4
    for ranks, start, end in (("1,3", None, None), ("", middle, None), ("", None, middle), ("0", middle, middle + 1000000)):
        options = ["--ranks", ranks] if ranks else []
        options += ["--from", f"{start}ns"] if start is not None else []
        options += ["--to", f"{end}ns"] if end is not None else []
        calls = written(run, job, "part.csv", "export", "--format", "csv", *options)
        python(run, program, CHECK, "compare", job, calls, "", "", ranks, start if start is not None else "", end if end is not None else "")


def check_log(run, job, opened):
    """The lines of the log are the records in order of their starts."""
    lines = [LINE.match(line) for line in run.cli("log", job).stdout.splitlines()]
    logged = [(int(line[1] + line[2] + line[3]), -1 if line[4] == "-" else int(line[4]), line[5]) for line in lines]
    rows = [row for table in opened.records(columns=["start_ns", "rank", "function"]) for row in table.rows()]
    expect_true("the job has calls", len(rows) > 1000)
    expect("the log's calls", sorted((row["start_ns"], row["rank"], row["function"]) for row in rows), sorted(logged))


def check_counts(run, job, opened):
    """The records are the calls that the report counts."""
    counts = {}
    for table in opened.records(columns=["rank", "role", "function"]):
        for row in table.rows():
            if row["role"] == "main":
                counts[row["rank"], row["function"]] = counts.get((row["rank"], row["function"]), 0) + 1
    expect("calls", counts, dict(total_calls(run.report(job))))


def check_findings(run, job, opened):
    """What the summary says behind an exclamation mark is among the findings."""
    said = [line[2:] for line in run.cli("report", job).stdout.splitlines() if line.startswith("! ")]
    found = [row["evidence"] for row in opened.findings().rows() if row["weight"] in ("warning", "finding")]
    expect_true(f"{said} among {found}", said and set(said) <= set(found))


def check_nodes(run, program, jobs):
    """Of a directory with one directory per node, all processes are read."""
    whole = run.path("store", "nodes")
    for number, job in enumerate(jobs):
        node = os.path.join(whole, f"n{number}")
        shutil.copytree(job, node)
        with open(os.path.join(node, "node"), "w", encoding="utf-8") as stream:
            stream.write("made by a test")
    compare(run, whole, [("", program)])


def hurt_jobs(run, whole, chance):
    """Copies of the job WHOLE whose files are not well."""
    chunks = max((name for name in os.listdir(whole) if name.endswith(".chunks")), key=lambda name: os.path.getsize(os.path.join(whole, name)))
    changes = [(chunks, lambda data: data[:-100]), (chunks, lambda data: data[:len(data) // 2]), (chunks, lambda data: b""),
               (chunks, lambda data: b"no chunk " * 1000), (chunks, lambda data: data + b"garbage" * 50),
               ("statistics", lambda data: data[:len(data) // 2]), ("statistics", lambda data: b""), ("job.json", lambda data: b"{")]

    def flipped(data):
        at = chance.randrange(len(data))
        return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1:]
    changes += [(chance.choice((chunks, chunks, "statistics")), flipped) for _ in range(FLIPS)]
    for number, (name, change) in enumerate(changes):
        job = run.path("hurt", str(number))
        shutil.copytree(whole, job)
        with open(os.path.join(job, name), "rb") as stream:
            data = stream.read()
        with open(os.path.join(job, name), "wb") as stream:
            stream.write(change(data))
        yield job


def check_damage(run, whole, programs):
    """As many rows as the CSV of the same files has, and damage where hookcli says so; never a crash."""
    jobs = list(hurt_jobs(run, whole, random.Random(SEED)))
    wanted = []
    for job in jobs:
        done = run.cli("export", job, "--format", "csv", "-o", run.path("hurt.csv"), check=False)
        rows = None
        if done.returncode <= FAILED and os.path.exists(run.path("hurt.csv")):
            # No field of this job has a newline.
            with open(run.path("hurt.csv"), encoding="utf-8") as stream:
                rows = {"rows": sum(1 for _ in stream) - 1, "damaged": done.returncode == FAILED}
            os.unlink(run.path("hurt.csv"))
        wanted.append(rows)
    expect_true("jobs are hurt", sum(bool(row and row["damaged"]) for row in wanted) > FLIPS // 4)
    for version, program in programs:
        found = json.loads(python(run, program, CHECK, "read", *jobs).stdout)
        for job, got, want in zip(jobs, found, wanted):
            expect(f"Python {version}: {job}", got, want)


def check_running(run, open_job):
    """cat says by its output which of its calls are over: then the records have them while cat lives."""
    job = subprocess.Popen([run.binary("hookcli"), "run", "-q", "--store", run.path("store"), "--job", "live", "--hooks", "libc", "--level",
                            "record+args", "--", "/bin/cat"], env=run.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=run.directory)
    try:
        job.stdin.write(b"first\n")
        job.stdin.flush()
        expect("cat", job.stdout.readline(), b"first\n")
        store = run.path("store", "live")
        wait_for("the job's directory", lambda: os.path.exists(os.path.join(store, "statistics")))

        def first_write():
            rows = [row for table in open_job(store).records(columns=["function", "returned"]) for row in table.rows()]
            return [row["returned"] for row in rows if row["function"] == "write"]
        expect("what the first write returned", wait_for("the first write", first_write), ["6"])
        expect("the job is open", (open_job(store).closed, job.poll()), (False, None))
    finally:
        job.stdin.close()
        job.stdout.close()
        job.wait()


def refused(kind, call):
    try:
        call()
    except kind as error:
        return str(error)
    raise Failure(f"no {kind.__name__}")


def check_names(run, open_job):
    """Jobs by directory, id, beginning of an id, and none; and what is missing is said."""
    wanted = os.path.realpath(run.path("store", "mpi"))
    for name in (wanted, "mpi", "mp"):
        expect(f"the job '{name}'", open_job(name).directory, wanted)
    last = os.path.realpath(run.path("store", "hook-last"))
    os.chdir(run.path("store"))
    expect("the last job", open_job().directory, last)
    expect_true("no such id", "hookcli ls" in refused(FileNotFoundError, lambda: open_job("nothing")))
    expect_true("no such directory", "holds no job" in refused(FileNotFoundError, lambda: open_job(run.path("nothing"))))
    expect_true("a directory without a job", "holds no job" in refused(FileNotFoundError, lambda: open_job("/usr/bin")))
    if not any(os.path.exists(os.path.join(path, "pyarrow")) for path in sys.path):
        expect_true("no pyarrow", "pip install pyarrow" in refused(ImportError, lambda: open_job("mpi").to_parquet(run.path("parquet"))))


def check_alone(run, hooktrace):
    """Without hookcli the report is that of the job's end."""
    hooktrace.hookcli.find = lambda: None
    job = hooktrace.open(run.path("store", "mpi"))
    with open(os.path.join(job.directory, "report.json"), encoding="utf-8") as stream:
        expect("the stored report", job.report, json.load(stream))
    expect("ranks", job.ranks().column("rank"), list(range(RANKS)))
    expect_true("stacks need hookcli", "hooktrace-tools" in refused(FileNotFoundError, job.stacks))


def trace_all(run):
    frame = os.path.join(run.build, "tests", "integration", "frame")
    run.trace("mpirun", "-n", RANKS, run.workload("mpi_truth"), run.directory, hooks=["mpi"], level="record+args", options=("--job", "mpi"))
    run.trace("mpirun", "-n", RANKS, run.workload("simcuda/cuda_steps"), hooks=["mpi", "cuda"], level="record", options=("--job", "steps"))
    run.trace(os.path.join(frame, "shapes"), hooks=["*:shape_*"], level=["*=record", "shape_recurse=count"], options=("--job", "shapes"))
    run.trace(os.path.join(frame, "annotations"), level="record", options=("--job", "annotations"))
    run.trace("/usr/bin/python3", "-c", "import json", hooks=["libc"], level=["*=count", "malloc=record+stack"], options=("--job", "stacks"))
    return [run.path("store", name) for name in ("steps", "shapes", "annotations", "stacks", "mpi")]


def check_arrow(run, jobs):
    program = pythons.arrow(run)
    for job in jobs:
        print(python(run, program, os.path.join(HERE, "job_arrow_check.py"), job, run.path("parquet", os.path.basename(job))).stdout.strip())


def test(run, mode=""):
    if not os.path.exists(os.path.join(run.build, "python", "hooktrace", "_reader.abi3.so")):
        print("the package is not built: no headers of Python")
        sys.exit(77)
    jobs = trace_all(run)
    if mode == "arrow":
        check_arrow(run, jobs)
        return
    programs = pythons.found()
    pythons.say_left_out([version for version, _ in programs])
    # One of each end of the range.
    ends = list({version: (version, path) for version, path in programs if version in ("3.8", "3.13")}.values()) or programs[:1]
    for job in jobs:
        compare(run, job, programs if job == jobs[0] else ends)
    check_parts(run, jobs[-1], programs[0][1])
    check_nodes(run, ends[0][1], [run.path("store", name) for name in ("annotations", "stacks")])
    check_damage(run, run.path("store", "annotations"), ends)
    sys.path.insert(0, os.path.join(run.build, "python"))
    os.environ.update({**run.environment(), "HOOK_STORE": run.path("store")})
    import hooktrace
    check_log(run, jobs[-1], hooktrace.open(jobs[-1]))
    check_counts(run, jobs[-1], hooktrace.open(jobs[-1]))
    check_findings(run, run.path("store", "annotations"), hooktrace.open(run.path("store", "annotations")))
    check_names(run, hooktrace.open)
    check_running(run, hooktrace.open)
    check_alone(run, hooktrace)


if __name__ == "__main__":
    main(test)
