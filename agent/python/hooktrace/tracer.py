"""Traces Python functions: each becomes a call on the timeline, named `name (file:line)`, in the domain "python".

A call is one run of a function's code: of a generator or a coroutine, each resumption is a call of its own, which ends when it
yields, returns or raises. Calls that end with an exception count as errors. Frames that are open when tracing starts count as one
call each, which begins then (in other threads: at their next traced call). What is open when tracing stops ends then (in other
threads: on CPython 3.11 and older when it returns, on newer ones when the thread ends or tracing starts again).

Up to CPython 3.11 an evaluation of a frame is a call in C while functions are traced. A recursion that is so deep that the
thread's C stack ends raises RecursionError, also where `sys.setrecursionlimit` would allow it. From 3.12 on there is no such limit.
The times of frames that were open at the start are inexact up to 3.11: such a call ends when the function around it calls again.
"""
import atexit
import os
import sys
import threading
from typing import Any, Dict, Iterable, List, Optional, Tuple

from . import _native, tracer_parameters

_EVENTS = ("PY_START", "PY_RESUME", "PY_THROW", "PY_RETURN", "PY_YIELD", "PY_UNWIND")
_TOOLS = (3, 4)
_VERSIONS = ((3, 8), (3, 13))


class _State:
    """What is on now. `lock` guards the rest."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.on = False
        self.checked = False
        self.c_calls_known = False
        self.settings: Optional[Tuple[Any, ...]] = None
        self.tool: Optional[int] = None
        self.callbacks: Optional[Dict[str, Any]] = None


_state = _State()


def start(c_calls: bool = False, modules: bool = False, include: Optional[Iterable[str]] = None, exclude: Optional[Iterable[str]] = None,
          parameters: bool = False) -> None:
    """Traces functions from now on, in the threads that run and in later ones. If tracing is on, the settings take effect.

    c_calls: also calls of functions and methods written in C. On CPython 3.11 and older, threads with a profile function of their
    own (`sys.setprofile`, cProfile) are left alone.
    modules: calls of a torch.nn.Module are named `nn.Module: Class_k`, for the k-th instance of Class that is called.
    parameters: as modules, and `tracer_parameters.noted()` has the tensors of each module and optimizer.
    include, exclude: shell patterns (`fnmatch`) of functions' names or of files, as a whole path or as shown; for functions written
    in C, of their names and modules. Without `include` all are included; `exclude` comes after it.

    Raises RuntimeError, with the reason, if this interpreter cannot be traced, there is no agent, or sys.monitoring has no tool free.
    """
    settings = (_prefixes(), _patterns("include", include), _patterns("exclude", exclude), _own_directory(), bool(c_calls),
                bool(modules or parameters), tracer_parameters.note if parameters else None)
    with _state.lock:
        _check(c_calls)
        was_on, was = _state.on, _state.settings
        if was_on and was == settings:
            return
        if was != settings:
            _native.tracer_configure(*settings)
            _state.settings = settings
        if was_on and was is not None and was[4] == settings[4]:
            _restart_events()
            return
        if was_on:
            _end()
        _begin(bool(c_calls))


def stop() -> None:
    """Traces no functions from now on, in any thread. Does nothing if tracing is off."""
    with _state.lock:
        if _state.on:
            _end()


def start_from_environment(value: str) -> None:
    """Calls start() as the environment variable HOOK_PYTHON_TRACE says: "1", or words separated by commas, each of them `c_calls`,
    `modules`, `parameters`, `include=PATTERN` or `exclude=PATTERN`. Raises ValueError for others, and what start() raises."""
    switches: Dict[str, bool] = {}
    patterns: Dict[str, List[str]] = {}
    for word in filter(None, value.split(",")):
        name, equals, pattern = word.partition("=")
        if not equals and name in ("c_calls", "modules", "parameters"):
            switches[name] = True
        elif pattern and name in ("include", "exclude"):
            patterns.setdefault(name, []).append(pattern)
        elif word != "1":
            raise ValueError(f"invalid HOOK_PYTHON_TRACE {value!r}: expected 1, c_calls, modules, parameters, include=PATTERN or "
                             f"exclude=PATTERN, separated by commas, not {word!r}")
    start(switches.get("c_calls", False), switches.get("modules", False), patterns.get("include"), patterns.get("exclude"),
          switches.get("parameters", False))


def is_on() -> bool:
    """Returns whether functions are traced now."""
    return _state.on


def _begin(c_calls: bool) -> None:
    if sys.version_info >= (3, 12):
        _take_tool()
    try:
        _native.tracer_begin()
        if sys.version_info >= (3, 12):
            _set_events(c_calls)
    except BaseException:
        _release_tool()
        raise
    _state.on = True


def _end() -> None:
    _release_tool()
    _native.tracer_end()
    _state.on = False


# ---- sys.monitoring: CPython 3.12 and later ----


def _take_tool() -> None:
    monitoring = sys.monitoring  # type: ignore[attr-defined]
    for tool in _TOOLS:
        if monitoring.get_tool(tool) is None:
            monitoring.use_tool_id(tool, "hooktrace")
            _state.tool = tool
            return
    names = " and ".join(repr(monitoring.get_tool(tool)) for tool in _TOOLS)
    raise RuntimeError(f"cannot trace Python functions: {names} use the tools 3 and 4 of sys.monitoring")


def _set_events(c_calls: bool) -> None:
    monitoring = sys.monitoring  # type: ignore[attr-defined]
    names = _EVENTS + (("CALL", "C_RETURN", "C_RAISE") if c_calls else ())
    if _state.callbacks is None:
        _state.callbacks = _native.tracer_callbacks(monitoring.DISABLE)
    mask = 0
    for name in names:
        event = getattr(monitoring.events, name)
        monitoring.register_callback(_state.tool, event, _state.callbacks[name])
        mask |= event
    monitoring.restart_events()
    monitoring.set_events(_state.tool, mask)


def _restart_events() -> None:
    if _state.tool is not None:
        sys.monitoring.restart_events()  # type: ignore[attr-defined]


def _release_tool() -> None:
    if _state.tool is None:
        return
    monitoring = sys.monitoring  # type: ignore[attr-defined]
    monitoring.set_events(_state.tool, 0)
    for name in _EVENTS + ("CALL", "C_RETURN", "C_RAISE"):
        monitoring.register_callback(_state.tool, getattr(monitoring.events, name), None)
    monitoring.free_tool_id(_state.tool)
    _state.tool = None


# ---- settings ----


def _patterns(what: str, patterns: Optional[Iterable[str]]) -> Tuple[str, ...]:
    if isinstance(patterns, str):
        raise TypeError(f"{what} must be several patterns, not one text: [{patterns!r}]")
    return tuple(patterns or ())


def _prefixes() -> Tuple[str, ...]:
    """Directories that names of files are shown without, each with its last slash; the longest first. A file is shown in the same way at
    each start: what comes below a directory of an earlier start is not added."""
    known = set(_state.settings[0]) if _state.settings else set()
    found = {os.path.join(os.path.abspath(path), "") for path in [*sys.path, os.getcwd()] if isinstance(path, str)} - {"/"}
    found = {path for path in found if not any(path.startswith(prefix) for prefix in known)}
    return tuple(sorted(known | found, key=len, reverse=True))


def _own_directory() -> str:
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "")


def _refusal() -> Optional[str]:
    """Why this interpreter cannot be traced."""
    name, version = sys.implementation.name, sys.version_info[:2]
    if name != "cpython":
        return f"{name} is not CPython"
    if not _VERSIONS[0] <= version <= _VERSIONS[1]:
        return f"CPython {version[0]}.{version[1]} is not known (3.8 to 3.13 are)"
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return "this is a free-threaded build of CPython"
    return None


def _marker(value: Any) -> Any:
    return value


def _markers(value: Any) -> Any:
    yield value


def _check(c_calls: bool) -> None:
    """Raises RuntimeError if this interpreter cannot be traced."""
    refusal = _refusal()
    if refusal:
        raise RuntimeError(f"cannot trace Python functions: {refusal}")
    if not _state.checked:
        version = sys.version_info[0] << 8 | sys.version_info[1]
        code = compile("0", "<hooktrace>", "eval")
        _state.c_calls_known = _native.tracer_check(version, code, type(code).__basicsize__, _marker, _markers, list.append, [].append)
        _state.checked = True
        atexit.register(stop)
    if c_calls and not _state.c_calls_known:
        raise RuntimeError("cannot trace calls of C functions: the functions of this build of CPython are not known")


def _after_fork() -> None:
    _state.lock = threading.RLock()
    _native.tracer_forked()


os.register_at_fork(after_in_child=_after_fork)
