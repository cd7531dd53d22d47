"""Calls as objects: one for each call, and one for all calls of a name."""
from typing import Any, Dict, Iterable, List, Optional

from .table import format_table

Row = Dict[str, Any]

DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
STEP = "ProfilerStep#"


class Event:
    """A call, or a piece of work of a device. Times in microseconds, from the job's start or as durations."""

    __slots__ = ("name", "key", "cat", "domain", "library", "thread", "start_us", "end_us", "cpu_time_total", "self_cpu_time_total",
                 "device_time_total", "self_device_time_total", "cpu_parent", "cpu_children", "is_device", "correlation")

    def __init__(self, row: Row) -> None:
        arguments = row.get("args", {})
        self.name: str = row["name"]
        self.key = f"{STEP[:-1]}*" if self.name.startswith(STEP) else self.name
        self.cat: str = row.get("cat", "")
        self.domain: str = arguments.get("domain", "")
        self.library: str = arguments.get("library", "")
        self.thread: int = row["tid"]
        self.start_us: float = row["ts"]
        self.end_us: float = row["ts"] + row["dur"]
        self.is_device = self.cat in DEVICE
        time_us: float = row["dur"]
        self.cpu_time_total = 0.0 if self.is_device else time_us
        self.self_cpu_time_total = self.cpu_time_total  # less that of calls within
        self.device_time_total = time_us if self.is_device else 0.0
        self.self_device_time_total = self.device_time_total
        self.cpu_parent: Optional["Event"] = None
        self.cpu_children: List["Event"] = []
        self.correlation: Optional[int] = arguments.get("correlation")

    def __repr__(self) -> str:
        return f"<Event {self.name} at {self.start_us:.3f} us, {self.end_us - self.start_us:.3f} us>"

    def _adopt(self, child: "Event") -> None:
        child.cpu_parent = self
        self.cpu_children.append(child)
        self.self_cpu_time_total -= child.cpu_time_total


def _nest_thread(events: List[Event]) -> None:
    """Finds the parents of the calls of one thread, which are in order of their beginning, the longer first."""
    around: List[Event] = []
    for event in events:
        while around and around[-1].end_us < event.end_us:
            around.pop()
        if around:
            around[-1]._adopt(event)  # pylint: disable=protected-access
        around.append(event)


def nest(rows: Iterable[Row]) -> List[Event]:
    """The calls of ROWS of one process, in order of their beginning, with their parents and with the time of the device work they have begun."""
    events = sorted((Event(row) for row in rows), key=lambda event: (event.start_us, -event.end_us))
    threads: Dict[int, List[Event]] = {}
    for event in events:
        if not event.is_device:
            threads.setdefault(event.thread, []).append(event)
    for calls in threads.values():
        _nest_thread(calls)
    launches = {event.correlation: event for event in events if not event.is_device and event.correlation is not None}
    for work in events:
        launch = launches.get(work.correlation) if work.is_device else None
        if launch is not None:
            launch.self_device_time_total += work.device_time_total
        while launch is not None:
            launch.device_time_total += work.device_time_total
            launch = launch.cpu_parent
    return events


class FunctionAverage:
    """All calls of one name. Times in microseconds."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.count = 0
        self.cpu_time_total = 0.0
        self.self_cpu_time_total = 0.0
        self.device_time_total = 0.0
        self.self_device_time_total = 0.0
        self.is_device = False
        self.is_top_level = False  # one of the calls is not within another
        self.node_id = -1

    def add(self, event: Event) -> None:
        """Counts EVENT."""
        self.count += 1
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total
        self.device_time_total += event.device_time_total
        self.self_device_time_total += event.self_device_time_total
        self.is_device = event.is_device
        self.is_top_level = self.is_top_level or event.cpu_parent is None

    @property
    def cpu_time(self) -> float:
        """Of a call on average."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """Of a call on average."""
        return self.device_time_total / self.count if self.count else 0.0

    # As older versions of torch call them.
    cuda_time_total = property(lambda self: self.device_time_total)
    self_cuda_time_total = property(lambda self: self.self_device_time_total)
    cuda_time = property(lambda self: self.device_time)

    def __repr__(self) -> str:
        return f"<FunctionAverage {self.key}: {self.count} calls, {self.cpu_time_total:.3f} us, {self.self_cpu_time_total:.3f} us in itself>"


class Averages(List[FunctionAverage]):
    """A FunctionAverage for each name, in order of their first calls."""

    @classmethod
    def of(cls, events: Iterable[Event]) -> "Averages":
        """EVENTS together by name."""
        rows: Dict[str, FunctionAverage] = {}
        for event in events:
            if event.key not in rows:
                rows[event.key] = FunctionAverage(event.key)
            rows[event.key].add(event)
        return cls(rows.values())

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """Of all calls, in microseconds."""
        return sum(row.self_cpu_time_total for row in self)

    @property
    def self_device_time_total(self) -> float:
        """Of all work of devices, in microseconds."""
        return sum(row.self_device_time_total for row in self if row.is_device)

    def total_average(self) -> FunctionAverage:
        """All calls as one row. Time within other calls counts once."""
        total = FunctionAverage("Total")
        for row in self:
            total.count += row.count
            total.cpu_time_total += row.self_cpu_time_total
            total.self_cpu_time_total += row.self_cpu_time_total
        total.device_time_total = total.self_device_time_total = self.self_device_time_total
        return total

    def table(self, sort_by: Optional[str] = None, row_limit: int = 100, max_src_column_width: int = 75, max_name_column_width: Optional[int] = 55,
              max_shapes_column_width: int = 80, header: Optional[str] = None, top_level_events_only: bool = False) -> str:
        """A table with the columns of torch.profiler.

        sort_by: an attribute of FunctionAverage; the greatest comes first. row_limit: -1 for all. max_name_column_width: characters, None for no
        limit. header: a line above. top_level_events_only: without names that are called within others only. The columns of shapes and of source
        lines are not made. Raises ValueError for an unknown sort_by.
        """
        del max_src_column_width, max_shapes_column_width
        rows: List[FunctionAverage] = list(self)
        if sort_by is not None:
            if rows and not isinstance(getattr(rows[0], sort_by, None), (int, float, str)):
                raise ValueError(f"cannot sort by '{sort_by}': expected key, count, or a time such as self_cpu_time_total")
            rows.sort(key=lambda row: getattr(row, sort_by), reverse=True)
        if top_level_events_only:
            rows = [row for row in rows if row.is_top_level]
        return format_table(rows if row_limit < 0 else rows[:row_limit], self, max_name_column_width, header)

