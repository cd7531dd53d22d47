"""A job's report and records, as tables: `hooktrace.open()`, which is here.

Times are nanoseconds since the job's start on the root's clock, as in every report; before it they are negative.
"""
import io
import json
import os
import warnings
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from . import hookcli
from .table import Column, Table, from_rows, native, pyarrow_for

LAST = "hook-last"
COLUMNS: Tuple[str, ...] = tuple(native.columns())
"""Names of all columns that Job.records() knows."""

_BEGIN, _END = -(1 << 63), (1 << 63) - 1


def _columns(*names: str) -> Tuple[Column, ...]:
    """From "type name" or "type name path": a path is keys with dots between."""
    made = []
    for text in names:
        kind, name, *path = text.split()
        made.append((name, kind, tuple((path[0] if path else name).split("."))))
    return tuple(made)


_EXIT = ("w exit_kind exit.kind", "l exit_code exit.code")
RANKS = _columns("i rank", "w host", "l pid", "l start_ns", "l end_ns", "l cpu_ns", "l rss_peak_bytes", "l memory_limit_bytes", *_EXIT, "l records", "l lost_records",
                 "l shed_records", "l clock_offset_ns clock.offset_ns", "g clock_drift_ppm clock.drift_ppm", "l clock_error_ns clock.error_ns",
                 "l clock_fit_error_ns clock.fit_error_ns", "l tracing_cost_ns")
PROCESSES = _columns("i rank", "l pid", "w role", "u command", *_EXIT, "w agent", "u note", "w host", "l start_ns", "l end_ns", "l records",
                     "l lost_records", "l shed_records", "l calls_untracked", "l calls_untimed", "l tracing_cost_ns", "l calls", "l errors",
                     "l inside_ns")
CALLS = _columns("i rank", "w role", "w domain", "w function", "w library", "l calls", "l errors", "l total_ns", "l self_ns", "l outermost_ns",
                 "l outermost_calls", "l device_ns", "l bytes", "l min_ns", "l mean_ns", "l p50_ns", "l p90_ns", "l p99_ns", "l max_ns")
MEMORY = _columns("i rank", "w role", "i device", "w kind", "w library", "l allocs", "l frees", "l live_bytes", "l peak_bytes", "l peak_low",
                  "l peak_high", "l peak_time_ns", "l at_peak_bytes")
FINDINGS = _columns("w kind", "w topic", "w weight", "[i ranks", "w function", "[u stack", "l cost_ns", "g share", "w confidence",
                    "u evidence", "[u details", "u advice")
STACKS = _columns("i rank", "i ranks", "w function", "w library", "l calls", "l total_ns", "[u frames", "[u libraries", "[u files", "[l lines")


class Records:
    """The recorded calls of a job, read as they are asked for. Each use reads the job's files again, in bounded memory.

    Iterate over it for Tables; or give it to pyarrow.table(), pyarrow.RecordBatchReader.from_stream(), polars.DataFrame() or
    anything else that takes an Arrow stream.
    """

    def __init__(self, job: "Job", arguments: Tuple[Any, ...]) -> None:
        self._job = job
        self._arguments = arguments
        self._counts: Dict[str, int] = {}

    def _begin(self) -> "native.Calls":
        return self._job._native().calls(*self._arguments)

    @property
    def column_names(self) -> List[str]:
        """Names of the columns, in order."""
        return list(self._arguments[3])

    @property
    def counts(self) -> Dict[str, int]:
        """Of the last iteration that came to its end: `calls` read; records `lost` while the job ran, `shed` by retention, and
        `elsewhere`, at the root only; `damaged` parts of files, calls nested `too_deep`, and files of a `newer` hooktrace, all left out."""
        return dict(self._counts)

    def __iter__(self) -> Iterator[Table]:
        calls = self._begin()
        for rows in calls:
            yield Table(rows)
        self._counts = calls.counts()
        if self._counts["damaged"] or self._counts["newer"] or self._counts["too_deep"]:
            warnings.warn(f"hooktrace: {self._job.directory}: parts of the records could not be read and were left out", RuntimeWarning, stacklevel=2)

    def __arrow_c_schema__(self) -> object:
        return self._begin().__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object:
        return self._begin().__arrow_c_stream__(requested_schema)


class Job:
    """One job: what hookcli reports of it, and its records. Made by hooktrace.open()."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._reader: Optional["native.Job"] = None
        self._report: Optional[Dict[str, Any]] = None
        self._damaged = False

    def __repr__(self) -> str:
        return f"<hooktrace.Job in {self.directory}>"

    @property
    def damaged(self) -> bool:
        """Whether a part of the job could not be read, of what was read so far. The rest is in the tables."""
        return self._damaged or (self._reader is not None and self._reader.damaged)

    @property
    def closed(self) -> bool:
        """Whether the job had ended when it was opened."""
        return self._native().closed

    def _native(self) -> "native.Job":
        if self._reader is None:
            self._reader = native.open(self.directory)
        return self._reader

    def _ask(self, *arguments: str) -> Any:
        status, answer, messages = hookcli.ask("report", *arguments, "--", self.directory)
        if answer is None:
            raise ValueError(f"hooktrace: cannot read {self.directory}: {'; '.join(messages) or f'hookcli exits with {status}'}")
        if status == hookcli.FAILED:
            self._damaged = True
            warnings.warn(f"hooktrace: {self.directory}: {'; '.join(messages)}", RuntimeWarning, stacklevel=4)
        return answer

    @property
    def report(self) -> Dict[str, Any]:
        """The report as `hookcli report --format json` writes it. Without hookcli on this machine, that of the job's end."""
        if self._report is None:
            stored = os.path.join(self.directory, "report.json")
            if hookcli.find() is None and os.path.exists(stored):
                with io.open(stored, encoding="utf-8", errors="replace") as stream:
                    report = json.load(stream)
            else:
                report = self._ask("--format", "json")
            if not isinstance(report, dict):
                raise ValueError(f"hooktrace: {stored} is no report")
            self._report = report
        return self._report

    def _table(self, member: str, columns: Sequence[Column]) -> Table:
        rows = self.report.get(member)
        return from_rows(rows if isinstance(rows, list) else [], columns)

    def ranks(self) -> Table:
        """One row per rank: host, pid, start and end, processor time, memory, exit, records, and the clock of its node."""
        return self._table("ranks", RANKS)

    def processes(self) -> Table:
        """One row per process, helpers and launchers included."""
        return self._table("processes", PROCESSES)

    def calls(self) -> Table:
        """One row per rank, role, function and calling library: exact counts, times in ns, bytes."""
        return self._table("calls", CALLS)

    def memory(self) -> Table:
        """One row per rank, role, device (-1: host), kind and library: allocations, live and peak bytes."""
        return self._table("memory", MEMORY)

    def findings(self) -> Table:
        """What the report found, hangs and deaths first, then by cost: a sentence each in `evidence`, more in `details`.

        `weight` is finding, warning or fact; `cost_ns` the time lost over all `ranks` (None: unknown), `share` that of the ranks' time.
        """
        return self._table("findings", FINDINGS)

    def stacks(self) -> Table:
        """One row per function, calling library and stack of functions at level record+stack, the most expensive first.

        `frames` are the functions from the innermost caller on; `libraries`, `files` and `lines` (0: unknown) belong to them.
        FileNotFoundError without hookcli.
        """
        answer = self._ask("--by", "stack", "--format", "json")
        rows = answer.get("stacks") if isinstance(answer, dict) else None
        return from_rows([_stack(row) for row in rows] if isinstance(rows, list) else [], STACKS)

    def records(self, ranks: Optional[Union[int, Sequence[int]]] = None, start: Optional[int] = None, end: Optional[int] = None,
                columns: Optional[Sequence[str]] = None, batch: int = 65536) -> Records:
        """The recorded calls, one row each, as `hookcli export --format csv` writes them; calls of a thread in order of their ends.

        ranks: only processes that count for these ranks (launchers: -1). start, end: only calls that overlap this range, in ns since
        the job's start. columns: names of hooktrace.COLUMNS; without them those that this job has. batch: rows of a Table, 1 to
        1048576; a Table has a few more where many calls end at once. ValueError for other names and numbers.
        """
        reader = self._native()
        chosen = None if ranks is None else [ranks] if isinstance(ranks, int) else list(ranks)
        names = list(reader.columns if columns is None else columns)
        arguments = (chosen, _BEGIN if start is None else start, _END if end is None else end, names, batch)
        reader.calls(*arguments)  # what is wrong with them is said here, not at the first use
        return Records(self, arguments)

    def to_parquet(self, directory: str) -> List[str]:
        """Writes `ranks`, `processes`, `calls`, `memory`, `findings`, `stacks` and `records`, each as NAME.parquet in `directory`, which
        is made if need be. Returns the paths. ImportError without pyarrow."""
        pyarrow = pyarrow_for("to_parquet()")
        from pyarrow import parquet
        os.makedirs(directory, exist_ok=True)
        tables = {name: getattr(self, name)() for name in ("ranks", "processes", "calls", "memory", "findings")}
        if hookcli.find() is not None:
            tables["stacks"] = self.stacks()
        paths = []
        for name, rows in [*tables.items(), ("records", self.records())]:
            path = os.path.join(directory, name + ".parquet")
            reader = pyarrow.RecordBatchReader.from_stream(rows)
            with parquet.ParquetWriter(path + ".part", reader.schema) as writer:
                for batch in reader:
                    writer.write_batch(batch)
            os.replace(path + ".part", path)
            paths.append(path)
        return paths


def _frame(frame: Any) -> Tuple[str, str, str, int]:
    """Function, library, file and line of a frame of the JSON."""
    if not isinstance(frame, dict):
        return "", "", "", 0
    address = frame.get("address")
    place = f"{os.path.basename(str(frame.get('library')))}+{address:#x}" if isinstance(address, int) else ""
    name = frame.get("function") or frame.get("end") or place
    line = frame.get("line")
    return str(name), str(frame.get("library") or ""), str(frame.get("file") or ""), line if isinstance(line, int) else 0


def _stack(row: Any) -> Any:
    frames = row.get("frames") if isinstance(row, dict) else None
    if not isinstance(frames, list):
        return row
    parts = list(zip(*map(_frame, frames))) or [(), (), (), ()]
    return {**row, **{name: list(values) for name, values in zip(("frames", "libraries", "files", "lines"), parts)}}


def _is_job(directory: str) -> bool:
    return any(os.path.exists(os.path.join(directory, name)) for name in ("statistics", "job.json")) or any(
        os.path.exists(os.path.join(directory, name, "node")) for name in (os.listdir(directory) if os.path.isdir(directory) else ()))


def _known_jobs() -> List[Dict[str, Any]]:
    """The jobs that `hookcli ls` lists, the newest last."""
    _, jobs, _ = hookcli.ask("ls", "--json")
    known = [job for job in jobs or [] if isinstance(job, dict) and isinstance(job.get("directory"), str) and isinstance(job.get("id"), str)]
    return sorted(known, key=lambda job: job.get("start_unix_ns") or 0)


def _find(name: Optional[str]) -> str:
    """The directory of the job called `name`, by the rules of hookcli."""
    if name is None and _is_job(LAST):
        return LAST
    if name is not None and (os.sep in name or os.path.isdir(name)):
        return name
    jobs = _known_jobs()
    if name is None:
        if not jobs:
            raise FileNotFoundError(f"hooktrace: no job: no ./{LAST} here and none in hookcli ls; trace one with: hookcli run -- CMD")
        return ([job for job in jobs if job.get("live")] or jobs)[-1]["directory"]
    exact = {job["directory"] for job in jobs if job["id"] == name}
    begun = exact or {job["directory"] for job in jobs if job["id"].startswith(name)}
    if len(begun) != 1:
        why = "several jobs begin with it: give the directory that hookcli ls shows" if begun else "hookcli ls shows the jobs there are"
        raise FileNotFoundError(f"hooktrace: no job '{name}': {why}")
    return begun.pop()


def open(job: Optional[Union[str, "os.PathLike[str]"]] = None) -> Job:
    """Opens a job: its directory, its id or the beginning of one, as hookcli takes them. By default ./hook-last, else the newest job.

    A running job can be opened: its tables have what is stored so far. FileNotFoundError if there is no such job, ValueError if nothing
    of it can be read. Of a damaged job the tables have what can be read, and `damaged` is true.
    """
    directory = os.path.realpath(_find(None if job is None else os.fspath(job)))
    opened = Job(directory)
    try:
        reader = opened._native()
    except FileNotFoundError:
        raise FileNotFoundError(f"hooktrace: {directory} holds no job: hookcli ls shows the jobs there are") from None
    except OSError as error:
        raise ValueError(f"hooktrace: cannot read the job in {directory}: {error.strerror}") from None
    opened._damaged = _has_ended(directory) and not reader.closed
    return opened


def _has_ended(directory: str) -> bool:
    """Whether job.json says that the job has ended."""
    try:
        with io.open(os.path.join(directory, "job.json"), encoding="utf-8", errors="replace") as stream:
            card = json.load(stream)
    except (OSError, ValueError):
        return False
    return isinstance(card, dict) and card.get("state") == "closed"
