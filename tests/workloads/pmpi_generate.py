#!/usr/bin/env python3
"""Writes the wrappers of pmpi_counter from the prototypes in mpi.h: pmpi_generate.py MPI_H OUT_C.

Every function MPI_X of result int becomes pmpi_enter, PMPI_X, pmpi_leave. Left out: MPI_Finalize and the two forms of
MPI_Init, which pmpi_counter.c has, what is variadic, and what MPI 3 removed.
"""
import re
import sys

OWN = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Pcontrol"}
PROTOTYPE = re.compile(r"OMPI_DECLSPEC\s+int\s+(MPI_[A-Z]\w*)\s*\(([^;]*?)\)\s*(__mpi_interface_\w+\s*\([^;]*\))?\s*;")
ARGUMENT = re.compile(r"(\w+)\s*((?:\[[^\]]*\]\s*)*)$")


def wrapper(number, name, arguments):
    names = []
    if arguments != "void":
        for argument in arguments.split(","):
            names.append(ARGUMENT.search(argument.strip()).group(1))
    return (f"int {name}({arguments})\n{{\n\tunsigned long long start_ns_ = pmpi_enter({number});\n"
            f"\tint result_ = P{name}({', '.join(names)});\n\n\tpmpi_leave({number}, start_ns_);\n\treturn result_;\n}}\n")


def main():
    with open(sys.argv[1], encoding="utf-8") as stream:
        text = re.sub(r"/\*.*?\*/", "", stream.read(), flags=re.S)
    found = {}
    for match in PROTOTYPE.finditer(text):
        if match.group(1) not in OWN and not match.group(3):
            found[match.group(1)] = re.sub(r"\s+", " ", match.group(2)).strip()
    if len(found) < 200:
        sys.exit(f"{sys.argv[1]}: only {len(found)} prototypes found")
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        out.write('#include <mpi.h>\n\n#include "pmpi_counter.h"\n\n')
        names = ["MPI_Init", "MPI_Init_thread", "MPI_Finalize"] + sorted(found)
        out.write("const char *const pmpi_names[] = {\n" + "".join(f'\t"{name}",\n' for name in names) + "};\n")
        out.write(f"const unsigned pmpi_count = {len(names)};\n\n")
        for number, name in enumerate(names):
            if name in found:
                out.write(wrapper(number, name, found[name]) + "\n")


main()
