#!/usr/bin/env python3
"""Includes go one way: the allowed arrows between modules, checked over every C file.

The include directories of the build enforce most of this; this also sees relative paths and system libraries.
"""
import os
import re
import sys

# Module -> modules of proto/ whose headers it may include.
PROTO = {
    "base": set(),
    "ring": {"base"},
    "hooks": {"base"},
    "sketch": {"base"},
    "text": set(),
    "chunk": {"base", "sketch"},
    "wire": {"base"},
    "report": {"base", "ring", "hooks", "sketch", "text", "wire"},
    "settings": {"base"},
}
PROGRAMS = {
    "agent": {"base", "ring", "hooks"},
    "collector": set(PROTO),
    "cli": set(PROTO),
}
# These run inside other people's processes, or are linked by what does: libc alone.
LIBC_ONLY = {"base", "ring", "hooks", "agent"}
FOREIGN = re.compile(
    r"^(zstd|xxhash|jansson|ini|lz4|sqlite3|curses|ncurses|ncursesw/.*|utlist|uthash|utarray|utstring|libunwind.*"
    r"|libelf|gelf|elfutils/.*|nng/.*|mbedtls/.*|protobuf-c/.*|mpi|cmocka)\.?h?$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def owner(path):
    """The module or program a file belongs to, or None where there are no arrows (tests)."""
    parts = path.split("/")
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
    for top in ("proto", "agent", "collector", "cli"):
        for base, _, names in os.walk(top):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".S")):
                    yield os.path.join(base, name)


def check_tree():
    findings = seen = 0
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
        ("agent/main.c", "<", "zstd.h"), ("proto/base/error.c", '"', "ring/segment.h"),
        ("proto/ring/writer.c", '"', "hooks/hook.h"), ("collector/main.c", '"', "cli/top.h"),
        ("cli/top.c", '"', "../collector/scan.h"), ("proto/hooks/parser.c", "<", "nng/nng.h"),
        ("proto/sketch/histogram.c", '"', "chunk/record.h"), ("cli/top.c", '"', "absent.h"),
    ]
    good = [
        ("agent/main.c", '"', "ring/segment.h"), ("cli/top.c", '"', "report/rows.h"),
        ("agent/main.c", "<", "stdint.h"), ("collector/main.c", "<", "nng/nng.h"),
        ("tests/unit/ring/test_ring.c", '"', "ring/writer.h"), ("cli/top.c", '"', "perfetto.pb-c.h"),
    ]
    wrong = [case for case in bad if not judge(*case, never)] + [case for case in good if judge(*case, never)]
    for case in wrong:
        print("judged wrongly:", *case)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(selftest() if sys.argv[1:] == ["--selftest"] else check_tree())
