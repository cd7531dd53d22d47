#!/usr/bin/python3
"""Any function by a pattern, callers by from=, levels by patterns, and calls replaced, skipped and answered: by a program that
counts the calls that really happen."""
import os
import re

from harness import Failure, calls_of, expect, expect_true, main

LIBRARY = "libchanges_library.so"
LEFT, RIGHT, PROGRAM, ANYWHERE = "libchanges_left.so", "libchanges_right.so", "changes", "*"
# What calls which function how often. Right was built to call through the table of addresses, the program looks one up.
CALLS = {
    (PROGRAM, "changes_number"): 5, (LEFT, "changes_number"): 10, (ANYWHERE, "changes_number"): 20,
    (PROGRAM, "changes_half"): 1, (ANYWHERE, "changes_half"): 1, (PROGRAM, "changes_third"): 1,
    (PROGRAM, "changes_place"): 1, (PROGRAM, "changes_sum"): 1, (PROGRAM, "left"): 1, (PROGRAM, "right"): 1,
}
PLAIN = {"number": "15 left 55 right 210", "half": "1.5 2.5 third 1", "place": "known", "sum": "36", "called": "35 2 1 1 1"}


def parse(text):
    return dict(line.split(" ", 1) for line in text.splitlines())


class Case:
    def __init__(self, run):
        self.run = run
        self.count = 0
        self.directory = os.path.join(run.build, "tests", "integration", "changes")
        self.program = os.path.join(self.directory, "changes")

    def file(self, text):
        """A hooks file of its own beside a link to the replacements: a path in it is relative to it."""
        self.count += 1
        folder = self.run.path(f"hooks{self.count}")
        os.mkdir(folder)
        os.symlink(os.path.join(self.directory, "libchanges_instead.so"), os.path.join(folder, "instead.so"))
        path = os.path.join(folder, "user.hooks")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def trace(self, what, hooks, changed=None, wanted=None, note="", **more):
        """Runs the program with HOOKS; its output is the plain one but for CHANGED, the report's calls are WANTED."""
        self.count += 1
        name = f"job{self.count}"
        done = self.run.trace(self.program, hooks=hooks, options=("--job", name), check=False, **more)
        expect(f"{what}: exit status", done.returncode, 7)
        expect(f"{what}: output", parse(done.stdout), {**PLAIN, **(changed or {})})
        report = self.run.report(self.run.path("store", name))
        rows = {key[1:]: row for key, row in calls_of(report).items() if row["domain"] == "user"}
        if wanted is not None:
            expect(f"{what}: calls", {key: row["calls"] for key, row in rows.items()}, wanted)
        notes = [process["note"] or "" for process in report["processes"] if process["role"] == "main"]
        expect_true(f"{what}: the report says {notes}, not '{note}'", note in "".join(notes))
        return rows


def of(function):
    return {key: calls for key, calls in CALLS.items() if key[1] == function}


def test_patterns(case):
    case.trace("a library", [f"{LIBRARY}:*", "libchanges_left*:*", "*:right"], wanted=CALLS)
    case.trace("a prefix", ["*:changes_ha*"], wanted=of("changes_half"))
    case.trace("denied", [case.file(f"{LIBRARY}:changes_*\ndeny {LIBRARY}:changes_number libm.so.6:changes_half\n")],
               wanted={key: calls for key, calls in CALLS.items()
                       if key[1].startswith("changes_") and key[1] != "changes_number"})


def test_callers(case):
    left = {(LEFT, "changes_number"): 10}
    line = f"{LIBRARY}:changes_number from="
    case.trace("from=", [case.file(line + "libchanges_left*\n")], wanted=left)
    case.trace("from= without wildcards", [case.file(line + LEFT + "\n")], wanted=left)
    case.trace("from= of a pattern given alone", [line + LEFT], wanted=left)
    case.trace("HOOK_FROM", [f"{LIBRARY}:changes_number"], wanted=left, env={"HOOK_FROM": "libchanges_left*"})
    # A line for one caller leaves the other callers to the line before it.
    rows = case.trace("two lines", [case.file(f"{LIBRARY}:changes_number level=count\n{line}{LEFT} level=time\n")],
                      wanted=of("changes_number"))
    expect("two lines: timed", sorted(key[0] for key, row in rows.items() if row["total_ns"] is not None), [LEFT])


def test_levels(case):
    rows = case.trace("levels", [f"{LIBRARY}:*"], level=["*:changes_*=count", "changes_half=time"])
    timed = {key[1] for key, row in rows.items() if row["total_ns"] is not None}
    expect("levels: timed", timed, {"changes_half"})


def test_changed_results(case):
    none = {"called": "0 2 1 1 1", "number": "0 left 0 right 0"}
    hooks = [case.file(f"skip {LIBRARY}:changes_number\n")]
    case.trace("skip", hooks, none, of("changes_number"), note=f"skipped {LIBRARY}:changes_number")
    case.trace("skip, not watched", hooks, none, {}, level="*=off")
    case.trace("skip from=", [f"skip {LIBRARY}:changes_number from={LEFT}"],
               {"called": "25 2 1 1 1", "number": "15 left 0 right 210"}, {(LEFT, "changes_number"): 10})
    lines = [f"return -3 {LIBRARY}:changes_number", f"return 1.25 {LIBRARY}:changes_half",
             f"return -0.5f *:changes_third", f"return 0x7fff0000 {LIBRARY}:changes_place",
             f"return 123456789012 {LIBRARY}:changes_sum"]
    changed = {"number": "-15 left -30 right -60", "half": "1.25 1.25 third -0.5", "place": "other", "sum": "123456789012",
               "called": "0 0 0 0 0"}
    watched = {key: calls for key, calls in CALLS.items() if key[1].startswith("changes_")}
    case.trace("return", [case.file("\n".join(lines))], changed, watched, note="result set of")
    case.trace("the last line holds", [case.file("\n".join([*lines, f"return 1 {LIBRARY}:changes_number"]))],
               {**changed, "number": "5 left 10 right 20"}, watched)


def test_replacements(case):
    line = f"replace {LIBRARY}:changes_number with ./instead.so"
    both = {"number": "515 left 1055 right 2210"}
    case.trace("replace", [case.file(line)], both, of("changes_number"), note=f"replaced {LIBRARY}:changes_number")
    case.trace("replace, not watched", [case.file(line)], both, {}, level="*=off")
    case.trace("replace from=", [case.file(f"{line} from={RIGHT}")], {"number": "15 left 55 right 2210"},
               {(ANYWHERE, "changes_number"): 20})
    case.trace("replace by another name", [case.file(f"replace *:changes_half with ./instead.so:twice")],
               {"half": "6 10 third 1", "called": "35 0 1 1 1"}, of("changes_half"))
    case.trace("denied", [case.file(f"{line}\ndeny {LIBRARY}:changes_number")], {}, {})
    case.trace("no such library", [case.file(f"replace *:changes_half with ./none.so")], {}, of("changes_half"),
               note="none.so) not replaced *:changes_half")
    case.trace("no such function", [case.file(f"replace *:changes_sum with ./instead.so")], {}, of("changes_sum"))


REDIRECTED = """before: number 15 left 55 right 210 found 2
left: number 15 left 550 right 210 found 2
all: number 15 left 550 right 2100 found 2
late 550
other: number 15 left 0 right 0 found 2
left again: number 15 left 550 right 210 found 2
after: number 15 left 55 right 210 found 2
late 55
slots 221
refused -1 0
called 206
"""


def test_redirected(case):
    """hk_replace in a program: its own calls stay, as the replacement is its own. Calls are counted as without it."""
    program = os.path.join(case.directory, "redirect")
    alone = case.run.command(program).stdout
    expect("redirected, untraced", alone, re.sub(r"slots .*\nrefused .*\ncalled .*", "slots -22222\nrefused -1 0\ncalled 236",
                                                 re.sub(r"left \d+ right \d+", "left 55 right 210", re.sub("late .*", "late 55", REDIRECTED))))
    wanted = {("redirect", "changes_number"): 6 * 5, (LEFT, "changes_number"): 6 * 10, ("libchanges_late.so", "changes_number"): 2 * 10,
              (ANYWHERE, "changes_number"): 6 * (20 + 1)}
    for name, hooks, calls in (("redirected", f"{LIBRARY}:changes_number", wanted), ("unhooked", "mpi", {}), ("denied", f"deny {LIBRARY}:changes_number", None)):
        done = case.run.trace(program, hooks=[hooks], options=("--job", name))
        if calls is None:
            expect_true("redirected, denied: nothing changes", "number 15 left 55 right 210" in done.stdout and "550" not in done.stdout)
            continue
        expect(f"{name}: output", done.stdout, REDIRECTED)
        report = case.run.report(case.run.path("store", name))
        expect(f"{name}: calls", {key[1:]: row["calls"] for key, row in calls_of(report).items()}, calls)


def test_messages(case):
    bad = {"replace a:b": "with library:symbol expected", "replace b with c": "library:symbol expected",
           "replace a:b with c:*": "no wildcards", "replace a:b with ./c.so x": "only from=", "skip": "library:symbol expected",
           "skip a:b c:d": "only from=", "skip a:b from=c d:e": "one function a line", "return a:b": "a number to return", "return 1": "library:symbol expected",
           "return 18446744073709551616 a:b": "a number to return", "a:b from=": "from= is a pattern",
           "default from=x": "default takes"}
    path = case.file("\n".join(bad) + "\n*:good\n")
    done = case.run.cli("hooks", path, check=False)
    expect("messages: exit status", done.returncode, 1)
    said = [line for line in done.stderr.splitlines() if f"{path}:" in line]
    for number, (line, message) in enumerate(bad.items(), 1):
        expect_true(f"messages: '{line}' got {said}", any(f"{path}:{number}: " in one and message in one for one in said))


def test_listing(case):
    path = case.file(f"skip {LIBRARY}:a\nreturn -1 {LIBRARY}:b from=c\nreplace *:d with ./instead.so:e\nreplace *:f with /g.so\n")
    lines = case.run.cli("hooks", path).stdout.splitlines()[1:]
    replacement = os.path.join(os.path.dirname(path), "./instead.so")
    for line, ending in zip(lines, ("  skipped", "  not called, returns 0xffffffffffffffff  from c", f"  replaced by {replacement}:e",
                                    "  replaced by /g.so:f"), strict=True):
        expect_true(f"listing: {line}", line.endswith(ending))


def test(run):
    case = Case(run)
    alone = run.command(case.program, check=False)
    if parse(alone.stdout) != PLAIN:
        raise Failure(f"alone: {alone.stdout}")
    for part in (test_patterns, test_callers, test_levels, test_changed_results, test_replacements, test_redirected, test_messages, test_listing):
        part(case)


if __name__ == "__main__":
    main(test)
