#!/usr/bin/python3
"""Functions on stacks: names, lines and inlined functions are those of addr2line, nm and c++filt, also from a debug file that was kept
apart; generated code has the names of its perf map; and records are stored while a process that reads symbols does not."""
import json
import lzma
import os
import re
import shutil
import signal
import socket
import subprocess

from harness import Run, end_process, expect, expect_true, main, reader_of, wait_for

HOOK = "*:symbols_called"


def program_of(run, name="symbols"):
    # As the process has it: a tree with sanitizers has a link to these programs.
    return os.path.realpath(os.path.join(run.build, "tests", "integration", "symbols", name))


def trace(run, job, *command, **more):
    run.trace(*command, hooks=[HOOK], level="record+stack", options=("--job", job), **more)
    return by_stack(run, job)


def by_stack(run, job):
    return json.loads(run.cli("report", run.path("store", job), "--by", "stack", "--format", "json").stdout)


def frames_of(report, library):
    """The frames of LIBRARY by address: their functions, innermost first."""
    frames = {}
    for row in report["stacks"]:
        group = []
        for frame in row["frames"]:
            group.append(frame)
            if not frame.get("inlined"):
                if frame.get("library") == library:
                    frames[frame["address"]] = group
                group = []
    return frames


def tool(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def without_clone(name):
    """A name without what a compiler adds for a copy of a function. addr2line shows that at some addresses only."""
    return re.sub(r"(\.(isra|constprop|part|cold)(\.\d+)?)+$", "", name)


def spelled(frame, wanted):
    """The name of FRAME as addr2line spells it: of static functions it has the name in the source only."""
    if wanted.startswith("_Z"):
        return without_clone(frame["mangled"])
    return re.sub(r"\(.*", "", frame["function"]).rsplit("::", 1)[-1]


def symbols_of(program):
    """Functions of PROGRAM by address, as nm reads them: (start, end, name)."""
    lines = (line.split() for line in tool("nm", "-S", "--defined-only", program).splitlines())
    return [(int(line[0], 16), int(line[0], 16) + int(line[1], 16), line[3]) for line in lines if len(line) == 4 and line[2] in "tTwW"]


def addr2line(program, address):
    """Functions at ADDRESS, innermost first: (name as mangled, file, line)."""
    lines = tool("addr2line", "-i", "-f", "-e", program, hex(address)).splitlines()
    places = (re.sub(r" \(discriminator \d+\)$", "", place).rsplit(":", 1) for place in lines[1::2])
    return [(without_clone(name), os.path.realpath(file), int(line)) for name, (file, line) in zip(lines[::2], places, strict=True)]


def is_known(program, address):
    return "?" not in tool("addr2line", "-f", "-e", program, hex(address))


def expect_lines(what, report, library, truth):
    """Each frame of LIBRARY is what binutils say of the file TRUTH."""
    frames = frames_of(report, library)
    symbols = symbols_of(truth)
    deepest = 0
    for address, group in frames.items():
        if not is_known(truth, address):
            continue  # start code of the C library, without debug information
        wanted = addr2line(truth, address)
        # Files of link-time optimisation are not known to addr2line.
        own = [(spelled(frame, name), file if file.endswith("<artificial>") else os.path.realpath(frame["file"]), frame["line"])
               for frame, (name, file, _) in zip(group, wanted, strict=True)]
        expect(f"{what}: {address:#x}", own, wanted)
        expect_true(f"{what}: nm's name of {group[-1]}",
                    group[-1]["mangled"] in [name for start, after, name in symbols if start <= address < after])
        names = tool("c++filt", *(frame["mangled"] for frame in group)).splitlines()
        expect(f"{what}: demangled", [frame["function"] for frame in group], names)
        expect(f"{what}: inlined", [frame["inlined"] for frame in group], [True] * (len(group) - 1) + [False])
        deepest = max(deepest, len(group))
    names = {re.sub(r" \[clone .*", "", str(frame["function"])) for group in frames.values() for frame in group}
    for name in ("innermost", "outer", "steps", "main", "shapes::box<unsigned long>::call(int) const",
                 "shapes::box<unsigned long>::operator()(int) const"):
        expect_true(f"{what}: {name} in {sorted(names)}", name in names)
    expect_true(f"{what}: {deepest} functions at one address", deepest >= 3)


def check_lines(run: Run):
    program = program_of(run)
    with socket.create_server(("127.0.0.1", 0)) as server:
        # A server with debug files is not asked, whatever the user has set.
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        report = trace(run, "lines", program, env={"DEBUGINFOD_URLS": url})
        server.setblocking(False)
        try:
            server.accept()
            asked = True
        except BlockingIOError:
            asked = False
    expect("a debug server was asked", asked, False)
    expect_lines("lines", report, program, program)
    expect("lines: unread", report["unread"], [])
    text = run.cli("report", run.path("store", "lines"), "--by", "stack").stdout
    expect_true(f"text: {text[:400]}", re.search(r"\n    #0   innermost \(steps\.c:\d+\) \[inlined\]\n    #1   inner \(steps\.c:\d+\) \[inlined\]\n"
                                                 r"    #2   outer \(steps\.c:\d+\)\n", text))
    folded = run.cli("report", run.path("store", "lines"), "--by", "stack", "--format", "folded").stdout
    expect_true(f"folded: {folded[:400]}", ";steps;outer;inner;innermost;symbols_called " in folded)


def check_compilers(run: Run):
    for name in ("symbols_lto", "symbols_clang"):
        program = program_of(run, name)
        if os.path.exists(program):
            expect_lines(name, trace(run, name, program), program, program)
        else:
            print(f"left out, without its compiler: {name}")


def separate(run, name, directory):
    """A copy of program NAME without debug information, which lies in DIRECTORY beside it."""
    program = run.path(f"apart-{name}-{len(directory)}")
    debug = os.path.join(os.path.dirname(program), directory, os.path.basename(program) + ".debug")
    os.makedirs(os.path.dirname(debug), exist_ok=True)
    tool("objcopy", "--only-keep-debug", program_of(run, name), debug)
    tool("strip", "-o", program, program_of(run, name))
    tool("objcopy", f"--add-gnu-debuglink={debug}", program)
    return program, debug


def check_separate(run: Run):
    for name in ("symbols", "symbols_without_id"):
        for directory in (".debug", ""):
            program, _ = separate(run, name, directory)
            expect_lines(f"separate: {program}", trace(run, os.path.basename(program), program), program, program_of(run, name))
    # A debug file that is not the right one says nothing.
    program, debug = separate(run, "symbols_without_id", ".debug")
    with open(debug, "ab") as more:
        more.write(b"x")
    expect("other checksum", {frame["function"] for group in frames_of(trace(run, "other", program), program).values() for frame in group},
           {None})


def check_stripped(run: Run):
    program = run.path("stripped")
    tool("strip", "-o", program, program_of(run))
    report = trace(run, "stripped", program)
    dynamic = {line.split()[-1] for line in tool("nm", "-D", "--defined-only", program).splitlines()}
    own = {frame["mangled"] for group in frames_of(report, program).values() for frame in group}
    expect_true(f"stripped: {own}", own - {None} <= dynamic and None in own)
    text = run.cli("report", run.path("store", "stripped"), "--by", "stack").stdout
    expect_true(f"stripped: {text[:300]}", re.search(r"#0   stripped\+0x[0-9a-f]+\n", text))


def check_mini(run: Run):
    """A stripped program with the table that Fedora adds: local functions that nm sees in the whole one."""
    program, mini = run.path("mini"), run.path("mini.debug")
    dynamic = {line.split()[-1] for line in tool("nm", "-D", "--defined-only", program_of(run)).splitlines()}
    own = {name for _, _, name in symbols_of(program_of(run))} - dynamic
    with open(run.path("kept"), "w", encoding="ascii") as kept:
        kept.write("\n".join(own))
    tool("objcopy", "--only-keep-debug", program_of(run), mini)
    tool("objcopy", "-S", f"--keep-symbols={run.path('kept')}", mini)
    tool("strip", "-o", program, program_of(run))
    with open(mini, "rb") as whole, lzma.open(f"{mini}.xz", "wb") as packed:
        packed.write(whole.read())
    tool("objcopy", "--add-section", f".gnu_debugdata={mini}.xz", program)
    frames = frames_of(trace(run, "mini", program), program)
    symbols = symbols_of(program_of(run))
    for address, (frame,) in frames.items():
        expect_true(f"mini: {frame}", frame["mangled"] in [name for start, after, name in symbols if start <= address < after])
    expect_true(f"mini: local functions in {frames}", {frame["mangled"] for frame, in frames.values()} & own)
    # A damaged table leaves the exported functions.
    with open(f"{mini}.xz", "r+b") as packed:
        packed.seek(100)
        packed.write(b"damaged")
    damaged = shutil.copy(program, run.path("damaged"))
    tool("objcopy", "--update-section", f".gnu_debugdata={mini}.xz", damaged)
    names = {frame["mangled"] for frame, in frames_of(trace(run, "damaged", damaged), damaged).values()}
    expect_true(f"mini: damaged {names}", names - {None} <= dynamic)


def check_generated(run: Run):
    program = program_of(run, "generated")
    name = "JIT:a function;in generated code"
    for how, wanted in (("plain", name), ("late", name), ("old", None), ("link", None)):
        done = run.trace(program, how, hooks=[HOOK], level="record+stack", options=("--job", how))
        row, = by_stack(run, how)["stacks"]
        generated = [frame["function"] for frame in row["frames"] if frame.get("library") == ""]
        for path in (f"/tmp/perf-{done.stdout.strip()}.map", f"/tmp/perf-{done.stdout.strip()}.map.other"):
            if os.path.lexists(path):
                os.remove(path)
        expect(f"generated: {how}", generated, [wanted])


def start(run, job, program):
    """A traced program that calls until its input ends."""
    return subprocess.Popen([run.binary("hookcli"), "run", "-q", "--hooks", HOOK, "--level", "record+stack", "--job", job, "--", program, "wait"],
                            env=run.environment(), stdin=subprocess.PIPE, cwd=run.directory)


def stored(run, job):
    """Records of the running job that the collector has stored."""
    done = run.cli("report", job, "--format", "json", check=False)
    return sum(process["records"] for process in json.loads(done.stdout)["processes"]) if done.returncode == 0 else 0


def end(job):
    job.stdin.close()
    expect("the job's status", job.wait(), 0)


def check_stacks(run, program):
    """hookcli stacks answers without names too, and says so."""
    answer = json.loads(run.cli("stacks", "stopped", "--json").stdout)
    expect_true(f"stacks: unread {answer['unread']}", {"library": program, "reason": "it was not read in time"} in answer["unread"])
    thread, = (thread for process in answer["processes"] if process["command"].startswith(program) for thread in process["threads"])
    frames = [frame for frame in thread["frames"] if frame.get("library") == program]
    expect_true(f"stacks: frames {thread}", frames and all(frame["function"] is None and frame["address"] for frame in frames))
    text = run.cli("stacks", "stopped").stdout
    expect_true(f"stacks: {text}", re.search(rf" <- {os.path.basename(program)}\+0x[0-9a-f]+ ", text)
                and f"! functions of {program} are not named: it was not read in time\n" in text)


def check_stopped(run: Run):
    """A process that reads nothing, as on a disk that hangs: records are stored all the same, and the job ends with the reason."""
    collector = run.start_collector()
    end(start(run, "first", program_of(run)))
    reader = wait_for("the reader of symbols", lambda: reader_of(collector))
    os.kill(reader, signal.SIGSTOP)
    copy = shutil.copy(program_of(run), run.path("copy"))
    job = start(run, "stopped", copy)
    before = wait_for("records", lambda: stored(run, "stopped"))
    wait_for("further records", lambda: stored(run, "stopped") > 2 * before)
    check_stacks(run, copy)
    end(job)
    report = by_stack(run, "stopped")
    expect("stopped: unread", [entry for entry in report["unread"] if entry["library"] == copy],
           [{"library": copy, "reason": "it was not read in time"}])
    expect("stopped: names", {frame["function"] for group in frames_of(report, copy).values() for frame in group}, {None})
    text = run.cli("report", run.path("store", "stopped"), "--by", "stack").stdout
    expect_true(f"stopped: {text[-300:]}", f"! functions of {copy} are not named: it was not read in time\n" in text)
    check_killed(run, collector, reader)


def check_killed(run, collector, reader):
    """A reader that was killed is followed by another one, and ends with its collector."""
    os.kill(reader, signal.SIGKILL)
    copy = shutil.copy(program_of(run), run.path("another"))
    end(start(run, "killed", copy))
    report = by_stack(run, "killed")
    expect_lines("killed", report, copy, copy)
    reader = reader_of(collector)
    collector.kill()
    collector.wait()
    wait_for("the end of the reader", lambda: not os.path.exists(f"/proc/{reader}"))


def test(run):
    for check in (check_lines, check_compilers, check_separate, check_stripped, check_mini, check_generated, check_stopped):
        check(run)


if __name__ == "__main__":
    main(test)
