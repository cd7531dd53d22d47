#!/usr/bin/python3
"""The Python package in every CPython of this machine: started in a process that runs, preloaded, started twice, and where something is missing.

Counts of ranges, marks, steps, counters and of a C call, os.getppid(), are those of the program, over its threads, a fork and a subprocess.
"""
import glob
import json
import os
import re
import shutil
import sys

import pythons
from harness import RANKS, Failure, calls_of, expect, expect_true, main, wait_for

SKIPPED = 77
BEFORE, CALLS, THREADS, FORKED, EXECUTED = 30, 1000, 4, 50, 70
PROGRAM = f"""
import hooktrace, os, subprocess, sys, threading

def call(times):
    for _ in range(times):
        os.getppid()

call({BEFORE})
late = sys.argv[1] == "late"
settings = dict(hooks="*:getppid", store=sys.argv[2], level=["record", "getppid=time"]) if late else dict()
started = hooktrace.start(quiet=True, **settings)
assert started and hooktrace.start() and hooktrace.is_on(), started
call({CALLS})

@hooktrace.range("decorated")
def decorated(x):
    '''doc'''
    return x + 1

assert decorated(1) == 2 and decorated.__doc__ == "doc"
with hooktrace.range("block") as block:
    for i in range(10):
        hooktrace.step()
        hooktrace.counter("loss", i / 2)
        hooktrace.mark("tick")
        with block:
            pass
try:
    with hooktrace.range("raises"):
        raise KeyError
except KeyError:
    pass
hooktrace.step(100)
hooktrace.mark("no \\udcff text")
hooktrace.counter("no \\udcff number", 1)
with hooktrace.range("no \\udcff range"):
    pass

def work():
    call({CALLS})
    for _ in range(100):
        with hooktrace.range("thread"):
            pass

threads = [threading.Thread(target=work) for _ in range({THREADS})]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
child = os.fork()
if child == 0:
    call({FORKED})
    with hooktrace.range("forked"):
        pass
    assert hooktrace.start()
    sys.exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3 if hasattr(os, "waitstatus_to_exitcode") else os.waitpid(child, 0)[1] == 3 << 8
subprocess.run([sys.executable, "-c", "import os, hooktrace; assert hooktrace.start(); [os.getppid() for _ in range({EXECUTED})]"], check=True)
for wrong in (lambda: hooktrace.mark(1), lambda: hooktrace.counter("x", "y"), lambda: hooktrace.step(-1), lambda: hooktrace.range(1),
              lambda: hooktrace.start(level="loud")):
    try:
        wrong()
    except (TypeError, OverflowError, ValueError):
        continue
    assert wrong.__name__ == "<lambda>" and False, "no error"
print(hooktrace.job_directory())
"""
RANGES = {"no \\udcff range": 1, "decorated": 1, "block": 11, "raises": 1, "thread": 100 * THREADS, "forked": 1}
NOTES = {"no \\udcff text": 1, "no \\udcff number": 1, "step": 11, "loss": 10, "tick": 10}

AGAIN = """
import hooktrace, os, sys
def call(times):
    for _ in range(times):
        os.getppid()
assert not hooktrace.is_on()
hooktrace.stop()
for turn in (1, 2):
    with hooktrace.trace(hooks="*:getppid", store=sys.argv[1], quiet=True) as traced:
        assert traced and "libhookagent" in os.environ["LD_PRELOAD"]
        with hooktrace.range("open at the end"):
            call(10 * turn)
            print(hooktrace.job_directory())
    assert not hooktrace.is_on() and "LD_PRELOAD" not in os.environ
    call(5)
    with hooktrace.range("while off"):
        hooktrace.mark("off"); hooktrace.counter("off", 1); hooktrace.step(); hooktrace.mark(None)
from hooktrace import agent
assert hooktrace.start(hooks="*:getppid", store=sys.argv[1], quiet=True)
agent.stop_late(agent.load()) # as `hookcli detach` has it do
assert not hooktrace.is_on()
assert hooktrace.start(hooks="*:getppid", store=sys.argv[1], quiet=True) and hooktrace.is_on()
with hooktrace.range("open at the end"):
    call(30)
print(hooktrace.job_directory())
hooktrace.stop()
"""

MISSING = """
import hooktrace, os, sys, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert hooktrace.start() is False and not hooktrace.is_on()
assert len(caught) == 1 and caught[0].category is RuntimeWarning and caught[0].filename == sys.argv[0], caught
with hooktrace.range("x"), hooktrace.trace():
    hooktrace.step(); hooktrace.mark("m"); hooktrace.counter("c", 1)
hooktrace.stop()
try:
    hooktrace.replace("getppid", lambda original: 1)
except RuntimeError as error:
    assert "not traced" in str(error), error
else:
    raise SystemExit("replaced")
print(caught[0].message)
"""

HOOKS = """
import ctypes, hooktrace, os, sys
from hooktrace import compiled
from hooktrace.compat import cuda_mock
hooktrace.start(hooks="*:getppid", store=sys.argv[1], quiet=True)
real = os.getppid()
with hooktrace.replace("getppid", lambda original: original() + 1) as replacement:
    assert os.getppid() == real + 1 and replacement.original() == real and replacement.slots >= 1
assert os.getppid() == real
# A replacement that calls what it replaces, and one that raises: before the original, and after it.
with hooktrace.replace("getppid", lambda original: os.getppid() + 2):
    assert os.getppid() == real + 2
raised = []
sys.unraisablehook = lambda what: raised.append(what.exc_type)
def late(original):
    original()
    raise KeyError
for bad, kind in ((lambda original: 1 // 0, ZeroDivisionError), (late, KeyError)):
    with hooktrace.replace("getppid", bad):
        assert os.getppid() == real
    assert raised.pop() is kind and not raised
seen = []
sizes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
read, write = os.pipe()
with hooktrace.observe("write", lambda result, fd, at, size: seen.append((result, fd, size)), restype=ctypes.c_ssize_t, argtypes=sizes):
    os.write(write, b"hello")
    try:
        os.write(9999, b"x")
    except OSError as error:
        assert error.errno == 9, error
os.write(write, b"unseen")
assert seen == [(5, write, 5), (-1, 9999, 1)], seen
# C source, with and without the original.
library = compiled.compile_source("int (*__origin_getppid)(void); int mine(void) { return __origin_getppid() + 7; } int getppid(void) { return -1; }")
with hooktrace.replace("getppid", library + ":mine"):
    assert os.getppid() == real + 7
    with hooktrace.replace("getppid", library):
        assert os.getppid() == -1
assert os.getppid() == real
for wrong in (library + ":no_such", "/no/such/library.so"):
    try:
        hooktrace.replace("getppid", wrong)
    except hooktrace.hooks.HookError as error:
        assert "cannot replace getppid by" in str(error)
    else:
        raise SystemExit(wrong)
try:
    compiled.compile_source("int x = ;")
except compiled.CompileError as error:
    assert "error" in str(error)
# cuda_mock's way.
code = '''extern "C" { void *__origin_getppid = nullptr;
int new_getppid() { return 1000000 + reinterpret_cast<int (*)()>(__origin_getppid)(); } }'''
lib = cuda_mock.dynamic_obj(code, True).appen_compile_opts("-g").compile().get_lib()
class Installer(cuda_mock.HookInstaller):
    def is_target_lib(self, name):
        return "python" in name
    def is_target_symbol(self, name):
        return name == "getppid"
    def new_symbol_name(self, name):
        return "new_" + name
installer = Installer(lib)
assert len(installer.installed) == 1 and os.getppid() == real + 1000000, installer.installed
assert Installer(lib).installed == installer.installed and os.getppid() == real + 1000000
assert cuda_mock.internal_install_hook_regex("libc", "python[^/]*$", "getppid", library, "getppid") >= 1 and os.getppid() == -1
hooktrace.stop()
assert os.getppid() == real
print("done")
"""

RANK = """
import hooktrace, os
assert hooktrace.start(hooks="*:getppid")
assert os.path.isabs(hooktrace.job_directory() or "/")
for _ in range(10 + int(os.environ["OMPI_COMM_WORLD_RANK"])):
    os.getppid()
"""

SCRIPT = """
import __main__, os, sys
print(__name__, __main__.__file__ == __file__, sys.argv[1:], os.path.samefile(sys.path[0], os.path.dirname(os.path.abspath(__file__))), beside.value, os.environ.get("LD_PRELOAD") is not None)
sys.exit(5)
""".replace("import __main__,", "import beside, __main__,")


class Case:
    def __init__(self, run, version, python):
        self.run = run
        self.version = version
        self.python = python
        self.package = os.path.join(run.build, "python")
        self.directory = run.path(version + os.path.basename(os.path.dirname(os.path.dirname(python))))
        os.makedirs(self.directory, exist_ok=True)

    def script(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def start(self, *arguments, check=True, **environment):
        # CPython 3.12 warns of a fork while a joined thread has not quite ended.
        environment = {"PYTHONPATH": self.package, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore::DeprecationWarning", **environment}
        return self.run.command(self.python, *arguments, env=environment, cwd=self.directory, check=check)

    def closed(self, job):
        """The report of the job at the path JOB, once its collector has closed it."""
        def look():
            done = self.run.cli("report", job, "--format", "json", check=False)
            report = json.loads(done.stdout) if done.returncode == 0 else {"job": {"closed": False}}
            return report if report["job"]["closed"] else None
        return wait_for(f"{job} to be closed", look)

    def check_counts(self, what, report, getppid):
        counts = {}
        for row in report["calls"]:
            counts[row["function"]] = counts.get(row["function"], 0) + row["calls"]
        expect(f"{self.version}, {what}: calls", counts, {**RANGES, **NOTES, "getppid": getppid})
        expect(f"{self.version}, {what}: lost", sum(process["lost_records"] for process in report["processes"]), 0)


def check_late(case):
    store = os.path.join(case.directory, "late")
    done = case.start(case.script("program.py", PROGRAM), "late", store)
    expect(f"{case.version}, late: on standard error", done.stderr, "")
    yield
    case.check_counts("late", case.closed(done.stdout.strip()), CALLS * (1 + THREADS) + FORKED + EXECUTED)


def check_preloaded(case):
    store = os.path.join(case.directory, "preloaded")
    done = case.start("-m", "hooktrace", "run", "-q", "--hooks", "*:getppid", "--store", store, "--job", "job", "--level=record",
                      case.script("program.py", PROGRAM), "preloaded")
    expect(f"{case.version}, preloaded: output", (done.stdout, done.stderr), ("None\n", ""))
    case.check_counts("preloaded", case.closed(os.path.join(store, "job")), BEFORE + CALLS * (1 + THREADS) + FORKED + EXECUTED)


def check_again(case):
    done = case.start(case.script("again.py", AGAIN), os.path.join(case.directory, "again"))
    expect(f"{case.version}, again: on standard error", done.stderr, "")
    jobs = done.stdout.split()
    expect(f"{case.version}, again: jobs", len(set(jobs)), 3)
    yield
    for turn, job in enumerate(jobs, 1):
        counts = {row["function"]: row["calls"] for row in case.closed(job)["calls"]}
        expect(f"{case.version}, again: calls of turn {turn}", counts, {"getppid": 10 * turn, "open at the end": 1})


def check_missing(case):
    """A package without a collector, and one without an agent: the program runs, and one warning says what to do."""
    package = os.path.join(case.directory, "alone", "package")
    shutil.copytree(os.path.join(case.package, "hooktrace"), os.path.join(package, "hooktrace"))
    script = case.script("missing.py", MISSING)
    told = case.start(script, PYTHONPATH=package, PATH=path_without_cli()).stdout
    expect_true(f"{case.version}: without a collector: {told}", "no collector runs" in told and "pip install hooktrace-tools" in told)
    told = case.start(script, HOOK_AGENT="/no/such/agent.so").stdout
    expect_true(f"{case.version}: without an agent: {told}", "HOOK_AGENT names /no/such/agent.so" in told)
    told = case.start(script, HOOK_RUN_DIR="relative").stdout
    expect_true(f"{case.version}: a bad run directory: {told}", "HOOK_RUN_DIR" in told)
    for variable, value, reason in (("HOOK_BUDGET", "much", "--budget 'much' is neither"), ("HOOK_ON_FULL", "block", "--on-full 'block' is neither"),
                                    ("HOOK_KEEP", "some", "--keep 'some' is neither")):
        told = case.start(script, **{variable: value}).stdout
        expect_true(f"{case.version}: {variable}={value}: {told}", f"is not traced: {reason}" in told)


def check_hooks(case):
    done = case.start(case.script("hooks.py", HOOKS), os.path.join(case.directory, "hooks"))
    expect(f"{case.version}, hooks", (done.stdout, done.stderr), ("done\n", ""))


def check_run(case):
    """Scripts and modules run as by python itself, also by way of startup.py."""
    case.script("beside.py", "value = 42\n")
    script = case.script("script.py", SCRIPT)
    for arguments in (["script.py"], [script], ["-m", "script"]):
        for before in ([], ["-m", "hooktrace", "run", "-q", "--hooks=mpi", "--store", "runs"], ["-m", "hooktrace.startup"]):
            done = case.start(*before, *arguments, "a", "-b", check=False)
            wanted = f"__main__ True ['a', '-b'] True 42 {'run' in before}\n"
            expect(f"{case.version}: {' '.join(before + arguments)}", (done.returncode, done.stdout, done.stderr), (5, wanted, ""))
    counted = case.script("counted.py", "def counted():\n    pass\nfor _ in range(20):\n    counted()\n")
    done = case.start("-m", "hooktrace", "run", "-q", "--python", "--hooks", "mpi", "--store", "parts", "--job", "tracer", counted)
    expect(f"{case.version}, --python: on standard error", done.stderr, "")
    rows = case.closed(os.path.join(case.directory, "parts", "tracer"))["calls"]
    expect(f"{case.version}, --python: calls", [row["calls"] for row in rows if row["function"].startswith("counted (")], [20])
    done = case.start("-m", "hooktrace", "run", "--hooks=mpi", check=False)
    expect_true(f"{case.version}: no script: {done.stderr}", done.returncode == 2 and "no script was given" in done.stderr)
    done = case.start("-m", "hooktrace", "walk", check=False)
    expect_true(f"{case.version}: another command: {done.stderr}", done.returncode == 2 and "python -m hooktrace run" in done.stderr)


def check_ranks(case):
    """The ranks of a launcher open one job, and one of them says where."""
    script = case.script("rank.py", RANK)
    told = case.run.command("mpirun", "-n", RANKS, case.python, script, env={"PYTHONPATH": case.package}, cwd=case.directory).stderr
    expect_true(f"ranks: {told}", re.match("hooktrace: the job is /.*/hook-python", told) and told.count("hooktrace:") == 1)
    report = case.closed(os.path.join(case.directory, "hook-last"))
    expect("calls of each rank", {rank: row["calls"] for (rank, _, _), row in calls_of(report).items()}, {rank: 10 + rank for rank in range(RANKS)})


def check_shared(case):
    """A collector that runs already takes the job, also where hookcli is not beside the package."""
    collector = case.run.start_collector()
    script = case.script("shared.py", "import hooktrace, os\nassert hooktrace.start(hooks='*:getppid', job='shared')\n[os.getppid() for _ in range(7)]\n")
    case.start(script)
    alone = os.path.join(case.directory, "alone", "package")
    direct = case.script("direct.py", "import hooktrace, os\nassert hooktrace.start(hooks='*:getppid', job='direct')\n[os.getppid() for _ in range(7)]\n")
    expect("without hookcli the job's place is not known", case.start(direct, PYTHONPATH=alone, PATH=path_without_cli()).stderr, "")
    for job in ("shared", "direct"):
        calls = {row["function"]: row["calls"] for row in case.closed(case.run.path("store", job))["calls"]}
        expect(f"{job}: calls", calls, {"getppid": 7})
    collector.terminate()
    collector.wait()


def check_versions(run):
    """The modules need nothing newer than glibc 2.17, and of libraries libc alone."""
    for path in glob.glob(os.path.join(run.build, "python", "hooktrace", "*.so")):
        shown = run.command("objdump", "-pT", path).stdout
        newer = {text for text, minor in re.findall(r"(GLIBC_2\.(\d+)\S*)", shown) if int(minor) > 17}
        expect(f"{os.path.basename(path)}: versions above 2.17", newer, set())
        expect(f"{os.path.basename(path)}: libraries", re.findall(r"NEEDED\s+(\S+)", shown), ["libc.so.6"])


def path_without_cli():
    return os.pathsep.join(directory for directory in os.environ["PATH"].split(os.pathsep) if not os.path.exists(os.path.join(directory, "hookcli")))


def test(run):
    if not os.path.exists(os.path.join(run.build, "python", "hooktrace", "_native.abi3.so")):
        print("not built: the headers of Python are missing")
        sys.exit(SKIPPED)
    found = pythons.found()
    if not found:
        raise Failure("no Python of this machine is one that the package is for")
    cases = [Case(run, version, python) for version, python in found]
    # The collector closes a job some time after its process has ended: meanwhile the next ones run.
    ending = [check(case) for case in cases for check in (check_late, check_again)]
    for check in ending:
        next(check)
    for case in cases:
        for check in (check_preloaded, check_missing, check_hooks, check_run):
            check(case)
    for check in ending:
        expect("the end of a check", next(check, None), None)
    check_versions(run)
    check_ranks(cases[0])
    check_shared(cases[0])
    pythons.say_left_out([version for version, _ in found])


if __name__ == "__main__":
    main(test)
