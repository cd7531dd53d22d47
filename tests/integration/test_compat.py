#!/usr/bin/python3
"""Under HOOK_COMPAT=1 the variables of cuda_mock do what their users know, and without it nothing."""
import collections
import os
import re
import subprocess

import pythons
from harness import calls_of, expect, expect_true, main

PREFIX = re.compile(r"^\[(INFO|WARN)\]\[(\w+)\]\[\w+\.[ch]:\d+\]\[PID:(\d+)\]\[TID:\d+\]\[TS:\d+us\](.*)$")
COST = re.compile(r"^(\w+) costs (\d+)ns$")
FILE = re.compile(r"^hook-(\d+)-(\d+)-\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d\.log$")


def lines_of(text):
    """(level, module, message) of each line of ours, and the program's own output."""
    ours, own = [], []
    for line in text.splitlines():
        match = PREFIX.match(line)
        if match:
            ours.append((match[1], match[2], match[4]))
        else:
            own.append(line)
    return ours, own


class Compat:
    def __init__(self, run):
        self.run, self.number = run, 0
        self.frame = os.path.join(run.build, "tests", "integration", "frame")
        self.hooks = os.path.join(os.path.dirname(os.path.abspath(__file__)), "frame", "arguments.hooks")
        self.alone = run.command(os.path.join(self.frame, "arguments")).stdout

    def trace(self, variables, program="arguments", hooks=None):
        """Output of a traced run, and its report."""
        self.number += 1
        job = f"job{self.number}"
        done = self.run.trace(os.path.join(self.frame, program), hooks=[hooks or self.hooks], level="record",
                              options=("--job", job), env=variables)
        return done.stdout, self.run.report(self.run.path("store", job))


def check_costs(compat):
    output, report = compat.trace({"HOOK_COMPAT": "1", "LOG_SYNC_MODE": "1", "LOG_LEVEL": "PROFILE=INFO"})
    ours, own = lines_of(output)
    expect("the program's own lines", own, compat.alone.splitlines())
    expect("modules", {line[:2] for line in ours}, {("INFO", "PROFILE")})
    costs = [COST.match(line[2]) for line in ours]
    expect("lines of another form", [line[2] for line, cost in zip(ours, costs) if not cost][:3], [])
    counted = {function: row["calls"] for (_, _, function), row in calls_of(report).items()}
    expect("lines per function", dict(collections.Counter(cost[1] for cost in costs)), counted)
    rows = calls_of(report)
    total = sum(int(cost[2]) for cost in costs)
    expect("the sum of the costs", total, sum(row["total_ns"] for row in rows.values()))
    # The call that gives the program what it prints comes before that, and the next one after.
    lines = output.splitlines()
    places = [next(i for i, line in enumerate(lines) if wanted in line)
              for wanted in ("arguments_mixed costs", "-6.75", "arguments_half costs", "2.5")]
    expect("order", places, sorted(places))


def check_silence(compat):
    for variables in ({"LOG_SYNC_MODE": "1", "LOG_LEVEL": "INFO", "HOOK_ENABLE_TRACE": "arguments_name=2",
                       "TARGET_LIB_FILTER": "nowhere"}, {"HOOK_COMPAT": "1"},
                      {"HOOK_COMPAT": "1", "LOG_SYNC_MODE": "1", "LOG_LEVEL": "WARN"}):
        output, report = compat.trace(variables)
        expect(f"output under {variables}", output, compat.alone)
        expect_true("calls are counted", calls_of(report))


def check_arguments(compat):
    output, _ = compat.trace({"HOOK_COMPAT": "1", "HOOK_ENABLE_TRACE": "arguments_mixed=0b10,arguments_name=0x3,arguments_half=1"})
    ours, own = lines_of(output)
    framed = [line[2] for line in ours if line[2].endswith(" with frame:")]
    expect("calls with frames", framed, ["arguments_half with frame:"] + ["arguments_name with frame:"] * 2)
    ours = [line for line in ours if line[2] not in framed]
    own = [line for line in own if not re.match("  (Native|Python) frame:$|    frame #|    \\[empty stack]$", line)]
    expect("the program's own lines", own, compat.alone.splitlines())
    expect("modules", {line[:2] for line in ours}, {("WARN", "TRACE")})
    expect("what is traced", [line[2].split(":")[0] for line in ours], ["arguments_mixed", "arguments_name", "arguments_name"])
    expect("one argument", ours[1][2], "arguments_name: arg0:3(int)")
    mixed = re.sub(r"0x7\w+", "0x7..", ours[0][2])
    expect("twelve arguments", mixed,
           'arguments_mixed: arg0:-3(int) arg1:1.5(double) arg2:2.25(float) arg3:"hello \\"w\\"\\n"(char const*) '
           "arg4:-99999999999(long) arg5:0x7..(unsigned int*) arg6:0x7..(double*) arg7:0xdead0(char const*) arg8:9(int) "
           "arg9:1e+30(double) arg10:-7.5(float) arg11:4294967295(unsigned int)")


def check_unhooked(compat):
    """A symbol that no hooks file names is hooked because it is to be traced."""
    output, report = compat.trace({"HOOK_COMPAT": "1", "HOOK_ENABLE_TRACE": "arguments_unknown=2"}, hooks="mpi")
    ours, _ = lines_of(output)
    expect("lines", len(ours), 1)
    expect_true(f"line {ours[0]}", ours[0][2].startswith("arguments_unknown: arg0:0x5(unknown) arg1:0xfffffffffffffffa(unknown) "))
    expect("functions", [function for _, _, function in calls_of(report)], ["arguments_unknown"])


def check_memory(compat):
    output, _ = compat.trace({"HOOK_COMPAT": "1", "LOG_SYNC_MODE": "1", "LOG_LEVEL": "MEMORY=INFO"}, "compat", "libc")
    ours, _ = lines_of(output)
    expect("modules", {line[:2] for line in ours}, {("INFO", "MEMORY")})
    kept = "kind: 0, allocated: "
    wanted = ["[compat][ALLOC] devId: -1, ptr: P, size: 128.00 MB, " + kept + "128.00 MB, peak: 128.00 MB",
              "[compat][ALLOC] devId: -1, ptr: P, size: 1.50 KB, " + kept + "128.00 MB, peak: 128.00 MB",
              "[compat][ALLOC] devId: -1, ptr: P, size: 300.00 B, " + kept + "128.00 MB, peak: 128.00 MB",
              "[compat][FREE] devId: -1, ptr: P",
              "[compat][FREE] devId: -1, ptr: P",
              "[compat][ALLOC] devId: -1, ptr: P, size: 2.00 KB, " + kept + "2.29 KB, peak: 128.00 MB",
              "[compat][FREE] devId: -1, ptr: P", "[compat][FREE] devId: -1, ptr: P"]
    expect("lines", [re.sub("ptr: 0x[0-9a-f]+", "ptr: P", line[2]) for line in ours], wanted)
    pointers = [re.search("ptr: (0x[0-9a-f]+)", line[2])[1] for line in ours]
    expect("frees of what was allocated", [pointers[3], pointers[4], pointers[6], pointers[7]],
           [pointers[0], pointers[1], pointers[5], pointers[2]])


def check_file(run, compat):
    directory = run.path("logs", "below")
    output, report = compat.trace({"HOOK_COMPAT": "1", "LOG_OUTPUT_PATH": directory, "LOG_LEVEL": "INFO"})
    expect("output beside a file", output, compat.alone)
    names = os.listdir(directory)
    expect("files", len(names), 1)
    expect("the file's process", int(FILE.match(names[0])[1]), report["ranks"][0]["pid"])
    with open(os.path.join(directory, names[0]), encoding="utf-8") as stream:
        ours, own = lines_of(stream.read())
    expect("foreign lines in the file", own, [])
    expect("lines in the file", len([line for line in ours if line[1] == "PROFILE"]),
           sum(row["calls"] for row in calls_of(report).values()))


def blocks_of(text, function="callers_note"):
    """The native and the Python frames of each call of FUNCTION that was printed with its frames."""
    blocks, part = [], None
    for line in text.splitlines():
        match = PREFIX.match(line)
        if match:
            expect("a call's line", (match[1], match[2], match[4]), ("WARN", "TRACE", f"{function} with frame:"))
            blocks.append({"Native": [], "Python": []})
        elif line in ("  Native frame:", "  Python frame:"):
            part = blocks[-1][line.split()[0]]
        else:
            part.append(line)
    return blocks


def check_callers(run, compat):
    """From where calls were made: as glibc, the loader and the C++ library say it inside of the calls."""
    program = os.path.realpath(os.path.join(compat.frame, "callers"))
    done = run.trace(program, hooks=["mpi"], options=("--job", "callers", "-q"),
                     env={"HOOK_COMPAT": "1", "HOOK_ENABLE_TRACE": "callers_note=1"})
    blocks = blocks_of(done.stdout)
    expect("calls", len(blocks), 5)
    native = [line for block in blocks for line in block["Native"]]
    wanted = [line for line in done.stderr.splitlines() if line.startswith("    frame #")]
    expect("native frames", native, wanted)
    for part in ("shop::till<double>::open(std::vector<double, ", "shop::enter(std::function<int (int)> const&, int)", ":recurse(int)"):
        expect_true(f"{part} in {native}", any(part in line for line in native))
    expect_true("in a handler names are as the file spells them", any(line.endswith(":_Z6handlei") for line in blocks[4]["Native"]))
    numbers = [int(re.match(r"    frame #([ \d]\d) /", line)[1]) for line in blocks[2]["Native"]]
    expect_true(f"a function that is not exported leaves a gap: {numbers}", numbers[:4] == [0, 1, 2, 3] and 4 not in numbers and 5 in numbers)
    expect("Python frames", [block["Python"] for block in blocks], [["    [empty stack]"]] * 5)
    done = run.trace(program, hooks=["mpi"], options=("--job", "no-callers", "-q"),
                     env={"HOOK_COMPAT": "1", "HOOK_ENABLE_TRACE": "callers_note=1", "LOG_LEVEL": "TRACE=ERROR"})
    expect("lines above the level", done.stdout, "")


def check_python_callers(run, compat, name, python):
    """From where calls were made in Python: as `traceback` says it inside of the calls."""
    library = os.path.realpath(run.workload("libpython_truth_library.so"))
    script = os.path.join(os.path.dirname(compat.hooks), "callers.py")
    done = run.trace(python, script, library, hooks=["mpi"], options=("--job", f"callers-{name}", "-q"),
                     env={"HOOK_COMPAT": "1", "HOOK_ENABLE_TRACE": "python_noted=1", "PYTHONIOENCODING": "utf-8"})
    blocks = [block["Python"] for block in blocks_of(done.stdout, "python_noted")]
    wanted = [part.splitlines() for part in re.split("^call\n", done.stderr, flags=re.M)[1:]]
    expect_true(f"{name}: {len(wanted)} calls", len(wanted) >= 20)
    for number, (found, known) in enumerate(zip(blocks, wanted)):
        expect(f"{name}: Python frames of call {number}", found, known)
    expect(f"{name}: calls", len(blocks), len(wanted))
    for part in ("größe", "<made 名 up>(1): <module>", "<lambda>", "<genexpr>"):
        expect_true(f"{name}: {part}", any(part in line for block in blocks for line in block))


def check_all_pythons(run, compat):
    versions = []
    for version, python in pythons.found():
        check_python_callers(run, compat, f"{version}-{len(versions)}", python)
        versions.append(version)
    pythons.say_left_out(versions)
    print(f"Python callers: {', '.join(versions)}")


def check_filter(compat):
    for expression, seen in ((r".*/arguments$", True), (r"libarguments.*\.so", False), ("[", True)):
        _, report = compat.trace({"HOOK_COMPAT": "1", "TARGET_LIB_FILTER": expression})
        expect(f"calls under {expression}", bool(calls_of(report)), seen)


def check_closed_output(run):
    """A program that writes nothing does not end by a pipe without a reader."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([run.binary("hookcli"), "run", "-q", "--store", run.path("closed"), "--hooks", "libc", "--", "cat", os.devnull],
                          env=run.environment() | {"HOOK_COMPAT": "1", "LOG_SYNC_MODE": "1", "LOG_LEVEL": "PROFILE=INFO"},
                          stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    expect(f"status with a closed output: {done.stderr}", done.returncode, 0)


def test(run):
    compat = Compat(run)
    check_costs(compat)
    check_silence(compat)
    check_arguments(compat)
    check_unhooked(compat)
    check_memory(compat)
    check_file(run, compat)
    check_callers(run, compat)
    check_all_pythons(run, compat)
    check_filter(compat)
    check_closed_output(run)


if __name__ == "__main__":
    main(test)
