"""hooktrace.apis: counts and times the calls of torch's, Paddle's and MindSpore's APIs.

    hooktrace.apis.start()                  # after or before `import torch`
    hooktrace.apis.start_analysis()
    train_one_step()
    print(hooktrace.apis.end_analysis())    # calls, errors, total, mean, min, p50, p99, max of each API
    hooktrace.apis.stop()

No Python object is replaced: `torch.add` stays the same object, so that torch.jit, torch.compile, export, pickle, and tables with
functions as keys work as before. Where the agent runs, each call is a call on the job's timeline too, in the domain of its
framework.
"""
import fnmatch
import os
import sys
import sysconfig
import threading
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Union

from .. import _native
from . import catalog, device
from .analysis import Analysis, Comparison, Pair, Row, compare
from .arrival import Arrival
from .catalog import FRAMEWORKS, Framework

__all__ = ["Analysis", "Comparison", "Coverage", "Framework", "Pair", "Row", "compare", "coverage", "end_analysis", "is_on", "start",
           "start_analysis", "stop"]

_DOMAINS = 16  # HK_API_DOMAINS


class Coverage(NamedTuple):
    """What start() hooked: the number of functions, methods and classes by framework, and how many it left out, by reason."""
    hooked: Dict[str, int]
    left_out: Dict[str, int]


class _Session:
    """One start(): what is hooked, and with which settings."""

    def __init__(self, frameworks: List[Framework], hook_inside: bool, parall_execute: bool, only: List[str]) -> None:
        self.frameworks = frameworks
        self.inside = hook_inside
        self.parallel = parall_execute
        self.only = only
        self.report: Optional[Callable[[str, float], None]] = None
        self.inside_classes = True
        self.coverage = Coverage({}, {})
        self.arrival: Optional[Arrival] = None

    def wanted(self, name: str) -> bool:
        return not self.only or any(fnmatch.fnmatchcase(name, pattern) for pattern in self.only)

    def count(self, framework: Framework, reason: Optional[str], many: int = 1) -> None:
        table, key = (self.coverage.hooked, framework.name) if reason is None else (self.coverage.left_out, reason)
        table[key] = table.get(key, 0) + many

    def hook(self, framework: Framework) -> None:
        """Hooks what FRAMEWORK has now."""
        domain = self.frameworks.index(framework)
        for api in catalog.functions(framework, self.inside):
            if self.wanted(api.name):
                self.count(framework, _native.apis_hook(api.function, api.name, api.library, domain))
        for group in catalog.layers(framework):
            classes = {one: name for one, name in group.classes.items() if self.wanted(name)}
            if classes:
                reason = _native.apis_hook_classes(group.function, classes, group.name, group.library, domain)
                self.count(framework, reason, len(classes))

    def apply(self) -> None:
        """Puts the settings in force; asks for devices, which exist only once a framework is imported."""
        synchronize = None if self.parallel else device.synchronizer([one.name for one in self.frameworks])
        _native.apis_settings(self.inside, self.inside_classes, synchronize, self.report)

    def begin(self) -> None:
        _native.apis_evaluator()
        absent = [one.name for one in self.frameworks if one.name not in sys.modules]
        for framework in self.frameworks:
            if framework.name not in absent:
                self.hook(framework)
        self.apply()
        if absent:
            self.arrival = Arrival(absent, self.arrived)

    def arrived(self, name: str) -> None:
        with _lock:
            if _session is self:
                self.hook(next(one for one in self.frameworks if one.name == name))
                self.apply()

    def end(self) -> None:
        if self.arrival:
            self.arrival.close()
        _native.apis_unhook()
        _native.apis_settings(False, True, None, None)


_lock = threading.RLock()
_session: Optional[_Session] = None
_block = False  # of analysis, that is open
_rows: List[Any] = []  # of the open block, from before the last stop()


def _child() -> None:
    """Another thread may have held the lock when the process was forked."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_child)


def refusal() -> Optional[str]:
    """Why this interpreter's APIs cannot be observed, or None."""
    if sys.implementation.name != "cpython":
        return f"{sys.implementation.name} is not CPython"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "this CPython runs without the GIL"
    differs = _native.apis_layout()
    return differs and f"this CPython's {differs} is not laid out as in 3.8 to 3.13"


def chosen(frameworks: Optional[Iterable[Union[str, Framework]]]) -> List[Framework]:
    """The frameworks that start() is given, None for all known. ValueError: one is not known."""
    found = []
    for one in FRAMEWORKS if frameworks is None else [frameworks] if isinstance(frameworks, (str, Framework)) else frameworks:
        if not isinstance(one, Framework) and one not in FRAMEWORKS:
            raise ValueError(f"invalid framework {one!r}: expected {', '.join(FRAMEWORKS)}, or a Framework")
        found.append(one if isinstance(one, Framework) else FRAMEWORKS[one])
    if len(found) > _DOMAINS:
        raise ValueError(f"too many frameworks: {len(found)}, expected at most {_DOMAINS}")
    return found


def start(frameworks: Optional[Iterable[Union[str, Framework]]] = None, hook_inside: bool = False, parall_execute: bool = True,
          only: Optional[Union[str, Sequence[str]]] = None, *, report: Optional[Callable[[str, float], None]] = None,
          inside_classes: bool = True) -> Coverage:
    """Observes the APIs of FRAMEWORKS ("torch", "paddle", "mindspore", or a Framework; default: these three) from now on. Those that
    the program imports later are hooked then. A second call takes the place of the first.

    HOOK_INSIDE: also calls that another API's implementation makes; else outermost calls only, of each thread and framework.
    INSIDE_CLASSES=False excludes layers from these. PARALL_EXECUTE=False: a call ends when the device has done its work; without a
    device there is nothing to wait for. ONLY: shell patterns of the names to observe, as "torch.nn.*". REPORT(name, seconds) is
    called after each call that did not fail, on its thread; what it raises, the call raises.

    Returns what was hooked. RuntimeError: this interpreter is not known. ValueError: a framework is not known.
    """
    global _session
    wanted = chosen(frameworks)
    reason = refusal()
    if reason:
        raise RuntimeError(f"cannot observe APIs: {reason}")
    with _lock:
        stop()
        session = _Session(wanted, hook_inside, parall_execute, [only] if isinstance(only, str) else list(only or ()))
        session.report = report
        session.inside_classes = inside_classes
        _session = session
        try:
            session.begin()
        except BaseException:
            stop()
            raise
        return session.coverage


def start_from_environment(value: str) -> None:
    """start() for HOOK_PYTHON_APIS=VALUE: "1" for all frameworks, or names of them with commas between. ValueError: one is not known."""
    start(None if value == "1" else value.split(","))


def stop() -> None:
    """Restores every slot. Calls that are open end as they began. Does nothing if start() was not called."""
    global _session
    with _lock:
        session, _session = _session, None
        if session:
            if _block:
                _rows.extend(_native.apis_block_end())
            session.end()


def is_on() -> bool:
    """Whether APIs are observed now."""
    return _session is not None


def coverage() -> Coverage:
    """What is hooked now."""
    return _session.coverage if _session else Coverage({}, {})


def start_analysis() -> None:
    """A block begins: numbers of calls that begin from now on. A block that is open already is given up."""
    global _block
    with _lock:
        _block = True
        _rows.clear()
        _native.apis_block_begin()


def end_analysis() -> Analysis:
    """The block ends. Returns the numbers of its calls; calls that are still open are not among them. RuntimeError: no block is open."""
    global _block
    with _lock:
        if not _block:
            raise RuntimeError("cannot end an analysis: start_analysis() was not called")
        _block = False
        rows = _rows + _native.apis_block_end()
        _rows.clear()
    return Analysis(_row(name, numbers) for name, numbers in rows)


def _row(name: str, numbers: Sequence[int]) -> Row:
    calls, errors, total, least, median, high, most = numbers
    return Row(name, calls, errors, total, total / calls, least, median, high, most)
