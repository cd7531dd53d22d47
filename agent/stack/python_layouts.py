#!/usr/bin/python3
"""Writes python_layouts.h: where CPython keeps what a walk of its frames reads, for each version whose headers are given.

    python_layouts.py INCLUDE_DIRECTORY... > python_layouts.h

Each directory is a version's own, such as /usr/include/python3.11. A small program is compiled against the headers and prints
offsets and sizes, so the machine must be of a 64-bit kind. Patch releases of a version do not change these structures.
"""
import os
import subprocess
import sys
import tempfile

OLDEST, NEWEST = (3, 8), (3, 13)

# Field of struct hk_python_layout, expression in C by the first version that has it; None: there is none from there on.
FIELDS = [
    ("thread_id", {8: "offsetof(PyThreadState, thread_id)"}),
    ("thread_frame", {8: "offsetof(PyThreadState, frame)", 11: "offsetof(PyThreadState, cframe)",
                      13: "offsetof(PyThreadState, current_frame)"}),
    ("entry_frame", {8: None, 11: "offsetof(_PyCFrame, current_frame)", 13: None}),
    ("entry_previous", {8: None, 11: "offsetof(_PyCFrame, previous)", 13: None}),
    ("frame_code", {8: "offsetof(PyFrameObject, f_code)", 11: "offsetof(_PyInterpreterFrame, f_code)",
                    13: "offsetof(_PyInterpreterFrame, f_executable)"}),
    ("frame_previous", {8: "offsetof(PyFrameObject, f_back)", 11: "offsetof(_PyInterpreterFrame, previous)"}),
    ("frame_place", {8: "offsetof(PyFrameObject, f_lasti)", 11: "offsetof(_PyInterpreterFrame, prev_instr)",
                     13: "offsetof(_PyInterpreterFrame, instr_ptr)"}),
    ("frame_is_entry", {8: None, 11: "offsetof(_PyInterpreterFrame, is_entry)", 12: None}),
    ("frame_owner", {8: None, 11: "offsetof(_PyInterpreterFrame, owner)"}),
    ("frame_bytes", {8: "offsetof(PyFrameObject, f_lasti) + sizeof(int)", 11: "offsetof(_PyInterpreterFrame, localsplus)"}),
    ("code_file", {8: "offsetof(PyCodeObject, co_filename)"}),
    ("code_name", {8: "offsetof(PyCodeObject, co_name)", 11: "offsetof(PyCodeObject, co_qualname)"}),
    ("code_lines", {8: "offsetof(PyCodeObject, co_lnotab)", 10: "offsetof(PyCodeObject, co_linetable)"}),
    ("code_first_line", {8: "offsetof(PyCodeObject, co_firstlineno)"}),
    ("code_version", {8: None, 12: "offsetof(PyCodeObject, co_version)"}),
    ("code_start", {8: None, 11: "offsetof(PyCodeObject, co_code_adaptive)"}),
    ("code_bytes", {8: "sizeof(PyCodeObject)", 11: "offsetof(PyCodeObject, co_code_adaptive)"}),
    ("text_length", {8: "offsetof(PyASCIIObject, length)"}),
    ("text_hash", {8: "offsetof(PyASCIIObject, hash)"}),
    ("text_state", {8: "offsetof(PyASCIIObject, state)"}),
    ("text_ascii", {8: "sizeof(PyASCIIObject)"}),
    ("text_wide", {8: "sizeof(PyCompactUnicodeObject)"}),
    ("bytes_length", {8: "offsetof(PyVarObject, ob_size)"}),
    ("bytes_data", {8: "offsetof(PyBytesObject, ob_sval)"}),
    ("object_type", {8: "offsetof(PyObject, ob_type)"}),
]

# The bits of a text's state are the same in all versions: the program prints them, and python_code.c has them as constants.
BITS = {"kind": 0x1c, "compact": 0x20, "ascii": 0x40}

PROGRAM = """#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
%(internal)s
#include <stddef.h>
#include <stdio.h>
#include <string.h>
static unsigned bits(PyASCIIObject *text)
{
	unsigned word;
	memcpy(&word, (char *)text + offsetof(PyASCIIObject, state), sizeof(word));
	return word;
}
int main(void)
{
%(lines)s
	return 0;
}
"""


class Unknown(Exception):
    """Headers that are not of a known version, or are not there."""


def version_of(directory):
    values = {}
    try:
        with open(os.path.join(directory, "patchlevel.h"), encoding="utf-8") as lines:
            for line in lines:
                words = line.split()
                if len(words) >= 3 and words[0] == "#define":
                    values[words[1]] = words[2]
    except OSError as error:
        raise Unknown(f"cannot read {directory}: {error.strerror}") from error
    version = int(values["PY_MAJOR_VERSION"]), int(values["PY_MINOR_VERSION"])
    if not OLDEST <= version <= NEWEST:
        raise Unknown(f"{directory}: Python {version[0]}.{version[1]} has no layout")
    return version


def expression(versions, minor):
    return versions[max(first for first in versions if first <= minor)]


def run(directory, version, lines):
    internal = '#include "internal/pycore_frame.h"' if version >= (3, 11) else ""
    with tempfile.TemporaryDirectory() as work:
        source, program = os.path.join(work, "probe.c"), os.path.join(work, "probe")
        with open(source, "w", encoding="utf-8") as out:
            out.write(PROGRAM % {"internal": internal, "lines": "\n".join(lines)})
        done = subprocess.run(["cc", "-w", "-I", directory, "-I", os.path.join(directory, "internal"), "-o", program, source],
                              stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise Unknown(f"cannot compile with {directory}: {done.stderr[:300]}")
        return subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout


def layout_of(directory):
    """The version and its values by field."""
    version = version_of(directory)
    lines = []
    for name, versions in FIELDS:
        value = expression(versions, version[1])
        lines.append(f'\tprintf("{name} %zu\\n", (size_t)({value if value else 0}));')
    for name in BITS:
        lines.append(f'\t{{ PyASCIIObject text; memset(&text, 0, sizeof(text)); text.state.{name} = -1; '
                     f'printf("bits_{name} %u\\n", bits(&text)); }}')
    values = {name: int(value) for name, value in (line.split() for line in run(directory, version, lines).splitlines())}
    for name, bits in BITS.items():
        if values.pop(f"bits_{name}") != bits:
            raise Unknown(f"{directory}: the bits of {name} in a text's state have moved")
    return version, values


HEAD = """/* Written by python_layouts.py: do not edit. Fields that a version does not have are 0. */
#ifndef HK_AGENT_STACK_PYTHON_LAYOUTS_H
#define HK_AGENT_STACK_PYTHON_LAYOUTS_H

#include "agent/stack/python_layout.h"

/* clang-format off */
static const struct hk_python_layout layouts[] = {
"""
TAIL = """};
/* clang-format on */

#endif
"""


def table(layouts):
    rows = []
    for version, values in sorted(layouts.items()):
        rows.append(f"\t{{\n\t\t.version = 0x{version[0]:02x}{version[1]:02x},\n")
        rows += [f"\t\t.{name} = {values[name]},\n" for name, _ in FIELDS if values[name]]
        rows.append("\t},\n")
    return HEAD + "".join(rows) + TAIL


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        sys.stdout.write(table(dict(layout_of(directory) for directory in sys.argv[1:])))
    except Unknown as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
