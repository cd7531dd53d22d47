#!/usr/bin/python3
"""Programs of other people do and say the same with memory functions hooked, and with what `auto` hooks, as without the agent.

`test_hosts.py BUILD HOST`; a host that is not installed is skipped (77).
"""
import collections
import glob
import os
import re
import struct
import sys

from harness import RANKS, Failure, expect, expect_true, main, total_calls
from test_real_jobs import LAMMPS_TIMING

SKIPPED = 77
HOSTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hosts")
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
PYTHON = "/usr/bin/python3"  # Debian's: the one that has Debian's PyTorch
STEPS = 100

GIT = """
set -e
git init -q -b main repository && cd repository
for i in 1 2 3 4 5 6 7 8; do
    seq $i 4000 >numbers && seq $((i * i)) 900 | rev >reversed && git add . && git commit -q -m "commit $i"
done
git log --stat --format=%s%n%T
git repack -adq --threads=4 && git fsck --strict && git count-objects -v | grep -v size
git clone -q . ../copy && git -C ../copy grep -c 77
"""
SQL = """
create table squares(n integer primary key, text);
with recursive c(n) as (select 1 union all select n + 1 from c where n < 100000) insert into squares select n, hex(n * n) from c;
create index by_text on squares(text);
select count(*), sum(length(text)), max(text) from squares;
select * from squares order by text desc limit 5;
"""
GDB = ("-ex", "python print(sum(range(100)))", "-ex", "break overrun", "-ex", "run over", "-ex", "backtrace", "-ex", "finish",
       "-ex", "continue")


def preloaded(library):
    return os.path.join(LIBRARIES, library)


# name: what must exist, the command, its exit status, more environment. {build} and {hosts} are filled in.
HOST = collections.namedtuple("HOST", "needs command status environment", defaults=(0, {}))
NAMED = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
RANKS_OF = (PYTHON, "{hosts}/ranks.py", str(RANKS))
TORCH = "/usr/lib/python3/dist-packages/torch"
TABLE = {
    "git": HOST("/usr/bin/git", ("/bin/sh", "-c", GIT), 0, NAMED),
    "sqlite3": HOST("/usr/bin/sqlite3", ("sqlite3", ":memory:", SQL)),
    "gdb": HOST("/usr/bin/gdb", ("gdb", "-nx", "-batch", *GDB, "{build}/tests/integration/hosts/hosts_plain"), 0,
                {"SHELL": "/bin/sh"}),
    "node": HOST("/usr/bin/node", ("/usr/bin/node", "{hosts}/node.js"), 7),
    "jemalloc": HOST(preloaded("libjemalloc.so.2"), (PYTHON, "{hosts}/threads.py"), 0,
                     {"LD_PRELOAD": preloaded("libjemalloc.so.2")}),
    "tcmalloc": HOST(preloaded("libtcmalloc_minimal.so.4"), (PYTHON, "{hosts}/threads.py"), 0,
                     {"LD_PRELOAD": preloaded("libtcmalloc_minimal.so.4")}),
    "lammps": HOST("/usr/bin/lmp", ("mpirun", "-n", "2", "lmp", "-log", "none", "-var", "STEPS", "60", "-in",
                                    "{hosts}/../../workloads/lammps_lj.in")),
    "asan": HOST("{build}/tests/integration/hosts/hosts_asan", ("{build}/tests/integration/hosts/hosts_asan",), 3),
    "torch_import": HOST(TORCH, (PYTHON, "{hosts}/tensors.py")),
    "torch_loader": HOST(TORCH, (PYTHON, "{hosts}/loader.py")),
    "torch_ranks": HOST(TORCH, (*RANKS_OF, "{hosts}/ddp.py", str(STEPS))),
}

# What no two runs have in common: times, addresses, processes.
UNSTABLE = re.compile(r"0x[0-9a-f]+|process \d+|LWP \d+")


def stable(text):
    return [UNSTABLE.sub("?", line) for line in text.splitlines() if not LAMMPS_TIMING.search(line)]


def run_alone(run, host, command):
    done = run.command(*command, env=host.environment, check=False, cwd=fresh(run, "alone"))
    expect("exit status without the agent", (done.returncode, done.stderr if done.returncode != host.status else ""), (host.status, ""))
    expect_true("the program says something", done.stdout)
    return done


def fresh(run, name):
    directory = run.path("in", name)
    os.makedirs(directory)
    return directory


def run_traced(run, host, command, alone, hooks, **more):
    """Runs it once more with HOOKS and compares; its report."""
    job = "-".join(hooks)
    # Nothing is lost on a slow machine.
    done = run.trace(*command, hooks=hooks, options=("-q", "--job", job, "--on-full", "wait:10000"), check=False,
                     cwd=fresh(run, job), env={**host.environment, **more})
    expect(f"{job}: exit status", (done.returncode, done.stderr[-500:] if done.returncode != host.status else ""), (host.status, ""))
    expect(f"{job}: stdout", stable(done.stdout), stable(alone.stdout))
    expect(f"{job}: stderr", stable(done.stderr), stable(alone.stderr))
    return run.report(run.path("store", job))


def check_report(what, host, report):
    ranks = [row["rank"] for row in report["ranks"]]
    # A program without a launcher is rank 0 of 1.
    expect(f"{what}: ranks", ranks, list(range(report["job"]["world_size"])))
    made = collections.Counter()
    for row in report["calls"]:
        made[row["rank"]] += row["calls"]
    for rank in report["ranks"]:
        expect(f"{what}: rank {rank['rank']}'s exit", rank["exit"], {"kind": "exited", "code": host.status})
        expect(f"{what}: rank {rank['rank']}'s lost records", rank["lost_records"], 0)
        expect_true(f"{what}: rank {rank['rank']} called nothing", made[rank["rank"]] > 0)
    for process in report["processes"]:
        expect(f"{what}: {process['command']}", (process["agent"], process["note"]), ("on", ""))
        expect(f"{what}: untracked calls of {process['command']}", process["calls_untracked"], 0)


def check_memory(what, report):
    """The books of each rank's heap are there and can be true: no more frees than allocations, and a peak that is a number."""
    mains = collections.Counter(process["rank"] for process in report["processes"] if process["role"] == "main")
    for rank, processes in mains.items():
        rows = [row for row in report["memory"] if (row["rank"], row["role"], row["kind"], row["library"]) == (rank, "main", "heap", "*")]
        expect(f"{what}: rows of rank {rank}'s heap", len(rows), 1)
        row = rows[0]
        expect_true(f"{what}: heap {row}", 0 < row["frees"] <= row["allocs"] and row["peak_bytes"] > 0)
        # The memory of other processes at one process's peak is not known.
        if processes == 1:
            expect_true(f"{what}: heap {row}", 0 <= row["live_bytes"] <= row["peak_bytes"])
            expect(f"{what}: range of the peak", (row["peak_low"], row["peak_high"]), (row["peak_bytes"],) * 2)


def read_counter(directory, pid):
    """What hosts/counter.c knows of a process that executed one program: {name: number}."""
    files = glob.glob(os.path.join(directory, f"{pid}-*"))
    expect(f"counters of process {pid}", len(files), 1)
    with open(files[0], "rb") as stream:
        return {name.rstrip(b"\0").decode(): value for name, value in struct.iter_unpack("<24sQ", stream.read())}


def check_counted(what, report, directory):
    """Per rank: calls, live and peak bytes equal the counter's."""
    totals = total_calls(report)
    heap = {row["rank"]: row for row in report["memory"] if (row["role"], row["kind"], row["library"]) == ("main", "heap", "*")}
    for rank in report["ranks"]:
        number = rank["rank"]
        wanted = read_counter(directory, rank["pid"])
        expect(f"{what}: the counter of rank {number} is whole", wanted.pop("broken"), 0)
        got = {name: totals[number, name] for name in wanted}
        got.update(live=heap[number]["live_bytes"], peak=heap[number]["peak_bytes"])
        differing = {name: (got[name], value) for name, value in wanted.items() if got[name] != value}
        expect(f"{what}: rank {number}: seen and counted", differing, {})
        print(f"{what}: rank {number}: {wanted}")
        for name in ("sgemm_", "posix_memalign", "free", "writev", "recv", "epoll_wait"):
            expect_true(f"{what}: rank {number} calls {name}", wanted[name] > 0)
    # libc10 has the address of free in its GOT and no PLT slot for it.
    expect_true(f"{what}: calls of free by address", any(row["calls"] for row in report["calls"]
                                                         if (row["library"], row["function"]) == ("*", "free")))


def test(run, name):
    host = TABLE[name]
    places = {"build": run.build, "hosts": HOSTS}
    if not os.path.exists(host.needs.format(**places)):
        print(f"skipped: {host.needs} is not installed: see deploy/packages")
        sys.exit(SKIPPED)
    command = [argument.format(**places) if argument.startswith("{") else argument for argument in host.command]
    alone = run_alone(run, host, command)
    for hooks in ("libc",), ("auto",):
        report = run_traced(run, host, command, alone, hooks)
        check_report(f"{name}, {hooks[0]}", host, report)
        if hooks == ("libc",):
            check_memory(name, report)
    if name == "torch_ranks":
        counters = fresh(run, "counters")
        counter = os.path.join(run.build, "tests", "integration", "hosts", "libhosts_counter.so")
        report = run_traced(run, host, command, alone, ("auto", "libc"), LD_PRELOAD=counter, COUNTER_DIR=counters)
        check_report(f"{name}, counted", host, report)
        check_counted(name, report, counters)


if __name__ == "__main__":
    main(test)
