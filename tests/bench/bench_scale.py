#!/usr/bin/python3
"""A root with a thousand ranks: bench_scale.py BUILD_DIR [RANKS SITES].

`load` reports changes of every call site of every rank once a second. Limits: the root's processor time for such a period, its
memory, how long `hookcli top --once` takes, what a refresh of its screen costs, also with a function expanded over its ranks, and that
a thousand times the calls cost it no more. A figure in seconds belongs to a machine: what it does else is printed beside.
"""
import json
import os
import pty
import signal
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

from harness import Failure, Run, end_process, main, wait_for  # pylint: disable=wrong-import-position

RANKS, SITES, TICKS, LEAVES, CALLS = 1024, 200, (2, 22), 16, 10
PERIOD_S, MEMORY_MIB, TOP_S = 0.25, 512, 0.1
TOPS, SETTLED_S = 7, 5
REFRESHES, DELAY_S = 20, 0.2
BELOW_S = 0.15  # two questions: for all, and for the calls of one function
MANY, BUSIER = 1000, 1.5  # numbers get longer, a byte or two each
QUIET = 0.2  # share of time with somebody waiting, up to which a wall clock says something


def machine():
    """Bytes a second of a plain copy, the best of some: of this machine at this time."""
    block, copy = bytearray(64 << 20), bytearray(64 << 20)
    best = 0
    for _ in range(5):
        begun = time.process_time()
        copy[:] = block
        best = max(best, len(copy) / (time.process_time() - begun))
    return best


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1024


def waiting_s():
    """Seconds in which somebody waited for a processor, since this machine began."""
    with open("/proc/pressure/cpu", encoding="ascii") as pressure:
        return int(pressure.readline().rsplit("=", 1)[1]) / 1e6


def play(run, job, ticks, times=1, meanwhile=lambda load: None):
    """Has `load` report for so many periods, each call TIMES times; what it prints, and what MEANWHILE returns."""
    line = [run.build + "/tests/load/load", f"ipc://{run.run_directory}/collector.sock", "--job", job, "--ranks", run.ranks,
            "--sites", run.sites, "--ticks", ticks, "--leaves", LEAVES, "--calls", CALLS,
            "--times", times]
    load = subprocess.Popen([str(part) for part in line], env=run.environment(), stdout=subprocess.PIPE, text=True)
    try:
        result = meanwhile(load)
        return json.loads(load.communicate(timeout=600)[0]), result
    finally:
        end_process(load)


def drain(terminal):
    """Reads and discards its input until all writers have closed it."""
    try:
        while os.read(terminal, 1 << 16):
            pass
    except OSError:
        pass


def screen(run, collector, *words, keys=b""):
    """Seconds of the processors for one refresh of top on a terminal, root and hookcli together: from the difference of a long and a
    short stay, KEYS pressed in both."""
    def stay(refreshes):
        inner, outer = pty.openpty()
        reader = threading.Thread(target=drain, args=[inner])
        before, own = cpu_s(collector.pid), os.times()
        line = [run.binary("hookcli"), "top", "looked-at", "-n", str(refreshes), "-d", str(DELAY_S), *words]
        with subprocess.Popen(line, stdin=outer, stdout=outer, env=run.environment(TERM="xterm-256color", LC_ALL="C.UTF-8")) as shown:
            os.close(outer)
            reader.start()
            os.write(inner, keys)
            if shown.wait(timeout=600) != 0:
                raise Failure(f"top {words}: {shown.returncode}")
        reader.join()
        os.close(inner)
        after = os.times()
        return cpu_s(collector.pid) - before + after.children_user + after.children_system - own.children_user - own.children_system
    return (stay(REFRESHES + 1) - stay(1)) / REFRESHES


def top(run, collector):
    """Seconds that pictures took: of the wall clock, and of the processors, root and hookcli together."""
    def look(load):
        wait_for("every rank", lambda: f"{run.ranks}/{run.ranks} ranks" in run.cli("top", "looked-at", "--once", check=False).stdout)
        time.sleep(SETTLED_S)
        # Held, so that what the root does is for us.
        load.send_signal(signal.SIGSTOP)
        walls, before, own = [], cpu_s(collector.pid), os.times()
        for _ in range(TOPS):
            begun = time.monotonic()
            run.cli("top", "looked-at", "--once")
            walls.append(time.monotonic() - begun)
        after = os.times()
        busy = cpu_s(collector.pid) - before + after.children_user + after.children_system - own.children_user - own.children_system
        shown = [screen(run, collector), screen(run, collector, keys=b"\r"), screen(run, collector, "--view", "ranks")]
        load.send_signal(signal.SIGCONT)
        return statistics.median(walls), busy / TOPS, shown
    return look


def period(run, collector):
    """The root's seconds of processor time for a period, with CALLS and with MANY times as many, and what `load` told of it."""
    def spent(job, ticks, times):
        before = cpu_s(collector.pid)
        told, _ = play(run, job, ticks, times)
        return cpu_s(collector.pid) - before, told
    # What a job costs but for its length is in all, and not in the differences.
    base, _ = spent("short", TICKS[0], 1)
    few, told = spent("long", TICKS[1], 1)
    many, _ = spent("busy", TICKS[1], MANY)
    return (few - base) / (TICKS[1] - TICKS[0]), (many - base) / (TICKS[1] - TICKS[0]), told


def test(run: Run, ranks=RANKS, sites=SITES):
    run.ranks, run.sites = int(ranks), int(sites)
    speed = machine()
    collector = run.start_collector()
    begun, waited = time.monotonic(), waiting_s()
    second, busier, told = period(run, collector)
    waited = (waiting_s() - waited) / (time.monotonic() - begun)
    _, (wall, busy, shown) = play(run, "looked-at", TICKS[1], meanwhile=top(run, collector))
    memory = peak_mib(collector.pid)
    quiet = waited <= QUIET
    cells, size = run.ranks * run.sites, told["bytes"] / TICKS[1]
    print(f"machine: copies {speed / 1e9:.1f} GB/s; somebody waited for a processor {100 * waited:.0f} % of the time")
    print(f"{run.ranks} ranks x {run.sites} call sites, {told['bytes'] / told['reports'] / 1024:.0f} KiB a report, at 1 Hz but for "
          f"{told['missed']} of {TICKS[1]} periods")
    print(f"root: {1e3 * second:.0f} ms of processor time a period, limit {1e3 * PERIOD_S:.0f}; {memory:.0f} MiB, limit {MEMORY_MIB}")
    print(f"a changed cell: {1e6 * second / cells:.2f} us and {size / cells:.0f} bytes, {second / (size / speed):.0f} times as long as "
          f"copying them; with {MANY} times the calls {1e6 * busier / cells:.2f} us")
    print(f"top --once: {1e3 * wall:.0f} ms, {1e3 * busy:.0f} ms of processor time, limit {1e3 * TOP_S:.0f} for "
          f"{'both' if quiet else 'the latter: the machine is busy'}")
    print("a refresh of top's screen: {:.0f} ms of processor time, root and hookcli together; with a function expanded over its ranks "
          "{:.0f}, limit {:.0f}; of the ranks {:.0f}; limit {:.0f}".format(1e3 * shown[0], 1e3 * shown[1], 1e3 * BELOW_S, 1e3 * shown[2],
                                                                          1e3 * TOP_S))
    refreshed = shown[0] <= TOP_S and shown[1] <= BELOW_S and shown[2] <= TOP_S
    if second > PERIOD_S or memory > MEMORY_MIB or busy > TOP_S or not refreshed or (quiet and wall > TOP_S):
        raise Failure("a limit is missed")
    if busier > BUSIER * second:
        raise Failure("the cost grows with the calls")


main(test)
