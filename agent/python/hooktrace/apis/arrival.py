"""arrival: says when the program imports a module that is not there yet."""
import importlib.abc
import importlib.machinery
import sys
from typing import Any, Callable, Optional, Sequence


class Arrival(importlib.abc.MetaPathFinder):
    """Stands in sys.meta_path until close(); calls ARRIVED(name) after each of the modules NAMES has been imported."""

    def __init__(self, names: Sequence[str], arrived: Callable[[str], None]) -> None:
        self._names = set(names)
        self._arrived = arrived
        sys.meta_path.insert(0, self)

    def close(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Optional[importlib.machinery.ModuleSpec]:
        if fullname not in self._names:
            return None
        self._names.discard(fullname)
        spec = next(filter(None, (finder.find_spec(fullname, path, target) for finder in sys.meta_path
                                  if finder is not self and hasattr(finder, "find_spec"))), None)
        execute = getattr(spec and spec.loader, "exec_module", None)
        if spec is None or execute is None:
            return spec

        def exec_module(module: Any) -> None:
            del spec.loader.exec_module  # type: ignore[union-attr]
            execute(module)
            self._arrived(fullname)
        try:
            spec.loader.exec_module = exec_module  # type: ignore[union-attr,method-assign]
        except AttributeError:
            pass  # a loader that is a class, or has slots: the module comes, unobserved
        return spec
