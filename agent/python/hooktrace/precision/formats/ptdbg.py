"""ptdbg_ascend's dumps: a text file of records, one JSON array a line, and beside it a directory of .npy files.

    [name, dump_step, [], dtype, shape, [max, min, mean]]       a tensor: floating point, not empty, with a dimension at least
    [name + "_stack_info", [[path, line, function, code], ...]] a call's stack, innermost first

A name is "<n>_<type>_<operation>_<forward|backward>_<input|output>", and ".i" for each level of tuples; n counts the hooks that fired,
forward and backward, from 0. Large tensors are sampled: the first and last 256 elements, and between them each dump_step-th.

Writer writes what a program's hooks give; export_ptdbg() a dump of hooktrace; parse() prints records; compare() compares two dumps.
"""
import json
import os
import subprocess
import time
from typing import Any, Dict, IO, Iterable, List, Optional, Sequence, Tuple

from ... import hookcli
from . import bits, msprobe, names, npy, numbers
from .progress import Progress

ALL, LIST, RANGE, STACK = 1, 2, 3, 4  # modes
STEP_MAX = 100  # of dump_step
_EDGE = 256
_ROW_BYTES, _HEADER_BYTES = 160, 128  # about what a record takes, and a .npy file beyond its elements
_KEY = "stack_info"


def sample(values: Any, step: int) -> Any:
    """The elements that are kept of VALUES, an array or memoryview of float32."""
    if len(values) <= 2 * _EDGE:
        return values
    kept = [values[:_EDGE], values[_EDGE:-_EDGE:step], values[-_EDGE:]]
    return memoryview(b"".join(part.tobytes() for part in kept)).cast("f")


def _sampled_count(count: int, step: int) -> int:
    return count if count <= 2 * _EDGE else 2 * _EDGE + -(-(count - 2 * _EDGE) // step)


def is_dumped(row: Any) -> bool:
    """Whether ptdbg_ascend dumps the tensor: floating point, with an element and a dimension."""
    return row.scalar is None and row.dtype in bits.FLOATING and bool(row.shape) and row.count > 0


class Writer:
    """One dump, between set_dump_switch("ON") and "OFF". PATH: the file of records, which is deleted if it is there; its directory exists.
    MODE: ALL; LIST, calls whose names begin with one of SCOPE; RANGE, calls whose numbers are within SCOPE, both ends included; STACK, stacks
    only, of all calls or those that SCOPE names. In all modes but ALL a call has its stack. NOW: UTC in seconds, for the directory's name.

    ValueError: an invalid argument. IsADirectoryError: PATH is a directory. One thread uses it at a time."""

    def __init__(self, path: str, dump_step: int = 1, mode: int = ALL, scope: Sequence[Any] = (), now: Optional[float] = None) -> None:
        if isinstance(dump_step, bool) or not isinstance(dump_step, int) or not 1 <= dump_step <= STEP_MAX:
            raise ValueError(f"invalid dump_step {dump_step!r}: expected an integer from 1 to {STEP_MAX}")
        if mode not in (ALL, LIST, RANGE, STACK):
            raise ValueError(f"invalid mode {mode!r}: expected 1 (all), 2 (list), 3 (range) or 4 (stack)")
        if mode == RANGE and len(scope) != 2:
            raise ValueError(f"invalid scope {scope!r}: a range has a start and an end")
        if mode == LIST and not scope:
            raise ValueError("invalid scope: a list has one name at least")
        if os.path.isdir(path):
            raise IsADirectoryError(f"cannot write {path}: it is a directory (give the path of a file)")
        self.path = path
        self._step, self._mode, self._scope = dump_step, mode, list(scope)
        stamp = time.strftime("%Y%m%d_%H%M%S", time.gmtime(now))
        self.directory = f"{os.path.splitext(path)[0]}_{stamp}"
        self._file: Optional[IO[str]] = None
        self._next = 0
        self.files = self.bytes = self.left_out = 0

    def _open(self) -> IO[str]:
        if self._file is None:
            if os.path.exists(self.path):
                os.remove(self.path)
            self._file = open(self.path, "w", encoding="utf-8")  # pylint: disable=consider-using-with
            if self._mode != STACK:
                os.makedirs(self.directory, mode=0o750, exist_ok=True)
        return self._file

    def _is_wanted(self, number: int, name: str) -> bool:
        if self._mode == ALL or (self._mode == STACK and not self._scope):
            return True
        if self._mode == RANGE or (self._mode == STACK and len(self._scope) == 2):
            return int(self._scope[0]) <= number <= int(self._scope[1])
        return name.startswith(tuple(map(str, self._scope)))

    def _line(self, record: Any) -> None:
        text = json.dumps(record) + "\n"
        self._open().write(text)
        self.bytes += len(text)

    def call(self, api: str, phase: str, rows: Iterable[Any], stack: Sequence[str] = (), elements: Any = None) -> None:
        """A hook that fired: ROWS (of hooktrace.precision) of a call of API, "torch.norm", in PHASE. STACK: its frames, "path:line function",
        innermost first. ELEMENTS(row) gives a row's elements, or raises LookupError. Calls that are not wanted count too."""
        kind, operation = names.split(api)
        number, self._next = self._next, self._next + 1
        name = f"{number}_{kind}_{operation}_{phase}"
        if not self._is_wanted(number, name):
            return
        if self._mode != ALL:
            self._line([f"{name}_{_KEY}", [_frame(text) for text in stack]])
        if self._mode != STACK:
            listed = list(rows)
            for role in ("input", "output"):
                self._side(f"{name}_{role}", [row for row in listed if row.role == role], phase == "forward" and role == "output", elements)

    def _side(self, name: str, rows: Sequence[Any], is_result: bool, elements: Any) -> None:
        """The rows of one side. A result that is no tuple has no ".0"."""
        alone = is_result and len(rows) == 1 and rows[0].slot == "0"
        for row in rows:
            if is_dumped(row):
                self._tensor(name if alone else f"{name}.{row.slot}", row, elements)
            else:
                self.left_out += 1

    def _tensor(self, name: str, row: Any, elements: Any) -> None:
        try:
            data = bits.floats(elements(row).data, row.dtype) if elements and row.has_elements else None
        except LookupError:
            data = None
        if data is not None:
            kept = sample(data, self._step)
            path = os.path.join(self.directory, f"{name}.npy")
            self._open()
            npy.save(path, kept, "float32", (len(kept),))
            self.files += 1
            self.bytes += os.path.getsize(path)
        figures = numbers.figures(row)
        self._line([name, self._step, [], f"torch.{row.dtype}", list(row.shape), [figures.max, figures.min, figures.mean]])

    def add(self, dump: Any, rows: Iterable[Any]) -> int:
        """As call(), for each call among ROWS, those of one process of DUMP in their order. Returns how many rows there were."""
        group: List[Any] = []
        count = 0
        for row in rows:
            count += 1
            if group and group[0].sequence != row.sequence:
                self._add(dump, group)
                group = []
            group.append(row)
        self._add(dump, group)
        return count

    def _add(self, dump: Any, group: Sequence[Any]) -> None:
        if group and group[0].kind == "api" and group[0].phase in ("forward", "backward"):
            first = group[0]
            self.call(first.name, first.phase, group, dump.stack(first), dump.elements)
        else:
            self.left_out += len(group)

    def close(self) -> None:
        """The files are whole. Nothing may be added after it."""
        self._open().close()

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _frame(text: str) -> List[Any]:
    path, line, function = names.frame(text)
    return [path, str(line), function, names.code(path, line)]


def estimate(dump: Any, dump_step: int = 1) -> Tuple[int, int]:
    """Rows, and about how many bytes export_ptdbg() writes for them."""
    rows = size = 0
    for row in dump.rows():
        rows += 1
        size += _ROW_BYTES
        if row.has_elements and is_dumped(row):
            size += _HEADER_BYTES + 4 * _sampled_count(row.count, dump_step)
    return rows, size


def export_ptdbg(dump: Any, path: str, dump_step: int = 1, progress: Optional[Progress] = None) -> msprobe.Written:
    """Writes DUMP to PATH/step<N>/rank<R>/dump.pkl and the directory beside it. PATH must be empty or absent. Raises OSError."""
    progress = progress or Progress(estimate(dump, dump_step)[0])
    os.makedirs(path, exist_ok=True)
    if os.listdir(path):
        raise FileExistsError(f"cannot write {path}: the directory is not empty (give another one)")
    total = msprobe.Written(0, 0, 0, 0)
    for part, rows in msprobe.parts(dump):
        directory = os.path.join(path, f"step{part.step}", f"rank{part.rank}")
        os.makedirs(directory, exist_ok=True)
        name = "dump.pkl" if not os.path.exists(os.path.join(directory, "dump.pkl")) else f"dump-{part.file}.pkl"
        with Writer(os.path.join(directory, name), dump_step) as writer:
            count = writer.add(dump, _counted(rows, progress))
        total = msprobe.Written(total.rows + count - writer.left_out, total.left_out + writer.left_out, total.files + writer.files + 1,
                                total.bytes + writer.bytes)
    progress.end()
    return total


def _counted(rows: Iterable[Any], progress: Progress) -> Iterable[Any]:
    for row in rows:
        yield row
        progress.advance(1)


def records(path: str) -> Iterable[Any]:
    """The records of a file, several of which may be on one line. What is no JSON is left out to its line's end."""
    decoder = json.JSONDecoder()
    with open(path, encoding="utf-8", errors="replace") as stream:
        for line in stream:
            at = 0
            while line[at:].strip():
                at += len(line[at:]) - len(line[at:].lstrip())
                try:
                    record, at = decoder.raw_decode(line, at)
                except ValueError:
                    break
                if isinstance(record, list) and record and isinstance(record[0], str):
                    yield record


def _print_stack(record: Sequence[Any], out: Any) -> None:
    print(f"Trace back({record[0]}):", file=out)
    for frame in reversed([one for one in record[-1] if isinstance(one, list) and len(one) == 4]):
        path, line, function, code = frame
        print(f'  File "{path}", line {line}, in {function}', file=out)
        print(f"    {code}", file=out)


def _print_tensor(record: Sequence[Any], out: Any) -> None:
    name, _, _, dtype, shape, figures = record[:6]
    largest, least, mean = (list(figures) + [None] * 3)[:3]
    print(f"  [{name}][dtype: {dtype}][shape: {shape}][max: {largest}][min: {least}][mean: {mean}]", file=out)


def parse(path: str, prefix: str, out: Any = None) -> None:
    """Prints the stack and the statistics of the records whose names begin with PREFIX, "21_Torch_norm". OUT: where to, stdout by default.
    Raises OSError."""
    found = [record for record in records(path) if record[0].startswith(prefix)]
    for record in found:
        if record[0].endswith(_KEY) and isinstance(record[-1], list):
            _print_stack(record, out)
    tensors = [record for record in found if len(record) >= 6 and isinstance(record[5], list)]
    if tensors:
        print("Key Statistic Info:", file=out)
    for record in tensors:
        _print_tensor(record, out)


def compare(dumps: Dict[str, str], out_directory: str, shape_flag: bool = True, now: Optional[float] = None) -> str:
    """Compares two dumps into OUT_DIRECTORY/compare_result_<time>.csv, and returns its path. DUMPS: npu_pkl_path, bench_pkl_path,
    npu_dump_data_dir, bench_dump_data_dir. NotADirectoryError: OUT_DIRECTORY is not there. RuntimeError: what hookcli said."""
    if not os.path.isdir(out_directory):
        raise NotADirectoryError(f"cannot write to {out_directory}: there is no such directory (make it first)")
    path = hookcli.find()
    if path is None:
        raise FileNotFoundError("hooktrace: no hookcli: install the package hooktrace-tools, or add its directory to PATH")
    result = os.path.join(out_directory, f"compare_result_{time.strftime('%Y%m%d%H%M%S', time.localtime(now))}.csv")
    sides = [f"{dumps[side + '_pkl_path']}" for side in ("npu", "bench")]
    environment = {**os.environ, "HOOK_DISABLE": "1"}
    options = ["--format", "ptdbg-csv" if shape_flag else "ptdbg-csv-any-shape", "-o", result]
    done = subprocess.run([path, "compare", *options, "--", *sides], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False)
    if not os.path.exists(result):
        raise RuntimeError(done.stderr.decode("utf-8", "replace").strip() or f"hookcli compare: exit {done.returncode}")
    return result
