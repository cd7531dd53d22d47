"""Fifty jobs of a month, recorded in seconds, with known truths: for test_warehouse.py.

On each of ten days a collector whose clock is that many days behind records four jobs of `told` and one of three MPI ranks.
"""
import json
import os
import subprocess
from collections import namedtuple

from harness import MPI_ENVIRONMENT, TIMEOUT, end_process, expect
from machine import NAMED, namespace_options

Day = namedtuple("Day", "ago version nap_ns")
MS = 1000000
DAYS = [Day(29, "1.0", 2 * MS), Day(28, "1.0", 2 * MS), Day(26, "1.0", 2 * MS), Day(24, "1.0", 2 * MS), Day(19, "1.1", 8 * MS), Day(14, "1.1", 8 * MS),
        Day(10, "1.1", 8 * MS), Day(5, "2.0", 32 * MS), Day(2, "2.0", 32 * MS), Day(0, "2.0", 32 * MS)]
TOLD_JOBS, NAPS, SLEEPS, QUICK = 4, 3, 2, 100  # jobs of told a day; calls in each of told_nap, told_sleep and told_one
HOSTS = ("alpha", "beta", "gamma")
LATE = "gamma"
STEPS, PERCENT = 12, 1000
DAY_NS = 86400 * 1000 * MS


def skew(day):
    """The variable of libclock_skew.so for a machine whose date is DAY's."""
    return f"0 0 0 -{day.ago * DAY_NS}"


def start_told(run, day, number):
    """Ids repeat from day to day; jobs of one id at the same time would be one job."""
    job = subprocess.Popen([run.binary("hookcli"), "run", "-q", "--job", f"solver{number}-v{day.version}", "--hooks", "*:told_*", "--", run.workload("told")],
                           env=run.environment(), cwd=run.directory, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    job.stdin.write(f"one {QUICK}\nslow {SLEEPS}\nnap {day.nap_ns}\n".encode())
    job.stdin.close()
    return job


def start_ranks(run, day):
    """Three ranks on nodes of their own. The slow rank is another one each day; its node is not."""
    turn = day.ago % len(HOSTS)
    hosts = HOSTS[turn:] + HOSTS[:turn]
    options = namespace_options()
    command = [run.workload("mpi_slowing"), hosts.index(LATE), 0, PERCENT, STEPS, day.ago, run.path(f"notes-{day.ago}")]
    line = ["mpirun"]
    for host in hosts:
        named = [] if options is None else ["unshare", *options, "sh", "-c", NAMED, host]
        line += [*([":"] if len(line) > 1 else []), "-n", "1", *named, *command]
    return subprocess.Popen([run.binary("hookcli"), "run", "-q", "--job", f"ranks-v{day.version}", "--hooks", "mpi", "--", *map(str, line)],
                            env={**run.environment(), **MPI_ENVIRONMENT}, cwd=run.directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def record(run):
    """Records all; their directories."""
    for day in DAYS:
        collector = run.start_collector(LD_PRELOAD=run.workload("libclock_skew.so"), CLOCK_SKEW=skew(day))
        jobs = [start_told(run, day, number) for number in range(TOLD_JOBS)] + [start_ranks(run, day)]
        expect(f"jobs of {day}", [job.wait(TIMEOUT) for job in jobs], [0] * len(jobs))
        end_process(collector, 15)
    store = run.path("store")
    found = sorted(os.path.join(store, name) for name in os.listdir(store) if os.path.exists(os.path.join(store, name, "job.json")) and
                   not os.path.islink(os.path.join(store, name)))
    expect("jobs", len(found), len(DAYS) * (TOLD_JOBS + 1))
    return found


def reports(run, jobs):
    """What hookcli says of each job: {directory: {report, totals}}."""
    return {job: {"report": run.report(job), "totals": json.loads(run.cli("report", "--by", "symbol", "--format", "json", job).stdout)["totals"]}
            for job in jobs}
