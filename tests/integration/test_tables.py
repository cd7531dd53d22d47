#!/usr/bin/python3
"""CSV, folded stacks, SQLite and the report by symbol and by memory: exact against the report and against each other, and parts of a job against the whole.

The files are read by Python's csv and sqlite3. A view of the SQLite file must say what Python computes from the JSON report.
"""
import collections
import csv
import json
import os
import re
import shutil
import sqlite3

from harness import RANKS, expect, expect_true, main
from truth import load, wanted_of

FRAME = re.compile(r"[^;\s]+")
SAME = ("calls", "errors", "total_ns", "self_ns", "outermost_ns", "bytes", "min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns")
MEMORY = ("allocs", "frees", "live_bytes", "peak_bytes", "peak_low", "peak_high", "peak_time_ns", "at_peak_bytes")
# How much calls of a thread are moved to nest: at the edge of a span one may be in or out.
EDGE_NS = 3


def export(run, job, form, *options):
    path = run.path(f"{form}.out")
    run.cli("export", job, "--format", form, "-o", path, *options)
    return path


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_folded(path):
    """{stack: weight} by the rule of flame graphs: frames with ";" between, a space, a number."""
    stacks = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            stack, weight = line.rstrip("\n").rsplit(" ", 1)
            expect_true(f"frames of {line!r}", all(FRAME.fullmatch(frame) for frame in stack.split(";")))
            expect_true(f"{stack} twice", stack not in stacks)
            stacks[stack] = int(weight)
    return stacks


def open_sqlite(path):
    base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    base.row_factory = sqlite3.Row
    expect("integrity", base.execute("PRAGMA integrity_check").fetchone()[0], "ok")
    return base


def rows(base, query, *values):
    return [dict(row) for row in base.execute(query, values)]


# ---- SQLite and the report


def summed(report, keys, values, keep=lambda row: True):
    """{key: {value: sum}} of the report's calls."""
    sums = collections.defaultdict(lambda: dict.fromkeys(values, 0))
    for row in filter(keep, report["calls"]):
        for value in values:
            sums[tuple(row[key] for key in keys)][value] += row[value] or 0
    return dict(sums)


def viewed(base, view, keys, values):
    return {tuple(row[key] for key in keys): {value: row[value] or 0 for value in values} for row in rows(base, f"SELECT * FROM {view}")}


def check_statistics(what, base, report):
    """Row by row what the JSON says."""
    keys = ("rank", "role", "domain", "function", "library")
    got = {tuple(row[key] for key in keys): {key: row[key] for key in SAME}
           for row in rows(base, "SELECT * FROM statistics JOIN sites ON sites.id = site_id")}
    wanted = {tuple(row[key] for key in keys): {key: row[key] for key in SAME} for row in report["calls"]}
    expect(f"{what}: statistics", got, wanted)
    keys = ("rank", "role", "device", "kind", "library")
    got = {tuple(row[key] for key in keys): {key: row[key] for key in MEMORY} for row in rows(base, "SELECT * FROM memory")}
    wanted = {tuple(row[key] for key in keys): {key: row[key] for key in MEMORY} for row in report["memory"]}
    expect(f"{what}: memory", got, wanted)
    got = [(row["rank"], row["pid"], row["host"], row["wall_ns"], row["exit_kind"], row["exit_code"], row["records"])
           for row in rows(base, "SELECT * FROM ranks ORDER BY rank")]
    wanted = [(row["rank"], row["pid"], row["host"], row["end_ns"] - row["start_ns"], row["exit"]["kind"], row["exit"]["code"],
               row["records"]) for row in report["ranks"]]
    expect(f"{what}: ranks", got, wanted)
    got = rows(base, "SELECT rank, role, pid, slots_patched FROM processes JOIN coverage ON process_id = id ORDER BY pid, rank")
    wanted = sorted(({key: row[key] for key in ("rank", "role", "pid", "slots_patched")} for row in report["coverage"]),
                    key=lambda row: (row["pid"], row["rank"]))
    expect(f"{what}: coverage", got, wanted)


def check_views(what, base, report):
    values = ("calls", "errors", "total_ns", "self_ns", "outermost_ns", "bytes")
    keys = ("domain", "function", "role")
    expect(f"{what}: by function", viewed(base, "time_by_function", keys, values), summed(report, keys, values))
    keys, values = ("library", "function", "role"), ("calls", "errors", "total_ns", "self_ns", "bytes")
    expect(f"{what}: by library", viewed(base, "time_by_library", keys, values), summed(report, keys, values))
    keys, values = ("rank", "role"), ("calls", "errors", "self_ns")
    expect(f"{what}: by rank", viewed(base, "time_by_rank", keys, values), summed(report, keys, values))
    is_main = lambda row: row["role"] == "main"
    keys, values = ("rank", "domain"), ("outermost_ns",)
    expect(f"{what}: share", viewed(base, "domain_share", keys, values), summed(report, keys, values, is_main))
    totals = collections.defaultdict(collections.Counter)
    for row in filter(is_main, report["calls"]):
        totals[row["domain"], row["function"]][row["rank"]] += row["total_ns"] or 0
    got = {(row["domain"], row["function"]): (row["total_ns"], row["most_ns"]) for row in rows(base, "SELECT * FROM imbalance")}
    expect(f"{what}: imbalance", got, {key: (sum(ranks.values()), max(ranks.values())) for key, ranks in totals.items() if sum(ranks.values())})
    peaks = {(row["rank"], row["role"], row["device"], row["kind"]): row["peak_bytes"] for row in report["memory"] if row["library"] == "*"}
    got = {(row["rank"], row["role"], row["device"], row["kind"]): row["peak_bytes"] for row in rows(base, "SELECT * FROM memory_peaks")}
    expect(f"{what}: peaks", got, peaks)
    waits = summed(report, ("rank",), ("self_ns",), lambda row: is_main(row) and row["domain"] in ("wait", "thread"))
    waiting = rows(base, "SELECT * FROM who_waits")
    got = {(row["rank"],): {"self_ns": row["idle_ns"]} for row in waiting if row["idle_ns"] is not None}
    expect(f"{what}: waits", got, waits)
    meanings = {(row["domain"], row["function"]): row["meaning"] for row in rows(base, "SELECT * FROM sites")}
    for meaning in ("send", "recv", "collective", "wait"):
        wanted = summed(report, ("rank",), ("self_ns",), lambda row: is_main(row) and row["domain"] == "mpi"
                        and meanings[row["domain"], row["function"]] == meaning)
        got = {(row["rank"],): {"self_ns": row[f"mpi_{meaning}_ns"]} for row in waiting if row[f"mpi_{meaning}_ns"] is not None}
        expect(f"{what}: MPI, {meaning}", got, wanted)
    for function, meaning in (("MPI_Send", "send"), ("MPI_Recv", "recv"), ("MPI_Allreduce", "collective"), ("MPI_Wait", "wait")):
        expect(f"{what}: {function}", meanings.get(("mpi", function), meaning), meaning)
    # One site of one rank has its quantiles in the report; the view merges its histogram alone.
    quantiles = {(row["domain"], row["function"], row["role"]): row for row in rows(base, "SELECT * FROM quantiles")}
    sites = collections.Counter((row["domain"], row["function"], row["role"]) for row in report["calls"])
    compared = 0
    for row in report["calls"]:
        key = (row["domain"], row["function"], row["role"])
        if sites[key] == 1 and row["p50_ns"] is not None:
            for name in ("p50_ns", "p90_ns", "p99_ns"):
                expect(f"{what}: {name} of {key}", min(max(quantiles[key][name], row["min_ns"]), row["max_ns"]), row[name])
            compared += 1
    expect_true(f"{what}: quantiles compared", compared > 0)
    for name in ("mpi_share", "memory_by_library", "uncalled", "slowest_calls"):
        base.execute(f"SELECT * FROM {name} LIMIT 1").fetchall()


# ---- the report by symbol and by memory


def table_of(run, job, by):
    """The table as JSON; as CSV it must be the same, and as text have as many rows."""
    table = json.loads(run.cli("report", job, "--by", by, "--format", "json").stdout)
    name = "symbols" if by == "symbol" else by
    lines = list(csv.DictReader(run.cli("report", job, "--by", by, "--format", "csv").stdout.splitlines()))
    expect(f"{by}: CSV", lines, [{key: "" if value is None else str(value) for key, value in row.items()} for row in table[name]])
    text = run.cli("report", job, "--by", by).stdout.splitlines()
    heads = 1 if by == "memory" else 3 + len(table["totals"])
    expect(f"{by}: lines of text", len(text) - heads, len(table[name]))
    return table


def check_symbols(what, run, job, base, report):
    table = table_of(run, job, "symbol")
    values = ("calls", "errors", "total_ns", "self_ns", "bytes")
    keys = ("library", "function", "domain", "role")

    def called(rows, keys):
        return {tuple(row[key] for key in keys): {value: row[value] or 0 for value in values} for row in rows if row["calls"]}

    expect(f"{what}: symbols", called(table["symbols"], keys), summed(report, keys, values))
    expect(f"{what}: totals", called(table["totals"], keys[1:]), summed(report, keys[1:], values))
    # What was hooked and never called is there, too.
    uncalled = {(row["library"], row["function"], row["domain"]) for row in rows(base, "SELECT * FROM uncalled")}
    listed = collections.Counter()
    for row in table["symbols"]:
        listed[row["library"], row["function"], row["domain"]] += row["calls"]
    expect(f"{what}: never called", {key for key, calls in listed.items() if not calls}, uncalled)
    expect_true(f"{what}: something was never called", uncalled)
    order = [(row["role"], row["library"]) for row in table["symbols"]]
    expect(f"{what}: a library's symbols are together", sum(a != b for a, b in zip(order, order[1:])), len(set(order)) - 1)


def check_sampled(run):
    """Times that are scaled up from samples say so."""
    run.trace(run.workload("heap_truth"), run.path("sampled.json"), hooks=["libc"], level="sample", options=("--job", "sampled"))
    job = run.path("store", "sampled")
    table = table_of(run, job, "symbol")["symbols"]
    estimated = [row for row in table if row["estimated"]]
    expect_true("some calls were sampled, what was not called was not", estimated and all(row["calls"] for row in estimated))
    text = run.cli("report", job, "--by", "symbol").stdout.split("\n\n")[1]
    expect("marked in the text", text.count("~"), len(estimated))


def check_memory(what, run, job, report):
    wanted = {}
    for row in report["memory"]:
        key = tuple(row[key] for key in ("library", "device", "kind", "role"))
        sums = wanted.setdefault(key, {"ranks": 0, "allocs": 0, "frees": 0, "live_bytes": 0, "peak_bytes": 0})
        for name in ("allocs", "frees", "live_bytes"):
            sums[name] += row[name]
        sums["ranks"] += 1
        sums["peak_bytes"] = max(sums["peak_bytes"], row["peak_bytes"])
    table = table_of(run, job, "memory")["memory"]
    got = {tuple(row[key] for key in ("library", "device", "kind", "role")): row for row in table}
    expect(f"{what}: memory", {key: {name: row[name] for name in ("ranks", "allocs", "frees", "live_bytes", "peak_bytes")}
                               for key, row in got.items()}, wanted)
    peaks = {(row["library"], row["device"], row["kind"], row["role"], row["rank"]): row["peak_bytes"] for row in report["memory"]}
    expect_true(f"{what}: whose peaks", all(peaks[(*key, row["peak_rank"])] == row["peak_bytes"] for key, row in got.items()))
    return got


def check_truths(run):
    """To the byte what programs know of their own memory, and to the call what they called."""
    truths = (("cuda", os.path.join("simcuda", "cuda_truth"), "auto"), ("heap", "heap_truth", "libc"))
    for job, program, hooks in truths:
        run.trace(run.workload(program), run.path(f"{job}.json"), hooks=[hooks], options=("--job", job))
        store, truth = run.path("store", job), load(run.path(f"{job}.json"))
        got = {(f"{kind} {device}" if job == "cuda" else kind, os.path.basename(library)): row
               for (library, device, kind, _), row in check_memory(job, run, store, run.report(store)).items()}
        memory = truth["memory"] if job == "cuda" else {"heap": truth["memory"]["heap"]}
        for kind, libraries in memory.items():
            for library, numbers in libraries.items():
                wanted = {name: numbers[name] for name in ("allocs", "frees", "live_bytes", "peak_bytes")}
                expect(f"{job}: {kind} of {library}", {name: got[kind, library][name] for name in wanted}, wanted)
        symbols = {(os.path.basename(row["library"]), row["function"]): row["calls"] for row in table_of(run, store, "symbol")["symbols"]}
        for key, row in wanted_of(truth).items():
            expect(f"{job}: calls of {key}", symbols[key], row["calls"])


# ---- calls


def call_of(row):
    """A CSV line as what the other formats know of it, too."""
    return (int(row["rank"]), row["role"], int(row["pid"]), int(row["tid"]), int(row["start_ns"]), int(row["duration_ns"]), row["domain"],
            row["function"], row["library"], row["failed"], row["value_bytes"])


def check_calls(what, lines, base, report):
    counted = collections.Counter()
    for line in lines:
        counted[int(line["rank"]), line["role"], line["domain"], line["function"], line["library"]] += 1
    expect(f"{what}: calls in CSV", dict(counted),
           {(row["rank"], row["role"], row["domain"], row["function"], row["library"]): row["calls"] for row in report["calls"]})
    stored = rows(base, "SELECT rank, role, pid, tid, c.start_ns, duration_ns, domain, function, library, failed, value_bytes FROM calls c"
                  " JOIN processes ON processes.id = c.process_id JOIN threads ON threads.id = thread_id JOIN sites ON sites.id = site_id")
    stored = sorted((*list(row.values())[:9], str(row["failed"]), "" if row["value_bytes"] is None else str(row["value_bytes"])) for row in stored)
    expect_true(f"{what}: {len(stored)} calls in SQLite are those of {len(lines)} in CSV", stored == sorted(map(call_of, lines)))
    # Parents enclose their children on the same thread, and self is what the children leave.
    wrong = base.execute("SELECT count(*) FROM calls c JOIN calls p ON p.id = c.parent_id WHERE c.thread_id != p.thread_id OR"
                         " c.start_ns < p.start_ns OR c.start_ns + c.duration_ns > p.start_ns + p.duration_ns OR c.depth != p.depth + 1")
    expect(f"{what}: children out of their parents", wrong.fetchone()[0], 0)
    wrong = base.execute("SELECT count(*) FROM calls p LEFT JOIN (SELECT parent_id, sum(duration_ns) AS inner_ns FROM calls GROUP BY parent_id)"
                         " c ON c.parent_id = p.id WHERE self_ns != duration_ns - coalesce(inner_ns, 0)")
    expect(f"{what}: self times", wrong.fetchone()[0], 0)
    longest = rows(base, "SELECT duration_ns FROM slowest_calls LIMIT 1")[0]["duration_ns"]
    expect(f"{what}: slowest", longest, max(int(line["duration_ns"]) for line in lines))


def check_folded(what, run, job, base):
    """Self times of each innermost function; every call once; apart by rank as asked."""
    stacks = read_folded(export(run, job, "folded"))
    wanted = {row["function"]: row["ns"] for row in rows(base, "SELECT function, sum(self_ns) AS ns FROM calls JOIN sites ON sites.id = site_id"
                                                         " GROUP BY function HAVING ns > 0")}
    got = collections.Counter()
    for stack, weight in stacks.items():
        got[stack.split(";")[-1]] += weight
    expect(f"{what}: folded time", dict(got), wanted)
    stacks = read_folded(export(run, job, "folded", "--weight", "calls", "--split", "rank"))
    got = collections.Counter()
    for stack, weight in stacks.items():
        frames = stack.split(";")
        got["-1" if frames[0] == "[launcher]" else frames[0]] += weight
    wanted = {str(row["rank"]) if row["rank"] < 0 else f"rank_{row['rank']}": row["n"]
              for row in rows(base, "SELECT rank, count(*) AS n FROM calls JOIN processes ON processes.id = process_id GROUP BY rank")}
    expect(f"{what}: folded calls", dict(got), wanted)
    # Stacks are as deep as calls are.
    deepest = base.execute("SELECT max(depth) FROM calls").fetchone()[0]
    expect(f"{what}: depth", max(stack.count(";") for stack in stacks), deepest)


# ---- parts


def check_parts(what, run, job, lines):
    """--from, --to and --ranks are filters of the whole."""
    starts = sorted(int(line["start_ns"]) for line in lines)
    begin, end = starts[len(starts) // 3], starts[2 * len(starts) // 3]
    options = ("--from", f"{begin}ns", "--to", f"{end}ns", "--ranks", "1-2")

    def inside(line, edge):
        first, last = int(line["start_ns"]), int(line["start_ns"]) + int(line["duration_ns"])
        return int(line["rank"]) in (1, 2) and last >= begin + edge and first <= end - edge

    surely = collections.Counter(call_of(line) for line in lines if inside(line, EDGE_NS))
    maybe = collections.Counter(call_of(line) for line in lines if inside(line, -EDGE_NS))
    part = read_csv(export(run, job, "csv", *options))
    got = collections.Counter(map(call_of, part))
    expect_true(f"{what}: {len(part)} of {len(lines)} calls", 0 < len(part) < len(lines) // 2)
    # What was cut to nest with a call that is not there is some ns longer: the same call, told by its thread and start.
    expect(f"{what}: calls missing in a part", [call for call in surely - got if (call[3], call[4]) not in {(c[3], c[4]) for c in got}], [])
    expect(f"{what}: calls too many in a part", [call for call in got - maybe if (call[3], call[4]) not in {(c[3], c[4]) for c in maybe}], [])
    expect_true(f"{what}: lengths in a part", sum((surely - got).values()) <= len(part) // 1000 + 4)
    base = open_sqlite(export(run, job, "sqlite", *options))
    expect(f"{what}: calls of a part in SQLite", base.execute("SELECT count(*) FROM calls").fetchone()[0], len(part))
    for table in ("ranks", "processes", "statistics", "memory"):
        expect(f"{what}: ranks of {table}", {row["rank"] for row in rows(base, f"SELECT rank FROM {table}")}, {1, 2})
    expect(f"{what}: span", tuple(base.execute("SELECT from_ns, to_ns FROM job").fetchone()), (begin, end))
    base.close()
    stacks = read_folded(export(run, job, "folded", "--weight", "calls", *options))
    expect(f"{what}: calls of a part in folded stacks", sum(stacks.values()), len(part))
    # Time of a part is what lies inside of it.
    stacks = read_folded(export(run, job, "folded", "--split", "thread", *options))
    threads = collections.Counter()
    for stack, weight in stacks.items():
        threads[stack.split(";")[1]] += weight
    expect_true(f"{what}: time of threads in {end - begin} ns: {threads}", threads and max(threads.values()) <= end - begin)


def check(run, job, parts=False):
    store = run.path("store", job)
    report = run.report(store)
    expect(f"{job}: lost records", sum(row["lost_records"] for row in report["processes"]), 0)
    lines = read_csv(export(run, store, "csv"))
    base = open_sqlite(export(run, store, "sqlite"))
    check_statistics(job, base, report)
    check_views(job, base, report)
    check_calls(job, lines, base, report)
    check_folded(job, run, store, base)
    check_symbols(job, run, store, base, report)
    check_memory(job, run, store, report)
    if parts:
        check_parts(job, run, store, lines)
    base.close()


def check_arguments(run):
    """At level record+args: the same arguments in CSV and SQLite, as JSON."""
    run.trace(run.workload("calls_truth"), "--count", run.path("args.json"), hooks=["libc"], level="record+args", options=("--job", "args"))
    store = run.path("store", "args")
    lines = [line for line in read_csv(export(run, store, "csv")) if line["function"] == "write"]
    wanted = wanted_of(load(run.path("args.json")))["calls_truth", "write"]
    expect("writes", len(lines), wanted["calls"])
    expect("bytes written", sum(int(line["value_bytes"]) for line in lines), wanted["bytes"])
    base = open_sqlite(export(run, store, "sqlite"))
    stored = rows(base, "SELECT json_extract(arguments, '$.count') AS count, returned FROM calls JOIN sites ON sites.id = site_id"
                  " WHERE function = 'write' ORDER BY calls.start_ns")
    lines.sort(key=lambda line: int(line["start_ns"]))
    expect("arguments", [(json.loads(line["arguments"])["count"], int(line["returned"])) for line in lines],
           [(row["count"], row["returned"]) for row in stored])
    base.close()


def check_places(run):
    """A file appears whole or not at all, and never in the place of what is none."""
    store, out = run.path("store", "calls"), run.path("whole.sqlite")
    with open(out, "w", encoding="utf-8") as file:
        file.write("old")
    run.cli("export", store, "--format", "sqlite", "-o", out)
    expect("files beside it", [name for name in os.listdir(run.directory) if name.startswith("whole.sqlite")], ["whole.sqlite"])
    open_sqlite(out).close()
    for place, status in (("/dev/null", 1), (run.directory, 1), (run.path("none", "x"), 1), ("-", 2)):
        done = run.cli("export", store, "--format", "sqlite", "-o", place, check=False)
        expect(f"-o {place}: {done.stderr}", done.returncode, status)
        expect(f"-o {place}: lines", done.stderr.count("\n"), 1)
        expect_true(f"-o {place}: {done.stderr!r}", "not supported" not in done.stderr)
    check_others_file(run, store)


def check_others_file(run, store):
    """What is another user's is not replaced, and it is said what to do."""
    place = run.path("others.sqlite")
    with open(place, "w", encoding="utf-8") as file:
        file.write("theirs")
    os.chmod(place, 0o666)
    if os.geteuid() == 0:
        os.chown(place, 12345, 12345)
        done = run.cli("export", store, "--format", "sqlite", "-o", place, check=False)
        expect("a file of another user", (done.returncode, done.stderr.count("\n")), (1, 1))
        expect_true(f"it is said: {done.stderr!r}", "somebody else's" in done.stderr and "name a new one with -o" in done.stderr)
        expect("what was there", load_bytes(place), b"theirs")
    os.unlink(place)


def limited(run, kilobytes, *arguments):
    """hookcli where no file may grow beyond KILOBYTES: what it writes last fails, as on a full disk."""
    return run.command("sh", "-c", f"trap '' XFSZ; ulimit -f {2 * kilobytes}; exec \"$@\"", "sh", run.binary("hookcli"), *arguments, check=False)


def check_full(run):
    """What cannot be written whole leaves nothing behind, and what was there before stays."""
    store, place = run.path("store", "calls"), run.path("full")
    os.mkdir(place)
    outputs = [("export", store, "--format", form) for form in ("perfetto", "chrome", "csv", "folded", "sqlite", "kineto")]
    outputs += [("report", store, "--format", "html"), ("diff", store, store, "--format", "json")]
    for output in outputs:
        path = os.path.join(place, "out")
        run.cli(*output, "-o", path)
        small = 0 if "folded" in output else 1
        for there in (True, False):
            before = load_bytes(path)
            done = limited(run, small, *output, "-o", path)
            expect(f"{output}: exit", done.returncode, 2 if "diff" in output else 1)
            expect_true(f"{output}: {done.stderr!r}", "File too large" in done.stderr and done.stderr.count("\n") == 1)
            expect(f"{output}: files", os.listdir(place), ["out"] if there else [])
            expect_true(f"{output}: what was there", load_bytes(path) == before)
            shutil.rmtree(path) if os.path.isdir(path) else there and os.unlink(path)
    for form in ("chrome", "csv", "folded"):
        whole = run.cli("export", store, "--format", form).stdout
        expect_true(f"{form} by /dev/stdout", run.cli("export", store, "--format", form, "-o", "/dev/stdout").stdout == whole)
    os.rmdir(place)


def load_bytes(path):
    """What the file at PATH holds, or each file of the directory; None: there is none."""
    if os.path.isdir(path):
        return {name: load_bytes(os.path.join(path, name)) for name in os.listdir(path)}
    if not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        return file.read()


def check_nothing(run):
    """Ranks and times that there are none of are a mistake: it is said which there are, and nothing is written."""
    store, out = run.path("store", "mpi"), run.path("nothing")
    for form in ("chrome", "csv", "kineto", "sqlite"):
        for options, said in ((("--ranks", "7,9-12"), "there are 0-3"), (("--from", "1h"), "--from is after the job's end")):
            done = run.cli("export", store, "--format", form, "-o", out, *options, check=False)
            expect(f"{form} {options}: {done.stderr}", (done.returncode, done.stderr.count("\n")), (2, 1))
            expect_true(f"{form} {options}: {done.stderr}", said in done.stderr and not os.path.exists(out))
    done = run.cli("log", store, "--ranks", "4", check=False)
    expect("log", (done.returncode, done.stdout), (2, ""))
    expect_true(f"log: {done.stderr}", "there are 0-3" in done.stderr)
    expect_true("some of the ranks", len(run.cli("log", store, "--ranks", "3-9").stdout.splitlines()) > 10)
    done = run.cli("export", store, "--format", "csv", "--to", "0")
    expect("before the first call", (len(done.stdout.splitlines()), "no call lies between" in done.stderr), (1, True))


def test(run):
    run.trace("mpirun", "-n", RANKS, run.workload("mpi_truth"), run.directory, hooks=["mpi", "libc"], level="record", options=("--job", "mpi"))
    check(run, "mpi", parts=True)
    run.trace(run.workload("calls_truth"), "--count", run.path("calls.json"), hooks=["libc", "*:calls_outer", "*:calls_inner", "*:calls_recurse"],
              level="record", options=("--job", "calls"))
    check(run, "calls")
    stacks = read_folded(export(run, run.path("store", "calls"), "folded", "--weight", "calls"))
    wanted = wanted_of(load(run.path("calls.json")))
    expect("outer", stacks["calls_outer"], wanted["calls_truth", "calls_outer"]["calls"])
    expect("inner in outer", stacks["calls_outer;calls_inner"], wanted["libcalls_truth_library.so", "calls_inner"]["calls"])
    expect("recursion", stacks["calls_recurse"], wanted["calls_truth", "calls_recurse"]["calls"])
    check_truths(run)
    check_sampled(run)
    check_arguments(run)
    check_places(run)
    check_full(run)
    check_nothing(run)


if __name__ == "__main__":
    main(test)
