"""nodes: collectors with a run directory and a store of their own each, as if each were on a machine of its own."""
import contextlib
import json
import os
import socket
import subprocess
import tempfile

from harness import TIMEOUT, Failure, end_process, expect, wait_for


def free_url():
    """A loopback URL without a listener at present."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{taken.getsockname()[1]}"


class Node:
    """One machine: its run directory, its store, its collector, which may die and come again.

    BEFORE: words in front of every command, such as `ip netns exec NAME`.
    """

    def __init__(self, run, name, options=(), before=()):
        self.run, self.name, self.options, self.before = run, name, list(options), list(before)
        self.run_directory = tempfile.mkdtemp(prefix=f"{name}-", dir=run.run_directory)
        self.store = run.path(f"store-{name}")
        self.log = run.path(f"{name}.log")
        self.collector = None

    def environment(self, **more):
        return self.run.environment(HOOK_RUN_DIR=self.run_directory, **more)

    def start(self, *options):
        """Starts its collector; it answers when this returns."""
        read, write = os.pipe()
        with open(self.log, "ab") as log:
            self.collector = subprocess.Popen(
                [*self.before, self.run.binary("hookcollector"), "--store", self.store, "--ready-fd", str(write), *self.options,
                 *options], env=self.environment(), pass_fds=(write,), cwd=self.run.directory, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=log)
        os.close(write)
        self.run.collectors.append(self.collector)
        with os.fdopen(read, "rb") as ready:
            if ready.read(1) == b"":
                raise Failure(f"the collector of {self.name} did not start: {self.said()[-500:]}")
        return self

    def kill(self):
        end_process(self.collector)

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def popen(self, *command, env=None, log="job.log"):
        """Starts COMMAND here and returns at once; what it says goes to a file."""
        with open(self.run.path(log), "ab") as out:
            return subprocess.Popen([*self.before, *map(str, command)], env=self.environment(**(env or {})),
                                    cwd=self.run.directory, stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def cli(self, *arguments, **options):
        env = {"HOOK_RUN_DIR": self.run_directory, **options.pop("env", {})}
        return self.run.command(*self.before, self.run.binary("hookcli"), *arguments, env=env, **options)

    def path(self, *parts):
        return self.run.path(*parts)

    def report(self, job):
        return json.loads(self.cli("report", job, "--format", "json").stdout)

    def closed_report(self, job):
        """The report of JOB once this collector has closed it."""
        def look():
            done = self.cli("report", job, "--format", "json", check=False)
            report = json.loads(done.stdout) if done.returncode == 0 else None
            return report if report and report["job"]["closed"] else None
        with self.told():
            return wait_for(f"{job} to be closed on {self.name}", look)

    @contextlib.contextmanager
    def told(self):
        """A failure in here comes with the end of the collector's log."""
        try:
            yield
        except Failure as failure:
            raise Failure(f"{failure}\n{self.said()[-3000:]}") from failure


def root_and_leaves(run, names, root_options=(), leaf_options=(), url=None, upstream=None):
    """A root that listens on URL, and a leaf of each name that brings what it has to UPSTREAM, which is URL by default."""
    url = url or free_url()
    root = Node(run, "root", ["--listen", url, *root_options]).start()
    leaves = [Node(run, name, ["--upstream", upstream or url, *leaf_options]).start() for name in names]
    return root, leaves


def finish(command, what, log):
    status = command.wait(TIMEOUT)
    with open(log, encoding="utf-8", errors="replace") as out:
        expect(f"{what}: exit, with {out.read()[-1500:]}", status, 0)
