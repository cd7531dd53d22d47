"""What hooktrace.to_parquet() makes of jobs and disks that are not as they should be. Each argument is a directory that test_warehouse.py made.

    warehouse_edges.py WHOLE NO_RANKS MANY_RANKS      three jobs
    warehouse_edges.py running JOB closed|running     what the warehouse says of JOB now
    warehouse_edges.py spark                          what Spark reads of odd names, after the first of these
"""
import glob
import os
import resource
import shutil
import signal
import sys
import warnings

import duckdb
import pyarrow

import hooktrace
from hooktrace import parquet_file, warehouse
from warehouse_check import expect

ODD = ("a b", "ü/../=%'\"*?[x]", "", "..", "x" * 300, "💥" * 100, "line\nline", "__HIVE_DEFAULT_PARTITION__")


def table(directory, name, depth=2):
    """The rows of a table, as DuckDB reads them."""
    pattern = f"{directory}/{name}{'/*' * depth}/*.parquet"
    if not glob.glob(pattern):
        return []
    answer = duckdb.sql(f"select * from read_parquet('{pattern}', hive_partitioning=true, union_by_name=true)")
    return [dict(zip(answer.columns, row)) for row in answer.fetchall()]


def files(directory):
    return sorted(os.path.join(place, name) for place, _, names in os.walk(directory) for name in names)


def said(call):
    """What CALL gives, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        got = call()
    return got, [str(warning.message) for warning in caught]


def refused(kind, call):
    try:
        call()
    except kind as error:
        return str(error)
    sys.exit(f"FAILED: no {kind.__name__}")


def records_of(job):
    return sum(len(part) for part in hooktrace.open(job).records())


def check_damage(whole):
    """What can be read is written and marked; a job that cannot be read is left out, and the others are written."""
    hurt, broken = (shutil.copytree(whole, name) for name in ("hurt", "broken"))
    chunks = max((os.path.join(hurt, name) for name in os.listdir(hurt) if name.endswith(".chunks")), key=os.path.getsize)
    with open(chunks, "r+b") as stream:
        stream.truncate(os.path.getsize(chunks) - 50)
    for name in os.listdir(broken):
        with open(os.path.join(broken, name), "wb") as stream:
            stream.write(b"no job")
    paths, warned = said(lambda: hooktrace.to_parquet([broken, hurt], "w-hurt"))
    expect("jobs", [(row["damaged"], row["directory"]) for row in table("w-hurt", "jobs")], [(True, os.path.realpath(hurt))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expect("records of a damaged job", len(table("w-hurt", "records", 3)), records_of(hurt))
    expect(f"warnings {warned}", (any("left out" in text and "broken" in text for text in warned), len(paths)), (True, len(files("w-hurt"))))
    warnings.simplefilter("ignore")
    expect("only a broken job", "broken" in refused(ValueError, lambda: hooktrace.to_parquet(broken, "w-broken")), True)
    warnings.resetwarnings()
    expect("nothing of it", files("w-broken"), [])


def check_sources(whole):
    """Each job once; what does not exist is refused before anything is written."""
    store = shutil.copytree(whole, "sources/one")
    os.symlink("one", "sources/hook-last")
    hooktrace.to_parquet([store, "sources", hooktrace.open(store)], "w-sources", tables=["calls"])
    expect("jobs", len(table("w-sources", "jobs")), 1)
    expect("tables", sorted(os.listdir("w-sources")), ["calls", "jobs"])
    os.mkdir("empty")
    for wrong in ("./nothing", "empty", [store, "./nothing"]):
        refused(FileNotFoundError, lambda wrong=wrong: hooktrace.to_parquet(wrong, "w-nothing"))
    expect("a table", "no table 'call'" in refused(ValueError, lambda: hooktrace.to_parquet(store, "w-nothing", tables=["call"])), True)
    expect("nothing", os.path.exists("w-nothing"), False)


def check_names(whole):
    """Ids of any text (simulated: hookcli gives none) become partitions that read as that text, and do not leave the directory."""
    for number, text in enumerate(ODD):
        job = hooktrace.open(whole)
        job._report = {**job.report, "job": {**job.report["job"], "id": text, "start_unix_ns": (number + 1) * 10**18}}
        hooktrace.to_parquet(job, "w-odd", tables=["ranks"], version=lambda job: job.report["job"]["id"])
    rows = sorted(table("w-odd", "jobs"), key=lambda row: row["start_unix_ns"])
    expect("ids", [row["id"] for row in rows], list(ODD))
    expect("versions", [row["version"] for row in rows], list(ODD))
    for row, text in zip(rows, ODD):
        if len(text) < 100:
            expect("partition", row["job"].rpartition("@")[0], text)
    expect("partitions", (len({row["job"] for row in rows}), len(files("w-odd")), sorted(os.listdir("w-odd"))), (len(ODD), 2 * len(ODD), ["jobs", "ranks"]))


def check_twins(whole):
    """A copy of a job replaces the job, which is said; the same id at another time does not."""
    copy = shutil.copytree(whole, "copies/twin")
    _, warned = said(lambda: hooktrace.to_parquet([whole], "w-twins", tables=["ranks"]))
    expect("warnings", warned, [])
    _, warned = said(lambda: hooktrace.to_parquet([copy], "w-twins", tables=["ranks"]))
    expect(f"a warning in {warned}", len(warned) == 1 and whole in warned[0] and copy in warned[0], True)
    later = hooktrace.open(copy)
    later._report = {**later.report, "job": {**later.report["job"], "start_unix_ns": later.report["job"]["start_unix_ns"] + 1}}
    _, warned = said(lambda: hooktrace.to_parquet(later, "w-twins", tables=["ranks"]))
    expect("no warning", warned, [])
    expect("jobs", len(table("w-twins", "jobs")), 2)


def check_moved_start(whole):
    """While a job runs its start may move back, past midnight too: what was written of it before goes."""
    for back in (0, 1, 10**9, 86400 * 10**9):
        job = hooktrace.open(whole)
        job._report = {**job.report, "job": {**job.report["job"], "closed": False, "start_unix_ns": job.report["job"]["start_unix_ns"] - back}}
        hooktrace.to_parquet(job, "w-moved")
        expect(f"jobs, {back} ns before", len(table("w-moved", "jobs")), 1)
        expect("records", len(table("w-moved", "records", 3)), records_of(whole))


def in_child(call):
    """Runs CALL in a process of its own; its wait status."""
    pid = os.fork()
    if pid == 0:
        try:
            call()
            os._exit(0)
        except OSError as error:
            os._exit(10 if error.errno else 11)
        finally:
            os._exit(12)
    return os.waitpid(pid, 0)[1]


def check_killed():
    """A writer that dies in the middle of a file leaves the old file, and the next one removes what it left."""
    schema = pyarrow.schema([("n", pyarrow.int64())])
    batch = pyarrow.record_batch([list(range(1000))], schema=schema)
    path = os.path.join("w-killed", "day=2026-01-01", "n.parquet")
    parquet_file.write(path, schema, [batch])

    def half():
        yield batch
        os.kill(os.getpid(), signal.SIGKILL)
    expect("killed", os.WTERMSIG(in_child(lambda: parquet_file.write(path, schema, half()))), signal.SIGKILL)
    expect("files", len(files("w-killed")), 2)
    expect("rows", len(table("w-killed", ".", 1)), 1000)
    parquet_file.write(path, schema, [batch, batch])
    expect("files", files("w-killed"), [path])
    expect("rows", len(table("w-killed", ".", 1)), 2000)


def check_full(whole):
    """A disk that is full (simulated: a limit of file sizes) is an OSError; the old files stay, and nothing else."""
    hooktrace.to_parquet(whole, "w-full")
    before = {path: os.stat(path).st_mtime_ns for path in files("w-full")}

    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        hooktrace.to_parquet(whole, "w-full")
    expect("exit", os.WEXITSTATUS(in_child(limited)), 10)
    expect("files", {path: os.stat(path).st_mtime_ns for path in files("w-full")}, before)


def check_ranks(no_ranks, many_ranks):
    """A job without ranks has rows of launchers only; one of many has no more files than a small one."""
    hooktrace.to_parquet(no_ranks, "w-ranks")
    expect("ranks", (table("w-ranks", "ranks"), len(table("w-ranks", "jobs"))), ([], 1))
    expect("launchers", {row["rank"] for row in table("w-ranks", "processes")}, {-1})
    paths = hooktrace.to_parquet(many_ranks, "w-many")
    ranks = len(hooktrace.open(many_ranks).ranks())
    expect("files", (len(paths), len(table("w-many", "ranks"))), (len(warehouse.TABLES) - 1, ranks))


def check_alone(whole):
    """Without hookcli, tables that only it computes are left out, or refused if they are asked for."""
    find, warehouse.hookcli.find = warehouse.hookcli.find, lambda: None
    hooktrace.to_parquet(whole, "w-alone")
    expect("tables", sorted(os.listdir("w-alone")), sorted(set(warehouse.TABLES) - {"functions", "stacks"}))
    asked = refused(FileNotFoundError, lambda: hooktrace.to_parquet(whole, "w-asked", tables=["functions"]))
    expect(asked, "hooktrace-tools" in asked, True)
    warehouse.hookcli.find = find


def check_running(job, state):
    hooktrace.to_parquet(job, "w-running")
    expect("running", [row["closed"] for row in table("w-running", "jobs")], [state == "closed"])
    counted = [row["calls"] for row in table("w-running", "functions") if row["function"] == "told_one"]
    # A job that runs has more each time.
    written, there = len(table("w-running", "records", 3)), records_of(job)
    expect(f"{written} records of {there}", written == there or (state == "running" and written < there), True)
    print(counted[0] if counted else 0)


def check_spark():
    from pyspark.sql import SparkSession
    rows = SparkSession.builder.getOrCreate().read.parquet("w-odd/jobs").orderBy("start_unix_ns").collect()
    expect("ids", [row["id"] for row in rows], list(ODD))
    for row in rows:
        if len(row["id"]) < 100:
            expect("partition", row["job"].rpartition("@")[0], row["id"])


def main(whole, no_ranks, many_ranks):
    check_damage(whole)
    check_sources(whole)
    check_names(whole)
    check_twins(whole)
    check_moved_start(whole)
    check_killed()
    check_full(whole)
    check_ranks(no_ranks, many_ranks)
    check_alone(whole)


if __name__ == "__main__":
    if sys.argv[1] == "running":
        check_running(*sys.argv[2:])
    elif sys.argv[1] == "spark":
        check_spark()
    else:
        main(*sys.argv[1:])
