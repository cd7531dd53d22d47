#!/usr/bin/python3
"""Screens of top, to the letter, of jobs that are always the same: test_top_golden.py BUILD_DIR [--renew].

The expected ones are in tests/golden/top; --renew rewrites them: review the difference before the commit.
"""
import difflib
import os
import re

from harness import Failure, Run, expect_true, main, wait_for
from screen import Screen

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "top")
WIDE, NARROW, LOW = (100, 30), (40, 16), (80, 10)
UTF8, ASCII = {}, {"LC_ALL": "C"}

# name: job, columns and lines, environment, keys one after the other, what then is shown
SCREENS = {
    "functions": ("plain", (80, 24), UTF8, [], "MPI_Allreduce"),
    "expanded": ("plain", WIDE, UTF8, ["Enter"], "rank 3  node00"),
    "totals": ("plain", WIDE, UTF8, ["t"], "CALLS "),
    "ranks": ("plain", WIDE, UTF8, ["2"], "signal 9"),
    "ranks-map": ("many", WIDE, UTF8, ["2", "End"], " 95 "),
    "ranks-ascii": ("many", WIDE, ASCII, ["2", ">", ">", ">", "R"], "MPI%^"),
    "libraries": ("plain", WIDE, UTF8, ["3"], "libio.so"),
    "memory": ("plain", WIDE, UTF8, ["4", "Enter"], "rank 3"),
    "open": ("plain", WIDE, UTF8, ["5"], "libmesh.so.2"),
    "nodes": ("many", WIDE, UTF8, ["6"], "node02"),
    "coverage": ("plain", WIDE, UTF8, ["7"], "1003"),
    "help": ("plain", WIDE, UTF8, ["?"], "any key goes back"),
    "filter": ("plain", (80, 24), UTF8, ["\\", "m", "e", "s", "h", "Enter", "3", "\\", "m", "e", "s", "h", "Enter"], "only 'mesh'"),
    "wide": ("plain", (160, 24), UTF8, [], "MPI_Allreduce"),
    "narrow": ("plain", NARROW, UTF8, [], "MPI_Allreduce"),
    "low": ("many", LOW, UTF8, ["2", "End"], " 95 "),
    "ascii": ("plain", (80, 24), ASCII, ["Enter"], "rank 3  node00"),
    "shortened": ("many", WIDE, UTF8, ["Enter"], "median of 96 ranks"),
    "hostile": ("hostile", (80, 24), UTF8, ["Enter"], "rank 3"),
    "hostile-libraries": ("hostile", (60, 20), UTF8, ["3"], "script"),
    "hostile-ascii": ("hostile", (80, 24), ASCII, [], "to left"),
}
JOBS = {"plain": (4, "plain"), "many": (96, "plain"), "hostile": (4, "hostile")}


def settled(screen, shown):
    """The screen once it has what is to be SHOWN and does not change any more."""
    last = [None]

    def look():
        before, last[0] = last[0], screen.text()
        return last[0] if shown in last[0] and before == last[0] else None
    return wait_for(f"{shown!r} on the screen", look)


def check(run, name, renew):
    job, (columns, lines), environment, keys, shown = SCREENS[name]
    path = os.path.join(GOLDEN, name + ".txt")
    with Screen(run, [run.binary("hookcli"), "top", run.path(job)], columns, lines, **environment) as screen:
        screen.wait_text("1-7 view" if columns > 40 else "1-7")
        for key in keys:
            screen.press(key)
            if key.isdigit():
                wait_for(f"view {key}", lambda tab=f"[{key} ": "looking" not in settled(screen, tab))
        text = settled(screen, shown)
        if renew:
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(text)
        with open(path, encoding="utf-8") as stream:
            wanted = stream.read()
        try:
            wait_for(f"screen {name}", lambda: screen.text() == wanted, timeout=60)  # it had settled
        except Failure:
            difference = difflib.unified_diff(wanted.splitlines(), screen.text().splitlines(), "expected", "shown", lineterm="")
            raise Failure(f"screen {name} is not as in {path} (--renew rewrites it):\n" + "\n".join(difference)) from None
        codes = screen.codes()
        expect_true(f"{name}: colours of its own background: {codes!r}", not re.search("\033\\[(?:[0-9]*;)*4[0-8]", codes))
        if environment is ASCII:
            expect_true(f"{name}: ASCII only: {text!r}", text.isascii())


def check_colour(run):
    """The rank that was killed is red; with NO_COLOR it is not, and stands out all the same."""
    def codes(**environment):
        with Screen(run, [run.binary("hookcli"), "top", run.path("plain"), "--view", "ranks"], 100, 24, TERM="screen-256color",
                    **environment) as screen:
            screen.wait_text("signal 9")
            return next(line for line in screen.codes().splitlines() if "signal 9" in line)
    expect_true(f"red: {codes()!r}", "\033[31m" in codes() or "\033[1;31m" in codes() or ";31m" in codes())
    plain = codes(NO_COLOR="1")
    expect_true(f"no colour: {plain!r}", not re.search("\033\\[(?:[0-9]*;)*3[0-7]m", plain))
    expect_true(f"but bold: {plain!r}", "\033[1m" in plain)


def test(run: Run, *arguments):
    for name, (ranks, kind) in JOBS.items():
        os.mkdir(run.path(name))
        run.command(run.build + "/tests/load/still", run.path(name), ranks, kind)
    for name in SCREENS:
        check(run, name, "--renew" in arguments)
    check_colour(run)


main(test)
