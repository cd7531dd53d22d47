#!/usr/bin/python3
"""msprobe (from PyPI) beside hooktrace: its dumps of a seeded training are ours bit by bit, its csv files of two dumps are those of
hookcli compare cell by cell, and its compare reads what hooktrace exports.

msprobe 26.2.0 and torch are installed once per build directory, which takes minutes.
"""
import csv
import glob
import math
import os
import sys

from harness import Run, expect, expect_true, main

HERE = os.path.dirname(os.path.abspath(__file__))
TASKS, LEVELS = ("statistics", "tensor"), ("L0", "L1", "mix")
STACK, LEAST_EQUAL = "NPU_Stack_Info", {"L0": 30, "L1": 180, "mix": 220}  # rows that are equal bit by bit, of those that both tools have

# msprobe lists linear's gradients in autograd's order, and of cross_entropy has those of the inner nll_loss.
OTHERWISE = ("Functional.linear.0.backward", "Functional.cross_entropy.0.backward")


def install(run: Run):
    """The directory with python and msprobe."""
    place = os.path.join(run.build, "tests", "msprobe")
    python, ready = os.path.join(place, "bin", "python"), os.path.join(place, "ready")
    if not os.path.exists(ready):
        done = run.command("/usr/bin/python3", "-m", "venv", "--clear", place, check=False)
        if done.returncode == 0:
            done = run.command(python, "-m", "pip", "install", "-q", "torch", "numpy", "mindstudio-probe==26.2.0", check=False, timeout=3000)
        if done.returncode != 0:
            print(f"msprobe cannot be installed here: {done.stderr.strip()[-300:]}")
            sys.exit(77)
        with open(ready, "w", encoding="utf-8"):
            pass
    return os.path.join(place, "bin")


def program(run: Run, place, *words):
    environment = {"PYTHONPATH": os.path.join(run.build, "python"), "PYTHONDONTWRITEBYTECODE": "1", "CUDA_VISIBLE_DEVICES": ""}
    run.command(os.path.join(place, "python"), os.path.join(HERE, "msprobe_program.py"), *words, env=environment)


def table(path):
    with open(path, encoding="utf-8", newline="") as stream:
        lines = list(csv.reader(stream))
    return lines[0], {line[0]: line for line in lines[1:]}


def is_close(one, other):
    """The same text, or numbers that float32 and double arithmetic may have apart."""
    if one == other:
        return True
    try:
        return one.endswith("%") == other.endswith("%") and math.isclose(float(one.strip("%")), float(other.strip("%")), rel_tol=2e-4, abs_tol=1e-8)
    except ValueError:
        return False


def msprobe_compare(run: Run, place, a, b, name):
    os.mkdir(run.path(name))
    run.command(os.path.join(place, "msprobe"), "compare", "-tp", a, "-gp", b, "-o", run.path(name), env={"CUDA_VISIBLE_DEVICES": ""})
    found, = glob.glob(run.path(name, "compare_result_*.csv"))
    return found


def check_csv(run: Run, place, a, b, name):
    """Two dumps of msprobe: its file and ours. Only msprobe's has lines of gradients that are absent."""
    head, theirs = table(msprobe_compare(run, place, a, b, name))
    run.cli("compare", a, b, "--steps", "order", "--format", "msprobe-csv", "-o", run.path(name + ".csv"), check=False)
    our_head, ours = table(run.path(name + ".csv"))
    expect(f"{name}: columns", our_head, head)
    expect(f"{name}: lines of ours alone", set(ours) - set(theirs), set())
    without = {line for line in set(theirs) - set(ours) if theirs[line][2] != "N/A" or "backward" not in line}
    expect(f"{name}: lines of msprobe's alone", without, set())
    for line, cells in ours.items():
        for column, our, their in zip(head, cells, theirs[line]):
            same = (our == "N/A") == (their == "N/A") if column == STACK else is_close(their, our)
            expect_true(f"{name}: {line}: {column}: msprobe has {their[:200]!r}, hookcli {our[:200]!r}", same)
    return len(ours)


def check_dumps(run: Run, level):
    """Ours against msprobe's, of each task."""
    for task in TASKS:
        done = run.cli("compare", run.path(f"ours-{task}-{level}"), run.path(f"msprobe-{task}-{level}"), "--format", "csv", check=False)
        pairs = [row for row in csv.DictReader(done.stdout.splitlines()) if row["verdict"] != "unmatched"]
        wrong = [f"{row['name']} {row['phase']} {row['role']} {row['slot']}: {row['verdict']} {row['reason']}" for row in pairs
                 if row["verdict"] not in ("equal", "yes")]
        expect(f"{task} {level}: rows that differ", wrong, [])
        equal = sum(row["verdict"] == "equal" and row["dtype_a"] != "?" for row in pairs)
        print(f"{task} {level}: {len(pairs)} rows matched, {equal} tensors equal bit by bit")
        expect_true(f"{task} {level}: {len(pairs)} rows matched", len(pairs) >= LEAST_EQUAL[level])
        expect_true(f"{task} {level}: {equal} tensors equal", task == "statistics" or equal >= LEAST_EQUAL[level] * 2 // 3)


def is_norm_close(line, column):
    """Whether msprobe only warns, of norms that are within 1/100,000."""
    place = column.get("NormRelativeErr")
    return place is not None and line[column["Result"]] == "warning" and float(line[place].strip("%")) < 1e-3


def check_export(run: Run, place, task):
    """msprobe takes our export as one of its own, and finds it the same as its own dump."""
    run.command(os.path.join(place, "python"), "-m", "hooktrace.precision.export", run.path(f"ours-{task}-mix"), "--format", "msprobe", "-o",
                run.path(f"exported-{task}"), env={"PYTHONPATH": os.path.join(run.build, "python"), "PYTHONDONTWRITEBYTECODE": "1"})
    exported, own = run.path(f"exported-{task}", "step1"), run.path(f"msprobe-{task}-mix", "step1")
    head, lines = table(msprobe_compare(run, place, exported, own, f"of-export-{task}"))
    column = {name: place for place, name in enumerate(head)}
    matched = [line for line in lines.values() if line[column["Bench Name"]] != "N/A"]
    expect_true(f"{task}: {len(matched)} lines matched of {len(lines)}", len(matched) > 100)
    # A norm in double and one in float32 are never the same: msprobe warns where the error of an output is ten times that of an input, however small.
    wrong = [line for line in matched if not line[0].startswith(OTHERWISE) and line[column["Result"]] != "pass" and not is_norm_close(line, column)]
    expect(f"{task}: lines that msprobe objects to", [(line[0], line[column["Err_message"]]) for line in wrong], [])
    for line in matched:
        if task == "tensor" and not line[0].startswith(OTHERWISE):
            expect_true(f"{line[0]}: {line[column['Cosine']]}", line[column["Cosine"]] in ("1.0", "unsupported"))


def test(run: Run):
    place = install(run)
    trainings = [(task, level) for task in TASKS for level in LEVELS]
    for who, more in (("msprobe", [(task, side) for task in TASKS for side in ("a", "b")]), ("ours", [])):
        program(run, place, who, *(f"{task}:{level}:{run.path(f'{who}-{task}-{level}')}" for task, level in trainings + more))
    for level in LEVELS:
        check_dumps(run, level)
    for task in TASKS:
        lines = check_csv(run, place, run.path(f"msprobe-{task}-mix", "step0"), run.path(f"msprobe-{task}-mix", "step1"), f"steps-{task}")
        expect_true(f"{task}: {lines} lines", lines > 130)
        check_csv(run, place, run.path(f"msprobe-{task}-a", "step0"), run.path(f"msprobe-{task}-b", "step0"), f"odd-{task}")
        check_export(run, place, task)


main(test)
