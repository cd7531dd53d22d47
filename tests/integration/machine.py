"""machine: several machines on this one: host names of their own by UTS namespaces, run directories of their own.

What is said of a machine's name holds where the kernel lets us give one (as root, or with user namespaces); else all are called as
this one is, which a shared store must bear too.
"""
import contextlib
import json
import os
import subprocess
import tempfile

from harness import Failure, end_process, wait_for

NAMED = 'hostname "$0" && exec "$@"'


def namespace_options():
    """Options of unshare(1) that give a host name of our own; None: it cannot be had."""
    for options in (["--uts"], ["--user", "--map-root-user", "--uts"]):
        done = subprocess.run(["unshare", *options, "sh", "-c", "hostname check"], stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode == 0:
            return options
    return None


class Machine:
    """One of them; its collector writes into the test's collector.log."""

    def __init__(self, run, name, options):
        self.run = run
        self.options = options
        self.name = name if options is not None else os.uname().nodename
        self._directory = tempfile.TemporaryDirectory(prefix="hk-test-", dir=os.path.dirname(run.run_directory))
        self.run_directory = self._directory.name
        self.collector = None

    def remove(self):
        self._directory.cleanup()

    def line(self, *command):
        """COMMAND as it is run on this machine."""
        if self.options is None:
            return [str(part) for part in command]
        return ["unshare", *self.options, "sh", "-c", NAMED, self.name, *map(str, command)]

    def environment(self, **more):
        return self.run.environment(HOOK_RUN_DIR=self.run_directory, **more)

    def start(self, *command, env=None, **options):
        """Starts COMMAND here, and does not wait for it."""
        return subprocess.Popen(self.line(*command), env=self.environment(**(env or {})), cwd=self.run.directory, **options)

    def start_collector(self, *options):
        """A collector here, ready when this returns."""
        read, write = os.pipe()
        with open(self.run.path("collector.log"), "ab") as log:
            self.collector = self.start(self.run.binary("hookcollector"), "--ready-fd", write, *options, pass_fds=(write,),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        os.close(write)
        self.run.collectors.append(self.collector)
        with os.fdopen(read, "rb") as ready:
            if ready.read(1) == b"":
                with open(self.run.path("collector.log"), encoding="utf-8") as log:
                    raise Failure(f"{self.name}: the collector did not start: {log.read()[-500:]}")
        return self.collector

    def end_collector(self, number=15):
        end_process(self.collector, number)


@contextlib.contextmanager
def machines(run, *names):
    options = namespace_options()
    made = [Machine(run, name, options) for name in names]
    try:
        yield made
    finally:
        for machine in made:
            if machine.collector and machine.collector.poll() is None:
                machine.end_collector(9)
            machine.remove()


def rank_environment(run, job, rank, world, hooks):
    """What a launcher and `hookcli env` would set for one rank."""
    return {"HOOK_JOB": job, "HOOK_RANK": str(rank), "HOOK_WORLD_SIZE": str(world), "HOOK_HOOKS": ",".join(hooks),
            "LD_PRELOAD": run.agent()}


def closed_report(run, directory, ranks):
    """The JSON report of the job in DIRECTORY once it is closed and RANKS ranks were there: nodes do not begin all at once."""
    def look():
        done = run.cli("report", directory, "--format", "json", check=False)
        report = json.loads(done.stdout) if done.returncode == 0 else None
        return report if report and report["job"]["closed"] and len(report["ranks"]) >= ranks else None
    return wait_for(f"the end of {directory}", look)
