"""Tables of calls as text, with the columns of torch.profiler."""
from typing import TYPE_CHECKING, Callable, List, NamedTuple, Optional, Sequence

if TYPE_CHECKING:
    from .averages import Averages, FunctionAverage

GAP = "  "
WIDTH = 12  # of columns with numbers
NAME = "Name"


class Column(NamedTuple):
    """A heading, and the text under it for a row and the sum of all rows in microseconds."""

    heading: str
    text: Callable[["FunctionAverage", float], str]


def format_time(time_us: float) -> str:
    """TIME_US microseconds with a unit: us, ms or s."""
    if time_us >= 1e6:
        return f"{time_us / 1e6:.3f}s"
    return f"{time_us / 1e3:.3f}ms" if time_us >= 1e3 else f"{time_us:.3f}us"


def format_share(time_us: float, of_us: float) -> str:
    """TIME_US as percent of OF_US."""
    return f"{100 * time_us / of_us:.2f}%" if of_us > 0 else "NaN"


PROCESSOR = (
    Column("Self CPU %", lambda row, all_us: format_share(row.self_cpu_time_total, all_us)),
    Column("Self CPU", lambda row, _: format_time(row.self_cpu_time_total)),
    Column("CPU total %", lambda row, all_us: format_share(row.cpu_time_total, all_us)),
    Column("CPU total", lambda row, _: format_time(row.cpu_time_total)),
    Column("CPU time avg", lambda row, _: format_time(row.cpu_time)),
)
DEVICE = (
    Column("Self CUDA", lambda row, _: format_time(row.self_device_time_total)),
    Column("Self CUDA %", lambda row, all_us: format_share(row.self_device_time_total, all_us)),
    Column("CUDA total", lambda row, _: format_time(row.device_time_total)),
    Column("CUDA time avg", lambda row, _: format_time(row.device_time)),
)
CALLS = Column("# of Calls", lambda row, _: str(row.count))


def _cut(name: str, width: Optional[int]) -> str:
    return name if width is None or len(name) < width - 3 else f"{name[:width - 3]}..."


def _name_width(rows: Sequence["FunctionAverage"], widest: Optional[int]) -> int:
    width = max((len(row.key) for row in rows), default=len(NAME)) + 4
    return width if widest is None else min(width, widest)


def format_table(rows: Sequence["FunctionAverage"], averages: "Averages", max_name_width: Optional[int], header: Optional[str]) -> str:
    """ROWS of AVERAGES, whose sums are the 100 percent. Without ROWS it is empty. Columns of devices are there if one has worked."""
    if not averages:
        return ""
    cpu_us, device_us = averages.self_cpu_time_total, averages.self_device_time_total
    columns = [(column, cpu_us) for column in PROCESSOR] + ([(column, device_us) for column in DEVICE] if device_us > 0 else []) + [(CALLS, 0.0)]
    name_width = _name_width(averages, max_name_width)
    widths = [name_width] + [max(WIDTH, len(column.heading)) for column, _ in columns]
    rule = GAP.join("-" * width for width in widths)

    def line(cells: List[str]) -> str:
        return GAP.join(cell.rjust(width) for cell, width in zip(cells, widths))

    lines = ["=" * len(rule), header] if header is not None else []
    lines += [rule, line([NAME] + [column.heading for column, _ in columns]), rule]
    lines += [line([_cut(row.key, max_name_width)] + [column.text(row, all_us) for column, all_us in columns]) for row in rows]
    lines += [rule, f"Self CPU time total: {format_time(cpu_us)}"]
    if device_us > 0:
        lines.append(f"Self CUDA time total: {format_time(device_us)}")
    return "\n".join(lines) + "\n"
