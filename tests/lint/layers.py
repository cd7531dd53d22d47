#!/usr/bin/env python3
"""Includes go one way: the allowed arrows between modules and between the folders of a program, checked over every C file.

The include directories of the build enforce most of what modules may use; this also sees relative paths and system libraries.
folders.txt has a line for each folder: what it may include of its own program.
"""
import os
import re
import sys

import structure

# Module -> modules of proto/ whose headers it may include.
PROTO = {
    "base": set(),
    "ring": {"base"},
    "hooks": {"base"},
    "tensor": set(),
    "dump": {"base", "tensor"},
    "sketch": {"base"},
    "elf": set(),
    "text": set(),
    "chunk": {"base", "sketch"},
    "wire": {"base"},
    "report": {"base", "ring", "hooks", "sketch", "text", "wire"},
    "timeline": {"base", "hooks", "chunk", "report", "text", "wire"},
    "settings": {"base"},
    "trigger": {"hooks", "settings", "text", "wire"},
}
PROGRAMS = {
    "agent": {"base", "ring", "hooks", "tensor", "dump"},
    "collector": set(PROTO),
    "cli": set(PROTO),
}
# A part of a program that is a module of its own: it reads what collectors wrote, and nothing of the program's includes it.
READER = "agent/python/source/reader"
PROGRAMS[READER] = {"base", "hooks", "chunk", "report", "text", "timeline", "wire"}
# These run inside other people's processes, or are linked by what does: libc alone.
LIBC_ONLY = {"base", "ring", "hooks", "tensor", "agent"}
FOREIGN = re.compile(
    r"^(zstd|xxhash|jansson|ini|lz4|sqlite3|curses|ncurses|ncursesw/.*|utlist|uthash|utarray|utstring|libunwind.*"
    r"|libelf|gelf|elfutils/.*|nng/.*|mbedtls/.*|protobuf-c/.*|mpi|cmocka)\.?h?$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def owner(path):
    """The module or program a file belongs to, or None where there are no arrows (tests)."""
    parts = path.split("/")
    if path.startswith(READER + "/"):
        return READER
    if parts[0] == "proto" and len(parts) > 2:
        return parts[1]
    return parts[0] if parts[0] in PROGRAMS else None


def judge(path, kind, name, exists):
    """Why this include is wrong, or None. exists(path) says whether the tree has such a file."""
    module = owner(path)
    if module is None or (module not in PROTO and module not in PROGRAMS):
        return None
    if kind == "<":
        stem = re.sub(r"\.h$", "", name)
        if module in LIBC_ONLY and (FOREIGN.match(name) or FOREIGN.match(stem)):
            return "only libc is allowed here"
        return None
    if ".." in name.split("/"):
        return "relative path upwards"
    head = name.split("/")[0]
    if "/" in name and head in PROTO:
        allowed = PROTO.get(module, set()) | PROGRAMS.get(module, set()) | {module}
        return None if head in allowed else f"{module} may not use {head}"
    if "/" in name and head in PROGRAMS:
        return None if head == module else f"{module} may not use {head}"
    if name.endswith(".pb-c.h"):
        return "only libc is allowed here" if module in LIBC_ONLY else None
    root = path.split("/")[0] if module in PROGRAMS else "/".join(path.split("/")[:2])
    if exists(os.path.join(os.path.dirname(path), name)) or exists(os.path.join(root, name)):
        return None
    return "no such header in this module"


def sources():
    for program in structure.PROGRAMS:
        for path in sorted(structure.read_tree(program)):
            yield path


def read_folders(path):
    """folder -> folders that it may include."""
    with open(path, encoding="utf-8") as stream:
        lines = [line.partition(":") for line in stream if line.strip() and not line.startswith("#")]
    return {folder: set(targets.split()) for folder, _, targets in lines}


def judge_folders(allowed, there, found):
    """Findings about FOUND (folder -> folders that it includes) of the folders THERE, as sentences."""
    findings = [f"{folder}: not in folders.txt" for folder in sorted(there - set(allowed))]
    findings += [f"{folder}: in folders.txt, but there is no such folder" for folder in sorted(set(allowed) - there)]
    for folder in sorted(there & set(allowed)):
        findings += [f"{folder} may not include {target}" for target in sorted(found.get(folder, set()) - allowed[folder])]
        findings += [f"{folder} includes nothing of {target}: remove it from folders.txt"
                     for target in sorted(allowed[folder] - found.get(folder, set()))]
    return findings


def check_folders():
    there, found = set(), {}
    for program in structure.PROGRAMS:
        tree = structure.read_tree(program)
        there |= {os.path.dirname(path) for path in tree}
        found.update(structure.folder_arrows(structure.arrows(program, tree)))
    findings = judge_folders(read_folders(os.path.join(os.path.dirname(__file__), "folders.txt")), there, found)
    for finding in findings:
        print(finding)
    return len(findings)


def check_tree():
    findings = check_folders()
    seen = 0
    for path in sources():
        with open(path, encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                seen += 1
                why = judge(path, match.group(1), match.group(2), os.path.exists)
                if why:
                    print(f"{path}:{number}: {match.group(2)}: {why}")
                    findings += 1
    if seen == 0:
        print("no includes found: wrong directory?")
    return 1 if findings or seen == 0 else 0


def selftest():
    def never(_):
        return False

    bad = [
        ("agent/main.c", '"', "chunk/writer.h"), ("agent/main.c", '"', "collector/scan.h"),
        ("agent/main.c", "<", "zstd.h"), ("agent/python/source/reader/calls.c", '"', "agent/record/cell.h"), ("proto/base/error.c", '"', "ring/segment.h"),
        ("proto/ring/writer.c", '"', "hooks/hook.h"), ("collector/main.c", '"', "cli/top.h"),
        ("cli/top.c", '"', "../collector/scan.h"), ("proto/hooks/language/parser.c", "<", "nng/nng.h"),
        ("proto/sketch/histogram.c", '"', "chunk/record.h"), ("cli/top.c", '"', "absent.h"),
    ]
    good = [
        ("agent/main.c", '"', "ring/segment.h"), ("agent/python/source/reader/calls.c", '"', "timeline/stream.h"), ("cli/top.c", '"', "report/rows.h"),
        ("agent/main.c", "<", "stdint.h"), ("collector/main.c", "<", "nng/nng.h"),
        ("tests/unit/ring/test_ring.c", '"', "ring/writer.h"), ("cli/top.c", '"', "perfetto.pb-c.h"),
    ]
    wrong = [case for case in bad if not judge(*case, never)] + [case for case in good if judge(*case, never)]
    for case in wrong:
        print("judged wrongly:", *case)
    allowed = {"p/a": {"p/b"}, "p/b": set()}
    folders = [
        ({"p/a", "p/b"}, {"p/a": {"p/b"}}, 0),
        ({"p/a", "p/b"}, {"p/a": {"p/b"}, "p/b": {"p/a"}}, 1),
        ({"p/a", "p/b"}, {}, 1),
        ({"p/a", "p/b", "p/c"}, {"p/a": {"p/b"}}, 1),
        ({"p/a"}, {"p/a": {"p/b"}}, 1),
    ]
    wrong += [case for case in folders if len(judge_folders(allowed, case[0], case[1])) != case[2]]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(selftest() if sys.argv[1:] == ["--selftest"] else check_tree())
