"""Asks the questions of deploy/docs/warehouse.md, and compares the answers with hookcli's reports and with what test_warehouse.py built in.

    warehouse_check.py duckdb|spark REPORTS.json     in the directory that has `store`; what it writes is `warehouse`
"""
import collections
import datetime
import json
import math
import os
import re
import statistics
import sys

import warehouse_jobs as truth

DOC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "deploy", "docs", "warehouse.md")
BLOCK = re.compile(r"^```(python|sql)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DAY = datetime.timedelta(days=1)


def blocks():
    """The page's Python by what it imports, and its questions in order."""
    with open(DOC, encoding="utf-8") as stream:
        found = BLOCK.findall(stream.read())
    python = [text for kind, text in found if kind == "python"]
    return {name: next(text for text in python if name in text) for name in ("hooktrace", "duckdb", "pyspark")}, [text for kind, text in found if kind == "sql"]


class Engine:
    """DuckDB or Spark, with the views that the page makes."""

    def __init__(self, name, code):
        self.names = {}
        exec(compile(code, f"{DOC}: {name}", "exec"), self.names)  # pylint: disable=exec-used
        self.name = name

    def ask(self, sql):
        """The rows, as dictionaries."""
        if self.name == "spark":
            return [row.asDict() for row in self.names["spark"].sql(sql).collect()]
        answer = self.names["duckdb"].sql(sql)
        return [dict(zip(answer.columns, row)) for row in answer.fetchall()]

    def records(self):
        """A view of the records, as the page says."""
        if self.name == "spark":
            self.names["spark"].read.option("mergeSchema", "true").parquet("warehouse/records").createOrReplaceTempView("records")
        else:
            self.names["duckdb"].sql("create or replace view records as select * from "
                                     "read_parquet('warehouse/records/*/*/*/*.parquet', hive_partitioning=true, union_by_name=true)")


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f"FAILED: {what}: {got!r}, expected {wanted!r}")


def same(what, got, wanted):
    """Whether rows are equal: numbers to the last digits that a division leaves open."""
    expect(f"{what}: rows", len(got), len(wanted))
    for row, other in zip(got, wanted):
        expect(f"{what}: columns", list(row), list(other))
        for name, value in other.items():
            equal = math.isclose(row[name], value, rel_tol=1e-12) if isinstance(value, float) and row[name] is not None else row[name] == value
            expect(f"{what}: {name} of {other}: {row[name]!r}", equal, True)


# ---- the answers, from the reports


def start_of(job):
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=job["report"]["job"]["start_unix_ns"] // 1000)


def version_of(job):
    return re.search(r"-v([0-9.]+)", job["report"]["job"]["id"])[1]


def slower(jobs):
    newest = max(map(start_of, jobs))
    means = collections.defaultdict(list)
    for job in jobs:
        for row in job["totals"]:
            if row["role"] == "main" and start_of(job) >= newest - 30 * DAY:
                means[job["report"]["job"]["name"], row["function"]].append((start_of(job), row["mean_ns"]))
    rows = []
    for (name, function), all_means in means.items():
        first = [mean for start, mean in all_means if start < newest - 23 * DAY and mean is not None]
        last = [mean for start, mean in all_means if start >= newest - 7 * DAY and mean is not None]
        if first and last and statistics.median(last) > 1.1 * statistics.median(first):
            ratio = statistics.median(last) / statistics.median(first)
            rows.append({"name": name, "function": function, "jobs": len(all_means), "first_week_ns": float(statistics.median(first)),
                         "last_week_ns": float(statistics.median(last)), "ratio": ratio})
    return sorted(rows, key=lambda row: (-row["ratio"], row["name"], row["function"]))


def late(jobs):
    shares, sums = collections.defaultdict(list), collections.Counter()
    for job in jobs:
        host_of = {rank["rank"]: rank["host"] for rank in job["report"]["ranks"]}
        waits = collections.Counter({host: 0 for host in host_of.values()})
        for wait in job["report"]["waits"]:
            for awaited in wait["awaited"]:
                waits[host_of[awaited["rank"]]] += awaited["wait_ns"]
        if len(waits) > 1 and max(waits.values()) > 0:
            for host, wait in waits.items():
                shares[host].append((wait / sum(waits.values()), wait == max(waits.values())))
                sums[host] += wait
    rows = [{"host": host, "jobs": len(found), "wait_ns": sums[host], "least_share": min(share for share, _ in found)}
            for host, found in shares.items() if all(most for _, most in found)]
    return sorted(rows, key=lambda row: (-row["wait_ns"], row["host"]))


def versions(jobs):
    p99, first = collections.defaultdict(list), {}
    for job in jobs:
        for row in job["totals"]:
            if row["role"] == "main" and row["p99_ns"] is not None:
                key = row["function"], version_of(job)
                p99[key].append(row["p99_ns"])
                first[key] = min(first.get(key, start_of(job)), start_of(job))
    rows, before = [], {}
    for function, version in sorted(p99, key=lambda key: (key[0], first[key], key[1])):
        value = float(statistics.median(p99[function, version]))
        growth = value / before[function] if function in before else None
        rows.append({"function": function, "version": version, "jobs": len(p99[function, version]), "p99_ns": value, "growth": growth})
        before[function] = value
    return rows


# ---- what the jobs were made to show


def check_truth(answers):
    got_slower, late_nodes, growth = answers
    of_told = [row["function"] for row in got_slower if row["name"] == "told"]
    expect("the function that got slower", of_told[:1], ["told_nap"])
    hosts = {row["host"] for row in late_nodes}
    if os.environ["NODES"] == "1":
        expect("nodes that are late in every job", [(row["host"], row["jobs"]) for row in late_nodes], [(truth.LATE, len(truth.DAYS))])
    expect("nodes", hosts <= set(truth.HOSTS), True)
    naps = [row for row in growth if row["function"] == "told_nap"]
    expect("versions", [row["version"] for row in naps], ["1.0", "1.1", "2.0"])
    least = {day.version: day.nap_ns for day in truth.DAYS}
    # A sleep may take longer, and never less; a bucket of the histogram is a few percent wide.
    expect(f"p99 of {naps}", all(row["p99_ns"] > 0.9 * least[row["version"]] for row in naps), True)
    expect(f"growth of {naps}", all(row["growth"] > 1 for row in naps[1:]), True)


def check_percentiles(functions, jobs):
    """A function that one rank calls from one library has the numbers of that row in `hookcli report --format json`."""
    rows = collections.defaultdict(list)
    for path, job in jobs.items():
        for row in job["report"]["calls"]:
            rows[path, row["function"], row["role"]].append(row)
    alone = {key: found[0] for key, found in rows.items() if len(found) == 1}
    compared = {key[:3]: key[3:] for key in functions if key[:3] in alone}
    expect("functions of one row", len(compared) >= 3 * len(truth.DAYS) * truth.TOLD_JOBS, True)
    names = ("calls", "errors", "total_ns", "p50_ns", "p99_ns", "max_ns")
    expect("numbers of one row", compared, {key: tuple(alone[key][name] for name in names) for key in compared})


def check_counts(engine, jobs):
    """Every job once, every row of the report, every record, in its partition."""
    rows = engine.ask("select id, version, closed, damaged, directory, start_unix_ns, day, job from jobs")
    expect("jobs", sorted((row["directory"], row["id"], row["version"], row["start_unix_ns"]) for row in rows),
           sorted((path, job["report"]["job"]["id"], version_of(job), job["report"]["job"]["start_unix_ns"]) for path, job in jobs.items()))
    expect("closed and damaged", {(row["closed"], row["damaged"]) for row in rows}, {(True, False)})
    for row in rows:
        start = start_of(jobs[row["directory"]])
        expect("partition", (row["day"], row["job"]), (start.date(), f"{row['id']}@{start:%Y%m%dT%H%M%S}.{row['start_unix_ns'] % 10**9:09d}Z"))
    where = {row["job"]: row["directory"] for row in rows}
    numbers = ("function", "role", "calls", "errors", "total_ns", "p50_ns", "p99_ns", "max_ns")
    got = collections.Counter((where[row["job"]], *(row[name] for name in numbers)) for row in engine.ask(f"select job, {', '.join(numbers)} from functions"))
    wanted = collections.Counter((path, *(row[name] for name in numbers)) for path, job in jobs.items() for row in job["totals"])
    expect("functions", got, wanted)
    check_percentiles(got, jobs)
    engine.records()
    got = {(where[row["job"]], row["rank"]): row["n"] for row in engine.ask("select job, rank, count(*) as n from records group by job, rank")}
    wanted = {(path, rank["rank"]): rank["records"] for path, job in jobs.items() for rank in job["report"]["ranks"] if rank["records"]}
    expect("records", got, wanted)
    told = len(truth.DAYS) * truth.TOLD_JOBS
    got = {row["function"]: row["n"] for row in engine.ask("select function, count(*) as n from records where function like 'told_%' group by function")}
    expect("calls of told", got, {"told_nap": told * truth.NAPS, "told_sleep": told * truth.SLEEPS, "told_one": told * truth.QUICK})


def files():
    return sorted(os.path.join(directory, name) for directory, _, names in os.walk("warehouse") for name in names)


def main(name, path):
    with open(path, encoding="utf-8") as stream:
        jobs = json.load(stream)
    python, questions = blocks()
    expect("questions of the page", len(questions), 3)
    exec(compile(python["hooktrace"], DOC, "exec"), {})  # pylint: disable=exec-used
    once = files()
    exec(compile(python["hooktrace"], DOC, "exec"), {})  # pylint: disable=exec-used
    expect("files after a second time", files(), once)
    engine = Engine(name, python["pyspark" if name == "spark" else name])
    answers = [engine.ask(question) for question in questions]
    for what, got, wanted in zip(("slower", "late", "versions"), answers, (slower, late, versions)):
        same(what, got, wanted(list(jobs.values())))
    check_truth(answers)
    check_counts(engine, jobs)
    print(f"{name}: {len(jobs)} jobs, {len(once)} files; slower: {answers[0][0]}; late: {answers[1]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
