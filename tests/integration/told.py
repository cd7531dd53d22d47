"""told: the workload that makes requested calls, under the agent."""
import subprocess

from harness import expect, expect_true

HOOKS = "*:told_*,libc.so*:strnlen"


class Told:
    """A running told; ends with its input. LAUNCHER: what starts it instead of LD_PRELOAD; PROGRAM: a copy of it."""

    def __init__(self, run, job, level=None, launcher=(), program=None, **more):
        env = {"HOOK_HOOKS": HOOKS, "HOOK_JOB": job, **more}
        if level:
            env["HOOK_LEVEL"] = level
        if not launcher:
            env["LD_PRELOAD"] = run.agent()
        self.process = subprocess.Popen([*launcher, program or run.workload("told")], env=run.environment(**env), cwd=run.directory, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def begin(self, what, count=1):
        self.process.stdin.write(f"{what} {count}\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        expect_true("told still runs", line != "")
        return line.strip()

    def call(self, what, count):
        """Makes COUNT calls and returns when they are made."""
        self.begin(what, count)
        expect(f"told {what} {count}", self.answer(), "done")

    def spin_end(self):
        """Ends `spin`: (calls made, ns of processor time of the last million)."""
        self.begin("nothing", 0)
        calls, last_ns = self.answer().split()
        for _ in range(2):
            expect("told spin", self.answer(), "done")
        return int(calls), int(last_ns)


def calls_of(report, function, rank=0, role="main"):
    return sum(row["calls"] for row in report["calls"] if (row["function"], row["rank"], row["role"]) == (function, rank, role))
