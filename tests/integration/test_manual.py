#!/usr/bin/python3
"""The README or a page of the manual: its commands run, what it shows comes out, and what cannot run here names options that exist.

test_manual.py BUILD_DIR PAGE... Blocks marked `sh` run in a directory with an MPI program ./solver; `text` is what comes out. Of blocks
marked `sh REASON`, and of commands in the text, the syntax and the options are checked: they need what a test does not have.
"""
import os
import re
import shlex

from harness import Failure, Run, expect, expect_true, main
from test_tutorials import ATTEMPTS, BLOCK, walk

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOLVER = os.path.join(SOURCE, "cli", "tutorials", "slow_rank.c")
# Shorter than the tutorial's: only the README shows what the solver does wrong, and needs as many steps as that takes.
CELLS, SHORT_STEPS = "5000", "20"
REASONS = {"root", "cluster", "network", "port", "live", "build"}
FENCE = re.compile(r"^```(.*)\n((?:.*\n)*?)```$", re.MULTILINE)
SPAN = re.compile(r"`([^`\n]+)`")
INDENTED = re.compile(r"^    (.*\bhook(?:cli|collector) .*)$", re.MULTILINE)
LONG = re.compile(r"--[a-z][a-z-]*")
ENDS = {";", "&", "&&", "|", "||", "(", ")", ">", "<", ">>"}


def build_solver(run, directory, whole):
    with open(SOLVER, encoding="utf-8") as stream:
        text = stream.read().replace("20000", CELLS)
    os.makedirs(directory)
    with open(os.path.join(directory, "solver.c"), "w", encoding="utf-8") as stream:
        stream.write(text if whole else text.replace("step < 1000", f"step < {SHORT_STEPS}"))
    run.command("mpicc", "-O2", "solver.c", "-o", "solver", cwd=directory)


class Options:
    """The options of each program, as its --help has them."""

    def __init__(self, run):
        self.run = run
        self.known = {}
        self.commands = re.findall(r"^  ([a-z]+) ", run.cli("--help").stdout, re.MULTILINE)

    def of(self, *words):
        if words not in self.known:
            shown = self.run.command(self.run.binary(words[0]), *words[1:], "--help").stdout
            self.known[words] = set(LONG.findall(shown)) | set(re.findall(r"(?<![\w-])-\w\b", shown)) | {"--help"}
        return self.known[words]

    def check(self, where, words):
        """WORDS from `hookcli` or `hookcollector` on, up to the traced command."""
        program = (words[0],)
        rest = words[1:]
        if words[0] == "hookcli" and rest and not rest[0].startswith("-"):
            if not re.fullmatch(r"[a-z]+", rest[0]):
                return
            expect_true(f"{where}: hookcli {rest[0]} is a command", rest[0] in self.commands)
            program += (rest[0],)
        elif rest and rest[0] in ("keygen", "stream"):
            program += (rest[0],)
        elif words[0] == "hookcli":
            program = ("hookcli",)
        known = self.of(*program)
        for word in rest:
            if word == "--" or os.path.basename(word) in ("mpirun", "solver"):
                break
            if word.startswith("-") and len(word) > 1:
                option = word.split("=")[0]
                expect_true(f"{where}: {' '.join(program)} has {option}: {' '.join(words)}",
                            option in known or (words[0] == "hookcli" and option in ("--manual", "--completion")))


def commands_of(line):
    """The words of LINE, cut into simple commands."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    command = []
    for word in lexer:
        if word in ENDS:
            yield command
            command = []
        else:
            command.append(word)
    yield command


def check_line(options, where, line):
    try:
        commands = list(commands_of(line))
    except ValueError as error:
        raise Failure(f"{where}: {line!r}: {error}") from None
    for words in commands:
        if words[:3] == ["ctest", "--test-dir", "build"]:
            listed = options.run.command("ctest", "-N", *words[3:], cwd=options.run.build).stdout
            expect_true(f"{where}: {line!r} has tests", not re.search(r"^Total Tests: 0$", listed, re.MULTILINE))
        for i, word in enumerate(words):
            if word in ("hookcli", "hookcollector"):
                options.check(where, words[i:])
                break
            # A script or a directory of the source tree, or a program of the build tree.
            if re.fullmatch(r"(\./)?(deploy|tests|build/tests)/[^*]+", word):
                tree, inside = (options.run.build, word[len("build/"):]) if word.startswith("build") else (SOURCE, word)
                expect_true(f"{where}: {word} exists", os.path.exists(os.path.join(tree, inside)))


def check_blocks(run, options, name, text):
    """What does not run here."""
    for mark, block in FENCE.findall(text):
        # Python and SQL: test_warehouse.py runs them.
        if mark in ("sh", "text", "c", "python", "sql"):
            continue
        kind, _, reason = mark.partition(" ")
        expect_true(f"{name}: a block marked {mark!r}", kind == "sh" and reason in REASONS)
        run.command("bash", "-n", "-c", block)
        for line in block.replace("\\\n", " ").splitlines():
            check_line(options, name, line.split("#")[0])


def check_spans(options, name, text):
    """Commands in sentences, and on indented lines."""
    for line in INDENTED.findall(FENCE.sub("", text)):
        check_line(options, name, line.split("#")[0])
    for span in SPAN.findall(FENCE.sub("", text)):
        words = span.split()
        if words[0] in ("hookcli", "hookcollector") and len(words) > 1:
            check_line(options, name, span.replace("'", "").replace("&", " "))


def check_page(run, options, page):
    path = os.path.join(SOURCE, page)
    readme = page == "README.md"
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    check_blocks(run, options, page, text)
    check_spans(options, page, text)
    if readme:
        shown = re.findall(r"^\| `([a-z]+)` \|", text, re.MULTILINE)
        expect("commands that the README lists", shown, options.commands)
    if not BLOCK.search(text):
        return
    for attempt in range(ATTEMPTS):
        directory = run.path(page, str(attempt))
        build_solver(run, directory, readme)
        try:
            walk(run, path, directory)
            return
        except Failure:
            # What a rank is late by depends on what else the machine does; nothing else does.
            if not readme or attempt + 1 == ATTEMPTS:
                raise


def test(run: Run, *pages):
    options = Options(run)
    for page in pages:
        check_page(run, options, page)


if __name__ == "__main__":
    main(test)
