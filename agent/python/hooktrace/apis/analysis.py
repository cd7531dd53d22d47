"""analysis: what a block of a program spent in each API, and the comparison of two blocks."""
import json
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union


class Row(NamedTuple):
    """One API. Times are nanoseconds; p50 and p99 are within 1/64. Failed calls are calls too."""
    api: str
    calls: int
    errors: int
    total_ns: int
    mean_ns: float
    min_ns: int
    p50_ns: int
    p99_ns: int
    max_ns: int


class Pair(NamedTuple):
    """One API of two blocks; None where a block has no call of it. RATIO is mean_a_ns / mean_b_ns."""
    api: str
    calls_a: Optional[int]
    calls_b: Optional[int]
    mean_a_ns: Optional[float]
    mean_b_ns: Optional[float]
    total_a_ns: Optional[int]
    total_b_ns: Optional[int]
    ratio: Optional[float]


def _time(ns: Optional[float]) -> str:
    """Three digits and a unit: `12.3us`."""
    if ns is None:
        return "-"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g}{unit}" if ns < 1000 * size else f"{ns / size:.0f}{unit}"
    return f"{ns:.0f}ns"


def _lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of text: the first column to the left, the others to the right."""
    table = [list(head)] + [list(row) for row in rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    lines = ["  ".join([row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]) for row in table]
    return "\n".join(line.rstrip() for line in lines)


def _frame(rows: Sequence[Any]) -> Any:
    """A DataFrame where pandas is installed, else a list of dictionaries."""
    dictionaries = [row._asdict() for row in rows]
    try:
        import pandas  # type: ignore[import-not-found,import-untyped]
    except ImportError:
        return dictionaries
    return pandas.DataFrame(dictionaries, columns=list(rows[0]._fields) if rows else None)


class Analysis:
    """The APIs that were called between start_analysis() and end_analysis(), longest total first."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows: List[Row] = sorted(rows, key=lambda row: (-row.total_ns, row.api))

    def __iter__(self):
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, api: str) -> Row:
        for row in self.rows:
            if row.api == api:
                return row
        raise KeyError(api)

    def __str__(self) -> str:
        return self.text()

    def text(self, sort_by: str = "total_ns", row_limit: int = -1) -> str:
        """A table to print, by the field SORT_BY of Row, largest first; ROW_LIMIT -1: all rows. ValueError: no such field."""
        if sort_by not in Row._fields:
            raise ValueError(f"invalid sort_by {sort_by!r}: expected one of {', '.join(Row._fields)}")
        rows = sorted(self.rows, key=lambda row: getattr(row, sort_by), reverse=sort_by != "api")
        rows = rows if row_limit < 0 else rows[:row_limit]
        return _lines(("api", "calls", "errors", "total", "mean", "min", "p50", "p99", "max"),
                      [(row.api, str(row.calls), str(row.errors), *(_time(value) for value in row[3:])) for row in rows])

    def table(self) -> Any:
        """A pandas.DataFrame with the fields of Row as columns, or a list of dictionaries without pandas."""
        return _frame(self.rows)

    def save(self, path: str) -> None:
        """Writes JSON, which load() reads and compare() accepts, to compare with a later run."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"hooktrace_apis": 1, "rows": [row._asdict() for row in self.rows]}, file, indent=1)

    @classmethod
    def load(cls, path: str) -> "Analysis":
        """ValueError: PATH is not a file that save() wrote."""
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        if not isinstance(content, dict) or content.get("hooktrace_apis") != 1:
            raise ValueError(f"cannot load {path}: not written by Analysis.save")
        return cls(Row(**{field: row[field] for field in Row._fields}) for row in content["rows"])


class Comparison:
    """The APIs of two blocks side by side, largest total first."""

    def __init__(self, rows: Iterable[Pair], labels: Tuple[str, str]) -> None:
        self.rows: List[Pair] = sorted(rows, key=lambda row: (-max(row.total_a_ns or 0, row.total_b_ns or 0), row.api))
        self.labels = labels

    def __iter__(self):
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, api: str) -> Pair:
        for row in self.rows:
            if row.api == api:
                return row
        raise KeyError(api)

    def __str__(self) -> str:
        return self.text()

    def text(self, row_limit: int = -1) -> str:
        a, b = self.labels
        rows = self.rows if row_limit < 0 else self.rows[:row_limit]
        return _lines(("api", f"calls {a}", f"calls {b}", f"mean {a}", f"mean {b}", f"{a}/{b}"), [
            (row.api, *("-" if calls is None else str(calls) for calls in (row.calls_a, row.calls_b)), _time(row.mean_a_ns), _time(row.mean_b_ns),
             "-" if row.ratio is None else f"{row.ratio:.3g}") for row in rows])

    def table(self) -> Any:
        """A pandas.DataFrame with the fields of Pair as columns, or a list of dictionaries without pandas."""
        return _frame(self.rows)


def _frameworks(analysis: Analysis) -> List[str]:
    return sorted({row.api.split(".")[0] for row in analysis})


def _sums(analysis: Analysis, whole: bool) -> Dict[str, Tuple[int, int]]:
    """{api: (calls, total)}, by the WHOLE name, or by its last part alone, as `add` of any framework."""
    sums: Dict[str, Tuple[int, int]] = {}
    for row in analysis:
        key = row.api if whole else row.api.rsplit(".", 1)[-1]
        calls, total = sums.get(key, (0, 0))
        sums[key] = (calls + row.calls, total + row.total_ns)
    return sums


def _pair(api: str, a: Optional[Tuple[int, int]], b: Optional[Tuple[int, int]]) -> Pair:
    mean_a, mean_b = (total[1] / total[0] if total else None for total in (a, b))
    return Pair(api, a and a[0], b and b[0], mean_a, mean_b, a and a[1], b and b[1], mean_a / mean_b if mean_a is not None and mean_b else None)


def compare(a: Union[Analysis, str], b: Union[Analysis, str], labels: Optional[Tuple[str, str]] = None) -> Comparison:
    """Two blocks, or files of saved ones, side by side. Blocks of the same frameworks are matched by whole names; those of different
    ones by the last part of the name, `torch.add` with `mindspore.ops.add`, added up where a block has several. LABELS name A and B.
    """
    first, second = (Analysis.load(one) if isinstance(one, str) else one for one in (a, b))
    frameworks = [_frameworks(one) for one in (first, second)]
    whole = not all(frameworks) or frameworks[0] == frameworks[1]
    if labels is None:
        labels = ("a", "b") if whole else ("+".join(frameworks[0]), "+".join(frameworks[1]))
    sums_a, sums_b = _sums(first, whole), _sums(second, whole)
    return Comparison([_pair(api, sums_a.get(api), sums_b.get(api)) for api in {**sums_a, **sums_b}], labels)
