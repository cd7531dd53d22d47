"""debuggers: what other tools say about a job that hangs: stacks by py-spy and gdb, and the analysis of torch's flight recorder.

The rule for stacks is mechanical: a tool names a rank if the first threads of all other ranks are in one place, and this rank's is
elsewhere. py-spy's place is the whole Python stack, by function and line. gdb's place is the program's own functions with their lines, and
the first function of a library behind them.
"""
import collections
import os
import pickle
import re
import shutil
import subprocess
import threading

PATIENCE_S = 300


def output_of(*command):
    """Both streams of COMMAND, or "" if it does not end in time."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def odd_rank(places):
    """The only rank of PLACES ({rank: place}) that is elsewhere than all others, which are in one place; or None."""
    count = collections.Counter(places.values())
    if sorted(count.values()) != [1, len(places) - 1] or len(places) < 3:
        return None
    return next(rank for rank, place in places.items() if count[place] == 1)


def state_of(pid):
    """The kernel's letter for the state of PID, "X" if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


def py_spy_places(py_spy, pids):
    """{rank: Python stack of the first thread} for PIDS ({rank: pid})."""
    places = {}
    for rank, pid in pids.items():
        # A stopped process cannot be stopped again, so py-spy would wait for it: it is read as it is.
        stopped = state_of(pid) in "Tt"
        text = output_of(py_spy, "dump", "--pid", str(pid), *(["--nonblocking"] if stopped else []))
        found = re.search(r'^Thread \S+ \([^)]*\): "MainThread"\n((?: .*\n?)*)', text, re.MULTILINE)
        places[rank] = tuple(found[1].split("\n")) if found else ()
    return places


def gdb_places(program, pids):
    """{rank: functions of PROGRAM's source file from main on, and the first library function} for PIDS, or None without gdb."""
    if not shutil.which("gdb"):
        return None
    places = {}
    for rank, pid in pids.items():
        text = output_of("gdb", "-nx", "-batch", "-p", str(pid), "-ex", "bt")
        frames = re.findall(r"^#\d+ +(?:0x\S+ in )?(\S+) \(.*?\)(?: at \S*?([^/\s]+:\d+))?", text, re.MULTILINE)[::-1]
        chain = []
        for function, line in frames:
            chain.append((function, line))
            if not line.startswith(program):
                break
        places[rank] = tuple(chain)
    return places


def ask_recorders(directory, ranks, wait):
    """Asks each rank of torch_hang.py for its flight recorder; returns the ranks that answered."""
    def ask(rank):
        with open(os.path.join(directory, f"ask_{rank}"), "w", encoding="ascii"):
            pass

    # A stopped rank has no reader for its fifo, or one that does not read.
    for rank in ranks:
        threading.Thread(target=ask, args=(rank,), daemon=True).start()

    def answered():
        return [rank for rank in ranks if os.path.exists(os.path.join(directory, f"trace_{rank}"))]

    wait(lambda: len(answered()) == len(ranks))
    return answered()


def repair(path):
    """Of gloo, torch 2.15 writes the group's ranks under an empty name, which the analysis does not find: it gets the name of the entries.
    Nothing here unpickles what others wrote: the job is the test's own."""
    with open(path, "rb") as file:
        dump = pickle.load(file)
    groups = dump["pg_config"]
    if list(groups) == [""]:
        dump["pg_config"] = {name: {**groups[""], "name": name, "desc": title} for name, title in
                             (entry["process_group"] for entry in dump["entries"])}
        with open(path, "wb") as file:
            pickle.dump(dump, file)


def recorder_ranks(python, directory, ranks):
    """The ranks that torch's analysis names for the first collective that went wrong, as missing or as the culprit."""
    for rank in ranks:
        repair(os.path.join(directory, f"trace_{rank}"))
    text = output_of(python, "-m", "torch.distributed.flight_recorder.fr_trace", "--allow-incomplete-ranks", directory, "-p", "trace_")
    first = re.split(r"^collective stack trace:", text, maxsplit=1, flags=re.MULTILINE)[0]
    missing = re.search(r"^missing ranks: \{([\d, ]+)\}", first, re.MULTILINE)
    named = re.findall(r"Culprit rank (\d+)", first)
    return sorted({int(rank) for rank in named + (missing[1].split(", ") if missing else [])})
