"""slurm: a cluster of Slurm on this machine, of the test's own: munged, slurmctld and a slurmd for each of its machines."""
import contextlib
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

from harness import TIMEOUT, Failure, end_process, wait_for

SKIPPED = 77
DEPLOY = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "deploy", "slurm"))
PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sinfo")
CPUS = 8
NO_NETWORK = "getaddrinfo()"  # its complaint where there is no interface but loopback
CONF = """
ClusterName=hooktrace
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={base}/munge/socket
CredType=cred/munge
StateSaveLocation={base}/state
SlurmdSpoolDir={base}/%n
SlurmctldPidFile={base}/slurmctld.pid
SlurmdPidFile={base}/%n.pid
SlurmctldLogFile={base}/slurmctld.log
SlurmdLogFile={base}/%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
TaskProlog={base}/prolog
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def skip_without():
    missing = [name for name in PROGRAMS if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]
    if missing:
        print(f"skipped: {' '.join(missing)} of Debian's slurm-wlm not installed")
        sys.exit(SKIPPED)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cluster:
    """Its daemons are this test's own processes and end with it; tasks run in their machine's run directory."""

    def __init__(self, run, machines, site):
        self.run, self.machines, self.site = run, machines, site
        self._directory = tempfile.TemporaryDirectory(prefix="hk-slurm-")
        self.base = self._directory.name
        self.daemons = []
        self.path = os.environ["PATH"] + ":/usr/sbin:/sbin"

    def write(self, name, text, mode=0o600):
        path = os.path.join(self.base, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)

    def configure(self):
        for name in ("munge", "state", *(machine.name for machine in self.machines)):
            os.mkdir(os.path.join(self.base, name), 0o700)
        with open(os.path.join(self.base, "munge", "key"), "wb") as key:
            key.write(os.urandom(1024))
        os.chmod(os.path.join(self.base, "munge", "key"), 0o400)
        port, *ports = free_ports(1 + len(self.machines))
        conf = CONF.format(host=os.uname().nodename, port=port, base=self.base, user=pwd.getpwuid(os.getuid()).pw_name)
        for machine, own in zip(self.machines, ports):
            conf += f"NodeName={machine.name} NodeAddr=127.0.0.1 Port={own} CPUs={CPUS} State=UNKNOWN\n"
        if self.site:
            conf += f"Prolog={self.base}/node-prolog\n"
        self.write("slurm.conf", conf)
        # What distinguishes machines in truth: memory of their own, which /dev/shm is a part of.
        cases = "".join(f"{machine.name}) echo export HOOK_RUN_DIR={machine.run_directory};;\n" for machine in self.machines)
        of_machine = f'#!/bin/sh\ncase "$(hostname)" in\n{cases}esac\n'
        self.write("prolog", of_machine + (f"{DEPLOY}/task-prolog.sh\n" if self.site else ""), 0o700)
        self.write("where", of_machine, 0o700)
        site = "".join(f"export {name}={value}\n" for name, value in (self.site or {}).items())
        self.write("node-prolog", f'#!/bin/sh\neval "$({self.base}/where)"\n{site}exec {DEPLOY}/prolog.sh\n', 0o700)

    def daemon(self, name, line):
        with open(os.path.join(self.base, f"{name}.out"), "wb") as out:
            self.daemons.append(subprocess.Popen(line, env=self.environment(), stdin=subprocess.DEVNULL, stdout=out,
                                                 stderr=subprocess.STDOUT, cwd=self.base))

    def environment(self, **more):
        clean = self.run.environment(PATH=self.path, SLURM_CONF=os.path.join(self.base, "slurm.conf"), **more)
        del clean["HOOK_RUN_DIR"]
        return clean

    def start(self):
        munge = os.path.join(self.base, "munge")
        self.daemon("munged", ["munged", "--foreground", "--force", "--num-threads=1", *(
            f"--{option}={munge}/{file}" for option, file in (("key-file", "key"), ("socket", "socket"), ("pid-file", "pid"),
                                                                ("log-file", "log"), ("seed-file", "seed")))])
        wait_for("munged", lambda: os.path.exists(os.path.join(munge, "socket")))
        self.daemon("slurmctld", ["slurmctld", "-D"])
        for machine in self.machines:
            self.daemon(machine.name, machine.line("slurmd", "-D", "-N", machine.name))
        wait_for("the nodes", self.idle)

    def idle(self):
        ended = [daemon.args for daemon in self.daemons if daemon.poll() is not None]
        if ended:
            words = self.last_words()
            if NO_NETWORK in words:
                print(f"skipped: Slurm needs a network interface beside loopback: {words}")
                sys.exit(SKIPPED)
            raise Failure(f"{ended[0]} ended: {words}")
        done = subprocess.run(["sinfo", "-h", "-t", "idle", "-o", "%D"], env=self.environment(), stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True, check=False, timeout=TIMEOUT)
        return sum(int(line) for line in done.stdout.split()) == len(self.machines)

    def last_words(self):
        words = []
        for name in os.listdir(self.base):
            if name.endswith((".out", ".log")):
                with open(os.path.join(self.base, name), encoding="utf-8", errors="replace") as file:
                    words += [f"{name}: {line.strip()}" for line in file if "error" in line or "fatal" in line]
        return " | ".join(words[-5:])

    def srun(self, *arguments, env=None, cwd=None):
        """srun to its end, from machine 0's host name; its output."""
        done = subprocess.run(["srun", *map(str, arguments)], env=self.environment(**(env or {})), cwd=cwd or self.run.directory,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT,
                              check=False)
        if done.returncode != 0:
            raise Failure(f"srun {arguments}: exit {done.returncode}: {done.stderr[-2000:]} {self.last_words()}")
        return done

    def allocate(self, nodes, tasks):
        """An allocation without a shell; its number."""
        line = ["salloc", "--no-shell", "-N", str(nodes), "-n", str(tasks)]
        done = subprocess.run(line, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT, check=False)
        granted = re.search(r"Granted job allocation ([0-9]+)", done.stdout)
        if not granted:
            raise Failure(f"salloc: {done.stdout} {self.last_words()}")
        return granted[1]

    def steps(self):
        """Processes of ours that look after tasks: they outlive the daemons."""
        found = subprocess.run(["squeue", "-h", "-o", "%A"], env=self.environment(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False, timeout=TIMEOUT)
        return found.stdout.split()

    def cancel(self):
        """Ends what allocations still run, and waits for that."""
        for job in self.steps():
            subprocess.run(["scancel", job], env=self.environment(), stdin=subprocess.DEVNULL, check=False, timeout=TIMEOUT)
        wait_for("the end of what Slurm runs", lambda: not self.steps())

    def end(self):
        if self.daemons and not any(daemon.poll() is not None for daemon in self.daemons):
            self.cancel()
        for daemon in reversed(self.daemons):
            end_process(daemon, signal.SIGTERM)
        self._directory.cleanup()


@contextlib.contextmanager
def cluster(run, machines, site=None):
    """SITE: variables for the scripts of deploy/slurm, which are then in use."""
    skip_without()
    made = Cluster(run, machines, site)
    try:
        made.configure()
        made.start()
        yield made
    finally:
        made.end()
