"""dumper: writes the values of a program's tensors to a dump."""
import atexit
import contextlib
import glob
import json
import os
import platform
import socket
import sys
import time
from types import TracebackType
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Set, Tuple, Type, Union

from .. import _native, tracing
from ..apis.catalog import Framework
from . import loss_scale
from .device import Queue
from .session import STEP, Session, aside
from .steps import Steps, parse_size, show_size

_PARAMETER, _GRADIENT, _OPTIMIZER = 2, 3, 4  # enum hk_dump_phase
_LEVELS = {"api": ("apis",), "module": ("modules",), "mix": ("apis", "modules")}


def default_path() -> str:
    """Beside the job of hooktrace, or in the working directory: the same for all ranks of a job."""
    job = tracing.job_directory()
    if job:
        return job.rstrip("/") + "-values"
    _, world, name = _native.values_identity()
    return os.path.abspath(f"hook-values-{name or (f'{os.getppid()}' if world > 1 else time.strftime('%Y%m%d-%H%M%S-') + str(os.getpid()))}")


def about(session: Session, **settings: Any) -> str:
    """What a dump's file says of its process, as JSON."""
    rank, world, job = _native.values_identity()
    versions = {one.name: getattr(sys.modules[one.name], "__version__", "") for one in session.frameworks if one.name in sys.modules}
    return json.dumps({"framework": next(iter(versions), ""), "versions": versions, "rank": rank, "world": world, "host": socket.gethostname(),
                       "job": job, "pid": os.getpid(), "python": platform.python_version(), "program": sys.argv[0] if sys.argv else "", **settings})


def make_parents(path: str) -> None:
    """Makes the directories above the dump PATH. What is wrong with them values_write() says."""
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(path), exist_ok=True)


def optimizers_of(optimizer: Any) -> List[Any]:
    """An optimizer, a list or a dictionary of them, as a list. TypeError: one of them has no step()."""
    if optimizer is None:
        return []
    found = list(optimizer.values() if isinstance(optimizer, dict) else optimizer if isinstance(optimizer, (list, tuple)) else [optimizer])
    for one in found:
        if not hasattr(type(one), "step"):
            raise TypeError(f"invalid optimizer {type(one).__name__}: expected an object with step(), or a list of them")
    return found


def tensors_of(slot: str, value: Any) -> Iterator[Tuple[str, Any]]:
    """VALUE if it is a tensor, or the tensors of a list, as LBFGS has them, with their places behind SLOT."""
    if hasattr(value, "data_ptr"):
        yield slot, value
    elif isinstance(value, (list, tuple)):
        for place, one in enumerate(value):
            yield from tensors_of(f"{slot}.{place}", one)


class Dumper:
    """Writes the inputs, outputs and gradients of APIs to PATH between start() and stop(); see deploy/docs/precision.md.

        with hooktrace.precision.Dumper("values", model=model) as dumper:
            for batch in batches:
                train(batch)
                dumper.step()
    """

    def __init__(self, path: Optional[str] = None, *, task: str = "statistics", level: str = "api", model: Any = None, scope: Sequence[Any] = (),
                 steps: Optional[Iterable[int]] = None, ranks: Optional[Iterable[int]] = None, sample: int = 1, backward: bool = True,
                 gradients: bool = False, parameters: bool = False, optimizer: Any = None, scalars: bool = True, stacks: bool = True,
                 limit: Union[int, str] = "10G", compression: int = 1, frameworks: Optional[Iterable[Union[str, Framework]]] = None,
                 quiet: bool = False) -> None:
        if task not in ("statistics", "tensor"):
            raise ValueError(f"invalid task {task!r}: expected statistics or tensor")
        if level not in _LEVELS:
            raise ValueError(f"invalid level {level!r}: expected api, module or mix")
        if (gradients or parameters) and model is None:
            raise ValueError(f"invalid {'gradients' if gradients else 'parameters'}=True: those of no model (give model=)")
        words = [*_LEVELS[level], *(word for word, wanted in (("payloads", task == "tensor"), ("scalars", scalars), ("stacks", stacks),
                                                              ("backward", backward)) if wanted)]
        self._task, self._level = task, level
        self._steps = Steps(steps, sample)
        self._ranks = None if ranks is None else frozenset([ranks] if isinstance(ranks, int) else ranks)
        self._limit = parse_size(limit)
        self._compression = compression
        self._gradients, self._parameters, self._optimizers = gradients, parameters, optimizers_of(optimizer)
        self._quiet = quiet
        self._session = Session("a Dumper", frameworks, model, scope, words)
        self._queue = Queue(task == "tensor")
        self._session.functions["queue"] = self._queue.add
        self._on = False
        self._step = 0
        self._first_bytes: Optional[int] = None
        self._graded: Set[int] = set()  # id() of parameters whose gradients of this step are written
        self._counts: Dict[str, Any] = {}
        self.path = os.path.abspath(path) if path else None

    def __enter__(self) -> "Dumper":
        self.start()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], traceback: Optional[TracebackType]) -> None:
        self.stop()

    @property
    def counts(self) -> Dict[str, Any]:
        """Rows, calls, bytes and payloads so far, and `left_out`: {reason: how many}."""
        return _native.values_counts() if self._on else self._counts

    def _say(self, text: str) -> None:
        if not self._quiet:
            print(f"hooktrace: {text}", file=sys.stderr, flush=True)

    def start(self) -> None:
        """Values are taken from now on, in step 0. Does nothing if they are, or if this rank is not one of RANKS.

        RuntimeError: another dump or watch is on. OSError: PATH cannot be written. ValueError: SCOPE names nothing."""
        rank = max(_native.values_identity()[0], 0) if hasattr(_native, "values_identity") else 0
        if self._on or (self._ranks is not None and rank not in self._ranks):
            return
        self._session.begin()
        try:
            self._open(rank)
        except BaseException:
            self._session.end()
            raise
        self._on = True
        self._step = 0
        atexit.register(self.stop)
        _native.values_step(-1, 0, self._steps.wants(0))

    def _open(self, rank: int) -> None:
        self.path = self.path or default_path()
        make_parents(self.path)
        self._say(f"values of rank {rank} go to {self.path}, at most {show_size(self._limit)} for this process")
        if glob.glob(os.path.join(glob.escape(self.path), f"rank{rank}-*.hkv")):
            self._say(f"{self.path} has values of rank {rank} already: those of this process are added (give another path to keep them apart)")
        text = about(self._session, task=self._task, level=self._level)
        _native.values_write(self.path, text, rank, self._limit, self._compression)
        loss_scale.follow(self._session)
        kinds = {type(one).step: type(one) for one in self._optimizers if self._gradients}
        for kind in kinds.values():
            self._session.notice(kind.step, f"{kind.__module__}.{kind.__name__}.step", self._has_gradients, STEP)

    def _is_mine(self) -> bool:
        return self._on and self._session.pid == os.getpid()

    def step(self) -> None:
        """A step ends and the next begins; on hooktrace's timeline too. Does nothing after stop()."""
        if not self._is_mine():
            return
        taken = self._steps.wants(self._step)
        if taken:
            self._end_step()
        ended, self._step = self._step, self._step + 1
        _native.values_step(ended if taken else -1, self._step, self._steps.wants(self._step))
        _native.step()
        if taken:
            self._estimate()

    def _end_step(self) -> None:
        with aside():
            self._write_states()
            self._queue.collect()
        self._graded.clear()

    def _estimate(self) -> None:
        """Says once what a step takes, as far as the disk has it."""
        if self._task != "tensor" or self._first_bytes is not None:
            return
        counts = _native.values_counts()
        self._first_bytes = counts.get("offered_bytes", 0)
        if self._first_bytes:
            self._say(f"a step has {show_size(self._first_bytes)} of elements before compression; {show_size(self._limit)} have room for "
                      f"{self._limit // self._first_bytes} such steps")

    def _parameters_of(self) -> List[Tuple[str, Any]]:
        """The parameters of the model, each once, by path."""
        seen: Dict[int, Tuple[str, Any]] = {}
        for path, module in self._session.modules.items():
            for name, parameter in getattr(module, "_parameters", {}).items():
                if parameter is not None:
                    seen.setdefault(id(parameter), (".".join(filter(None, (path, name))), parameter))
        return list(seen.values())

    def _has_gradients(self, optimizer: Any) -> None:
        if self._on and any(optimizer is one for one in self._optimizers):
            self._write_gradients(optimizer if len(self._optimizers) > 1 else None)

    def _write_gradients(self, optimizer: Any = None) -> None:
        """Writes the gradients that this step has no rows of: those of OPTIMIZER's parameters, or of all."""
        if not self._gradients:
            return
        wanted = None if optimizer is None else {id(one) for group in optimizer.param_groups for one in group["params"]}
        for name, parameter in self._parameters_of():
            if id(parameter) in self._graded or (wanted is not None and id(parameter) not in wanted):
                continue
            gradient = parameter.grad if parameter.is_leaf else None
            if gradient is not None:
                self._graded.add(id(parameter))
                _native.values_state(_GRADIENT, name, "", "grad", gradient)

    def _write_states(self) -> None:
        self._write_gradients()
        if self._parameters:
            for name, parameter in self._parameters_of():
                _native.values_state(_PARAMETER, name, "", "0", parameter)
            for optimizer in self._optimizers:
                self._write_optimizer(optimizer)

    def _write_optimizer(self, optimizer: Any) -> None:
        names = {id(parameter): name for name, parameter in self._parameters_of()}
        for number, group in enumerate(getattr(optimizer, "param_groups", ())):
            for place, parameter in enumerate(group["params"]):
                name = names.get(id(parameter), f"{number}.{place}")
                for key, value in optimizer.state.get(parameter, {}).items():
                    for slot, tensor in tensors_of(str(key), value):
                        _native.values_state(_OPTIMIZER, name, type(optimizer).__name__, slot, tensor)

    def stop(self) -> None:
        """Ends the step and the dump, and says what it has. Does nothing if it is not on."""
        if not self._on:
            return
        self._on = False
        atexit.unregister(self.stop)
        if self._session.pid != os.getpid():
            return
        if self._steps.wants(self._step):
            self._end_step()
            _native.values_step(self._step, self._step, False)
        self._counts = self._session.end()
        self._say(summary(self._counts, self.path))


def summary(counts: Dict[str, Any], path: Optional[str]) -> str:
    """One line: what a dump has, and everything that it has not, by reason."""
    many = {name: counts.get(name, 0) for name in ("rows", "calls", "backward_calls", "payloads", "bytes")}
    nothing = "" if many["rows"] or counts.get("left_out") else " (no call was within scope=, steps= and level=)"
    text = f"{many['rows']} rows{nothing} of {many['calls']} calls and {many['backward_calls']} backward calls"
    if many["payloads"]:
        text += f", elements of {many['payloads']} tensors"
    text += f", {show_size(many['bytes'])} in {path}"
    if counts.get("error"):
        text += f"; writing failed: {os.strerror(counts['error'])}"
    left = ", ".join(f"{number} {reason}" for reason, number in counts.get("left_out", {}).items())
    return text + (f"; left out: {left}" if left else "")
