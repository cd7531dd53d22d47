#!/usr/bin/python3
"""The tutorials of cli/tutorials: their commands run as they stand there, and what they say comes out does.

test_manual.py does the same with the README and the pages of deploy/docs."""
import glob
import os
import re
import shutil
import sys

from harness import Failure, Run, expect_true, main

HERE = os.path.dirname(os.path.abspath(__file__))
TUTORIALS = os.path.join(HERE, "..", "..", "cli", "tutorials")
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A collector that a block leaves in the background ends with the block.
SHELL = "trap 'kill $(jobs -p) 2>/dev/null || :; wait || :' EXIT\n"
UNITS = ("B", "KiB", "MiB", "GiB", "ms", "s")
# What a rank is late by depends on what else the machine does.
ATTEMPTS = 4


def pattern_of(line):
    """A line whose times and sizes may differ. Counts may not: whole numbers of three digits and more."""
    words = line.split()
    parts = []
    for word, following in zip(words, words[1:] + [""]):
        if re.fullmatch(r"\d{3,}", word) and following != "%":
            parts.append(word)
        elif word.rstrip(",") in UNITS:
            parts.append(f"(?:{'|'.join(UNITS)}),?")
        elif "/" in word:
            parts.append(r"\S*" + re.escape(os.path.basename(word)))
        elif re.search(r"\d", word) or word == "-":
            parts.append(r"\S+")
        else:
            parts.append(re.escape(word))
    return re.compile(r"\s+".join(parts))


def walk(run, path, directory):
    """Runs one tutorial from its beginning to its end; what it shows is looked for in all that came out since the commands before."""
    programs = [os.path.dirname(run.binary(name)) for name in ("hookcli", "hookcollector")]
    # The interpreter of the tests, with the package of the build tree.
    if not os.path.exists(run.path("bin")):
        os.mkdir(run.path("bin"))
        os.symlink(sys.executable, run.path("bin", "python3"))
    environment = {"PATH": ":".join([run.path("bin"), *programs, os.environ["PATH"]]), "PYTHONPATH": os.path.join(run.build, "python"),
                   # The simulated CUDA runtime: no device is needed.
                   **dict.fromkeys(("LIBRARY_PATH", "LD_LIBRARY_PATH"), run.workload("simcuda"))}
    with open(path, encoding="utf-8") as stream:
        blocks = BLOCK.findall(stream.read())
    shown = ""
    for kind, text in blocks:
        if kind == "sh":
            done = run.command("bash", "-e", "-c", SHELL + text, cwd=directory, env=environment)
            shown = done.stdout + done.stderr
            continue
        for line in text.splitlines():
            if not any(pattern_of(line).search(got) for got in shown.splitlines()):
                raise Failure(f"{os.path.basename(path)}: no line like {line!r} in\n{shown}")


def test(run: Run):
    tutorials = sorted(glob.glob(os.path.join(TUTORIALS, "[a-z]*.md")))
    expect_true("tutorials", len(tutorials) == 5)
    for path in tutorials:
        with open(path, encoding="utf-8") as stream:
            expect_true(f"{path}: blocks", len(BLOCK.findall(stream.read())) >= 2)
        for attempt in range(ATTEMPTS):
            directory = run.path(f"{os.path.basename(path)}-{attempt}")
            shutil.copytree(TUTORIALS, directory)
            try:
                walk(run, path, directory)
                break
            except Failure:
                if attempt + 1 == ATTEMPTS:
                    raise


if __name__ == "__main__":
    main(test)
