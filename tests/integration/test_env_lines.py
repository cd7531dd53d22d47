#!/usr/bin/python3
"""The lines that `hookcli env` prints, run as they are: for one node, for a shared directory, for a root and its leaves.

Only COMMAND is filled in, and how many ranks and which nodes there are. test_env_lines.py BUILD mpirun|srun|torchrun|root
"""
import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

from harness import TIMEOUT, expect, main, wait_for
from machine import closed_report, machines, namespace_options
from slurm import cluster, free_ports
from test_calls_truth import HOOKS
from test_launch_mpirun import OPTIONS, write_remote_shell
from test_launch_torchrun import ELASTIC
from truth import load, rows_of, wanted_of

SKIPPED = 77
NAMES = ("alpha", "beta", "gamma")
LOCAL = 2
RANKS = LOCAL * len(NAMES)
TRACED = 'exec "$0" --count {out}-${variable}.json'


class Lines:
    """What `hookcli env LAUNCHER` prints, by what it is for."""

    def __init__(self, run, launcher, **environment):
        self.text = run.command("env", "-u", "HOOK_RUN_DIR", run.binary("hookcli"), "env", launcher,
                                env={"HOOK_HOOKS": ",".join(HOOKS), **environment}).stdout
        lines = [line for line in self.text.splitlines() if not line.startswith("#")]
        collectors = [line for line in lines if line.endswith(" &")]
        self.shared, self.root, self.leaf = [line.removesuffix(" &") for line in collectors[1:]]
        self.keygen = next(line for line in lines if " keygen " in line)
        self.job = [line for line in lines if line not in collectors and line != self.keygen]


def start_line(run, line, env):
    with open(run.path("lines.log"), "ab") as log:
        return subprocess.Popen(["sh", "-c", line], env=env, cwd=run.directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                start_new_session=True)


def finish(line, started):
    expect(f"exit of {line}", started.wait(TIMEOUT), 0)


def end_lines(started):
    """Ends what `start_line` started; each is a session of its own, the shell between included."""
    for one in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(one.pid, signal.SIGTERM)
    for one in started:
        one.wait(TIMEOUT)


def without_directory(environment):
    """Each machine has a run directory of its own, which its shell names."""
    return {name: value for name, value in environment.items() if name != "HOOK_RUN_DIR"}


def serving(run, nodes):
    """Waits for a collector in each run directory."""
    def look():
        return all(run.cli("status", "--json", check=False, env={"HOOK_RUN_DIR": node.run_directory}).returncode == 0
                   for node in nodes)
    wait_for("the collectors", look)


def check(run, what, directory, out):
    report = closed_report(run, directory, RANKS)
    expect(f"{what}: ranks", [rank["rank"] for rank in report["ranks"]], list(range(RANKS)))
    for rank in range(RANKS):
        rows = rows_of(report, rank)
        for key, wanted in wanted_of(load(f"{out}-{rank}.json")).items():
            expect(f"{what}: rank {rank}: {key}", rows[key]["calls"], wanted["calls"])
    return report


def command(run, out, variable):
    return shlex.join(["sh", "-c", TRACED.format(out=out, variable=variable), run.workload("calls_truth")])


def job_in(store, launcher):
    """The one job there whose ranks LAUNCHER started; it may have been traced itself, which is another."""
    def look():
        return [name for name in os.listdir(store) if re.fullmatch(launcher.jobs, name)] if os.path.isdir(store) else []
    names = wait_for("a job", look)
    expect(f"jobs of {launcher.name}", len(names), 1)
    return os.path.join(store, names[0])


class Mpirun:
    name, variable, jobs = "mpirun", "OMPI_COMM_WORLD_RANK", "[0-9]+"

    def __init__(self, run, nodes):
        self.run, self.nodes = run, nodes
        hosts = ",".join(f"{node.name}:{LOCAL}" for node in nodes)
        self.options = shlex.join(["mpirun", "--mca", "plm_rsh_agent", write_remote_shell(run, nodes), *OPTIONS, "--host", hosts])

    def environment(self):
        return without_directory(self.run.environment())

    def start_everywhere(self, line):
        """LINE, which starts something on each node; what is started, to be ended."""
        return [start_line(self.run, line.replace("mpirun", self.options, 1), self.environment())]

    def job(self, lines, out):
        line = next(line for line in lines.job if line.startswith("mpirun "))
        line = line.replace("mpirun", f"{self.options} -n {RANKS}", 1).replace("COMMAND", command(self.run, out, self.variable))
        finish(line, start_line(self.run, line, self.environment()))


class Srun:
    """In an allocation of all nodes."""
    name, variable, jobs = "srun", "SLURM_PROCID", r"[0-9]+\.[0-9]+"

    def __init__(self, run, nodes, slurm):
        self.run, self.nodes, self.slurm = run, nodes, slurm
        self.allocation = slurm.allocate(len(nodes), RANKS)

    def environment(self):
        return self.slurm.environment(SLURM_JOB_ID=self.allocation, SLURM_NNODES=str(len(self.nodes)))

    def start_everywhere(self, line):
        return [start_line(self.run, line, self.environment())]

    def job(self, lines, out):
        script = "\n".join(lines.job).replace("srun ", f"srun -n {RANKS} ", 1)
        script = script.replace("COMMAND", command(self.run, out, self.variable))
        finish(script, start_line(self.run, script, self.environment()))


class Torchrun:
    """On each node by hand, as its users do; our own program stands in for it."""
    name, variable, jobs = "torchrun", "RANK", "lines-.*"

    def __init__(self, run, nodes):
        self.run, self.nodes = run, nodes
        self.port = free_ports(1)[0]

    def start_on(self, node, line):
        return start_line(self.run, shlex.join(node.line("sh", "-c", line)), node.environment())

    def start_everywhere(self, line):
        return [self.start_on(node, f"exec {line}") for node in self.nodes]

    def job(self, lines, out):
        starter = shlex.join([sys.executable, ELASTIC]) + " {} " + f"{len(self.nodes)} {LOCAL} {self.port} lines "
        line = lines.job[0].replace("COMMAND", command(self.run, out, self.variable))
        started = [self.start_on(node, line.replace("torchrun ", starter.format(number), 1))
                   for number, node in enumerate(self.nodes)]
        for one in started:
            finish(line, one)
        expect("jobs, of the ranks alone", len(os.listdir(self.run.path("hook-jobs"))), 1)


def shared(run, launcher):
    """A collector on each node, in one directory."""
    what = f"{launcher.name}, shared directory"
    lines = Lines(run, launcher.name)
    collectors = launcher.start_everywhere(lines.shared)
    out = run.path(f"{launcher.name}-shared")
    try:
        serving(run, launcher.nodes)
        launcher.job(lines, out)
        report = check(run, what, job_in(run.path("hook-jobs"), launcher), out)
    finally:
        end_lines(collectors)
    expect(f"{what}: hosts", sorted({rank["host"] for rank in report["ranks"]}), sorted(NAMES))


def rooted(run, launcher):
    """A root, and a leaf on each node."""
    what = f"{launcher.name}, root and leaves"
    store = run.path(f"{launcher.name}-root")
    url = f"tls+tcp://127.0.0.1:{free_ports(1)[0]}"
    lines = Lines(run, launcher.name, HOOK_UPSTREAM=url, HOOK_STORE=store)
    if not os.path.exists(run.path(".hooktrace-keys")):
        run.command("sh", "-c", lines.keygen)
    # Of the test's own: the user's run directory is none of its business.
    directory = tempfile.mkdtemp(prefix="hk-test-", dir=os.path.dirname(run.run_directory))
    root = start_line(run, f"HOOK_RUN_DIR={directory} exec {lines.root.split(maxsplit=1)[1]}", run.environment())
    wait_for("the root", lambda: os.path.exists(os.path.join(directory, "collector.sock")))
    leaves = launcher.start_everywhere(lines.leaf)
    out = run.path(f"{launcher.name}-rooted")
    try:
        serving(run, launcher.nodes)
        launcher.job(lines, out)
        report = check(run, what, job_in(store, launcher), out)
    finally:
        end_lines([*leaves, root])
        shutil.rmtree(directory)
    expect(f"{what}: hosts", sorted({rank["host"] for rank in report["ranks"]}), sorted(NAMES))


def test(run, which):
    if namespace_options() is None:
        print("skipped: no namespaces for host names here (not root, and no user namespaces)")
        sys.exit(SKIPPED)
    with machines(run, *NAMES) as nodes:
        if which == "srun":
            with cluster(run, nodes) as slurm:
                shared(run, Srun(run, nodes, slurm))
        elif which == "torchrun":
            shared(run, Torchrun(run, nodes))
        elif which == "root":
            rooted(run, Mpirun(run, nodes))
        else:
            shared(run, Mpirun(run, nodes))


if __name__ == "__main__":
    main(test)
