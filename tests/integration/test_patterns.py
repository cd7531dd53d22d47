#!/usr/bin/python3
"""A pattern hooks functions of an undescribed library, in a foreign program: pngfix and libpng of Debian.

The counts equal those of a library that has each function under its own name, counts and jumps on, in a run without the agent.
"""
import os
import struct
import sys
import zlib

from harness import expect, expect_true, main
from truth import rows_of

SKIPPED = 77
PROGRAM = "/usr/bin/pngfix"
LIBRARY = "libpng16.so.16"
HERE = os.path.dirname(os.path.abspath(__file__))
WIDTH, HEIGHT = 60, 50
DAMAGED = 16  # what pngfix exits with for a file that ends early
JUMP = """
.globl {name}
.type {name}, @function
{name}:
	lock incq interposer_counts+8*{index}(%rip)
	jmp *interposer_targets+8*{index}(%rip)
"""
TABLES = """
.bss
.globl interposer_counts, interposer_targets
.hidden interposer_counts, interposer_targets
interposer_counts: .skip 8*{count}
interposer_targets: .skip 8*{count}
.section .rodata
{strings}
.section .data.rel.ro, "aw"
.globl interposer_names
.hidden interposer_names
interposer_names:
{addresses}
.quad 0
.section .note.GNU-stack, "", @progbits
"""


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def picture(share):
    """A PNG of HEIGHT rows; of its data only a SHARE."""
    rows = b"".join(b"\0" + bytes(x * y & 255 for x in range(3 * WIDTH)) for y in range(HEIGHT))
    data = zlib.compress(rows)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", data[:int(len(data) * share)]) + chunk(b"IEND", b""))


def library_of(run, program):
    """Where the loader finds libpng for PROGRAM."""
    lines = run.command("ldd", program).stdout.splitlines()
    return next(line.split()[2] for line in lines if LIBRARY in line)


def functions_of(run, library):
    lines = run.command("nm", "-D", "--defined-only", library).stdout.splitlines()
    return sorted(words[2].split("@")[0] for words in map(str.split, lines) if words[1] == "T" and words[2].startswith("png_"))


def build_interposer(run, names):
    jumps, library = run.path("jumps.S"), run.path("libinterposer.so")
    with open(jumps, "w", encoding="ascii") as file:
        file.write(".text\n" + "".join(JUMP.format(name=name, index=index) for index, name in enumerate(names)))
        file.write(TABLES.format(count=len(names), strings="\n".join(f'n{i}: .string "{name}"' for i, name in enumerate(names)),
                                 addresses="\n".join(f".quad n{i}" for i in range(len(names)))))
    run.command("cc", "-O2", "-fPIC", "-shared", "-o", library, jumps, os.path.join(HERE, "hosts", "interposer.c"))
    return library


def count_independently(run, interposer, pictures):
    counted = run.path("counted")
    done = run.command(PROGRAM, *pictures, check=False, env={"LD_PRELOAD": interposer, "COUNTER_FILE": counted})
    with open(counted, encoding="ascii") as file:
        rows = {name: int(number) for name, number in map(str.split, file)}
    return done, rows


def trace(run, name, hooks, pictures, alone, level="record"):
    """The calls of a traced run by function and caller; it says and exits as it did alone."""
    done = run.trace(PROGRAM, *pictures, hooks=[hooks], level=level, options=("-q", "--job", name), check=False)
    expect(f"{name}: exit status, output", (done.returncode, done.stdout, done.stderr), (alone.returncode, alone.stdout, alone.stderr))
    report = run.report(run.path("store", name))
    expect(f"{name}: open and untracked calls", (report["open_calls"], report["job"]["calls_untracked"]), ([], 0))
    if level == "record":
        expect(f"{name}: records", sum(row["records"] for row in report["processes"]), sum(row["calls"] for row in report["calls"]))
    return {(caller, function): row["calls"] for (caller, function), row in rows_of(report).items()}


def by_function(rows):
    total = {}
    for (_, function), calls in rows.items():
        total[function] = total.get(function, 0) + calls
    return total


def test(run):
    if not os.path.exists(PROGRAM) or os.uname().machine != "x86_64":
        print(f"skipped: no {PROGRAM} here, or no x86-64")
        sys.exit(SKIPPED)
    pictures = []
    for name, share in (("whole.png", 1), ("short.png", 0.5)):  # the second one ends in png_error and a longjmp
        pictures.append(run.path(name))
        with open(pictures[-1], "wb") as file:
            file.write(picture(share))
    interposer = build_interposer(run, functions_of(run, library_of(run, PROGRAM)))
    alone = run.command(PROGRAM, *pictures, check=False)
    expect("exit status alone", alone.returncode, DAMAGED)
    counted, truth = count_independently(run, interposer, pictures)
    expect("output when counted", (counted.returncode, counted.stdout), (alone.returncode, alone.stdout))
    expect("rows read, as the picture has them", truth["png_read_row"], HEIGHT)
    expect_true(f"many functions are called: {len(truth)}", len(truth) > 20)

    for level in ("count", "record", "record+args"):
        rows = trace(run, "all-" + level.replace("+", "-"), "*:png_*", pictures, alone, level)
        expect(f"{level}: calls", by_function(rows), truth)
    program = {key: calls for key, calls in rows.items() if key[0] == "pngfix"}
    expect("calls of the library's functions", by_function(trace(run, "library", f"{LIBRARY}:*", pictures, alone)), truth)
    expect("calls from the program alone", trace(run, "from", "*:png_* from=pngfix", pictures, alone), program)


if __name__ == "__main__":
    main(test)
