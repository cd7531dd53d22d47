"""harness: how an integration test runs real programs under hooktrace and looks at what came out.

A test is a script `test_x.py BUILD_DIR [args]` that uses a Run for its temporary directory, run directory and environment; it
exits non-zero with one line when something is not as it must be. Nothing here reads hooktrace's formats but the report's JSON,
which is the contract; truths come from the programs themselves.
"""
import collections
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

RANKS = 4
# Of what hangs: nothing that works takes this long, on however busy a machine.
TIMEOUT = 1200
WAIT = 600
# Free on the file system of run directories: with less, processes keep fewer records than tests expect (agent/record/process.c).
ROOM = 1 << 30
MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}


class Failure(Exception):
    """What a test has to say in one line."""


def expect(what, got, wanted):
    if got != wanted:
        raise Failure(f"{what}: {got!r}, expected {wanted!r}")


def expect_true(what, holds):
    if not holds:
        raise Failure(what)


def run_base():
    """Where run directories are made: on tmpfs, as a user's, unless it is a container's small one."""
    def free(path):
        space = os.statvfs(path)
        return space.f_bavail * space.f_frsize if os.access(path, os.W_OK) else 0

    shared, other = "/dev/shm", tempfile.gettempdir()
    usual = os.path.isdir(shared) and (free(shared) >= ROOM or free(shared) >= free(other))
    return shared if usual else other


class Run:
    """A temporary directory with a run directory of its own, removed at the end; collectors started here end with it."""

    def __init__(self, build):
        self.build = os.path.abspath(build)
        # Its path must stay short enough for a socket.
        self._run = tempfile.TemporaryDirectory(prefix="hk-test-", dir=run_base())
        self._work = tempfile.TemporaryDirectory(prefix="hk-test-")
        self.run_directory = self._run.name
        self.directory = self._work.name
        self.collectors = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for collector in self.collectors:
            if collector.poll() is None:
                collector.kill()
                collector.wait()
        for directory in (self._run, self._work):
            wait_for(f"{directory.name} to be nobody's", lambda d=directory: self.remove(d))

    @staticmethod
    def remove(directory):
        """Whether the file did not grow meanwhile, since processes may write at their end."""
        with contextlib.suppress(OSError):
            directory.cleanup()
        return not os.path.exists(directory.name)

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def binary(self, name):
        return os.path.join(self.build, {"hookcli": "cli", "hookcollector": "collector"}[name], name)

    def workload(self, name):
        return os.path.join(self.build, "tests", "workloads", name)

    def environment(self, **more):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("HOOK_") and k != "LD_PRELOAD"}
        # A state directory of the test's own: nothing is left in the user's.
        return {**clean, **MPI_ENVIRONMENT, "HOOK_RUN_DIR": self.run_directory, "XDG_STATE_HOME": self.path("state"), "XDG_CACHE_HOME": self.path("cache"),
                "HOME": self.directory, "NO_COLOR": "1",
                # Truths about records must not depend on how fast the machine is.
                "HOOK_BUDGET": "off", **more}

    def command(self, *arguments, check=True, env=None, timeout=TIMEOUT, cwd=None, text=True):
        """Runs a program to its end; stdout and stderr are kept apart."""
        done = subprocess.run([str(a) for a in arguments], env=self.environment(**(env or {})), cwd=cwd or self.directory,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=text,
                              timeout=timeout, check=False)
        if check and done.returncode != 0:
            raise Failure(f"{' '.join(map(str, arguments))}: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
        return done

    def cli(self, *arguments, **options):
        return self.command(self.binary("hookcli"), *arguments, **options)

    def trace(self, *command, hooks=(), level=None, store="store", options=(), **more):
        """hookcli run on COMMAND with a private collector; returns the finished process. LEVEL: one, or a list of them."""
        line = ["run", "--store", self.path(store)]
        for name in hooks:
            line += ["--hooks", name]
        for one in [level] if isinstance(level, str) else level or ():
            line += ["--level", one]
        return self.cli(*line, *options, "--", *command, **more)

    def report(self, job=None):
        """The JSON report of JOB, by default of the newest."""
        return json.loads(self.cli("report", *([job] if job else []), "--format", "json").stdout)

    def start_collector(self, *options, **environment):
        """A collector on this run directory, ready when this returns."""
        read, write = os.pipe()
        collector = subprocess.Popen([self.binary("hookcollector"), "--store", self.path("store"), "--ready-fd", str(write), *options],
                                     env=self.environment(**environment), pass_fds=(write,), cwd=self.directory, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=open(self.path("collector.log"), "ab"))
        os.close(write)
        self.collectors.append(collector)
        with os.fdopen(read, "rb") as ready:
            if ready.read(1) == b"":
                with open(self.path("collector.log"), encoding="utf-8") as log:
                    raise Failure(f"the collector did not start: {log.read()[-500:]}")
        return collector

    def agent(self):
        return os.path.join(self.build, "agent", "libhookagent.so")


def wait_for(what, condition, timeout=WAIT):
    """Waits for CONDITION to return something true and returns it; looks every few milliseconds."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failure(f"waited {timeout} s for {what}")
        time.sleep(0.005)


def end_process(process, number=signal.SIGKILL):
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(number)
    process.wait()


def reader_of(collector):
    """The pid of the process that reads symbols for COLLECTOR, or None."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                parent = int(stat.read().rsplit(")", 1)[1].split()[1])
            with open(f"/proc/{pid}/cmdline", encoding="utf-8") as line:
                if parent == collector.pid and "read-symbols" in line.read():
                    return int(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return None


def calls_of(report, role="main"):
    """{(rank, library's base name, function): row} of a report."""
    rows = {}
    for row in report["calls"]:
        if row["role"] == role:
            key = (row["rank"], os.path.basename(row["library"]), row["function"])
            expect_true(f"two rows for {key}", key not in rows)
            rows[key] = row
    return rows


def total_calls(report):
    """Calls per (rank, function) over libraries."""
    totals = collections.Counter()
    for (rank, _, function), row in calls_of(report).items():
        totals[rank, function] += row["calls"]
    return totals


def main(test):
    """Runs TEST(run, *arguments) and turns a Failure into one line and exit status 1."""
    try:
        with Run(sys.argv[1]) as run:
            test(run, *sys.argv[2:])
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
