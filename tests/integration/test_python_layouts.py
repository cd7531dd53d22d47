#!/usr/bin/python3
"""The agent's table of CPython's structures: as its generator makes it from the headers of each CPython of the machine that has them, and
as 3.13 describes itself at run time (_Py_DebugOffsets)."""
import os
import re
import subprocess

import pythons
from harness import Run, expect, expect_true, main

STACK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "agent", "stack")

# Words of _Py_DebugOffsets of 3.13, as Include/internal/pycore_runtime.h has them.
SECTIONS = [
    ("", ["cookie", "version", "free_threaded"]),
    ("runtime", ["size", "finalizing", "interpreters_head"]),
    ("interpreter", ["size", "id", "next", "threads_head", "gc", "imports_modules", "sysdict", "builtins", "ceval_gil", "gil_runtime_state",
                     "gil_runtime_state_enabled", "gil_runtime_state_locked", "gil_runtime_state_holder"]),
    ("thread", ["size", "prev", "next", "interp", "current_frame", "thread_id", "native_thread_id", "datastack_chunk", "status"]),
    ("frame", ["size", "previous", "executable", "instr_ptr", "localsplus", "owner"]),
    ("code", ["size", "filename", "name", "qualname", "linetable", "firstlineno", "argcount", "localsplusnames", "localspluskinds",
              "co_code_adaptive"]),
    ("object", ["size", "ob_type"]),
    ("type", ["size", "tp_name", "tp_repr", "tp_flags"]),
    ("tuple", ["size", "ob_item", "ob_size"]),
    ("list", ["size", "ob_item", "ob_size"]),
    ("dict", ["size", "ma_keys", "ma_values"]),
    ("float", ["size", "ob_fval"]),
    ("long", ["size", "lv_tag", "ob_digit"]),
    ("bytes", ["size", "ob_size", "ob_sval"]),
    ("unicode", ["size", "state", "length", "asciiobject_size"]),
]
SAME = {
    "thread_id": "thread.thread_id", "thread_frame": "thread.current_frame", "frame_code": "frame.executable",
    "frame_previous": "frame.previous", "frame_place": "frame.instr_ptr", "frame_owner": "frame.owner", "frame_bytes": "frame.localsplus",
    "code_file": "code.filename", "code_name": "code.qualname", "code_lines": "code.linetable", "code_first_line": "code.firstlineno",
    "code_start": "code.co_code_adaptive", "code_bytes": "code.co_code_adaptive", "text_length": "unicode.length",
    "text_state": "unicode.state", "text_ascii": "unicode.asciiobject_size", "bytes_length": "bytes.ob_size", "bytes_data": "bytes.ob_sval",
    "object_type": "object.ob_type",
}
PRINT_WORDS = "import ctypes; print(*(ctypes.c_uint64 * {count}).in_dll(ctypes.pythonapi, '_PyRuntime'))"


def rows_of(text):
    """The rows of a table by version: (3, 12) -> {field: value}."""
    rows = {}
    for row in re.findall(r"\t\{\n(.*?)\t\},\n", text, re.DOTALL):
        fields = {name: int(value, 0) for name, value in re.findall(r"\.(\w+) = (\w+),", row)}
        version = fields.pop("version")
        rows[f"{version >> 8}.{version & 0xff}"] = fields
    return rows


def committed():
    with open(os.path.join(STACK, "python_layouts.h"), encoding="utf-8") as table:
        return rows_of(table.read())


def check_headers(run: Run, rows):
    checked = set()
    for version, python in pythons.found():
        include = pythons.include_of(python)
        if include:
            done = run.command("/usr/bin/python3", os.path.join(STACK, "python_layouts.py"), include)
            expect(f"{version}: by the headers in {include}", rows_of(done.stdout)[version], rows[version])
            checked.add(version)
    return checked


def check_own_words(rows):
    """Interpreters that describe themselves."""
    names = [f"{section}.{word}" for section, words in SECTIONS for word in words]
    for version, python in pythons.found():
        if version == "3.13":
            done = subprocess.run([python, "-c", PRINT_WORDS.format(count=len(names))], stdout=subprocess.PIPE, text=True, check=True)
            words = dict(zip(names, map(int, done.stdout.split()), strict=True))
            expect("cookie", words[".cookie"].to_bytes(8, "little"), b"xdebugpy")
            for field, name in SAME.items():
                expect(f"{version}: {field}, by {name}", rows[version].get(field, 0), words[name])


def test(run):
    rows = committed()
    expect("versions", list(rows), pythons.VERSIONS)
    done = run.command("/usr/bin/python3", os.path.join(STACK, "python_layouts.py"), "/nowhere", check=False)
    expect_true(f"no headers: {done}", done.returncode == 1 and "cannot read /nowhere" in done.stderr)
    checked = check_headers(run, rows)
    check_own_words(rows)
    missing = [version for version in pythons.VERSIONS if version not in checked]
    if missing:
        print(f"left out, no headers on this machine: Python {', '.join(missing)}")


if __name__ == "__main__":
    main(test)
