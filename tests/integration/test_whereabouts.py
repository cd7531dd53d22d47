#!/usr/bin/python3
"""hookcli stacks: threads in known places, their functions the same as gdb's; threads that cannot answer are named with the reason,
and read by ptrace; nothing is lost or broken in programs that are asked two hundred times, nor where one of the parties is killed."""
import ctypes
import os
import re
import shutil
import signal
import subprocess

from harness import end_process, expect, expect_true, main, wait_for
from nodes import root_and_leaves
from whereabouts import Whereabouts, functions, own_functions, stacks, thread_in

ASKED, ASKED_RECORDING = 200, 20  # recording every malloc keeps the collector busy
STORMS = 2
STORM = {"storm", "drink", "pour", "in_main"}
PLACES = ("in_read", "in_lock", "in_sleep", "in_spin", "in_wait", "in_main")
PTRACE_SEIZE, WALL = 0x4206, 0x40000000
GDB = """set backtrace past-main on
set backtrace past-entry on
python
for thread in gdb.selected_inferior().threads():
    thread.switch()
    frame, names = gdb.newest_frame(), []
    while frame is not None:
        ours = (gdb.solib_name(frame.pc()) or "").endswith("libhookagent.so")
        if not ours and frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            names.append(frame.name() or "?")
        frame = frame.older()
    print("THREAD", thread.ptid[1], *names)
end
"""


def attached(run, job, count=7):
    """Waits until the collector knows JOB and the program's threads; returns them."""
    wait_for(f"{job} at the collector", lambda: run.cli("stacks", job, check=False).returncode == 0)
    return wait_for(f"{count} threads of {job}", lambda: (lambda t: len(t) == count and t)(stacks(run, job)))


def states_of(pid):
    """The states of all threads of PID, one letter each."""
    states = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/status", encoding="ascii", errors="replace") as status:
            states.append(re.search(r"^State:\s+(\S)", status.read(), re.M)[1])
    return "".join(sorted(states))


def check_places(run):
    with Whereabouts(run, "places", "places") as program:
        attached(run, "places")
        threads = wait_for("all in their places", lambda: (
            lambda t: t if all(any(p in functions(x) for x in t) for p in PLACES) else None)(stacks(run, "places")))
        for place in PLACES:
            found = functions(thread_in(threads, place))
            outermost = "main" if place == "in_main" else "stay"
            expect_true(f"{place} is called by {outermost}: {found}", found.index(place) < found.index(outermost))
        expect("those without a stack", [(t["missing"], t["frames"]) for t in threads if t["missing"]], [("blocks SIGURG", [])])
        idle = {place for place in PLACES if thread_in(threads, place)["idle"]}
        expect("idle ones", idle, {"in_sleep", "in_wait"})
        main_call = thread_in(threads, "in_main")["open_calls"]
        expect("what main is in", [call["function"] for call in main_call], ["read"])
        check_text(run)
        check_ptrace(run)
        check_gdb(run, program)


def check_text(run):
    text = run.cli("stacks", "places").stdout
    expect_true(f"a line of the spinning thread: {text}", re.search(r"^rank 0 .* 1 x +in_spin <- stay <- ", text, re.M))
    expect_true(f"a hint: {text}", "no stack: blocks SIGURG" in text and "--ptrace" in text)
    expect_true(f"idle ones are counted: {text}", "2 idle threads not shown" in text and "in_wait" not in text)
    expect_true("-a shows them", "in_wait" in run.cli("stacks", "places", "-a").stdout)
    expect("rank 0 alone", len(stacks(run, "places", "--ranks", "0")), 7)
    expect("no rank 1", len(stacks(run, "places", "--ranks", "1-3")), 0)


def check_ptrace(run):
    threads = stacks(run, "places", "--ptrace")
    sealed = thread_in(threads, "in_sealed")
    expect("in_sealed is read by ptrace", (sealed["traced"], sealed["missing"]), (True, None))
    expect_true(f"whole: {functions(sealed)}", "stay" in functions(sealed))
    expect("in_sleep too", thread_in(threads, "in_sleep")["traced"], True)
    expect("others are not", thread_in(threads, "in_spin")["traced"], False)


def plain(name):
    """gdb prefers other names of libc's functions than the exported ones."""
    return re.sub(r"^(__GI_)?_*(libc_)?|_impl$", "", name or "?")


def check_gdb(run, program):
    if not shutil.which("gdb"):
        print("not compared with gdb, which is not installed")
        return
    script = run.path("threads.gdb")
    with open(script, "w", encoding="ascii") as file:
        file.write(GDB)
    done = run.command("gdb", "-nx", "-batch", "-p", program.pid, "-x", script)
    found = {int(line.split()[1]): line.split()[2:] for line in done.stdout.splitlines() if line.startswith("THREAD")}
    own = {thread["tid"]: own_functions(thread) for thread in stacks(run, "places", "--ptrace")}
    expect("threads that gdb sees", set(found), set(own))
    for tid, names in found.items():
        expect(f"frames of {tid}, gdb's {names}", [plain(name) for name in own[tid]], [plain(name) for name in names])


def check_sleep(run):
    """A sleep is interrupted by the signal, as the manual says, and not by ptrace."""
    with Whereabouts(run, "quiet", "places") as program:
        wait_for("quiet at the collector", lambda: run.cli("report", "quiet", check=False).returncode == 0)
        wait_for("all but one to sleep", lambda: states_of(program.pid) == "RSSSSSS")
        expect("in_sleep", thread_in(stacks(run, "quiet", "--ptrace"), "in_sleep")["traced"], True)
        expect("sleeps interrupted by ptrace", program.end(), "0")
    with Whereabouts(run, "loud", "places") as program:
        attached(run, "loud")
        wait_for("in_sleep", lambda: any("in_sleep" in functions(t) for t in stacks(run, "loud")))
        expect_true("sleeps interrupted by signals", int(program.end()) > 0)


def check_stopped(run):
    with Whereabouts(run, "stopped", "places") as program:
        attached(run, "stopped")
        os.kill(program.pid, signal.SIGSTOP)
        wait_for("it to stop", lambda: set(states_of(program.pid)) == {"T"})
        said = {thread["missing"] for thread in stacks(run, "stopped")}
        expect("reasons", said, {f"stopped (kill -CONT {program.pid} lets it run on)"})
        threads = stacks(run, "stopped", "--ptrace")
        expect("read all the same", {t["missing"] for t in threads}, {None})
        thread_in(threads, "in_spin")
        expect("it is still stopped", set(states_of(program.pid)), {"T"})
        os.kill(program.pid, signal.SIGCONT)
        wait_for("it to answer", lambda: sum(t["missing"] is None for t in stacks(run, "stopped")) == 6)
        program.end()


def check_debugger(run):
    """A thread that another process traces already cannot be traced by us."""
    with Whereabouts(run, "debugged", "places") as program:
        threads = attached(run, "debugged")
        tid = next(thread["tid"] for thread in threads if thread["missing"])
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.ptrace(PTRACE_SEIZE, tid, None, None) != 0:
            print(f"no debugger tried: {os.strerror(ctypes.get_errno())}")
            return
        sealed = next(thread for thread in stacks(run, "debugged", "--ptrace") if thread["tid"] == tid)
        expect_true(f"the debugger is named: {sealed['missing']}", f"traced by process {os.getpid()} already" in sealed["missing"])
        program.process.kill()
        os.waitpid(tid, WALL)  # the end of a thread is its tracer's to take


def check_own_handler(run):
    """A program that handles SIGURG gets none from us."""
    with Whereabouts(run, "own", "own") as program:
        thread, = attached(run, "own", 1)
        expect_true(f"the reason: {thread['missing']}", "handles or ignores SIGURG itself" in thread["missing"])
        thread_in(stacks(run, "own", "--ptrace"), "in_main")
        expect("signals it got", program.end(), "0")


def check_small(run):
    """An alternate stack may be too small for any signal. It is of no use to the program then, and does no harm to it."""
    with Whereabouts(run, "small", "small") as program:
        attached(run, "small", 1)
        thread_in(stacks(run, "small"), "in_main")
        expect("it lived", program.end(), "0")


def check_early(run):
    """The first thread has ended: the stack of the one that still runs is there, with names."""
    with Whereabouts(run, "early", "early") as program:
        def both():
            threads = attached(run, "early", 2)
            return threads if any(thread["missing"] == "has ended" for thread in threads) else None
        threads = wait_for("the first thread to end", both)
        thread_in(threads, "outlive")
        program.end()


def check_hidden(run):
    """A program sees its own handler or none, with the agent as without."""
    alone = subprocess.run([run.workload("whereabouts"), "hidden"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    with Whereabouts(run, "hidden", "hidden") as program:
        expect("what it sees", program.lines, alone.stdout.split())
        attached(run, "hidden", 1)
        thread_in(stacks(run, "hidden"), "in_main")
        program.end()


def check_storm(run, level, asked):
    """Threads in malloc are asked again and again: every stack is whole, and nothing in the program goes wrong."""
    job = f"storm-{level}"
    with Whereabouts(run, job, "storm", str(STORMS), HOOK_HOOKS="libc", HOOK_LEVEL=level) as program:
        attached(run, job, STORMS + 3)
        answers = 0
        for _ in range(asked):
            # On a busy machine a thread may be too late.
            threads = [t for t in stacks(run, job) if not (t["missing"] or "").startswith(("does not answer", "not asked"))]
            answers += len(threads)
            expect("stacks that are none of theirs", [t for t in threads if not set(functions(t)) & STORM], [])
            expect("stacks that end early", [t["frames"] for t in threads if "end" in t["frames"][-1]], [])
        expect_true(f"{answers} answers to {asked} questions", answers > asked)
        allocations, interrupted, damaged = map(int, program.end().split())
        expect_true("it did something", allocations > asked)
        expect("reads interrupted, blocks damaged", (interrupted, damaged), (0, 0))


def check_end(run):
    """Processes that are killed while they are asked: an answer comes, whatever is in it, and the collector lives."""
    for number in range(5):
        with Whereabouts(run, f"brief{number}", "places") as program:
            attached(run, f"brief{number}")
            asking = [subprocess.Popen([run.binary("hookcli"), "stacks", f"brief{number}", "--ptrace"], env=run.environment(),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(3)]
            program.process.kill()
            for one in asking:
                _, said = one.communicate()
                expect_true(f"an answer, or a reason: {one.returncode} {said}", one.returncode == 0 or b"has ended" in said)
    expect("the collector lives", run.cli("status", check=False).returncode, 0)


def check_collector(run, collector):
    """A collector that is killed while it asks leaves no thread stopped, and the next one asks again."""
    with Whereabouts(run, "left", "places") as program:
        attached(run, "left")
        asking = subprocess.Popen([run.binary("hookcli"), "stacks", "left", "--ptrace"], env=run.environment(),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end_process(collector)
        asking.wait()
        wait_for("all threads to run", lambda: not set(states_of(program.pid)) & set("tT"))
        run.start_collector()
        thread_in(attached(run, "left"), "in_spin")
        program.end()


def check_leaf(run):
    """A root asks its leaves, and names one that does not answer."""
    root, (leaf,) = root_and_leaves(run, ["alpha"])
    with Whereabouts(run, "far", "places", HOOK_RUN_DIR=leaf.run_directory) as program:
        def ask():
            done = root.cli("stacks", "far", check=False)
            return done.stdout if done.returncode == 0 and "in_spin" in done.stdout else None
        with root.told():
            text = wait_for("the leaf's answer", ask)
        expect_true(f"7 threads of a rank: {text}", "1 rank, 7 threads" in text)
        leaf.kill()
        done = root.cli("stacks", "far", check=False)
        expect("exit without the leaf", done.returncode, 1)
        expect_true(f"the node is named: {done.stdout}", re.search(r"^! node \S+ (has not answered|is not connected)$", done.stdout, re.M))
        program.end()


def check_namespace(run):
    """Ids of threads differ inside of a pid namespace."""
    launcher = ("unshare", "--pid", "--fork", "--kill-child")
    if subprocess.run([*launcher, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        print("no pid namespace tried: unshare is not permitted")
        return
    with Whereabouts(run, "inside", "places", launcher=launcher) as program:
        def ask():
            done = run.cli("stacks", "inside", check=False)
            return done.stdout if "in_spin" in done.stdout else None
        wait_for("the threads inside", ask)
        program.process.stdin.close()


def test(run):
    collector = run.start_collector()
    check_places(run)
    check_sleep(run)
    check_stopped(run)
    check_debugger(run)
    check_own_handler(run)
    check_small(run)
    check_early(run)
    check_hidden(run)
    check_storm(run, "time", ASKED)
    check_storm(run, "record", ASKED_RECORDING)
    check_namespace(run)
    check_end(run)
    check_collector(run, collector)
    check_leaf(run)
    expect("no such job", run.cli("stacks", "none", check=False).returncode, 3)
    wait_for("the job to be closed", lambda: run.cli("stacks", "places", check=False).returncode == 3)


if __name__ == "__main__":
    main(test)
