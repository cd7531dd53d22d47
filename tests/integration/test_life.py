#!/usr/bin/python3
"""What processes and threads do: the program behaves the same with and without tracing, and every call is counted once, where it belongs."""
import collections
import os
import shutil
import subprocess

from harness import end_process, expect, expect_true, main, wait_for
from truth import rows_of

SIGNALED = 128
CROWD, CHURN, STORM, LOADED, FILTERS, CROWDS, HELD = 1000, 2000, 3000, 300, 200, 10, 50
# Longer than the collector takes to ask for a look at new objects.
LOADER_SECONDS = 1.5
CHURN_LONG, CHURN_RATE = 12_000, 200
# What a thousand more threads may cost: nothing but what the kernel and the allocator round up to.
GROWTH_KIB = 1024
# How much more a call may take where its record finds no room: an order above what is seen, two below what a walk takes.
LESS_ROOM = 60
# A file may be so long: more than the first block of a segment, less than what is added first.
SEGMENT_LEAST = 32768
LEAST_CALLS = 20 * 200  # of life least

# Calls of life_touch and life_call, records of calls that could not come back, and who ended how; by hand from life_*.c.
# helpers: None where a child that left by a system call of its own may or may not have been looked at in time.
Case = collections.namedtuple("Case", "words status main helper ends open", defaults=({}, (), 0))


def touch(count, call=0):
    return {name: number for name, number in (("life_touch", count), ("life_call", call)) if number}


def helpers(*codes):
    return tuple(("helper", "exited", code) for code in codes)


EXEC = ("main", "exec", None)
CASES = [
    Case("errno", 0, touch(1)),
    Case("fork", 0, touch(3), touch(5), helpers(3)),
    Case("fork-first", 0, touch(1), touch(5), helpers(3)),
    Case("fork-look-up", 0, touch(1, call=2), touch(3), helpers(3)),
    Case("fork-inside", 0, touch(7, call=1), touch(6), helpers(9)),
    Case("fork-handlers", 0, touch(12), touch(9), helpers(3, 3, 3)),
    Case("fork-generations", 0, touch(1), touch(3), helpers(1, 2, 3)),
    Case("fork-storm 300", 0, touch(0), touch(600), helpers(*[3] * 300)),
    Case("fork-crowd 300 9", 0, touch(0), touch(3000), helpers(*[3] * 300)),
    Case("vfork", 0, touch(4)),
    Case("_Fork", 0, touch(2), touch(2), helpers(3)),
    Case("raw-fork", 0, touch(2), touch(2), helpers(3)),
    Case("clone-copy", 0, touch(3), touch(3), None),
    Case("clone-shared", 0, touch(6)),
    Case("clone-vfork", 0, touch(6)),
    Case("clone-inside", 0, touch(6, call=1)),
    Case("spawn", 0, touch(2), touch(3), helpers(0)),
    Case("vfork-exec", 0, touch(3), touch(3), helpers(0)),
    Case("exec-chain 3", 5, touch(4), {}, (EXEC, EXEC, EXEC)),
    Case("exec-thread", 0, touch(5, call=1), {}, (EXEC,), open=1),
    Case("exec-fails", 0, touch(8)),
    Case("end-now", 5, touch(2)),
    Case("end-c99", 6, touch(2)),
    Case("end-raw", 7, touch(2)),
    Case("end-inside", 8, touch(2, call=1), open=1),
    Case("end-quickly", 9, touch(3)),
    Case("end-killed", SIGNALED + 9, touch(2)),
    Case("end-aborted", SIGNALED + 6, touch(2)),
    Case("end-in-order", 10, touch(7)),
    Case("end-by-thread", 11, touch(2, call=1), open=1),
    Case("end-main-thread", 0, touch(4)),
    Case(f"loader-held {HELD}", 0, touch(2 * HELD)),
    Case("late-ends", 0, touch(10 + 20 * 3 + 80 * 2)),
    Case("refused errno 0", 0, touch(7, call=1)),
    Case("refused errno 2", 0, touch(9, call=1)),
    Case("refused kill 0", 0, touch(7, call=1)),
    Case("refused kill 2", 0, touch(9, call=1)),
    # An image that begins under a filter that kills is traced only if that spares what the agent asks for.
    Case("confined errno 2", 0, touch(2), ends=None),
    Case("confined kill 2", 0, touch(2), ends=None),
    Case("confined idle 2", 0, touch(5), touch(2), (EXEC, *helpers(3))),
    Case("no-counter 0", 0, touch(2)),
    Case("no-counter 2", 0, touch(4)),
    Case("strict 0", 4, touch(7)),
    Case("strict 2", 4, touch(9)),
    Case("stack-word", 0, touch(1)),
    Case(f"crowd {CROWD}", 0, touch(10 * CROWD)),
]


def program(run):
    return os.path.join(run.build, "tests", "integration", "life", "life")


def trace(run, name, *words, level="record", status=0, hook="*:life_*"):
    """The traced program's output and its report; nothing of it may be missing."""
    done = run.trace(program(run), *words, hooks=[hook], level=level, options=("--job", name), check=False)
    expect(f"{name}: exit status ({done.stderr[-500:]})", done.returncode, status)
    report = run.report(run.path("store", name))
    expect(f"{name}: untracked calls", report["job"]["calls_untracked"], 0)
    expect(f"{name}: lost records", {row["lost_records"] for row in report["processes"]}, {0})
    return done.stdout, report


def calls(report, role):
    got = collections.Counter()
    for (_, function), row in rows_of(report, role=role).items():
        got[function] += row["calls"]
    return dict(got)


def check_records(name, report, still_open=0):
    """A record for each call, but for those that the end of everything cut off."""
    records, made = sum(row["records"] for row in report["processes"]), sum(row["calls"] for row in report["calls"])
    expect(f"{name}: records of {made} calls", records, made - still_open)


def ends(report):
    return sorted(((row["role"], row["exit"]["kind"], row["exit"]["code"]) for row in report["processes"]), key=str)


def check(run, case):
    words = case.words.split()
    alone = run.command(program(run), *words, check=False)
    # The harness sees a signal as a negative number; hookcli tells it as a shell does.
    expect(f"{words[0]}: exit status alone", alone.returncode if alone.returncode >= 0 else SIGNALED - alone.returncode, case.status)
    out, report = trace(run, "-".join(words), *words, status=case.status)
    expect(f"{words[0]}: output", out, alone.stdout)
    expect(f"{words[0]}: calls", calls(report, "main"), case.main)
    expect(f"{words[0]}: calls of others", calls(report, "helper"), case.helper)
    check_records(words[0], report, case.open)
    if case.ends is not None:
        kind, code = ("signal", case.status - SIGNALED) if case.status > SIGNALED else ("exited", case.status)
        expect(f"{words[0]}: processes", ends(report), sorted([("main", kind, code), *case.ends], key=str))


def check_signals(run):
    """The program says how many calls it made: wherever the signal came, all of them are there, and once."""
    for level in ("count", "record"):
        for words in (("signal-storm", STORM), ("signal-threads", 500)):
            out, report = trace(run, f"{words[0]}-{level}", *words, level=level)
            expect(f"{words[0]} at {level}: calls", sum(calls(report, "main").values()), int(out))
            if level == "record":
                check_records(words[0], report)
    out, report = trace(run, "fork-in-handler", "fork-in-handler", 50)
    handled, made = map(int, out.split())
    expect("fork-in-handler: calls", calls(report, "main"), touch(made))
    expect("fork-in-handler: calls of the children", calls(report, "helper"), touch(2 * handled))


def check_signals_while_loading(run):
    """A handler never waits for what it interrupted: else its calls are given up, one second after the other."""
    library = os.path.join(run.build, "tests", "integration", "life", "liblife_many.so")
    out, report = trace(run, "signal-load", "signal-load", library, LOADED)
    expect("signal-load: calls", sum(calls(report, "main").values()), int(out))


def check_no_files(run):
    """A child that can have no segment runs on, uncounted."""
    alone = run.command(program(run), "fork-no-files")
    for level in ("count", "sample", "record"):
        out, report = trace(run, f"fork-no-files-{level}", "fork-no-files", level=level)
        expect(f"fork-no-files at {level}: output", out, alone.stdout)
        expect(f"fork-no-files at {level}: calls", (calls(report, "main"), calls(report, "helper")), (touch(3), {}))


def check_filter(run):
    """No thread stays with its signals blocked because another one began a sandbox."""
    done = run.trace(program(run), "filter-meanwhile", FILTERS, hooks=["*:life_*"])
    expect("filter-meanwhile: output", done.stdout, "0 deaf\n")
    # Nor is one that waits for the agent's lock forgotten for the second after which it looks itself.
    done = run.trace(program(run), "filter-crowd", CROWDS, hooks=["*:life_*"])
    expect_true(f"filter-crowd: of {CROWDS} in {done.stdout.strip()} a call took a second", int(done.stdout) <= CROWDS // 10)


def check_whole_library(run):
    """That a hook is for all of one library takes nothing from what is watched in others."""
    for words, status, touched in (("strict 2", 4, 9), ("no-counter 2", 0, 4)):
        _, report = trace(run, f"whole-{words.split()[0]}", *words.split(), status=status, hook="liblife_library.so:*")
        expect(f"{words}, a whole library hooked: calls", calls(report, "main"), touch(touched))


def check_loader(run):
    """A child whose parent forked while another thread was in the loader never waits for that thread."""
    out, report = trace(run, "fork-loader", "fork-loader", LOADER_SECONDS)
    made, ended = out.split("\n", 1)
    expect("fork-loader: output", ended, "child ended with 3\n")
    expect("fork-loader: calls of the child", calls(report, "helper"), touch(int(made)))


def check_shut_out(run):
    """A run directory that is not the user's alone is not used: the program runs as if there were no agent."""
    directory = run.path("open to others")
    os.mkdir(directory)
    os.chmod(directory, 0o755)
    alone = run.command(program(run), "fork")
    done = run.command(program(run), "fork", env={"LD_PRELOAD": run.agent(), "HOOK_RUN_DIR": directory, "HOOK_HOOKS": "*:life_*"})
    expect("run directory open to others: output", (done.stdout, done.stderr), (alone.stdout, ""))
    expect("run directory open to others: files", os.listdir(directory), [])


def check_through_loader(run):
    """A program run by the loader's command line is not part of the loader, and keeps its name."""
    loader = next(word for word in run.command("ldd", program(run)).stdout.split() if os.path.basename(word).startswith("ld-linux"))
    run.trace(loader, program(run), "touch", 3, hooks=["*:life_*"], options=("--job", "loader"))
    report = run.report(run.path("store", "loader"))
    expect("through the loader: calls", {key: row["calls"] for key, row in rows_of(report).items()}, {("life", "life_touch"): 3})


def check_refused_vfork(run):
    """That a child of vfork ended is not the end of the process whose memory it was in."""
    out, report = trace(run, "refused-vfork", "refused-vfork")
    expect("refused-vfork: output", out, "all gone\n")
    expect("refused-vfork: calls", calls(report, "helper"), touch(3))
    told = {row["exit"]["kind"] for row in report["processes"] if row["role"] == "helper"}
    expect_true(f"refused-vfork: it was not killed but {told}", told <= {"signal", "vanished"})


def check_daemon(run):
    """Work that begins when the command is long gone belongs to its job, as long as there is a collector."""
    collector = run.start_collector()
    alone = run.command(program(run), "daemon")
    done = run.cli("run", "--job", "daemon", "--hooks", "*:life_*", "--", program(run), "daemon")
    expect("daemon: output", sorted(done.stdout.split("\n")), sorted(alone.stdout.split("\n")))

    def report():
        row = run.report("daemon")
        return row if row["job"]["closed"] and calls(row, "helper") else None
    late = wait_for("the daemon's calls", report)
    expect("daemon: calls", (calls(late, "main"), calls(late, "helper")), (touch(1), touch(5)))
    expect("daemon: processes", ends(late), sorted([("main", "exited", 0), *helpers(0)], key=str))
    end_process(collector)


def check_levels(run):
    """Children that begin while levels change, some of them in that moment, count only what they call, not what the agent tries on itself."""
    collector = run.start_collector()
    job = subprocess.Popen([run.binary("hookcli"), "run", "-q", "--job", "levels", "--hooks", "*:life_*", "--", program(run), "fork-storm", "3000"],
                           env=run.environment(), cwd=run.directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while job.poll() is None:
        run.cli("ctl", "--job", "levels", "level", "life_*=time", check=False)
    expect("levels: exit status", job.returncode, 0)
    report = wait_for("the end of levels", lambda: run.report("levels") if run.report("levels")["job"]["closed"] else None)
    expect("levels: calls of the children", calls(report, "helper"), touch(6000))
    expect("levels: untracked calls", report["job"]["calls_untracked"], 0)
    end_process(collector)


def check_tls(run):
    """As many libraries with static TLS find room as without the agent."""
    os.mkdir(run.path("tls"))
    library = os.path.join(run.build, "tests", "integration", "life", "liblife_tls.so")
    for number in range(40):
        shutil.copy(library, run.path("tls", f"{number}.so"))
    alone = run.command(program(run), "tls", run.path("tls"), 40)
    loaded = int(alone.stdout.split()[0])
    expect_true(f"the room for static TLS ends: {loaded}", 0 < loaded < 40)
    out, report = trace(run, "tls", "tls", run.path("tls"), 40)
    expect("tls: output", out, alone.stdout)
    expect("tls: calls", calls(report, "main"), touch(loaded))


def check_churn(run, threads, rate):
    """Threads that come and go leave nothing behind but their counts."""
    growth = run.path("growth")
    out, report = trace(run, "churn", "churn", threads, rate, growth)
    expect("churn: output", out, f"{threads} threads\n")
    expect("churn: calls", calls(report, "main"), touch(4 * threads))
    check_records("churn", report)
    with open(growth, encoding="utf-8") as file:
        grown = int(file.read())
    expect_true(f"churn: {threads} threads cost {grown} KiB", grown <= GROWTH_KIB)
    return grown


def check_room(run):
    """A call whose record finds no room takes no walk through the whole segment."""
    done = run.command(program(run), "room", env={
        "LD_PRELOAD": run.agent(), "HOOK_HOOKS": "*:life_*", "HOOK_LEVEL": "record", "HOOK_KEEP_SEGMENT": "1"})
    there, none = map(float, done.stdout.split())
    expect_true(f"{there} ns with room, {none} without", none <= LESS_ROOM * there)


def check_no_room(run):
    """Nor does a call that finds no room even to be counted try to make some each time."""
    trace = {"hooks": ["*:life_*"], "level": "record"}
    there = float(run.trace(program(run), "least", options=("--job", "least"), **trace).stdout)
    limited = ("sh", "-c", f"ulimit -f {SEGMENT_LEAST // 512} && exec \"$0\" least", program(run))
    none = float(run.trace(*limited, options=("--job", "least-limited"), **trace).stdout)
    expect_true(f"{there} ns with room, {none} without", none <= LESS_ROOM * there)
    job = run.report(run.path("store", "least-limited"))["job"]
    expect("no room: calls that are said not to be counted", job["calls_untracked"], LEAST_CALLS)


def test(run, which="short"):
    if which == "churn":
        print(f"{CHURN_LONG} threads at {CHURN_RATE}/s: {check_churn(run, CHURN_LONG, CHURN_RATE)} KiB")
        return
    for case in CASES:
        if which in ("short", case.words.split()[0]):
            check(run, case)
    if which == "short":
        check_signals(run)
        check_signals_while_loading(run)
        check_no_files(run)
        check_filter(run)
        check_whole_library(run)
        check_loader(run)
        check_through_loader(run)
        check_refused_vfork(run)
        check_daemon(run)
        check_levels(run)
        check_room(run)
        check_no_room(run)
        check_tls(run)
        check_shut_out(run)
        check_churn(run, CHURN, 0)


if __name__ == "__main__":
    main(test)
