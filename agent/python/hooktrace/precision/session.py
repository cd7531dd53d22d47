"""session: what is hooked while values are taken. A Dumper and a watch share it; there is one at a time."""
import contextlib
import os
import sys
import threading
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Union

from .. import _native, apis, tracing
from ..apis import catalog
from ..apis.arrival import Arrival
from ..apis.catalog import Framework
from . import sides
from .scope import Scope, module_paths

FUNCTION, MODULE, BACKWARD, NOTICE, STEP = range(5)  # enum hk_role

# They make no tensor of their own: what runs inside of them is what is dumped.
_PASSED = frozenset(("torch.Tensor.backward", "torch.Tensor.requires_grad_", "torch.load", "torch.save", "torch.compile"))

_lock = threading.RLock()
_current: Optional["Session"] = None


def _child() -> None:
    """A forked process, as a DataLoader's worker is, takes no values."""
    global _lock
    _lock = threading.RLock()
    if _current is not None:
        _native.values_step(-1, 0, False)


if hasattr(_native, "values_begin"):
    os.register_at_fork(after_in_child=_child)


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """What hooktrace itself calls of a framework within is no call of the program."""
    before = _native.values_pause(True)
    try:
        yield
    finally:
        _native.values_pause(before)


class Session:
    """Between begin() and end() the calls in SCOPE of FRAMEWORKS have their values taken in the steps that are wanted."""

    def __init__(self, owner: str, frameworks: Optional[Iterable[Union[str, Framework]]], model: Any, scope: Iterable[Any], words: Iterable[str]) -> None:
        self.owner = owner
        self.frameworks = apis.chosen(frameworks)
        self.modules = module_paths(model)
        self.scope = Scope(scope, self.modules)
        self.words = frozenset(words)
        self.functions: Dict[str, Callable[..., Any]] = {"notify": self._notify}
        self.pid = 0
        self._arrival: Optional[Arrival] = None
        self._own_apis = False
        self._told: Dict[str, Callable[[Any], None]] = {}

    def begin(self) -> None:
        """RuntimeError: values are taken already, or cannot be. ValueError: the scope names nothing."""
        global _current
        if not hasattr(_native, "values_begin"):
            raise RuntimeError("cannot take values: this build of hooktrace has no zstd (install libzstd-dev and libxxhash-dev, and build it again)")
        reason = apis.refusal()
        if reason:
            raise RuntimeError(f"cannot take values: {reason}")
        with _lock:
            if _current is not None:
                raise RuntimeError(f"cannot start {self.owner}: {_current.owner} is on, and there is one at a time (stop it first)")
            _native.values_begin(self.words)
            _current = self
            self.pid = os.getpid()
            try:
                self._hook_all()
            except BaseException:
                self.end()
                raise

    def _hook_all(self) -> None:
        _native.apis_evaluator()
        if tracing.is_on() and not apis.is_on():
            # Calls with values are calls on the timeline.
            apis.start(self.frameworks)
            self._own_apis = True
        _native.values_scope(self.scope.all, [tuple(one) for one in self.scope.ranges])
        _native.values_paths({id(module): (path, self.scope.wants_module(module, path)) for path, module in self.modules.items()})
        absent = [one.name for one in self.frameworks if one.name not in sys.modules]
        there = [one for one in self.frameworks if one.name not in absent]
        self._sides()
        named = sum([self._hook(framework) for framework in there])
        if self.scope.patterns and not named and not self.scope.may_name(absent):
            raise ValueError(f"invalid scope {self.scope.patterns!r}: no API and no module of the model has this name")
        if absent:
            self._arrival = Arrival(absent, self._arrived)

    def _sides(self) -> None:
        there = [one for one in self.frameworks if one.name in sys.modules]
        _native.values_functions({**sides.join([sides.side_of(one) for one in there]), **self.functions})

    def _arrived(self, name: str) -> None:
        with _lock:
            if _current is self and self.pid == os.getpid():
                self._sides()
                self._hook(next(one for one in self.frameworks if one.name == name))

    def _hook(self, framework: Framework) -> int:
        """Returns how many APIs of FRAMEWORK are in scope by their names."""
        named = 0
        for api in catalog.functions(framework, False):
            wanted = self.scope.wants_api(api.name)
            named += wanted
            if api.name not in _PASSED:
                _native.values_hook(api.function, api.name, api.library, FUNCTION, wanted)
        for group in catalog.layers(framework):
            _native.values_hook(group.function, group.name, group.library, MODULE, False)
        backward = sides.backward_of(framework)
        if backward is not None:
            _native.values_hook(backward, f"{framework.name}.run_backward", framework.name, BACKWARD, False)
        return named

    def notice(self, function: Any, name: str, told: Callable[[Any], None], role: int = NOTICE) -> None:
        """Has TOLD(object) called when FUNCTION, a method written in Python, is called for an object. As a STEP, that of an optimizer: when the
        gradients of the step are there, which is at its end if it has a closure."""
        _native.values_hook(function, name, name.rpartition(".")[0], role, False)
        self._told[name] = told

    def _notify(self, name: str, instance: Any) -> None:
        if self.pid == os.getpid():
            self._told[name](instance)

    def end(self) -> Dict[str, Any]:
        """Returns what was taken and left out."""
        global _current
        with _lock:
            if _current is not self:
                return {}
            _current = None
            if self.pid != os.getpid():
                return {}
            if self._arrival:
                self._arrival.close()
            counts = _native.values_end()
            _native.values_unhook()
            if self._own_apis and apis.is_on():
                apis.stop()
            _native.values_functions({})
            return counts
