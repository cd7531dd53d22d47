"""Rows as columns in Arrow's layout, for pyarrow, pandas, polars, DuckDB and plain Python.

A Table is handed to any library that knows the Arrow PyCapsule interface without a copy: `pyarrow.table(t)`, `polars.DataFrame(t)`, or the
variable's name in DuckDB's SQL. None of them is needed: `to_dict()`, `rows()` and `buffer()` give plain Python.
"""
import array
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

try:
    from . import _reader as native
except ImportError as error:
    raise ImportError("hooktrace: this build of the package cannot read jobs: use a wheel, or install what deploy/packages lists and build again") from error

# A column that is made of JSON: its name, its type, and the path of its value in a row. Types: i int32, l int64, g double, b bool,
# u text, w text with a dictionary; "[" before one of i, l, g, u: a list of them.
Column = Tuple[str, str, Tuple[str, ...]]

_CODES = {"i": "i", "I": "I", "l": "q", "L": "Q", "g": "d"}
_LIMITS = {"i": 31, "l": 63}


class Table:
    """Rows of one kind. Columns have a name and one type; a value is None where nothing was measured."""

    def __init__(self, rows: "native.Table") -> None:
        self._native = rows

    def __len__(self) -> int:
        return self._native.num_rows

    def __repr__(self) -> str:
        return f"<hooktrace.Table of {len(self)} rows: {', '.join(self.column_names)}>"

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return self._native.num_rows

    @property
    def column_names(self) -> List[str]:
        """Names of the columns, in order."""
        return [field[0] for field in self._native.fields]

    def _index(self, name: str) -> int:
        names = self.column_names
        if name not in names:
            raise KeyError(f"no column '{name}': expected one of {', '.join(names)}")
        return names.index(name)

    def column(self, name: str) -> List[Any]:
        """The values of column `name`, one per row: int, float, bool, str, a list of one of them, or None. KeyError without it."""
        at = self._index(name)
        _, kind, words, is_list = self._native.fields[at]
        return _values(kind, bool(words), bool(is_list), self._native.buffers(at))

    def buffer(self, name: str) -> memoryview:
        """The numbers of column `name` as a one-dimensional buffer, for numpy.asarray(); of a text with a dictionary, its numbers.

        What a row without a value has is not defined. TypeError for texts, lists and bools.
        """
        at = self._index(name)
        _, kind, words, is_list = self._native.fields[at]
        code = "i" if words else _CODES.get(kind)
        if is_list or not code:
            raise TypeError(f"column '{name}' has no numbers")
        return memoryview(self._native.buffers(at)[3]).cast(code)

    def to_dict(self) -> Dict[str, List[Any]]:
        """All columns by name, as pandas.DataFrame() takes them."""
        return {name: self.column(name) for name in self.column_names}

    def rows(self) -> Iterator[Dict[str, Any]]:
        """The rows in order, each with its columns by name."""
        columns = self.to_dict()
        for values in zip(*columns.values()):
            yield dict(zip(columns, values))

    def to_arrow(self) -> Any:
        """A pyarrow.Table of the same memory. ImportError without pyarrow 14 or newer."""
        return pyarrow_for("to_arrow()").table(self)

    def __arrow_c_schema__(self) -> object:
        return self._native.__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema: Optional[object] = None) -> Tuple[object, object]:
        return self._native.__arrow_c_array__(requested_schema)

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)


def pyarrow_for(what: str) -> Any:
    """The module pyarrow; ImportError that names `what` needs it."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(f"hooktrace: {what} needs pyarrow (pip install pyarrow)") from error
    if int(pyarrow.__version__.split(".", maxsplit=1)[0]) < 14:
        raise ImportError(f"hooktrace: {what} needs pyarrow 14 or newer, not {pyarrow.__version__}")
    return pyarrow


# ---- from Arrow's layout to Python


def _texts(offsets: bytes, data: bytes) -> List[str]:
    ends = memoryview(offsets).cast("i").tolist()
    return [data[begin:end].decode("utf-8", "replace") for begin, end in zip(ends, ends[1:])]


def _bits(data: bytes, length: int) -> List[bool]:
    return [bool(data[i >> 3] >> (i & 7) & 1) for i in range(length)]


def _values(kind: str, words: bool, is_list: bool, parts: Tuple[Any, ...]) -> List[Any]:
    length, valid, offsets, data, texts, items = parts
    if is_list:
        ends = memoryview(offsets).cast("i").tolist()
        inner = _values(kind, False, False, items)
        values: List[Any] = [inner[begin:end] for begin, end in zip(ends, ends[1:])]
    elif words:
        known = _texts(*texts)
        values = [known[number] if known else None for number in memoryview(data).cast("i").tolist()]
    elif kind == "u":
        values = list(_texts(offsets, data))
    elif kind == "b":
        values = list(_bits(data, length))
    else:
        values = memoryview(data).cast(_CODES[kind]).tolist()
    if valid:
        values = [value if there else None for value, there in zip(values, _bits(valid, length))]
    return values


# ---- from JSON to Arrow's layout


def _fits(value: Any, kind: str) -> Any:
    """VALUE if it is one of KIND, within its limits; else None: a file may hold anything."""
    if kind in _LIMITS and isinstance(value, int) and not isinstance(value, bool):
        limit = 1 << _LIMITS[kind]
        return min(max(value, -limit), limit - 1)
    if kind == "g" and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if (kind == "b" and isinstance(value, bool)) or (kind in "uw" and isinstance(value, str)):
        return value
    return None


def _at(row: Any, path: Sequence[str]) -> Any:
    for key in path:
        row = row.get(key) if isinstance(row, dict) else None
    return row


def _valid(values: Sequence[Any]) -> bytes:
    bits = bytearray(len(values) // 8 + 1)
    for i, value in enumerate(values):
        if value is not None:
            bits[i >> 3] |= 1 << (i & 7)
    return bytes(bits)


def _joined(texts: Sequence[Optional[str]]) -> Tuple[bytes, bytes]:
    """Offsets and bytes of TEXTS; a missing one becomes an empty one."""
    encoded = [(text or "").encode("utf-8", "replace") for text in texts]
    ends = array.array("i", [0])
    total = 0
    for text in encoded:
        total += len(text)
        ends.append(total)
    return ends.tobytes(), b"".join(encoded)


def _plain(values: Sequence[Any], kind: str) -> Tuple[Any, ...]:
    """The parts of a column, as table() of _reader takes them."""
    nulls = sum(value is None for value in values)
    valid = _valid(values) if nulls else None
    if kind == "w":
        numbers: Dict[str, int] = {}
        data = array.array("i", [numbers.setdefault(value, len(numbers)) if value is not None else 0 for value in values])
        return len(values), nulls, valid, None, data.tobytes(), _joined(list(numbers)), ()
    if kind == "u":
        offsets, joined = _joined(values)
        return len(values), nulls, valid, offsets, joined, (), ()
    if kind == "b":
        return len(values), nulls, valid, None, _valid([value or None for value in values]), (), ()
    code = array.array(_CODES[kind], [0 if value is None else value for value in values])
    return len(values), nulls, valid, None, code.tobytes(), (), ()


def _lists(values: Sequence[Any], kind: str) -> Tuple[Any, ...]:
    lists = [[_fits(item, kind) for item in value] if isinstance(value, list) else None for value in values]
    ends = array.array("i", [0])
    items: List[Any] = []
    for one in lists:
        items += one or []
        ends.append(len(items))
    nulls = sum(one is None for one in lists)
    return len(lists), nulls, _valid(lists) if nulls else None, ends.tobytes(), None, (), _plain(items, kind)


def from_rows(rows: Sequence[Any], columns: Sequence[Column]) -> Table:
    """A Table with `columns` of the JSON objects `rows`. A value of another type than its column's is None."""
    made = []
    for name, kind, path in columns:
        values = [_at(row, path) for row in rows]
        is_list = kind.startswith("[")
        kind = kind.lstrip("[")
        parts = _lists(values, kind) if is_list else _plain([_fits(value, kind) for value in values], kind)
        made.append((name, "u" if kind == "w" else kind, kind == "w", is_list, parts))
    return Table(native.table(len(rows), made))
