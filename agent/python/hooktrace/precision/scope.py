"""scope: which calls a dump is about, from what the user names."""
import fnmatch
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

Bound = Union[int, str]


class Range(NamedTuple):
    """From one call to another, both included: names as they are called, a number of -1 for each call; None and numbers of all calls."""
    first: Any
    first_number: int
    last: Any
    last_number: int


def _bound(bound: Bound) -> Tuple[Any, int]:
    """"torch.add.3" is the fourth call of torch.add in a step, "torch.add" each of them, 3 the fourth call of all."""
    if isinstance(bound, int):
        return None, bound
    name, _, number = bound.rpartition(".")
    return (name, int(number)) if name and number.isdigit() else (bound, -1)


def _range(item: Sequence[Bound]) -> Range:
    if len(item) != 2 or not all(isinstance(bound, (int, str)) for bound in item):
        raise ValueError(f"invalid range {item!r}: expected two names of calls, or two numbers of calls")
    return Range(*_bound(item[0]), *_bound(item[1]))


class Scope:
    """ITEMS: names or shell patterns of APIs ("torch.nn.functional.*", "torch.add.3"), paths of modules ("layers.*"), modules, and
    pairs of two calls. No item: everything."""

    def __init__(self, items: Iterable[Any] = (), modules: Optional[Dict[str, Any]] = None) -> None:
        self.patterns: List[str] = []
        self.modules: List[int] = []
        self.ranges: List[Range] = []
        self.paths: List[str] = []
        self.all = True
        for item in [items] if isinstance(items, str) else items or ():
            self.all = False
            self._add(item, modules or {})

    def _add(self, item: Any, modules: Dict[str, Any]) -> None:
        if isinstance(item, (tuple, list)):
            self.ranges.append(_range(item))
        elif not isinstance(item, str):
            if not any(item is one for one in modules.values()):
                raise ValueError(f"invalid scope {type(item).__name__}: expected names of APIs, paths of modules, or modules of the model (give model=)")
            self.modules.append(id(item))
        elif fnmatch.filter(modules, item):
            self.paths.append(item)
        elif _bound(item)[1] >= 0:
            self.ranges.append(Range(*_bound(item), *_bound(item)))
        else:
            self.patterns.append(item)

    def wants_api(self, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.patterns)

    def may_name(self, frameworks: Iterable[str]) -> bool:
        """Whether a pattern may be about APIs of FRAMEWORKS, by their first words."""
        return any(fnmatch.fnmatchcase(name, pattern.partition(".")[0]) for name in frameworks for pattern in self.patterns)

    def wants_module(self, module: Any, path: str) -> bool:
        return id(module) in self.modules or any(fnmatch.fnmatchcase(path, pattern) for pattern in self.paths)


def module_paths(model: Any) -> Dict[str, Any]:
    """{path: module} of a model, of several (a list, with their numbers before the paths), or of a dictionary of models."""
    if model is None:
        return {}
    if isinstance(model, dict):
        models = model.items()
    elif isinstance(model, (list, tuple)):
        models = [(str(number), one) for number, one in enumerate(model)]
    else:
        models = [("", model)]
    found: Dict[str, Any] = {}
    for prefix, one in models:
        names = getattr(one, "named_modules", None) or getattr(one, "cells_and_names", None) or getattr(one, "named_sublayers", None)
        if names is None:
            raise TypeError(f"invalid model {type(one).__name__}: expected an object with named_modules()")
        for name, module in names():
            found[".".join(filter(None, (prefix, name)))] = module
        found.setdefault(prefix, one)
    return found
