#!/usr/bin/python3
"""Libraries that go: nothing is written where they were, and nothing that was theirs is taken for another's."""
import os
import shutil
import sys

from harness import Run, expect, expect_true, main, total_calls

ROUNDS = 20
WEAK = {"throw": "_Z17unload_weak_throw*", "jump": "_Z16unload_weak_jump*"}
FIRST, SECOND = 21, 891
# Once each of them took a thunk, of 16,383.
PLUGINS, MOVES, TIMED = 3300, 16500, 16383
CALLED = "getpid", "getppid", "getuid", "geteuid", "getgid"


def path(run, name):
    return os.path.join(run.build, "tests", "integration", "unload", name)


def expect_rounds(run, job):
    calls = total_calls(run.report(run.path("store", job)))
    expect(f"{job}: calls", sorted(calls.values()), [ROUNDS, ROUNDS])


def check_left(run: Run):
    """The plugin's first lazy call was left by an exception or a jump, the plugin closed, its place given to the host."""
    libraries = path(run, "libunload_plugin.so"), path(run, "libunload_other_plugin.so")
    for way, function in WEAK.items():
        job = f"left-{way}"
        done = run.trace(path(run, "unload"), "leave", way, *libraries, hooks=["*:" + function, "*:plugin_run"],
                         options=("-q", "--job", job), check=False)
        expect(f"{job}: the host's memory", (done.returncode, done.stdout), (0, "spoiled 0\n"))
        expect_rounds(run, job)


def check_left_in_python(run: Run):
    if not os.path.exists(path(run, "unload_module.so")):
        print("Python.h is not installed: a module of Python's is not tried")
        return
    script = run.path("left.py")
    with open(script, "w", encoding="ascii") as file:
        file.write("import sys\n"
                   "sys.path.insert(0, sys.argv[1])\n"
                   "import unload_module\n"
                   f"print(unload_module.visits(sys.argv[2], sys.argv[3], sys.argv[4], {ROUNDS}))\n")
    for way, function in WEAK.items():
        job = f"python-{way}"
        done = run.trace(sys.executable, script, path(run, ""), path(run, "libunload_plugin.so"),
                         path(run, "libunload_other_plugin.so"), way, hooks=["*:" + function, "*:plugin_run"],
                         options=("-q", "--job", job), check=False)
        expect(f"{job}: the host's memory", (done.returncode, done.stdout), (0, "0\n"))
        expect_rounds(run, job)


def check_same_place(run: Run):
    """The second library's calls have its own description and level, and its words are its own, not those of the one before."""
    hooks = run.path("sum.hooks")
    with open(hooks, "w", encoding="ascii") as file:
        for count in 6, 8:
            arguments = ", ".join(f"int a{i}" for i in range(count))
            file.write(f"library libunload_sum{count}.so\nint unload_sum({arguments})\n")
    libraries = path(run, "libunload_sum6.so"), path(run, "libunload_sum8.so")
    # By the six arguments of the first the second would get two that are none of its own.
    levels = {"described": "record", "leveled": ["libunload_sum6.so:*=count", "libunload_sum8.so:*=record"]}
    for job, level in levels.items():
        done = run.trace(path(run, "unload"), "same", *libraries, hooks=[hooks], level=level, options=("-q", "--job", job))
        lines = done.stdout.splitlines()
        expect_true(f"at the same place at least once: {lines}", any(line.endswith("same 1") for line in lines))
        expect(f"{job}: sums", {line.split(" same")[0] for line in lines}, {f"{FIRST} {SECOND}"})
        report = run.report(run.path("store", job))
        expect(f"{job}: calls", total_calls(report), {(0, "unload_sum"): 2 * ROUNDS, (0, "summing"): 2 * ROUNDS})
        marks = {os.path.basename(row["library"]): row["calls"] for row in report["calls"] if row["function"] == "summing"}
        expect(f"{job}: what each says of itself", marks, {os.path.basename(library): ROUNDS for library in libraries})
        records = ROUNDS if job == "leveled" else 2 * ROUNDS
        expect(f"{job}: records", [row["records"] for row in report["processes"]], [records + 2 * ROUNDS])


def check_many(run: Run):
    """More call sites than there are thunks with a frame, each plugin's after the other's: every call counts."""
    copies = run.path("many.so")
    for number in range(PLUGINS):
        shutil.copyfile(path(run, "libunload_many.so"), f"{copies}.{number}")
    done = run.trace(path(run, "unload"), "many", copies, str(PLUGINS), hooks=["libc.so.6:get*id"], options=("--job", "many"))
    expect("many: sum", done.stdout, f"{4 * PLUGINS}\n")
    report = run.report(run.path("store", "many"))
    expect("many: calls", total_calls(report), {(0, name): PLUGINS for name in CALLED})
    coverage = report["coverage"][0]
    expect("many: refused", (coverage["slots_refused"], coverage["slots_found"]), (0, coverage["slots_patched"]))
    untimed = len(CALLED) * PLUGINS - TIMED
    expect("many: not timed", sum(row["total_ns"] is None for row in report["calls"]), untimed)
    expect_true(f"many: the summary says so: {done.stderr}", f"{untimed} call sites are counted and not timed" in done.stderr)


def check_moved(run: Run):
    """A plugin comes more often than there are thunks, each time elsewhere."""
    library = path(run, "libunload_many.so")
    done = run.trace(path(run, "unload"), "moved", library, str(MOVES), hooks=["*:unload_sum"], options=("-q", "--job", "moved"))
    expect("moved: calls", total_calls(run.report(run.path("store", "moved"))), {(0, "unload_sum"): MOVES})


def test(run):
    check_left(run)
    check_left_in_python(run)
    check_same_place(run)
    check_many(run)
    check_moved(run)


if __name__ == "__main__":
    main(test)
