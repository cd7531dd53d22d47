"""The other tracers of this package that a profile starts and stops: Python functions, and APIs of frameworks."""
import importlib
import warnings
from typing import Any, Dict, List, Tuple

PYTHON, APIS = "hooktrace.tracer", "hooktrace.apis"


class Tracers:
    """Tracers that run only while a profile wants them. Those that run already are left alone."""

    def __init__(self, python: bool, modules: bool, apis: bool) -> None:
        """PYTHON: Python functions, with MODULES by the names of their torch modules. APIS: those of frameworks."""
        self._wanted: List[Tuple[Any, Dict[str, Any]]] = []
        self._started: List[Any] = []
        if python:
            self._want(PYTHON, "Python functions", modules=modules)
        if apis:
            self._want(APIS, "APIs of frameworks")

    def _want(self, name: str, what: str, **arguments: Any) -> None:
        try:
            self._wanted.append((importlib.import_module(name), arguments))
        except ImportError as error:
            warnings.warn(f"hooktrace.profiler leaves out {what}: {error}", RuntimeWarning, stacklevel=5)

    def start(self) -> None:
        """Starts those that do not run. One that refuses is left out after a RuntimeWarning."""
        for wanted in list(self._wanted):
            module, arguments = wanted
            if module in self._started or module.is_on():
                continue
            try:
                module.start(**arguments)
                self._started.append(module)
            except RuntimeError as error:
                self._wanted.remove(wanted)
                warnings.warn(f"hooktrace.profiler: {error}", RuntimeWarning, stacklevel=5)

    def stop(self) -> None:
        """Stops those that start() started."""
        while self._started:
            self._started.pop().stop()
