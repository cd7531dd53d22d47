#!/usr/bin/python3
"""hookcli stacks on threads of Python: in known places their functions, files and lines are those that Python itself knows; in call trees that
change all the time every stack is whole, and each function is called from a line that names it. Interpreters that are left alone are named,
and so is what ptrace does not read. On each CPython of the machine."""
import ast
import collections
import json
import os
import re
import subprocess

import pythons
from harness import expect, expect_true, main, wait_for
from whereabouts import stacks

WORKLOADS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "workloads")
SCRIPT = os.path.realpath(os.path.join(WORKLOADS, "python_places.py"))
STORMS = 2
ASKED = {"short": 60, "long": 5000}
# No answer of one that had no processor in time.
LATE = ("does not answer", "not asked")


class Places:
    """A running python_places.py; it ends with its input."""

    def __init__(self, run, job, python, *words):
        self.job = job
        library = os.path.realpath(run.workload("libpython_truth_library.so"))
        self.process = subprocess.Popen([python, SCRIPT, library, *words], cwd=run.directory, text=True,
                                        env=run.environment(LD_PRELOAD=run.agent(), HOOK_JOB=job), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        expect(f"{job}: first line", self.process.stdout.readline(), "ready\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def known(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return {int(tid): [tuple(frame) for frame in frames] for tid, frames in json.loads(self.process.stdout.readline()).items()}

    def end(self):
        self.process.communicate()
        expect(f"{self.job}: exit", self.process.returncode, 0)


def python_of(thread):
    return [(frame["function"], frame["file"], frame["line"]) for frame in thread["frames"] if frame.get("language") == "python"]


def is_cut(thread):
    return thread["frames"][-1] == {"end": "[ends here: the stack is deeper]"}


def attached(run, job, count):
    """Waits until the collector knows JOB and COUNT threads of it."""
    wait_for(f"{job} at the collector", lambda: run.cli("stacks", job, check=False).returncode == 0)
    return wait_for(f"{count} threads of {job}", lambda: (lambda t: len(t) >= count and t)(stacks(run, job)))


# ---- known places ----


def is_spin(frames):
    return frames[0][0] == "in_spin"


def differing(known, threads):
    """The first thread whose stack is another one; None: all are equal. A thread that spins may be in any line of its loop."""
    for thread in threads:
        wanted, found = known.get(thread["tid"]), python_of(thread)
        if wanted is None or (thread["missing"] or "").startswith(LATE):
            continue
        wanted = wanted[:len(found)] if is_cut(thread) and len(found) > 50 else wanted
        start = 1 if is_spin(wanted) and found and is_spin(found) and abs(found[0][2] - wanted[0][2]) <= 1 else 0
        if found[start:] != wanted[start:]:
            return thread["frames"], wanted
    return None


def check_places(run, name, python):
    with Places(run, f"places-{name}", python, "places") as program:
        known = program.known()
        attached(run, program.job, len(known) + 1)

        def settled():
            before, threads, after = program.known(), stacks(run, program.job), program.known()
            same = all(after[tid] == frames or is_spin(frames) for tid, frames in before.items())
            # Threads have not arrived in their places yet, or else their stacks are equal.
            return (before, threads) if same and not any(t["missing"] for t in threads) else None
        known, threads = wait_for("all in their places", settled)
        expect(f"{name}: a stack that differs", differing(known, threads), None)
        read = {frames[0][0] for frames in known.values()} | {frame[0] for frames in known.values() for frame in frames}
        expect_true(f"{name}: {len(read)} functions", len(known) == 11 and len(read) > 15)
        text = run.cli("stacks", program.job, "-a").stdout
        expect_true(f"{name}: text {text}", re.search(r" in_spin \(python_places\.py:\d+\) <- ", text)
                    and re.search(r"<- \S*in_made \(python_places\.py:\d+\) ", text))
        check_ptrace(run, name, program)
        program.end()


def check_ptrace(run, name, program):
    """A thread that sleeps is read by ptrace, without its Python frames, and that is said."""
    asleep = [thread for thread in stacks(run, program.job, "--ptrace") if thread["traced"]]
    if not any(asleep):
        print("no thread was read by ptrace")
        return
    expect(f"{name}: what is said", {thread["python_missing"] for thread in asleep}, {"read by ptrace, which knows native frames only"})
    text = run.cli("stacks", program.job, "-a", "--ptrace").stdout
    expect_true(f"{name}: text {text}", "! no Python frames in some stacks: read by ptrace" in text)


# ---- storm ----


def names_by_line():
    """What each line of the script names; and the lines that have a function without a name."""
    names, inner = collections.defaultdict(set), set()
    with open(SCRIPT, encoding="utf-8") as file:
        for node in ast.walk(ast.parse(file.read())):
            if isinstance(node, (ast.Name, ast.Attribute)):
                names[node.lineno].add(node.id if isinstance(node, ast.Name) else node.attr)
            elif isinstance(node, (ast.Lambda, ast.ListComp)):
                inner.add(node.lineno)
    return names, inner


NAMES, INNER = names_by_line()


def base(frame):
    return frame[0].rsplit(".", 1)[-1]


def calls(caller, callee):
    """Whether the line of CALLER, a frame, can call CALLEE."""
    if caller[1] == "<made>":
        return base(callee) == "choose" and caller[2] == 2
    if caller[1] != SCRIPT:
        return True  # of the library
    if base(caller) == "begin":
        return base(callee) == "enter"
    if callee[1] == "<made>":
        return ("exec" if base(callee) == "<module>" else "made") in NAMES[caller[2]]
    if base(callee) in ("<lambda>", "<listcomp>"):
        return caller[2] in INNER and callee[2] == caller[2]
    return base(callee) in NAMES[caller[2]]


def check_stack(name, thread):
    """A stack of the storm's is whole, and each function is where its caller calls it."""
    frames = python_of(thread)
    if not is_cut(thread):
        expect(f"{name}: outermost functions of {thread['frames']}", [base(frame) for frame in frames[::-1]][:5],
               ["_bootstrap", "_bootstrap_inner", "run", "begin", "enter"])
    for callee, caller in zip(frames, frames[1:]):
        expect_true(f"{name}: {caller} calls {callee}: {thread['frames']}", calls(caller, callee))


def check_storm(run, name, python, asked):
    depths = collections.Counter()
    with Places(run, f"storm-{name}", python, "storm", str(STORMS), "2026") as program:
        attached(run, program.job, STORMS + 1)
        first = program.process.pid
        for _ in range(asked):
            for thread in stacks(run, program.job):
                if thread["tid"] != first and not (thread["missing"] or "").startswith(LATE):
                    check_stack(name, thread)
                    depths[len(python_of(thread))] += 1
        program.end()
    answers = sum(depths.values())
    expect_true(f"{name}: {answers} answers, {depths}", answers > asked and len(depths) > 5)
    return answers


# ---- special interpreters ----

SUB = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
def begin():
    interpreters.run_string(interpreters.create(), %r)
begin()
"""
INNER_CODE = """
import os
def inner():
    os.read(0, 1)
def spin():
    import time
    end = time.monotonic() + 3600
    while time.monotonic() < end and not os.path.exists(%r):
        pass
def outer():
    spin()
    inner()
outer()
"""
ENDING = """
import os, threading, time
class Last:
    def __del__(self, exists=os.path.exists):
        while not exists(%r):
            pass
last = Last()
lock = threading.Lock()
lock.acquire()
threading.Thread(target=lock.acquire, daemon=True).start()
"""


def functions_of(thread):
    return [function.rsplit(".", 1)[-1] for function, _, _ in python_of(thread)]


class Code:
    """PYTHON running TEXT, which spins until a file is there; it ends with its input."""

    def __init__(self, run, job, python, text):
        self.file = run.path(f"go-{job}")
        self.process = subprocess.Popen([python, "-c", text(self.file)], cwd=run.directory, stdin=subprocess.PIPE,
                                        env=run.environment(LD_PRELOAD=run.agent(), HOOK_JOB=job))

    def go(self):
        with open(self.file, "w", encoding="ascii"):
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def threads_when(run, job, function):
    """The threads of JOB once one of them is in FUNCTION."""
    attached(run, job, 1)
    return wait_for(f"{function} in {job}", lambda: (
        lambda threads: threads if any(function in functions_of(thread) for thread in threads) else None)(stacks(run, job)))


def check_sub_interpreter(run, name, version, python):
    """Without the GIL the thread's sub-interpreter is known from 3.12 on."""
    job = f"sub-{name}"
    with Code(run, job, python, lambda file: SUB % (INNER_CODE % file)) as code:
        thread, = threads_when(run, job, "spin")
        functions = functions_of(thread)
        expect_true(f"{job}: {functions}", functions[functions.index("spin"):] == ["spin", "outer", "<module>"])
        code.go()
        released = "inner" if version in ("3.12", "3.13") else "begin"
        thread, = threads_when(run, job, released)
        expect(f"{job}: without the GIL", functions_of(thread), ["inner", "outer", "<module>"] if released == "inner" else ["begin", "<module>"])
        code.process.communicate()
        expect(f"{job}: exit", code.process.returncode, 0)


def check_end_of_interpreter(run, name, python):
    """Only the thread that ends the interpreter has frames: those of others may be freed."""
    job = f"end-{name}"
    with Code(run, job, python, lambda file: ENDING % file) as code:
        threads = threads_when(run, job, "__del__")
        expect(f"{job}: threads", len(threads), 2)
        for thread in threads:
            first = thread["tid"] == code.process.pid
            expect_true(f"{job}: {functions_of(thread)} of {'the first' if first else 'another'} thread",
                        "__del__" in functions_of(thread) if first else functions_of(thread) == [])
        code.go()
        code.process.communicate()
        expect(f"{job}: exit", code.process.returncode, 0)


# ---- interpreters that are left alone ----


def check_left_alone(run):
    program = subprocess.Popen([run.workload("python_simulated"), "30d00f0", "1"], stdin=subprocess.PIPE,
                               env=run.environment(LD_PRELOAD=run.agent(), HOOK_JOB="alone"))
    try:
        thread, = attached(run, "alone", 1)
        reason = "no frames of Python 3.13 in stacks: it is a free-threaded build"
        expect("JSON", thread["python_missing"], reason)
        text = run.cli("stacks", "alone").stdout
        expect_true(f"text {text}", f"! {reason}" in text and "main" in text)
    finally:
        program.communicate()


def test(run, kind="short"):
    run.start_collector()
    check_left_alone(run)
    versions = []
    for version, python in pythons.found():
        name = f"{version}-{len(versions)}"
        check_places(run, name, python)
        print(f"Python {version}: {check_storm(run, name, python, ASKED[kind])} stacks of a storm")
        check_sub_interpreter(run, name, version, python)
        check_end_of_interpreter(run, name, python)
        versions.append(version)
    pythons.say_left_out(versions)


if __name__ == "__main__":
    main(test)
