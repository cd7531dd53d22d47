"""whereabouts: threads in known places, under the agent, and what `hookcli stacks` says of them."""
import json
import subprocess

from harness import expect, expect_true


class Whereabouts:
    """A running whereabouts; it ends with its input. LAUNCHER: words in front of it."""

    def __init__(self, run, job, *words, launcher=(), **more):
        self.job = job
        self.process = subprocess.Popen([*launcher, run.workload("whereabouts"), *words], cwd=run.directory, text=True,
                                        env=run.environment(LD_PRELOAD=run.agent(), HOOK_JOB=job, **more),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lines = []
        while not self.lines or self.lines[-1] != "ready":
            line = self.process.stdout.readline()
            expect_true(f"{' '.join(words)} still runs", line != "")
            self.lines.append(line.strip())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    @property
    def pid(self):
        return self.process.pid

    def end(self):
        """Lets it end, and returns what it says then."""
        said, _ = self.process.communicate()
        expect(f"{self.job}: exit", self.process.returncode, 0)
        return said.strip()


def stacks(run, job, *options):
    """The threads of all processes of JOB, as the JSON has them."""
    answer = json.loads(run.cli("stacks", job, "--json", *options).stdout)
    return [thread for process in answer["processes"] for thread in process["threads"]]


def functions(thread):
    return [frame.get("function") for frame in thread["frames"]]


def own_functions(thread):
    """Without those that were inlined into others."""
    return [frame.get("function") for frame in thread["frames"] if not frame.get("inlined")]


def thread_in(threads, function):
    found = [thread for thread in threads if function in functions(thread)]
    expect(f"threads in {function} of {[functions(thread) for thread in threads]}", len(found), 1)
    return found[0]
