#!/usr/bin/env python3
"""hookcli attach and detach on processes that run already.

Usage: test_attach.py BUILD_DIR ROUNDS. Calls after the attach are compared with what the program itself counts from a mark on; slots are
read from outside before and after the detach; and what cannot be attached is refused with the reason, and runs on. ROUNDS seeded rounds of
attach, marks and detach, some with a hookcli that is killed, must leave a busy program's results as they are.
"""
import contextlib
import ctypes
import os
import random
import shutil
import signal
import subprocess
import sys

import harness
from harness import expect, expect_true

THREADS = 4
CALLS = 1000
# What is to be said of jobs when their collector has closed them, which takes some seconds: job -> function of its report.
LATER = {}
PTRACE_ATTACH, PTRACE_DETACH = 16, 17


class Program:
    """A program of this test, which obeys commands by standard input."""

    def __init__(self, run, *arguments, before=(), pid_of=None):
        path = os.path.join(run.build, "tests", "integration", "late", "attach_truth")
        self.process = subprocess.Popen([*before, path, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=run.environment(), cwd=run.directory)
        expect("the program's first line", self.process.stdout.readline(), "ready\n")
        self.pid = pid_of(self.process.pid) if pid_of else self.process.pid

    def mark(self, calls=CALLS, command="mark", path=""):
        """How many marked calls the program made for this command."""
        self.process.stdin.write(f"{command} {calls} {path}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline().split()[1])

    def end(self):
        self.process.stdin.write("end\n")
        self.process.stdin.flush()
        expect("the program's results", (self.process.stdout.read(), self.process.wait()), ("right\n", 0))


def child_of(pid):
    """The only child of process PID."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        return int(children.read().split()[0])


def attach(run, pid, job, *options, hooks="*:late_*"):
    return run.cli("attach", str(pid), "--job", job, "--hooks", hooks, *options)


def refused(run, pid, reason, *command, status=1):
    done = run.cli(*(command or ("attach", str(pid))), check=False)
    expect_true(f"{command or 'attach'}: exit {done.returncode}, {done.stderr!r}, expected {reason!r}",
                done.returncode == status and reason in done.stderr and done.stderr.count("\n") == 1)


def closed(run, job):
    """The report of JOB once its collector has closed it."""
    def look():
        done = run.cli("report", job, "--format", "json", check=False)
        report = harness.json.loads(done.stdout) if done.returncode == 0 else None
        return report if report and report["job"]["closed"] else None
    return harness.wait_for(f"{job} to be closed", look)


def calls(report, function):
    return sum(row["calls"] for row in report["calls"] if row["function"] == function)


# ---- slots, read from outside ----

def maps_of(pid):
    """[(start, end, path)] of files that process PID maps."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        lines = [line.split(None, 5) for line in maps]
    return [(*(int(n, 16) for n in fields[0].split("-")), fields[5].strip()) for fields in lines if len(fields) > 5 and fields[5][0] == "/"]


def slots_into_agent(pid):
    """How many slots of process PID lead into its agent, as the files' relocations and the process's memory have it."""
    maps = maps_of(pid)
    agent = [(start, end) for start, end, path in maps if "libhookagent" in path]
    bases = {}
    for start, _, path in maps:
        bases.setdefault(path, start)
    count = 0
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for path, base in bases.items():
            if "libhookagent" in path or not os.path.exists(path):
                continue
            listed = subprocess.run(["readelf", "-rW", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
            header = subprocess.run(["readelf", "-hW", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
            base = 0 if "EXEC (" in header else base
            for line in listed.splitlines():
                if "JUMP_SLO" in line or "GLOB_DAT" in line:
                    memory.seek(base + int(line.split()[0], 16))
                    value = int.from_bytes(memory.read(8), "little")
                    count += any(start <= value < end for start, end in agent)
    return count


# ---- programs that can be attached ----

def check_truth(run, name, *arguments, before=(), pid_of=None):
    program = Program(run, *arguments, before=before, pid_of=pid_of)
    program.mark()
    attach(run, program.pid, name)
    refused(run, program.pid, "is traced already")
    expect_true(f"{name}: slots lead into the agent", slots_into_agent(program.pid) > 0)
    truth = program.mark() + program.mark(7)
    if arguments != ("malloc",):
        # Also what begins after the attach.
        truth += program.mark(11, "fork") + program.mark(13, "thread")
        truth += program.mark(17, "load", os.path.join(run.build, "tests", "integration", "late", "late_user.so"))
    expect("detach", run.cli("detach", str(program.pid)).stdout, f"process {program.pid} is not traced any more\n")
    expect(f"{name}: slots after the detach", slots_into_agent(program.pid), 0)
    refused(run, program.pid, "is not traced", "detach", str(program.pid))
    program.mark()
    program.end()

    def judge(report):
        expect(f"{name}: marked calls", calls(report, "late_marked"), truth)
        expect(f"{name}: end", [rank["exit"]["kind"] for rank in report["ranks"]], ["detached"])
        expect(f"{name}: end of the job", report["job"]["exit"], "detached")
    LATER[name] = judge


def check_by_job(run):
    """A job names its processes."""
    program = Program(run, 2)
    attach(run, program.pid, "named")
    harness.wait_for("the collector to see the process", lambda: '"pid"' in run.cli("report", "named", "--format", "json", check=False).stdout)
    run.cli("detach", "named")
    expect("slots after detach JOB", slots_into_agent(program.pid), 0)
    run.cli("attach", "named", "--job", "named-again", "--hooks", "*:late_*")
    truth = program.mark()
    run.cli("detach", "named")
    program.end()
    LATER["named-again"] = lambda report: expect("calls after attach JOB", calls(report, "late_marked"), truth)


def check_end(run):
    """A process that ends while it is attached."""
    program = Program(run, 2)
    attach(run, program.pid, "ended")
    truth = program.mark()
    program.end()

    def judge(report):
        expect("calls of a process that ended", calls(report, "late_marked"), truth)
        expect("its end", report["ranks"][0]["exit"], {"kind": "exited", "code": 0})
    LATER["ended"] = judge


def check_python(run):
    code = "import sys, zlib\nprint('ready', flush=True)\nn = 0\nwhile sys.stdin.readline():\n    n += 1\n" \
           "    for _ in range(100):\n        zlib.crc32(b'abc' * n)\n    print(n, flush=True)\n"
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=run.environment())
    process.stdout.readline()
    attach(run, process.pid, "python", hooks="*:crc32")
    for n in range(1, 6):
        process.stdin.write("\n")
        process.stdin.flush()
        expect("what Python answers", process.stdout.readline(), f"{n}\n")
    run.cli("detach", str(process.pid))
    expect("slots of Python after the detach", slots_into_agent(process.pid), 0)
    process.stdin.close()
    expect("Python's end", process.wait(), 0)
    LATER["python"] = lambda report: expect("calls of crc32", calls(report, "crc32"), 500)


def check_nginx(run):
    nginx = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if not nginx or not shutil.which("curl"):
        print("no nginx: left out")
        return
    with open(run.path("nginx.conf"), "w", encoding="ascii") as conf:
        conf.write(f"daemon off; master_process off; pid {run.path('nginx.pid')}; error_log {run.path('nginx.log')}; events {{}}\n"
                   f"http {{ access_log off; server {{ listen unix:{run.path('nginx')}; location / {{ return 200 served; }} }} }}\n")
    server = subprocess.Popen([nginx, "-c", run.path("nginx.conf")], env=run.environment(), stderr=subprocess.DEVNULL)

    def ask():
        return run.command("curl", "-s", "--unix-socket", run.path("nginx"), "http://x/", check=False).stdout == "served"
    try:
        harness.wait_for("nginx to serve", ask)
        attach(run, server.pid, "nginx", hooks="libc")
        for _ in range(20):
            expect_true("nginx serves while it is traced", ask())
        run.cli("detach", str(server.pid))
        expect("slots of nginx after the detach", slots_into_agent(server.pid), 0)
        expect_true("nginx serves afterwards", ask() and server.poll() is None)
    finally:
        server.terminate()
        server.wait()
    LATER["nginx"] = lambda report: expect("answers that nginx wrote", calls(report, "writev"), 20)


# ---- programs that cannot ----

def check_stopped(run):
    program = Program(run, 1)
    os.kill(program.pid, signal.SIGSTOP)
    harness.wait_for("it to stop", lambda: os.waitid(os.P_PID, program.pid, os.WSTOPPED | os.WNOWAIT | os.WNOHANG))
    refused(run, program.pid, f"is stopped: continue it first (kill -CONT {program.pid})")
    os.kill(program.pid, signal.SIGCONT)
    program.mark()
    program.end()


def check_debugged(run):
    program = Program(run, 1)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(PTRACE_ATTACH, program.pid, None, None) == 0:
        os.waitpid(program.pid, 0)
        refused(run, program.pid, f"is traced by process {os.getpid()}, a debugger")
        libc.ptrace(PTRACE_DETACH, program.pid, None, None)
    program.end()


def check_static(run):
    process = subprocess.Popen([os.path.join(run.build, "tests", "integration", "late", "attach_static")], stdin=subprocess.PIPE)
    harness.wait_for("the static program to wait", lambda: "attach_static" in os.readlink(f"/proc/{process.pid}/exe"))
    refused(run, process.pid, "runs a static program")
    process.stdin.close()
    expect("the static program's end", process.wait(), 0)


def check_musl(run):
    compiler = shutil.which("musl-gcc")
    if not compiler:
        print("no musl: left out")
        return
    run.command(compiler, "-o", run.path("musl"), os.path.join(os.path.dirname(__file__), "late", "sleeper.c"))
    process = subprocess.Popen([run.path("musl")], stdin=subprocess.PIPE)
    harness.wait_for("the program to begin", lambda: "musl" in open(f"/proc/{process.pid}/maps", encoding="utf-8").read())
    refused(run, process.pid, "uses musl: the agent needs glibc")
    process.stdin.close()
    expect("the end of the program with musl", process.wait(), 0)


def check_absent(run):
    process = subprocess.Popen(["true"])
    harness.wait_for("it to end", lambda: os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG))
    refused(run, process.pid, "has ended")
    process.wait()
    refused(run, 0, "there is no process 4194305", "attach", "4194305", status=3)
    refused(run, 0, "no job 'absent'", "detach", "absent", status=3)
    expect("usage", run.cli("attach", check=False).returncode, 2)
    expect("usage of detach", run.cli("detach", check=False).returncode, 2)
    if os.getuid() == 0 and shutil.which("setpriv"):
        done = run.command("setpriv", "--reuid=65534", "--clear-groups", run.binary("hookcli"), "attach", os.getpid(), check=False)
        if "Permission denied" not in done.stderr:  # of hookcli itself, in a directory of root's
            expect_true(f"another user: {done.stderr!r}", done.returncode == 1 and "belongs to user root" in done.stderr)


# ---- other namespaces ----

def unshare(*options):
    """The words that run a command in namespaces of its own, or None if that is not permitted."""
    words = ["unshare", *options]
    return words if subprocess.run([*words, "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0 else None


def check_namespaces(run):
    for name, words in (("mount", unshare("-m")), ("user", unshare("-U", "-r", "-m"))):
        if words:
            check_truth(run, f"namespace-{name}", 2, before=words)
        else:
            print(f"no {name} namespaces: left out")
    words = unshare("-m", "-p", "-f", "--mount-proc")
    if words:
        check_truth(run, "namespace-pid", 2, before=words, pid_of=child_of)
    words = unshare("-m")
    if not words:
        return
    # The agent's directory is not to be seen there: a copy of the agent is.
    agent = os.path.dirname(run.agent())
    check_truth(run, "namespace-hidden", 2, before=[*words, "sh", "-c", f"mount -t tmpfs none {agent} && exec \"$@\"", "sh"])
    program = Program(run, 1, before=[*words, "sh", "-c", f"mount -t tmpfs none {os.path.dirname(run.run_directory)} && exec \"$@\"", "sh"])
    refused(run, program.pid, f"does not see the run directory {run.run_directory}")
    program.end()


def check_other_user(run):
    """Root attaches to a process of another user, whose the job then is."""
    hookcli = run.binary("hookcli")
    words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if os.getuid() != 0 or not shutil.which("setpriv") or run.command(*words, "test", "-x", hookcli, check=False).returncode != 0:
        print("no other user: left out")
        return
    places = [os.path.join(harness.run_base(), f"hk-test-other-{os.getpid()}"), f"/tmp/hk-test-other-store-{os.getpid()}"]
    for place in places:
        os.mkdir(place, 0o700)
        os.chown(place, 65534, 65534)
    try:
        program = Program(run, 2, before=words)
        other = {"HOOK_RUN_DIR": places[0], "HOME": places[1]}
        private = run.path("of-root")
        os.mkdir(private, 0o700)
        failed = run.cli("attach", str(program.pid), "--store", private, env=other, check=False)
        expect_true(f"a store of root's: {failed.stderr}", failed.returncode == 1 and f"to whom process {program.pid} belongs: cannot" in failed.stderr)
        done = run.cli("attach", str(program.pid), "--job", "other", "--hooks", "*:late_*", "--store", places[1], env=other)
        expect_true(f"whose job it is: {done.stdout}", "the job belongs to user " in done.stdout)
        truth = program.mark()
        run.cli("detach", str(program.pid), env=other)
        program.end()
        job = os.path.join(places[1], "other")
        expect("owner of another user's job", os.stat(job).st_uid, 65534)
        expect("calls of another user's process", calls(closed(run, job), "late_marked"), truth)
    finally:
        for place in places:
            shutil.rmtree(place, ignore_errors=True)


# ---- rounds ----

def kill_an_attach(run, choice, pid):
    """A hookcli that is killed somewhere on its way."""
    what = choice.choice(["attach", "detach"])
    command = subprocess.Popen([run.binary("hookcli"), what, str(pid)], env=run.environment(), cwd=run.directory,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        command.wait(choice.uniform(0.0, 0.08))
    command.kill()
    command.wait()


def attach_for_round(run, pid, number, level):
    """Traces the process for round NUMBER. What a killed hookcli began in the process may end after its death, so it may be traced again
    right after a detach."""
    def attached():
        run.cli("detach", str(pid), check=False)
        done = run.cli("attach", str(pid), "--job", f"round-{number}", "--hooks", "*:late_*", "--level", level, check=False)
        expect_true(f"round {number}: {done.stderr!r}", done.returncode == 0 or "is traced already" in done.stderr)
        return done.returncode == 0
    harness.wait_for(f"round {number} to be traced", attached)


def check_rounds(run, rounds, seed):
    choice = random.Random(seed)
    program = Program(run, THREADS)
    for number in range(rounds):
        if choice.random() < 0.3:
            kill_an_attach(run, choice, program.pid)
        attach_for_round(run, program.pid, number, choice.choice(["count", "sample", "time", "record", "record+stack"]))
        truth = program.mark(choice.randrange(1, CALLS))
        run.cli("detach", str(program.pid))
        LATER[f"round-{number}"] = lambda report, n=number, t=truth: expect(f"round {n}: marked calls", calls(report, "late_marked"), t)
    expect("slots after all rounds", slots_into_agent(program.pid), 0)
    program.mark()
    program.end()


def test(run, rounds):
    LATER.clear()
    run.start_collector()
    check_truth(run, "busy", THREADS)
    check_truth(run, "malloc", "malloc")
    check_by_job(run)
    check_end(run)
    check_python(run)
    check_nginx(run)
    check_stopped(run)
    check_debugged(run)
    check_static(run)
    check_musl(run)
    check_absent(run)
    check_namespaces(run)
    check_other_user(run)
    check_rounds(run, int(rounds), 2026)
    for job, judge in LATER.items():
        judge(closed(run, job))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(2)
    harness.main(test)
