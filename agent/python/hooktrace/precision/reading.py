"""A dump that hooktrace.precision wrote, as rows and elements: `hooktrace.precision.open()`, which is here.

A file that is being written, or whose process was killed, is read as far as it is whole; `Dump.counts()` says what is missing.
"""
import json
import os
import re
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union

from .. import _native

SUFFIX = ".hkv"
KINDS = ("api", "module", "state")
PHASES = ("forward", "backward", "parameter", "gradient", "optimizer", "broadcast")
ROLES = ("input", "keyword", "output")
FLAGS = ("requires_grad", "not_contiguous", "view", "on_device", "recomputed", "no_statistics", "loss_scaled")

_NONE = 0xffffffff
_FORMATS = {"bool": "?", "uint8": "B", "int8": "b", "uint16": "H", "int16": "h", "uint32": "I", "int32": "i", "uint64": "Q", "int64": "q",
            "float32": "f", "float64": "d"}
# Of dtypes that memoryview.cast lacks: the bits, as unsigned integers.
_BITS = {"float16": "H", "bfloat16": "H", "float8_e4m3fn": "B", "float8_e5m2": "B"}


class Row(NamedTuple):
    """A tensor or scalar at one moment. Statistics are of the finite elements; with `no_statistics` among the flags they mean nothing."""
    rank: int
    sequence: int
    forward_sequence: int
    step: int
    kind: str
    phase: str
    role: str
    name: str
    of: str
    number: int
    slot: str
    device: str
    scalar: Optional[str]
    flags: Tuple[str, ...]
    dtype: str
    shape: Tuple[int, ...]
    count: int
    nans: int
    positive_infs: int
    negative_infs: int
    zeros: int
    min: float
    max: float
    mean: float
    l2: float
    deviation: float
    digest: int
    storage: int
    version: int
    offset: int
    stack: Optional[int]
    thread: int
    begin_ns: int
    has_elements: bool
    file: int
    index: int


class Elements(NamedTuple):
    """The elements of a row, contiguous, the last dimension fastest. The items of `data` are the elements, or of float16, bfloat16 and
    float8 their bits as unsigned integers."""
    data: memoryview
    dtype: str
    shape: Tuple[int, ...]


def _word(words: Tuple[str, ...], number: int) -> str:
    return words[number] if number < len(words) else "?"


def _flags(number: int) -> Tuple[str, ...]:
    return tuple(word for bit, word in enumerate(FLAGS) if number >> bit & 1)


def _widen_float8(bits: Any, exponent_bits: int, numpy: Any) -> Any:
    """float32 of all values of a float8 with one sign bit: e4m3fn (no infinity, NaN has all bits set) or e5m2 (as IEEE 754)."""
    mantissa_bits = 7 - exponent_bits
    bias = (1 << (exponent_bits - 1)) - 1
    codes = numpy.arange(256)
    exponent = codes >> mantissa_bits & ((1 << exponent_bits) - 1)
    fraction = (codes & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    values = numpy.where(exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (exponent - float(bias)))
    if exponent_bits == 5:
        values[exponent == 31] = numpy.where(fraction[exponent == 31] == 0, numpy.inf, numpy.nan)
    else:
        values[codes & 0x7f == 0x7f] = numpy.nan
    return numpy.where(codes >= 128, -values, values).astype(numpy.float32)[bits]


class Dump:
    """A dump's directory. Its files are read once, when it is opened. One thread uses it at a time."""

    def __init__(self, directory: Union[str, "os.PathLike[str]"]) -> None:
        if not hasattr(_native, "dump_open"):
            raise RuntimeError("cannot read a dump: this hooktrace was built without libzstd.a or the headers of zstd and xxHash"
                               " (install libzstd-dev and libxxhash-dev, and build it again)")
        self.directory = os.fspath(directory)
        names = sorted(name for name in os.listdir(self.directory) if name.endswith(SUFFIX))
        if not names:
            raise FileNotFoundError(f"cannot read the dump {self.directory}: there is no {SUFFIX} file in it")
        self.files: List[str] = []
        self.unreadable: Dict[str, str] = {}
        """Files of which nothing can be read, such as that of a process which was killed at its start: path -> why."""
        self._files: List[Any] = []
        for name in names:
            self._open(os.path.join(self.directory, name))
        if not self._files:
            raise OSError("; ".join(self.unreadable.values()))
        self._ranks = [self._rank(number) for number in range(len(self._files))]

    def _open(self, path: str) -> None:
        try:
            self._files.append(_native.dump_open(path))
            self.files.append(path)
        except OSError as error:
            self.unreadable[path] = str(error)

    def _rank(self, number: int) -> int:
        rank: int = self._files[number].rank()
        if rank == _NONE:  # damaged: the name says it too
            found = re.match(r"rank(\d+)-", os.path.basename(self.files[number]))
            rank = int(found.group(1)) if found else -1
        return rank

    @property
    def ranks(self) -> List[int]:
        """The ranks that have files, in rising order."""
        return sorted(set(self._ranks))

    def _of(self, rank: int) -> List[int]:
        found = [number for number, own in enumerate(self._ranks) if own == rank]
        if not found:
            raise KeyError(f"the dump {self.directory} has no rank {rank}")
        return found

    def about(self, rank: int) -> Dict[str, Any]:
        """What the process said about itself: framework, version, host and the like. Of several processes of the rank, the first file's."""
        try:
            about = json.loads(self._files[self._of(rank)[0]].about())
        except ValueError:
            about = None
        return about if isinstance(about, dict) else {}

    def counts(self, rank: int) -> Dict[str, Any]:
        """What the files of the rank have and lack, summed up: `rows`, `payloads`, `duplicates`, `bytes`, `rows_left_out`, `payloads_left_out`,
        `payload_bytes_left_out`, `wait_ns`; `rows_left_by` and `payloads_left_by` reason; `error`, the errno of the last write that failed;
        `complete`, whether all were closed by their writers; `damage`, why rows may be missing."""
        total: Dict[str, Any] = {}
        for number in self._of(rank):
            for name, value in self._files[number].counts().items():
                if isinstance(value, dict):
                    former = total.get(name, {})
                    total[name] = {key: former.get(key, 0) + one for key, one in value.items()}
                elif name in ("error", "damage"):
                    total[name] = total.get(name) or value
                elif name == "complete":
                    total[name] = total.get(name, True) and value
                else:
                    total[name] = total.get(name, 0) + value
        return total

    def rows(self, rank: Optional[int] = None, step: Optional[int] = None) -> Iterator[Row]:
        """The rows of the rank, or of all, in the order in which each process added them; only those of `step` if it is given."""
        for number in range(len(self._files)) if rank is None else self._of(rank):
            for index in range(self._files[number].rows()):
                row = self._row(number, index)
                if step is None or row.step == step:
                    yield row

    def __iter__(self) -> Iterator[Row]:
        return self.rows()

    def _row(self, number: int, index: int) -> Row:
        (sequence, forward_sequence, step, kind, phase, role, name, of, call, slot, device, scalar, flags, dtype, shape, *figures, stack, thread,
         begin_ns, has_elements) = self._files[number].row(index)
        return Row(self._ranks[number], sequence, forward_sequence, step, _word(KINDS, kind), _word(PHASES, phase), _word(ROLES, role), name, of,
                   call, slot, device, scalar, _flags(flags), dtype, shape, *figures, None if stack == _NONE else stack, thread, begin_ns,
                   has_elements, number, index)

    def stack(self, row: Row) -> Tuple[str, ...]:
        """The frames of the row's call, innermost first, each "path:line function"; none if they were not kept."""
        frames: Tuple[str, ...] = () if row.stack is None else self._files[row.file].stack(row.stack)
        return frames

    def elements(self, row: Row) -> Elements:
        """The row's elements. Raises LookupError if they are not stored, or damaged."""
        data = memoryview(self._files[row.file].elements(row.index))
        return Elements(data.cast(_FORMATS.get(row.dtype) or _BITS[row.dtype]), row.dtype, row.shape)

    def numpy(self, row: Row) -> Any:
        """The row's elements as an array of NumPy, which is needed. bfloat16 and float8 become float32, exactly."""
        import numpy  # pylint: disable=import-outside-toplevel

        data, dtype, shape = self.elements(row)
        array = numpy.asarray(data)
        if dtype == "float16":
            array = array.view(numpy.float16)
        elif dtype == "bfloat16":
            array = (array.astype(numpy.uint32) << 16).view(numpy.float32)
        elif dtype.startswith("float8"):
            array = _widen_float8(array, 4 if dtype == "float8_e4m3fn" else 5, numpy)
        return array.reshape(shape)


def open(directory: Union[str, "os.PathLike[str]"]) -> Dump:  # pylint: disable=redefined-builtin
    """Reads a dump. Raises OSError if no file of a dump can be read in the directory."""
    return Dump(directory)
