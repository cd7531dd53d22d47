"""Many jobs as one tree of Parquet files, for questions over all of them: `hooktrace.to_parquet()`, which is here.

    DIRECTORY/TABLE/day=2026-11-28/job=ID@START/TABLE.parquet
    DIRECTORY/records/day=2026-11-28/job=ID@START/rank=0/records.parquet

Partitions are those of Hive: DuckDB, Spark and pyarrow read `day`, `job` and `rank` as columns. A column has one type in all jobs.
"""
import datetime
import glob
import hashlib
import os
import re
import shutil
import warnings
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Set, Tuple, Union

from . import hookcli
from .job import COLUMNS, Job, open as open_job
from .job import _columns, _find, _is_job
from .parquet_file import write
from .table import Table, from_rows, pyarrow_for

Source = Union[str, "os.PathLike[str]", Job]
Version = Union[str, "re.Pattern[str]", Callable[[Job], Optional[str]]]

JOBS = _columns("u id", "u name", "u command", "u version", "l start_unix_ns", "l duration_ns", "i world_size", "l nodes", "b closed", "b damaged",
                "u exit", "l tracing_cost_ns", "l calls_untracked", "l calls_untimed", "u store_error", "b store_full", "l clock_error_ns", "u directory")
FUNCTIONS = _columns("w role", "w domain", "w function", "l calls", "l errors", "l total_ns", "l self_ns", "l bytes", "l min_ns", "l mean_ns",
                     "l p50_ns", "l p90_ns", "l p99_ns", "l max_ns", "l estimated")
WAITS = _columns("i rank", "w function", "w communicator", "l collectives", "l times", "l wait_ns", "l longest_ns")

_SMALL = ("ranks", "processes", "calls", "functions", "waits", "memory", "findings", "stacks")
TABLES = ("jobs", *_SMALL, "records")
"""Names of all tables."""
_ASKED = ("functions", "stacks")  # of hookcli: without it they are left out
_RECORD_COLUMNS = [name for name in COLUMNS if name != "rank"]  # the rank is a partition
_ID_BYTES = 160


def to_parquet(jobs: Union[Source, Iterable[Source]], directory: Union[str, "os.PathLike[str]"], tables: Optional[Sequence[str]] = None,
               version: Optional[Version] = None) -> List[str]:
    """Writes jobs into `directory`, a tree of Parquet files with the partitions `day`, `job` and, for records, `rank`. Returns the paths.

    jobs: one or several jobs as open() takes them, Jobs, or directories with jobs, such as a store. tables: names of
    hooktrace.warehouse.TABLES, by default all; `jobs` is always written. version: the text of the column `version` of `jobs`; or a function
    that is called with a Job; or a compiled pattern, whose first group is searched for in the job's id, then in its command.

    A job that is written again replaces its files, one at a time. Each file is renamed when it is complete. Records are streamed; of the
    other tables, memory holds those of one job. A job that cannot be read, or whose start is unknown, is left out with a RuntimeWarning:
    ValueError if that is every job. FileNotFoundError if a named job does not exist, ImportError without pyarrow, OSError if a file cannot be written.
    """
    pyarrow_for("to_parquet()")
    names = _chosen(tables)
    paths: List[str] = []
    reasons: List[str] = []
    for source in _sources(jobs):
        try:
            job = source if isinstance(source, Job) else open_job(source)
            if _start_ns(job) == 0:
                raise ValueError(f"hooktrace: {job.directory}: the start of the job is unknown")
            rows = _small_tables(job, names)
        except (FileNotFoundError, ValueError) as error:
            reasons.append(str(error))
            warnings.warn(f"{error}: the job is left out", RuntimeWarning, stacklevel=2)
            continue
        paths += _write_job(job, os.fspath(directory), rows, "records" in names, _version(job, version))
    if reasons and not paths:
        raise ValueError(reasons[0])
    return paths


def _chosen(tables: Optional[Sequence[str]]) -> Set[str]:
    if isinstance(tables, str):
        tables = [tables]
    names = set(TABLES if tables is None else tables) | {"jobs"}
    unknown = sorted(names - set(TABLES))
    if unknown:
        raise ValueError(f"hooktrace: no table '{unknown[0]}': expected one of {', '.join(TABLES)}")
    if hookcli.find() is None:
        if tables is not None and names & set(_ASKED):
            raise FileNotFoundError(f"hooktrace: {' and '.join(sorted(names & set(_ASKED)))}: no hookcli: install the package hooktrace-tools")
        names -= set(_ASKED)
    return names


# ---- which jobs


def _sources(jobs: Union[Source, Iterable[Source]]) -> List[Union[str, Job]]:
    """The jobs' directories, each once; Jobs as they are."""
    given = [jobs] if isinstance(jobs, (str, os.PathLike, Job)) else list(jobs)
    sources: Dict[str, Union[str, Job]] = {}
    for one in given:
        if isinstance(one, Job):
            sources[one.directory] = one
        else:
            for path in _directories(os.fspath(one)):
                sources.setdefault(os.path.realpath(path), path)
    return list(sources.values())


def _directories(name: str) -> List[str]:
    """The job of this id or directory. For a directory of jobs, the jobs in it."""
    path = _find(name)
    if not os.path.isdir(path):
        raise FileNotFoundError(f"hooktrace: {path} holds no job: hookcli ls shows the jobs there are")
    if _is_job(path):
        return [path]
    inside = (os.path.join(path, entry) for entry in sorted(os.listdir(path)))
    found = [job for job in inside if os.path.isdir(job) and not os.path.islink(job) and _is_job(job)]
    if not found:
        raise FileNotFoundError(f"hooktrace: {path} holds no job: hookcli ls shows the jobs there are")
    return found


# ---- what is said of a job


def _card(job: Job) -> Dict[str, Any]:
    card = job.report.get("job")
    return card if isinstance(card, dict) else {}


def _start_ns(job: Job) -> int:
    start = _card(job).get("start_unix_ns")
    return min(max(start, 0), (1 << 63) - 1) if isinstance(start, int) else 0


def _version(job: Job, version: Optional[Version]) -> Optional[str]:
    if isinstance(version, re.Pattern):
        for text in (_card(job).get("id"), _card(job).get("command")):
            found = version.search(text) if isinstance(text, str) else None
            if found:
                return found[1] if version.groups else found[0]
        return None
    return version(job) if callable(version) else version


def _functions(job: Job) -> Table:
    """One row per function and role: numbers over all ranks and libraries, as the report's text has them."""
    answer = job._ask("--by", "symbol", "--format", "json")
    rows = answer.get("totals") if isinstance(answer, dict) else None
    return from_rows(rows if isinstance(rows, list) else [], FUNCTIONS)


def _waits(job: Job) -> Table:
    """One row per collective function, communicator and rank that others waited for."""
    rows = []
    waits = job.report.get("waits")
    for wait in waits if isinstance(waits, list) else ():
        awaited = wait.get("awaited") if isinstance(wait, dict) else None
        for late in awaited if isinstance(awaited, list) else ():
            if isinstance(late, dict):
                rows.append({**late, **{name: wait.get(name) for name in ("function", "communicator", "collectives")}})
    return from_rows(rows, WAITS)


def _small_tables(job: Job, names: Set[str]) -> Dict[str, Any]:
    """The tables of the report that are among `names`, but `jobs`."""
    pyarrow = pyarrow_for("to_parquet()")
    own: Dict[str, Callable[[Job], Table]] = {"functions": _functions, "waits": _waits}
    return {name: pyarrow.table(own[name](job) if name in own else getattr(job, name)()) for name in _SMALL if name in names}


def _jobs(job: Job, version: Optional[str]) -> Any:
    """The job's row of `jobs`. Spark does not know times in nanoseconds: `start` has microseconds."""
    pyarrow = pyarrow_for("to_parquet()")
    card = {**_card(job), "version": version, "start_unix_ns": _start_ns(job), "damaged": job.damaged, "directory": job.directory}
    start = pyarrow.array([_start_ns(job) // 1000], pyarrow.timestamp("us", "UTC"))
    return pyarrow.table(from_rows([card], JOBS)).append_column("start", start)


# ---- where it is written


def _escaped(text: str) -> str:
    """Each ASCII character but letters, digits and `_.-~` as %XX. Others stay: engines do not agree on the encoding behind %XX."""
    return re.sub(r"[^\w.~-]", lambda found: f"%{ord(found[0]):02X}" if found[0] < "\x80" else found[0], text)


def _identifier(job: Job) -> str:
    """The job's id as a part of a path. One that is too long for a file's name ends in its digest."""
    name = _card(job).get("id")
    text = (name if isinstance(name, str) else "").encode("utf-8", "replace")
    escaped = _escaped(text.decode())
    if len(escaped.encode()) > _ID_BYTES:
        escaped = f"{_escaped(text.decode()[:16])}~{hashlib.sha256(text).hexdigest()[:32]}"
    return escaped


def _partition(job: Job) -> Tuple[str, str]:
    """The job's directories. Ids repeat, in one store and between stores; an id and a start do not."""
    start = _start_ns(job)
    when = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=start // 10**9)
    return f"day={when:%Y-%m-%d}", f"job={_identifier(job)}@{when:%Y%m%dT%H%M%S}.{start % 10**9:09d}Z"


def _write_job(job: Job, directory: str, rows: Dict[str, Any], records: bool, version: Optional[str]) -> List[str]:
    day, name = _partition(job)

    def place(table: str) -> str:
        return os.path.join(directory, table, day, name)
    _say_if_another(job, os.path.join(place("jobs"), "jobs.parquet"))
    paths = [write(os.path.join(place(table), table + ".parquet"), data.schema, data.to_batches()) for table, data in rows.items()]
    if records:
        paths += _write_records(job, place("records"))
    # The last one: what a query joins with `jobs` is complete. And only now it is known whether records are damaged.
    jobs = _jobs(job, version)
    paths.append(write(os.path.join(place("jobs"), "jobs.parquet"), jobs.schema, jobs.to_batches()))
    for earlier in _earlier(job, directory):
        _remove(directory, earlier)
    return paths


def _written(path: str) -> Dict[str, Any]:
    """The row of the file of `jobs` at `path`. Empty if the file is missing or unreadable."""
    from pyarrow import parquet
    try:
        rows = parquet.ParquetFile(path).read(columns=["directory", "closed", "start_unix_ns"]).to_pylist()
    except (FileNotFoundError, ValueError):
        return {}
    return rows[0] if rows else {}


def _say_if_another(job: Job, path: str) -> None:
    """Warns if what is replaced came from another directory: from a copy of this job."""
    other = _written(path).get("directory", job.directory)
    if other != job.directory:
        warnings.warn(f"hooktrace: {job.directory} replaces what {other} gave: same id and start", RuntimeWarning, stacklevel=4)


def _ranks(job: Job) -> List[int]:
    """The ranks whose processes may have records; launchers are -1."""
    processes = job.processes()
    pairs = zip(processes.column("rank"), processes.column("records"))
    # The counts of a job that has not ended, or is damaged, may be behind its files.
    certain = job.closed and not job.damaged
    return sorted({rank for rank, records in pairs if rank is not None and (records or not certain)})


def _write_records(job: Job, place: str) -> List[str]:
    """A file per rank that has records. Files of ranks that have none any more are removed."""
    pyarrow = pyarrow_for("to_parquet()")
    paths = []
    for rank in _ranks(job):
        reader = pyarrow.RecordBatchReader.from_stream(job.records(ranks=rank, columns=_RECORD_COLUMNS))
        first = next((batch for batch in reader if batch.num_rows), None)
        if first is not None:
            paths.append(write(os.path.join(place, f"rank={rank}", "records.parquet"), reader.schema, _chained(first, reader)))
    kept = {os.path.dirname(path) for path in paths}
    for old in glob.glob(os.path.join(glob.escape(place), "rank=*")):
        if old not in kept:
            shutil.rmtree(old)
    return paths


def _chained(first: Any, rest: Iterable[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def _earlier(job: Job, directory: str) -> Iterator[str]:
    """Partitions of this job from when it ran and an earlier start of it was not known yet: its start only moves back."""
    mine = _partition(job)[1]
    for path in glob.glob(os.path.join(glob.escape(directory), "jobs", "day=*", f"job={_identifier(job)}@*", "jobs.parquet")):
        name = os.path.basename(os.path.dirname(path))
        row = _written(path) if name != mine else {}
        if row and row["directory"] == job.directory and not row["closed"] and row["start_unix_ns"] > _start_ns(job):
            yield name


def _remove(directory: str, partition: str) -> None:
    for table in TABLES:
        for old in glob.glob(os.path.join(glob.escape(os.path.join(directory, table)), "day=*", partition)):
            shutil.rmtree(old)
