"""watching: finds the calls that make NaN, Inf, or the largest number of a half-precision dtype, while the program runs."""
import atexit
import os
import sys
import traceback
import warnings
from types import TracebackType
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Type, Union

from .. import _native
from ..apis.catalog import Framework
from . import device, loss_scale
from .dumper import about, default_path, make_parents
from .overflow_flag import OverflowFlag
from .session import Session
from .steps import parse_size

_BACKWARD = 1  # enum hk_dump_phase
_DEVICE = "device"
# Their results hold memory that is not written yet.
_UNWRITTEN = frozenset(("empty", "empty_like", "empty_permuted", "empty_quantized", "empty_strided", "new_empty", "new_empty_strided", "resize_",
                        "resize_as_"))


class Find(NamedTuple):
    """A call whose outputs are not finite. INHERITED: its inputs, named by their slots, were not finite already. PHASE is "forward" or "backward",
    or "device" for a step in which a device's overflow flag was set and no call was found: it has no API."""
    number: int
    api: str
    of: str
    call: int
    phase: str
    step: int
    inherited: bool
    inputs: Tuple[str, ...]
    outputs: Tuple[str, ...]
    stack: Tuple[str, ...]
    path: Optional[str]


Reaction = Union[str, Callable[[Find], None]]


def _stack() -> Tuple[str, ...]:
    """The program's frames, innermost first."""
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    frames = [frame for frame in traceback.extract_stack() if not frame.filename.startswith(own)]
    return tuple(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in reversed(frames))


class Watch:
    """Looks at what calls return until stop(); see watch()."""

    def __init__(self, limit: Optional[int] = None, on_find: Reaction = "warn", save: bool = True, *, path: Optional[str] = None, model: Any = None,
                 scope: Sequence[Any] = (), backward: bool = True, inherited: bool = False, size: Union[int, str] = "10G",
                 frameworks: Optional[Iterable[Union[str, Framework]]] = None) -> None:
        if not callable(on_find) and on_find not in ("raise", "warn"):
            raise ValueError(f"invalid on_find {on_find!r}: expected \"raise\", \"warn\" or a function")
        if limit is not None and limit < 1:
            raise ValueError(f"invalid limit {limit}: expected 1 or more")
        words = ["apis", "watching", "payloads", "scalars", "stacks", *(("backward",) if backward else ())]
        self._session = Session("a watch", frameworks, model, scope, words)
        self._queue = device.Queue(elements=True)
        self._session.functions.update(found=self._found, react=self._act, look=device.look, queue=self._queue.add)
        self._limit, self._react, self._save, self._inherited = limit, on_find, save, inherited
        self._size = parse_size(size)
        self._on = False
        self._step = 0
        self._counts: Dict[str, Any] = {}
        self._scaled_steps: set = set()
        self._scaled = self._seen = False  # of this step: a GradScaler scaled, numbers that are not finite were seen
        self._flag = OverflowFlag()
        self._many_inherited = 0
        self.path = os.path.abspath(path) if path else None
        self.finds: List[Find] = []

    def __enter__(self) -> "Watch":
        self.start()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.stop()

    def start(self) -> None:
        """Calls are looked at from now on. RuntimeError: a dump or another watch is on."""
        if not self._on:
            self._session.begin()
            self._on = True
            loss_scale.follow(self._session, self._scales)
            atexit.register(self.stop)
            self._flag.clear()
            _native.values_step(-1, 0, True)

    def step(self) -> None:
        """A step ends and the next begins; on hooktrace's timeline too. ValueError: as watch() says of "raise", of a device's overflow flag."""
        if self._on and self._session.pid == os.getpid():
            is_found = self._is_flagged()
            ended, self._step = self._step, self._step + 1
            self._scaled = self._seen = False
            _native.values_step(ended, self._step, True)
            _native.step()
            if is_found:
                self._act()

    @property
    def counts(self) -> Dict[str, Any]:
        """What was looked at and left out, and `finds`, `inherited` and `loss_scale_steps`: steps in which scaled gradients overflowed. `flag_reads`:
        steps whose overflow flag a device said; `flags_set`: of these, steps in which it was set."""
        taken = dict(_native.values_counts() if self._on else self._counts)
        unread = {f"steps without the device's overflow flag: {reason}": number for reason, number in self._flag.unread.items()}
        if unread:
            taken["left_out"] = {**taken.get("left_out", {}), **unread}
        return {**taken, "finds": len(self.finds), "inherited": self._many_inherited, "loss_scale_steps": len(self._scaled_steps),
                "flag_reads": self._flag.read, "flags_set": self._flag.were_set}

    def _scales(self) -> None:
        self._scaled = True

    def _is_flagged(self) -> bool:
        """Whether a device's overflow flag is a find of this step, which ends: calls showed nothing, and no scaler expects it."""
        if not self._flag.take() or self._seen:
            return False
        if self._scaled:
            self._scaled_steps.add(self._step)
            return False
        self.finds.append(Find(len(self.finds) + 1, "", "", 0, _DEVICE, self._step, False, (), (), (), None))
        _native.mark(f"overflow flag: step {self._step}")
        return True

    def _open(self) -> Optional[str]:
        if not self._save:
            return None
        if self.path is None:
            self.path = default_path()
        make_parents(self.path)
        try:
            _native.values_write(self.path, about(self._session, task="watch", level="api"), max(_native.values_identity()[0], 0), self._size, 1)
        except OSError as error:
            self._save = False
            print(f"hooktrace: the values of finds are not saved: {error} (give another path=, or save=False)", file=sys.stderr, flush=True)
            return None
        return self.path

    def _found(self, api: str, of: str, call: int, phase: int, inputs: List[str], outputs: List[str]) -> Optional[bool]:
        """Called by hooktrace._native. Returns whether the call's values are to be saved, or None if it is no find."""
        if api.rpartition(".")[2] in _UNWRITTEN:
            return None
        self._seen = True
        if phase == _BACKWARD and _native.values_is_loss_scaled():
            self._scaled_steps.add(self._step)
            return None
        if inputs:
            self._many_inherited += 1
            if not self._inherited:
                return None
        find = Find(len(self.finds) + 1, api, of, call, "backward" if phase == _BACKWARD else "forward", self._step, bool(inputs), tuple(inputs),
                    tuple(outputs), _stack(), self._open())
        self.finds.append(find)
        _native.mark(f"not finite: {api}.{call}")
        return find.path is not None

    def _act(self) -> None:
        """Called by hooktrace._native when the values of the last find are saved; what it raises, the call raises."""
        self._queue.collect()
        find = self.finds[-1]
        self._tell(find)
        if self._react == "raise" and find.number >= (self._limit or 1):
            saved = f"dump file is saved in '{find.path}'" if find.path else "no values are saved"
            raise ValueError(f"[overflow {find.number} times]: {saved}.")

    def _tell(self, find: Find) -> None:
        if callable(self._react):
            self._react(find)
        else:
            warnings.warn(show(find), RuntimeWarning, stacklevel=3)

    def stop(self) -> None:
        """Ends the step and the watch: an overflow flag of this step is said, and raises nothing. Does nothing if it is not on."""
        if not self._on:
            return
        self._on = False
        atexit.unregister(self.stop)
        is_found = self._session.pid == os.getpid() and self._is_flagged()
        self._counts = self._session.end()
        unread = self._flag.summary()
        if unread and self._session.pid == os.getpid():
            print(f"hooktrace: {unread}", file=sys.stderr, flush=True)
        if is_found:
            self._tell(self.finds[-1])


def show(find: Find) -> str:
    """One line, with the program's innermost frame."""
    if find.phase == _DEVICE:
        return f"hooktrace: the device's overflow flag was set in step {find.step}, and no call returned numbers that are not finite"
    cause = "its inputs were not finite already" if find.inherited else "its inputs were finite"
    where = f" of {find.of}" if find.of else ""
    place = f", called in {find.stack[0]}" if find.stack else ""
    return f"hooktrace: {find.phase} of {find.api}.{find.call}{where} made numbers that are not finite in step {find.step}; {cause}{place}"


def watch(limit: Optional[int] = None, on_find: Reaction = "warn", save: bool = True, **options: Any) -> Watch:
    """Looks at the outputs of all calls from now on: NaN, Inf, and the largest number of float16 and bfloat16 are finds.

    on_find: "warn"; "raise", which warns too, and has the LIMIT-th find (the first by default) raise ValueError in the call; or a function that gets each Find.
    save: the values of a find go to a dump at `path` (default: as Dumper's). inherited: calls whose inputs were not finite already are
    finds too. Each call with outputs on a device waits for it. model, scope, frameworks: as Dumper's. backward: gradients are looked at as well;
    those of a GradScaler are only counted. An Ascend device's overflow flag, set in a step without other such numbers, is a find that step() makes.
    """
    started = Watch(limit, on_find, save, **options)
    started.start()
    return started
