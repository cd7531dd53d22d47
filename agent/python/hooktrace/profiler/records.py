"""The records of one window of this process, as `hookcli export` writes them.

hookcli writes the JSON of Kineto: one file for each rank, one row on each line, times in microseconds from the job's start to the nanosecond.
Rows of the window go to a temporary file.
"""
import gzip
import json
import os
import subprocess
import tempfile
import time
import warnings
from typing import IO, Any, Dict, Iterator, List, Optional, Tuple

from .. import hookcli
from .averages import Event, nest
from .recording import COUNTER, ProfilerError, Window

# Of an MPI, torchrun or Slurm process: its rank. Only a hint, which spares an export of all ranks.
RANKS = ("HOOK_RANK", "RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
STORED_SECONDS = 20  # by then the collector has stored what it ever will
FAILED_SECONDS = 3  # a job that begins is known by then
SEALED_SECONDS = 1  # it stores records that are as old, with others of as long
POLL_SECONDS = 0.2
CLOCKS_SECONDS = 5  # by which the clocks of machines may differ

Row = Dict[str, Any]


def _cli() -> str:
    """hookcli's path. Raises ProfilerError if it is nowhere."""
    cli = hookcli.find()
    if cli is None:
        raise ProfilerError("hookcli, which reads the records, is neither beside this package nor in PATH: `pip install hooktrace-tools`")
    return cli


def _rank() -> Optional[str]:
    return next((os.environ[name] for name in RANKS if os.environ.get(name, "").isdigit()), None)


def _ns(microseconds: float) -> int:
    return round(microseconds * 1000)


def _rows(lines: Iterator[str]) -> Iterator[Row]:
    """The rows of an exported file whose head was read."""
    for line in lines:
        if line.startswith("{"):
            yield json.loads(line.rstrip().rstrip(","))


def _read_head(lines: Iterator[str]) -> Row:
    head = ""
    for line in lines:
        head += line
        if line.startswith('"traceEvents":['):
            break
    return json.loads(head + "]}")


class Records:
    """The rows of WINDOW. Raises ProfilerError if they cannot be had."""

    _started_ns: Dict[str, int] = {}  # by job, the Unix time of its start, once it is known

    def __init__(self, window: Window) -> None:
        if not window.job:
            raise ProfilerError("this process is not traced, so there are no records: see the warning of hooktrace.start()")
        self._window, self._job = window, window.job
        self._head: Row = {}
        self._directory = tempfile.TemporaryDirectory(prefix="hooktrace-profile-")
        self._path = os.path.join(self._directory.name, "rows")
        self._error = ""
        self._fetch()

    # ---- from the collector ----

    def _export(self, cli: str, rank: Optional[str]) -> str:
        """Writes what is stored of RANK, or of all, to a directory, and returns that. Keeps in _error why it could not."""
        to = tempfile.mkdtemp(dir=self._directory.name)
        command = [cli, "export", self._job, "--format", "kineto", "--exact", "-o", to]
        if rank is not None:
            command += ["--ranks", rank]
        if self._job in Records._started_ns:
            since = self._window.began - Records._started_ns[self._job] / 1e9 - CLOCKS_SECONDS
            command.append(f"--from={max(since, 0):.3f}s")
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        # In an empty directory: in another one, a name of a job may be that of a file.
        done = subprocess.run(command, env=environment, cwd=to, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              universal_newlines=True, check=False)
        lines = done.stderr.strip().splitlines()
        self._error = "" if done.returncode == 0 else lines[-1] if lines else f"{cli} export ended with status {done.returncode}"
        return to

    def _bounds(self, path: str) -> Tuple[Optional[int], int, int]:
        """The process in the file at PATH that had the window, None if none, and the window's first and last time in ns; -1: not stored."""
        found: Dict[int, List[int]] = {}
        with open(path, encoding="utf-8") as lines:
            self._head = _read_head(lines)
            for line in lines:
                if f'"name":"{COUNTER}"' not in line or '"ph":"C"' not in line:
                    continue
                row = json.loads(line.rstrip().rstrip(","))
                if row["args"]["value"] == self._window.number:
                    found[row["pid"]] = [_ns(row["ts"]), -1]
                elif row["args"]["value"] == 0 and found.get(row["pid"], [0, 0])[1] == -1:
                    found[row["pid"]][1] = _ns(row["ts"])
        process = self._window.process if self._window.process in found else next(iter(found), None)
        return (process, *found[process]) if process is not None and (process == self._window.process or len(found) == 1) else (None, -1, -1)

    def _find(self, directory: str) -> Tuple[Optional[str], Optional[int], int, int]:
        """The file in DIRECTORY with the window, and what _bounds() says of it."""
        paths = [os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(".json")]
        best: Tuple[Optional[str], Optional[int], int, int] = (None, None, -1, -1)
        for path in paths:
            process, first, last = self._bounds(path)
            if process is not None and (process == self._window.process or len(paths) == 1):
                best = (path, process, first, last)
        if best[0] is not None:
            self._bounds(best[0])  # its head
        return best

    def _fetch(self) -> None:
        """Waits until the window's end is stored, and keeps its rows."""
        cli, rank = _cli(), _rank()
        time.sleep(max(0.0, self._window.ended + SEALED_SECONDS - time.time()) if self._window.ended else 0.0)
        began = time.monotonic()
        while True:
            path, process, first, last = self._find(self._export(cli, rank))
            if last >= 0:
                break
            if time.monotonic() - began >= (FAILED_SECONDS if self._error else STORED_SECONDS):
                if rank is None or path is not None:
                    break
                rank, began = None, time.monotonic()  # the hint was wrong
            time.sleep(POLL_SECONDS)
        if path is None or process is None:
            raise ProfilerError(self._error or f"the collector has no records of this window after {STORED_SECONDS} s: only ranks of a job have "
                                "files, and records may have been lost: see `hookcli report`")
        started_ns = Records._started_ns[self._job] = self._head["baseTimeNanoseconds"]
        if last < 0:
            last = _ns((self._window.ended + CLOCKS_SECONDS) * 1e6) - started_ns
            warnings.warn("hooktrace: the end of the window is not among its records: some were lost", RuntimeWarning, stacklevel=4)
        self._keep(path, process, first, last)

    def _keep(self, path: str, process: int, first: int, last: int) -> None:
        """Copies the rows of PROCESS between FIRST and LAST, and the work of devices that these have begun."""
        launches, lost, around = set(), 0, 2 * SEALED_SECONDS * 10**9
        with open(path, encoding="utf-8") as lines, open(self._path, "w", encoding="utf-8") as kept:
            _read_head(lines)
            for row in _rows(lines):
                within = row["ph"] == "M" or first <= _ns(row["ts"]) <= last
                correlation = row.get("args", {}).get("correlation")
                if row.get("cat") in DEVICE:
                    within = correlation in launches or within
                elif row["ph"] in ("s", "f"):
                    within = row["id"] in launches
                elif row["ph"] == "C" and row["name"] == COUNTER:
                    within = False
                elif row.get("cat") == "hooktrace":  # of a second that has lost some
                    within = row["pid"] == process and first - around <= _ns(row["ts"]) <= last + around
                    lost += sum(row["args"].values()) if within else 0
                elif row["ph"] != "M":
                    within = within and row["pid"] == process
                    if within and correlation is not None:
                        launches.add(correlation)
                if within:
                    kept.write(json.dumps(row) + "\n")
        if lost:
            warnings.warn(f"hooktrace: {lost} records of these steps were lost: there were more calls than are shown", RuntimeWarning, stacklevel=5)

    # ---- to users ----

    def _each(self) -> Iterator[Row]:
        with open(self._path, encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)

    def events(self) -> List[Event]:
        """The calls, in order of their beginning, nested, with the time of the device work they have begun."""
        return nest(row for row in self._each() if row["ph"] == "X")

    def write(self, path: str, metadata: Row) -> None:
        """Writes the JSON of Kineto with whole microseconds, and METADATA beside the head, to PATH, compressed if that ends with .gz.

        Raises OSError.
        """
        with gzip.open(path, "wt", encoding="utf-8") if path.endswith(".gz") else open(path, "w", encoding="utf-8") as output:
            self._write(output, metadata)

    def _write(self, output: IO[str], metadata: Row) -> None:
        head = {key: value for key, value in self._head.items() if key != "traceEvents"}
        # Readers look for the rank on a line, before the rows.
        output.write("{" + "".join(f"{json.dumps(key)}: {json.dumps(value)},\n" for key, value in {**head, **metadata}.items()))
        output.write('"traceEvents": [')
        for number, row in enumerate(self._each()):
            output.write((",\n" if number else "\n") + json.dumps(_whole(row)))
        output.write("\n]}\n")


def _whole(row: Row) -> Row:
    """ROW in whole microseconds. Starts and ends are rounded alike, so that calls still nest."""
    if "ts" not in row:
        return row
    begin = _ns(row["ts"]) // 1000
    if "dur" in row:
        return {**row, "ts": begin, "dur": (_ns(row["ts"]) + _ns(row["dur"])) // 1000 - begin}
    return {**row, "ts": begin}
