#!/usr/bin/python3
"""A debugger sees through hooked calls, in them and on the way in and out; memory and cost checkers find nothing to complain about."""
import os
import re
import shutil
import sys

from harness import expect, expect_true, main

SKIPPED = 77
# stacks.c: callers of the last function of call_all.
CALLERS = ["call_all", "call_below", "run", "main"]
STEPS = 40


def backtraces(text):
    """Function names of each `bt`, innermost first."""
    traces = []
    for line in text.splitlines():
        frame = re.match(r"#(\d+) +(?:0x[0-9a-f]+ in )?([\w:]+) \(", line)
        if frame and frame[1] == "0":
            traces.append([])
        if frame:
            traces[-1].append(frame[2])
    return traces


def expect_callers(what, trace):
    expect(f"{what}: callers in {trace}", [name for name in trace if name in CALLERS], CALLERS)
    # The way in may have a function that was inlined into another one, which counts as a frame.
    expect_true(f"{what}: at most three frames of the agent in {trace}", sum(name.startswith("hk_") for name in trace) <= 3)


def test_debugger(run, program, hooks):
    commands = run.path("commands.gdb")
    with open(commands, "w", encoding="ascii") as stream:
        stream.write("set debuginfod enabled off\nset breakpoint pending on\nset width 0\nset confirm off\n"
                     "break stacks_zero\nrun\nbt\nbreak hk_call_exit_ordered\ncontinue\nbt\n"
                     "break hk_call_leave\ncontinue\nbt\nfinish\nbt\n")
        # Every instruction of a later call's way in has the right callers too.
        stream.write("delete\nbreak hk_call_enter\ncontinue\n" + "bt\nstepi\n" * STEPS)
    done = run.trace("gdb", "-nx", "-batch", "-x", commands, program, hooks=[hooks], options=("-q",))
    traces = backtraces(done.stdout)
    expect_true(f"backtraces of gdb: {done.stdout[-2000:]}{done.stderr[-2000:]}", len(traces) == 4 + STEPS)
    expect("in the call", traces[0][:2], ["stacks_zero", "hk_thunks"])
    expect("on the way out", traces[1][0], "hk_call_exit_ordered")
    expect("in the agent", traces[2][:2], ["hk_call_leave", "hk_call_exit_ordered"])
    expect("back on the way out", traces[3][0], "hk_call_exit_ordered")
    expect("on the way in", traces[4][0], "hk_call_enter")
    for trace in traces:
        expect_callers(trace[0], trace)


def test_checker(run, program, hooks, *tool):
    alone = run.command(program)
    for level in ("record", "record+args"):
        watched = run.trace("valgrind", "-q", "--error-exitcode=9", *tool, program, hooks=[hooks], options=("-q", "--level", level))
        expect(f"{tool} at {level}: output", watched.stdout, alone.stdout)
        expect(f"{tool} at {level}: complaints", watched.stderr, "")


def test(run):
    if not shutil.which("gdb") or not shutil.which("valgrind"):
        print("skipped: gdb or valgrind is not installed")
        sys.exit(SKIPPED)
    program = os.path.join(run.build, "tests", "integration", "frame", "stacks")
    hooks = os.path.join(os.path.dirname(os.path.abspath(__file__)), "frame", "stacks.hooks")
    test_debugger(run, program, hooks)
    test_checker(run, program, hooks, "--tool=memcheck")
    test_checker(run, program, hooks, "--tool=callgrind", "--callgrind-out-file=/dev/null")


if __name__ == "__main__":
    main(test)
