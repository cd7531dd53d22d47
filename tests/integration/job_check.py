"""Compares what hooktrace.open() gives of a job with what hookcli writes of it. It runs on every Python that the package supports.

    job_check.py compare JOB CALLS.csv REPORT.json STACKS.json [RANKS FROM_NS TO_NS]
    job_check.py read JOB...      prints rows and damage of each, as JSON
"""
import csv
import json
import struct
import sys
import warnings

import hooktrace
from hooktrace.job import CALLS, COLUMNS, FINDINGS, MEMORY, PROCESSES, RANKS

FIELDS = {"ranks": RANKS, "processes": PROCESSES, "calls": CALLS, "memory": MEMORY, "findings": FINDINGS}
# Tables of their own elsewhere.
LEFT_OUT = {"device_time"}
OWN = {"depth"}  # a column that the CSV does not have


def fail(text):
    sys.exit("FAILED: Python %d.%d: %s" % (sys.version_info[0], sys.version_info[1], text))


def same(text, value):
    """Whether the field TEXT of the CSV says VALUE."""
    if value is None or text == "":
        return text == (value or "")
    if isinstance(value, bool):
        return text == ("1" if value else "0")
    if isinstance(value, float):
        return struct.pack("d", float(text)) == struct.pack("d", value)
    return int(text, 0) == value if isinstance(value, int) else text == value


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def rows_of(records):
    return [row for table in records for row in table.rows()]


def compare_records(what, records, wanted):
    rows = rows_of(records)
    if len(rows) != len(wanted):
        fail("%s: %d records, %d lines of CSV" % (what, len(rows), len(wanted)))
    for number, (row, line) in enumerate(zip(rows, wanted)):
        for name, text in line.items():
            # A column that the job does not have is empty.
            if not same(text, row.get(name)):
                fail("%s: record %d: %s is %r, in the CSV %r" % (what, number, name, row.get(name), text))
        if set(row) - set(line) - OWN:
            fail("%s: columns that the CSV does not have: %s" % (what, set(row) - set(line)))
    return rows


def flat(row, prefix=""):
    """The leaves of a row of JSON, as {path: value}."""
    leaves = {}
    for name, value in row.items():
        if isinstance(value, dict):
            leaves.update(flat(value, prefix + name + "."))
        elif name not in LEFT_OUT:
            leaves[prefix + name] = value
    return leaves


def compare_report(job, path):
    with open(path, encoding="utf-8") as stream:
        report = json.load(stream)
    if job.report != report:
        fail("Job.report is not the report")
    for member, columns in FIELDS.items():
        rows = list(getattr(job, member)().rows())
        if len(rows) != len(report[member]):
            fail("%s: %d rows, %d in the report" % (member, len(rows), len(report[member])))
        paths = {".".join(path): name for name, _, path in columns}
        for row, wanted in zip(rows, report[member]):
            for path, value in flat(wanted).items():
                if path not in paths or row[paths[path]] != value:
                    fail("%s: %s is %r in the report, in %r" % (member, path, value, row))
            for path in set(paths) - set(flat(wanted)):
                if row[paths[path]] is not None:
                    fail("%s: %s is not in the report" % (member, path))


def compare_stacks(job, path):
    with open(path, encoding="utf-8") as stream:
        wanted = json.load(stream)["stacks"]
    rows = list(job.stacks().rows())
    if len(rows) != len(wanted):
        fail("%d stacks of %d" % (len(rows), len(wanted)))
    for row, stack in zip(rows, wanted):
        for name in ("rank", "ranks", "function", "library", "calls", "total_ns"):
            if row[name] != stack[name]:
                fail("a stack's %s is %r, not %r" % (name, row[name], stack[name]))
        named = [frame.get("function") for frame in stack["frames"]]
        if [got if name else name for name, got in zip(named, row["frames"])] != named or len(row["frames"]) != len(named):
            fail("frames %r, not %r" % (row["frames"], named))
        if row["lines"] != [frame.get("line") or 0 for frame in stack["frames"]]:
            fail("lines %r of %r" % (row["lines"], stack["frames"]))
    return len(rows)


def check_batches(job, rows):
    """Any size of batches gives the same rows, and columns are those that were asked for."""
    for size in (1, 7, 1000) if len(rows) < 2000 else (1000,):
        tables = list(job.records(columns=["function", "start_ns"], batch=size))
        if [len(table) for table in tables if len(table) < size] not in ([], [len(tables[-1])]):
            fail("batches of %d: %s" % (size, [len(table) for table in tables]))
        found = [(row["function"], row["start_ns"]) for table in tables for row in table.rows()]
        if found != [(row["function"], row["start_ns"]) for row in rows]:
            fail("batches of %d have other rows" % size)
    table = next(iter(job.records(columns=["start_ns", "function", "value_bytes"])))
    if table.column_names != ["start_ns", "function", "value_bytes"] or table.buffer("start_ns").tolist() != table.column("start_ns"):
        fail("columns that were asked for")
    if not set(job.records().column_names) <= set(COLUMNS):
        fail("columns that COLUMNS does not have")


def check_mistakes(job):
    for what, call in (("a column", lambda: job.records(columns=["nothing"])), ("a column twice", lambda: job.records(columns=["rank", "rank"])),
                       ("no rows", lambda: job.records(batch=0)), ("too many rows", lambda: job.records(batch=1 << 40))):
        try:
            call()
        except ValueError:
            continue
        fail("%s is no mistake" % what)


def check_depths(rows):
    """Calls of a thread nest, as many deep as the column says: the calls that begin inside of one are deeper."""
    threads = {}
    for row in rows:
        # What a device did began at another time than its record.
        if row.get("value_duration") is None:
            threads.setdefault((row["host"], row["pid"], row["tid"]), []).append(row)
    for calls in threads.values():
        open_ends = []
        for row in sorted(calls, key=lambda call: (call["start_ns"], call["depth"])):
            del open_ends[row["depth"]:]
            end = row["start_ns"] + row["duration_ns"]
            if len(open_ends) != row["depth"] or any(end > outer for outer in open_ends):
                fail("depth of %r inside %r" % (row, open_ends))
            open_ends.append(end)


def compare(path, calls, report, stacks, *part):
    job = hooktrace.open(path)
    wanted = read_csv(calls)
    if part:
        ranks = [int(rank) for rank in part[0].split(",")] if part[0] else None
        start, end = (int(text) if text else None for text in part[1:])
        compare_records("a part", job.records(ranks, start, end), wanted)
        return
    rows = compare_records("records", job.records(), wanted)
    compare_report(job, report)
    count = compare_stacks(job, stacks)
    check_batches(job, rows)
    check_mistakes(job)
    check_depths(rows)
    if job.damaged or not job.closed:
        fail("damaged %s, closed %s" % (job.damaged, job.closed))
    print("Python %d.%d: %d records, %d stacks" % (sys.version_info[0], sys.version_info[1], len(rows), count))


def read(path):
    """Rows that can be read, and whether that is all; None if it is no job."""
    try:
        job = hooktrace.open(path)
    except (FileNotFoundError, ValueError):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = sum(len(table) for table in job.records())
    return {"rows": rows, "damaged": job.damaged}


if __name__ == "__main__":
    if sys.argv[1] == "compare":
        compare(*sys.argv[2:])
    else:
        json.dump([read(path) for path in sys.argv[2:]], sys.stdout)
