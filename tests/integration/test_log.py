#!/usr/bin/python3
"""hookcli log prints every recorded call once, in order of time over the ranks, and follows a job while it runs."""
import collections
import os
import re
import subprocess

from harness import RANKS, expect, expect_true, main, total_calls, wait_for

LINE = re.compile(r"^(-?\d+\.\d{9}) (\d+|-)(/helper)? (\d+) (\S+) (\w+)\((.*)\)( = .*?)?( failed| never returned)? <([\d.]+)(us|ms|s)>$")


def parse(text):
    calls = []
    for line in text.splitlines():
        match = LINE.match(line)
        expect_true(f"a line of the log is {line!r}", match)
        calls.append(match)
    return calls


def check_stored(run):
    run.trace("mpirun", "-n", RANKS, run.workload("mpi_truth"), run.directory, hooks=["mpi"], level="record", options=("--job", "mpi"))
    store = run.path("store", "mpi")
    report = run.report(store)
    calls = parse(run.cli("log", store).stdout)
    expect("calls", collections.Counter((int(call[2]), call[6]) for call in calls if not call[3]), total_calls(report))
    times = [call[1] for call in calls]
    expect("order", times, sorted(times, key=lambda time: tuple(map(int, time.split(".")))))
    expect_true("ranks are not mixed", len({call[2] for call in calls[:len(calls) // 2]}) > 1)
    expect_true("named values", any("peer=" in call[7] and "bytes=" in call[7] for call in calls if call[6] == "MPI_Send"))
    # Filters against the same lines.
    expect("--ranks", run.cli("log", store, "--ranks", "1,3").stdout.count("\n"), sum(call[2] in "13" for call in calls))
    unit = {"us": 1e-6, "ms": 1e-3, "s": 1}
    chosen = [call[0] for call in calls if call[6].startswith("MPI_B") and float(call[10]) * unit[call[11]] > 20e-6]
    expect("--filter", run.cli("log", store, "--filter", "function=MPI_B* and duration>20us").stdout.splitlines(), chosen)
    expect("a filter that makes no sense", run.cli("log", store, "--filter", "function>a", check=False).returncode, 2)


def check_errors(run):
    missing = run.path("missing")
    run.trace("/bin/cat", "/dev/null", missing, hooks=["libc"], level="record+args", options=("--job", "errors"), check=False)
    store = run.path("store", "errors")
    failed = [call for call in parse(run.cli("log", store, "--filter", "error and function=open*").stdout) if missing in call[7]]
    expect("the failing call", [(call[8], call[9]) for call in failed], [(" = -1", " failed")])
    report = run.report(store)
    expect("failures", run.cli("log", store, "--filter", "error").stdout.count("\n"),
           sum(row["errors"] for row in report["calls"]))


def check_pipe(run):
    """A reader that goes away ends the log without a word."""
    log = subprocess.Popen([run.binary("hookcli"), "log", run.path("store", "mpi")], env=run.environment(),
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    log.stdout.readline()
    log.stdout.close()
    expect("stderr of a broken pipe", log.stderr.read(), b"")
    log.stderr.close()
    log.wait()


def check_follow(run):
    """cat says by its output which of its calls are over: then the log must show them, while cat lives."""
    store = run.path("store", "live")
    job = subprocess.Popen([run.binary("hookcli"), "run", "-q", "--store", run.path("store"), "--job", "live", "--hooks", "libc",
                            "--level", "record+args", "--", "/bin/cat"], env=run.environment(), stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, cwd=run.directory)
    log = None
    try:
        job.stdin.write(b"first\n")
        job.stdin.flush()
        expect("cat", job.stdout.readline(), b"first\n")
        wait_for("the job's directory", lambda: os.path.exists(os.path.join(store, "statistics")))
        log = subprocess.Popen([run.binary("hookcli"), "log", "--follow", store, "--filter", "function=write"],
                               env=run.environment(), stdout=subprocess.PIPE, text=True)
        line = log.stdout.readline()
        expect_true(f"the line of the first write: {line!r}", "write(fd=1, " in line and "count=6) = 6 <" in line)
        expect("the job while its call is shown", job.poll(), None)
        job.stdin.write(b"and the second\n")
        job.stdin.flush()
        line = log.stdout.readline()
        expect_true(f"the line of the second write: {line!r}", "count=15) = 15 <" in line)
        expect("the job while its second call is shown", job.poll(), None)
        job.stdin.write(b"3\n")
        job.stdin.close()
        lines = log.stdout.read().splitlines()
        expect_true(f"the lines at the end: {lines}", len(lines) == 1 and "count=2) = 2 <" in lines[0])
        expect("exit of the log", log.wait(), 0)
        expect("exit of the job", job.wait(), 0)
    finally:
        for process in filter(None, (job, log)):
            if process.poll() is None:
                process.kill()
                process.wait()
            process.stdout.close()
    stored = parse(run.cli("log", store).stdout)
    expect("the log afterwards", sum(call[6] == "write" for call in stored), 3)
    expect("following what has ended", run.cli("log", "-f", store).stdout, run.cli("log", store).stdout)


def check_advice(run):
    """Functions whose own level is time leave no records at --level record: the advice that is given works."""
    def traced(name, level):
        run.cli("run", "-q", "--store", run.path("advice"), "--job", name, "--level", level, "--", "cat", "/dev/null")
        return run.path("advice", name)
    store = traced("without", "record")
    told = [run.cli("log", store).stderr, run.cli("export", "--format", "csv", store).stderr]
    for text in told:
        level = re.search(r"no records: run with --level '(.*)' to", text)
        expect_true(f"the advice: {text!r}", level and parse(run.cli("log", traced(f"with-{told.index(text)}", level.group(1))).stdout))


def test(run):
    check_advice(run)
    check_stored(run)
    check_errors(run)
    check_pipe(run)
    check_follow(run)


if __name__ == "__main__":
    main(test)
