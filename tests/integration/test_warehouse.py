#!/usr/bin/python3
"""hooktrace.to_parquet() over fifty jobs: the questions of deploy/docs/warehouse.md give what the jobs were made to show, and the reports' numbers.

`spark`: the same texts in Spark, a job of 10,000 ranks, and one of two million records in bounded memory.
"""
import json
import os
import shutil
import subprocess
import sys

import pythons
import warehouse_jobs
from harness import expect, expect_true, main, wait_for
from machine import namespace_options

HERE = os.path.dirname(os.path.abspath(__file__))
MANY, SHORT_MANY = 10000, 1000
UNUSABLE, FAILED = 125, 1
FEW, PLENTY = 50000, 1000000  # records of each of two processes
# Two million rows of all columns are several times as much.
MORE_KIB = 100 << 10
PEAK = "import hooktrace, resource, sys; hooktrace.to_parquet(*sys.argv[1:]); print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"


def python(run, program, *arguments, **options):
    environment = {"PYTHONPATH": os.pathsep.join([os.path.join(run.build, "python"), HERE]), "HOOK_STORE": run.path("store"),
                   "NODES": "0" if namespace_options() is None else "1", "PYSPARK_PYTHON": program, "SPARK_LOCAL_IP": "127.0.0.1",
                   **options.pop("env", {})}
    return run.command(program, *arguments, env=environment, **options)


def check_questions(run, program, engine, reports):
    with open(run.path("reports.json"), "w", encoding="utf-8") as stream:
        json.dump(reports, stream)
    print(python(run, program, os.path.join(HERE, "warehouse_check.py"), engine, run.path("reports.json")).stdout.strip())


def many_ranks(run, ranks):
    job = run.path("many")
    os.makedirs(job)
    run.command(os.path.join(run.build, "tests", "load", "ranks"), job, ranks, 1)
    return job


def check_edges(run, program, whole, ranks):
    """Odd jobs in one Python; a running one is looked at twice."""
    run.cli("run", "-q", "--store", run.path("odd"), "--job", "none", "--", "mpirun", "--version")
    os.makedirs(run.path("edges"))
    python(run, program, os.path.join(HERE, "warehouse_edges.py"), whole, run.path("odd", "none"), many_ranks(run, ranks), cwd=run.path("edges"))


def check_running(run, program):
    """What is written of a running job is replaced when it has ended."""
    job = subprocess.Popen([run.binary("hookcli"), "run", "-q", "--store", run.path("live"), "--job", "live", "--hooks", "*:told_*", "--",
                            run.workload("told")], env=run.environment(), cwd=run.directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    store = run.path("live", "live")

    def counted(state):
        done = python(run, program, os.path.join(HERE, "warehouse_edges.py"), "running", store, state, cwd=run.path("edges"))
        return int(done.stdout)
    try:
        job.stdin.write(b"one 10\n")
        job.stdin.flush()
        expect("told", job.stdout.readline(), b"done\n")
        wait_for("the job's directory", lambda: os.path.exists(os.path.join(store, "statistics")))
        expect_true("calls so far", counted("running") <= 10)
        job.stdin.write(b"one 20\n")
    finally:
        job.stdin.close()
        job.stdout.read()
        job.stdout.close()
        expect("exit", job.wait(), 0)
    expect("calls at the end", counted("closed"), 30)


def check_memory(run, program):
    """Twenty times as many records take little more memory."""
    peaks = []
    for count in (FEW, PLENTY):
        job = run.path(f"records-{count}")
        os.makedirs(job)
        run.command(os.path.join(run.build, "tests", "load", "records"), job, 2, count)
        peaks.append(int(python(run, program, "-c", PEAK, job, run.path("bounded", str(count))).stdout))
    expect_true(f"peaks of memory in KiB: {peaks}", peaks[1] - peaks[0] < MORE_KIB)


def check_command(run, program, whole):
    """python -m hooktrace parquet."""
    def command(*words, with_program=program):
        return python(run, with_program, "-m", "hooktrace", "parquet", *words, check=False)
    done = command("--to", run.path("cli"), "--tables", "functions", "--version", "7", whole)
    expect("exit", (done.returncode, done.stdout, done.stderr), (0, "", ""))
    expect("tables", sorted(os.listdir(run.path("cli"))), ["functions", "jobs"])
    shutil.copytree(whole, run.path("bad"))
    for name in os.listdir(whole):
        with open(run.path("bad", name), "w", encoding="utf-8") as stream:
            stream.write("no job")
    done = command("--to", run.path("cli"), whole, run.path("bad"))
    expect("exit", (done.returncode, "left out" in done.stderr), (FAILED, True))
    for words, said in ((("--to", "x", "--version-pattern", "(", whole), "invalid --version-pattern"), (("--to", "x", "nothing"), "no job 'nothing'")):
        done = command(*words)
        expect_true(f"{words}: {done.stderr}", done.returncode != 0 and said in done.stderr and "Traceback" not in done.stderr)
    if subprocess.run(["/usr/bin/python3", "-c", "import pyarrow"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        done = command("--to", run.path("none"), whole, with_program="/usr/bin/python3")
        expect("without pyarrow", (done.returncode, "pip install pyarrow" in done.stderr), (UNUSABLE, True))


def test(run, mode=""):
    if not os.path.exists(os.path.join(run.build, "python", "hooktrace", "_reader.abi3.so")):
        print("the package is not built: no headers of Python")
        sys.exit(77)
    if mode == "spark" and not shutil.which("java"):
        print("Spark needs Java: deploy/install.sh --long")
        sys.exit(77)
    program = pythons.with_packages(run, "spark", "pyarrow", "duckdb", "pyspark") if mode == "spark" else pythons.arrow(run)
    jobs = warehouse_jobs.record(run)
    reports = warehouse_jobs.reports(run, jobs)
    check_questions(run, program, mode or "duckdb", reports)
    ranks = next(job for job in jobs if "ranks" in job)
    check_edges(run, program, ranks, MANY if mode == "spark" else SHORT_MANY)
    if mode == "spark":
        python(run, program, os.path.join(HERE, "warehouse_edges.py"), "spark", cwd=run.path("edges"))
        check_memory(run, program)
    check_running(run, program)
    check_command(run, program, ranks)


if __name__ == "__main__":
    main(test)
