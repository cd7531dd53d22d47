"""start() and stop(): tracing of this process, once it runs."""
import contextlib
import importlib
import os
import re
import sys
import threading
import warnings
from typing import Any, Dict, Iterator, Optional, Sequence, Tuple, Union

from . import _native, agent, collector, hookcli

Words = Union[str, Sequence[str], None]
Part = Union[bool, Dict[str, Any]]  # whether a part starts, or with which arguments

LEVEL = re.compile(r"(.+=)?(off|count|sample|time|record|record\+args|record\+stack(:[0-9]+/s)?)")


class _State:
    """What start() did in this process. Guarded by `lock`."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.on = False
        self.directory: Optional[str] = None
        # Variables that children get, and their values before: None if they were not set.
        self.environment: Dict[str, Tuple[Optional[str], str]] = {}


_state = _State()


def _after_fork() -> None:
    # Another thread of the parent may have held the lock.
    _state.lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def _joined(words: Words) -> Optional[str]:
    return words if words is None or isinstance(words, str) else ",".join(words)


def _check_level(level: Optional[str]) -> None:
    for word in level.split(",") if level is not None else ():
        if not LEVEL.fullmatch(word):
            raise ValueError(f"unknown level '{word}': off count sample time record record+args record+stack record+stack:N/s, or PATTERN=LEVEL")


def _settings(**values: object) -> Dict[str, str]:
    return {f"HOOK_{name.upper()}": str(value) for name, value in values.items() if value is not None}


def _warn(text: object) -> None:
    warnings.warn(f"hooktrace: this process is not traced: {text}", RuntimeWarning, stacklevel=3)


def _put(environment: Dict[str, Tuple[Optional[str], str]]) -> None:
    for name, (_, value) in environment.items():
        os.environ[name] = value


def _take_back(environment: Dict[str, Tuple[Optional[str], str]]) -> None:
    for name, (before, value) in environment.items():
        if os.environ.get(name) != value:
            continue
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _find_collector(file: str, settings: Dict[str, str]) -> Tuple[Dict[str, str], Optional[str]]:
    """Variables of a job, and its directory if it is known."""
    cli = hookcli.find()
    if cli:
        return collector.start(cli, file, settings)
    directory = collector.running()
    if directory:
        return {**settings, "HOOK_RUN_DIR": directory}, None
    raise collector.CollectorError("no collector runs, and hookcli, which starts one, is neither beside this package nor in PATH: "
                                   "`pip install hooktrace-tools`, or start a hookcollector")


def _start(settings: Dict[str, str], children: bool) -> None:
    """Has the agent trace this process. Raises AgentError or CollectorError."""
    library = agent.load()
    _state.directory = None
    if agent.is_on(library):
        return
    if agent.is_preloaded():
        # stop() ended what the preloaded agent began: the job of the environment is still this process's.
        agent.start_late(library, {})
        return
    if not agent.can_start_late(library):
        raise agent.AgentError("this agent cannot start in a process that runs already: start the program by `python -m hooktrace run`")
    file = agent.path() or agent.LIBRARY
    variables, shown = _find_collector(file, settings)
    _state.directory = shown and os.path.abspath(shown)
    agent.start_late(library, {name: value for name, value in variables.items() if name.startswith("HOOK_")})
    if children:
        variables.pop("LD_PRELOAD", None)
        _state.environment = agent.environment(file, variables)
        _put(_state.environment)


def _start_parts(parts: Dict[str, Part]) -> None:
    for name, wanted in parts.items():
        if wanted is False or not _state.on:
            continue
        try:
            importlib.import_module(f"{__package__}.{name}").start(**(wanted if isinstance(wanted, dict) else {}))
        except RuntimeError as error:
            warnings.warn(f"hooktrace: {name} is left out: {error}", RuntimeWarning, stacklevel=3)


def _stop_parts() -> None:
    """Stops what was started, by start() or by the program."""
    for name in ("apis", "tracer"):
        part = sys.modules.get(f"{__package__}.{name}")
        if part:
            part.stop()


def _is_traced() -> bool:
    """Whether start() took effect and still does: `hookcli detach` may have ended it."""
    return _state.on and agent.is_on(agent.load())


def _leave() -> None:
    """Ends what start() began beside the agent."""
    _stop_parts()
    _state.on = bool(_native.annotate(False))
    _take_back(_state.environment)
    _state.environment = {}


def start(*, hooks: Words = None, level: Words = None, store: Optional[str] = None, job: Optional[str] = None,
          budget: Union[str, float, None] = None, on_full: Optional[str] = None, upstream: Optional[str] = None, keep: Optional[str] = None,
          device_time: bool = False, children: bool = True, quiet: bool = False, python: Part = False, apis: Part = False) -> bool:
    """Traces this process from now on, all its threads and what it loads later. Returns whether it is traced.

    hooks, level, store, job, budget (percent of the process's time), on_full, upstream, keep, device_time: as `hookcli run` has them; hooks and level
    may be lists. children: also trace programs that this process starts. quiet: do not print the path of the job to stderr.
    python: also trace Python functions (hooktrace.tracer.start()). apis: also time the APIs of frameworks (hooktrace.apis.start()). A dictionary has
    the arguments of that start(). Both begin also if the process is traced already. A RuntimeWarning says why one of them cannot.

    If the process is traced already, by `python -m hooktrace run` or `hookcli attach`, those settings hold and the ones given here do not. A second
    start() changes nothing; one after a stop() opens a new job. Without an agent or a collector a RuntimeWarning says what to do, False is returned, and the program runs on untraced.
    Raises ValueError for a level that does not exist.
    """
    level = _joined(level)
    _check_level(level)
    settings = _settings(hooks=_joined(hooks), level=level, store=store and os.path.abspath(store), job=job, budget=budget, on_full=on_full, upstream=upstream, keep=keep,
                         device_time="1" if device_time else None)
    with _state.lock:
        if _state.on and not _is_traced():
            _leave()
        if not _state.on:
            try:
                _start(settings, children)
            except (agent.AgentError, collector.CollectorError) as error:
                _warn(error)
                return False
            _state.on = bool(_native.annotate(True))
            if _state.directory and not quiet:
                print(f"hooktrace: the job is {_state.directory}", file=sys.stderr)
        _start_parts({"tracer": python, "apis": apis})
        return _state.on


def stop() -> None:
    """Ends tracing of this process, however it began: C calls go their own way again, ranges, marks, steps and counters do nothing any more,
    functions that hooktrace.replace() redirected are called again, and programs that are started from now on are not traced.

    Nothing happens if tracing is off. A RuntimeWarning says why if the agent cannot leave the process.
    """
    with _state.lock:
        if not _state.on:
            return
        _leave()
        try:
            agent.stop_late(agent.load())
        except agent.AgentError as error:
            warnings.warn(f"hooktrace: this process is still traced: {error}", RuntimeWarning, stacklevel=2)


def is_on() -> bool:
    """Whether this process is traced, as start() and stop() say, and `hookcli detach`."""
    return _is_traced()


def job_directory() -> Optional[str]:
    """The absolute path of the job that start() opened, or None: not started, preloaded, or known to the collector only."""
    return _state.directory


@contextlib.contextmanager
def trace(**settings: object) -> Iterator[bool]:
    """`with hooktrace.trace(...)`: start() with these settings, and stop() at the end unless tracing was on before. Yields what start() returns."""
    before = is_on()
    traced = start(**settings)  # type: ignore[arg-type]
    try:
        yield traced
    finally:
        if not before:
            stop()
