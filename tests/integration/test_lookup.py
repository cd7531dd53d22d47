#!/usr/bin/python3
"""Functions looked up by name, as the report has them: their callers, and escaped ones."""
import os

from harness import expect, main, total_calls

DRIVER = """
domain driver
int cuMemAlloc_v2(ptr *address, ulong bytes)  launch
int driverMemFree(ptr address)
int cuMemFree_v2(ptr address)  launch
int cuLaunchKernel(ptr function, uint x)  launch
int cuStreamSynchronize(ptr stream)  wait
"""
# program, how, hooks, calls by (library, function), what the report says of the rest
CASES = (
    ("patch_lookup", "threads", "long target_add(long a, long b)\nlong target_negate(long a)\n",
     {("libplug.so", "target_add"): 2700, ("*", "target_add"): 1800, ("patch_lookup", "target_negate"): 900}, ""),
    ("patch_lookup", "plugin", "*:target_plain\n*:target_own_table\n", {("*", "target_plain"): 3},
     "1 hooked functions looked up by name and not seen"),
    ("patch_lookup", "driver", DRIVER,
     {("patch_lookup", "cuMemAlloc_v2"): 3, ("patch_lookup", "cuMemFree_v2"): 2, ("patch_lookup", "cuLaunchKernel"): 1},
     "1 hooked functions looked up by name and not seen"),
    ("patch_lookup", "runtime", DRIVER,
     {("libruntime.so", "cuMemAlloc_v2"): 4, ("patch_lookup", "cuMemAlloc_v2"): 1, ("patch_lookup", "cuMemFree_v2"): 1}, ""),
    ("patch_program", "hidden", "*:target_never\n", {},
     "nothing hooked: no object calls what '{hooks}' names; 2 link-map namespaces out of sight; 3 objects in them"),
)


def check(run, program, how, hooks, wanted, notes):
    directory = os.path.join(run.build, "tests", "integration", "patch")
    command = [os.path.join(directory, program), how, directory]
    path = run.path(how + ".hooks")
    with open(path, "w", encoding="ascii") as file:
        file.write(hooks)
    traced = run.trace(*command, hooks=[path], options=("--job", how))
    expect(f"{how}: output", traced.stdout, run.command(*command).stdout)
    report = run.report(run.path("store", how))
    made = {(os.path.basename(row["library"]), row["function"]): row["calls"] for row in report["calls"]}
    expect(f"{how}: calls", made, wanted)
    expect(f"{how}: calls in all", sum(total_calls(report).values()), sum(wanted.values()))
    expect(f"{how}: notes", [row["notes"] for row in report["coverage"]], [notes.format(hooks=path)])


def test(run):
    for case in CASES:
        check(run, *case)


if __name__ == "__main__":
    main(test)
