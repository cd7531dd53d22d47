"""The other tracers of this package that a profile starts and stops: Python functions, and APIs of frameworks."""
import importlib
import warnings
from types import ModuleType
from typing import List, Optional

PYTHON, APIS = "hooktrace.tracer", "hooktrace.apis"


def _module(name: str, argument: str) -> Optional[ModuleType]:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        warnings.warn(f"hooktrace.profiler leaves out {argument}: {error}", RuntimeWarning, stacklevel=5)
        return None


class Tracers:
    """Tracers that run only while a profile wants them. Those that run already are left alone."""

    def __init__(self, python: bool, apis: bool) -> None:
        wanted = [_module(name, argument) for name, argument, is_wanted in ((PYTHON, "with_stack and with_modules", python), (APIS, "apis", apis))
                  if is_wanted]
        self._modules: List[ModuleType] = [module for module in wanted if module is not None]
        self._started: List[ModuleType] = []

    def start(self) -> None:
        """Starts those that do not run."""
        for module in self._modules:
            if module not in self._started and not module.is_on():
                module.start()
                self._started.append(module)

    def stop(self) -> None:
        """Stops those that start() started."""
        while self._started:
            self._started.pop().stop()
