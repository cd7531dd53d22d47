"""loop: calls_truth --loop under the agent: its progress file, which outlives kill -9, and what hooktrace says of it."""
import collections
import json
import os
import signal
import struct
import subprocess

from harness import expect, expect_true, wait_for

HOOKS = ("libc", "*:calls_*")
FUNCTIONS = {"write", "read", "calls_inner", "nanosleep"}
LIBRARY = "calls_truth"
THREADS = 2
ROW = struct.Struct("<32sQQQQ")
Row = collections.namedtuple("Row", "function thread started done")


def rows(path):
    """The progress of each thread's functions; empty before the program has begun."""
    try:
        with open(path, "rb") as stream:
            table = [Row(name.rstrip(b"\0").decode(), *numbers[:3]) for name, *numbers in ROW.iter_unpack(stream.read())]
    except FileNotFoundError:
        return []
    return table if len(table) == THREADS * len(FUNCTIONS) and all(row.thread for row in table) else []


def rounds_of(path):
    """How many rounds the slower thread has begun; 0 before both have."""
    return min((row.started for row in rows(path) if row.function == "write"), default=0)


def process_of(path):
    """Process id of the loop that writes PATH."""
    with open(f"/proc/{rows(path)[0].thread}/status", encoding="utf-8") as stream:
        return int(next(line.split()[1] for line in stream if line.startswith("Tgid:")))


def stopped(path):
    """Process id of the loop that writes PATH, which was given STOP_AT, if it has stopped itself."""
    try:
        pid = process_of(path) if rows(path) else None
        if pid is None:
            return None
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            return pid if stream.read().rpartition(")")[2].split()[0] == "T" else None
    except FileNotFoundError:
        return None


def wait_stopped(path):
    """Waits until it has. Returns its process id."""
    return wait_for(f"the loop of {path} to stop", lambda: stopped(path))


def go_on(path):
    """Lets a loop end that waits before its last round, so that it does not outrun the script."""
    os.kill(wait_stopped(path), signal.SIGCONT)


def wait_rounds(path, rounds):
    """Waits for that many rounds, or all that there will be: until the loop has stopped itself."""
    wait_for(f"{rounds} rounds in {path}", lambda: rounds_of(path) >= rounds or stopped(path))


def start(run, *command, env=None, log="job.log"):
    """Starts COMMAND and returns at once; what it says goes to a file."""
    with open(run.path(log), "ab") as out:
        return subprocess.Popen([str(word) for word in command], env=run.environment(**(env or {})), cwd=run.directory,
                                stdin=subprocess.DEVNULL, stdout=out, stderr=out)


def hook_options(level="record"):
    return [word for name in HOOKS for word in ("--hooks", name)] + ["--level", level]


def agent_environment(run, job, level="record"):
    """What puts the agent into a program without `hookcli run`."""
    return {"LD_PRELOAD": run.agent(), "HOOK_HOOKS": ",".join(HOOKS), "HOOK_LEVEL": level, "HOOK_JOB": job}


def closed_report(run, job):
    """The report of JOB once its collector has closed it."""
    def look():
        report = run.report(job)
        return report if report["job"]["closed"] else None
    return wait_for(f"{job} to be closed", look)


def events_of(run, job):
    """The calls in the Chrome export: {(rank, function, library's base name): [(thread, start ns, end ns)]}."""
    out = run.path("trace.json")
    run.cli("export", job, "--format", "chrome", "-o", out)
    with open(out, encoding="utf-8") as stream:
        trace = json.load(stream, parse_float=str)
    os.unlink(out)
    calls = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            begin, lasted = (nanoseconds(event[key]) for key in ("ts", "dur"))
            calls[event["pid"], event["name"], os.path.basename(event["args"]["library"])].append(
                (event["tid"], begin, begin + lasted))
    return calls


def nanoseconds(microseconds):
    whole, _, part = str(microseconds).partition(".")
    return int(whole + part.ljust(3, "0"))


def expect_once(events):
    """No call is there twice: calls of one function on one thread follow each other, unless they nest."""
    for key, calls in events.items():
        for before, after in zip(ordered := sorted(calls), ordered[1:]):
            expect_true(f"{key}: {before} and {after} are one call", before[0] != after[0] or before[2] <= after[1])


def expect_loop(what, report, table, rank=0, role="main"):
    """Statistics are those of the progress TABLE, within the one call that each thread was in when it was killed."""
    for function in sorted(FUNCTIONS):
        got = [row["calls"] for row in report["calls"] if (row["rank"], row["role"], row["function"]) == (rank, role, function)
               and os.path.basename(row["library"]) == LIBRARY]
        done, started = (sum(getattr(row, key) for row in table if row.function == function) for key in ("done", "started"))
        expect_true(f"{what}: rows of {function}: {got}, expected one", len(got) == 1)
        expect_true(f"{what}: {function}: {got[0]} calls, the program did {done} and began {started}", done <= got[0] <= started)


def expect_records(what, events, table, rank=0):
    """Every call that ended before the kill is in the export, and none twice."""
    for function in sorted(FUNCTIONS):
        held = len(events.get((rank, function, LIBRARY), ()))
        done, started = (sum(getattr(row, key) for row in table if row.function == function) for key in ("done", "started"))
        expect_true(f"{what}: {function}: {held} calls exported, the program did {done} and began {started}",
                    done <= held <= started)


def expect_open(what, report, table, rank=0):
    """Open calls are calls that were begun. Returns (calls begun and not done, those of them that are reported as open)."""
    begun = {(row.thread, row.function) for row in table if row.started > row.done}
    threads = {row.thread for row in table}
    found = [(row["thread"], row["function"]) for row in report["open_calls"]
             if row["rank"] == rank and row["thread"] in threads and row["depth"] == 1]
    expect_true(f"{what}: open calls {found}, begun and not done {begun}", set(found) <= begun)
    expect(f"{what}: open calls named once", len(found), len(set(found)))
    main_thread = [(row["function"], row["depth"]) for row in report["open_calls"]
                   if row["rank"] == rank and row["thread"] not in threads]
    expect(f"{what}: open calls of the thread that waits", main_thread, [("pthread_join", 1)])
    return len(begun), len(found)
