"""hooktrace: what this process does, on one timeline with every other rank.

    import hooktrace

    hooktrace.start()                      # C calls of this process are traced from now on
    with hooktrace.range("epoch"):         # and this block is shown among them
        hooktrace.counter("loss", 0.5)
    hooktrace.stop()

Everything else is imported when it is used: hooktrace.apis (the time of APIs), hooktrace.tracer (Python functions), hooktrace.profiler
(steps, as torch.profiler has them), hooktrace.precision (numbers), hooktrace.open (a job's records), hooktrace.to_parquet (many jobs),
hooktrace.hooks, hooktrace.compat.
"""
import importlib

from ._native import counter, mark, range, step
from .tracing import is_on, job_directory, start, stop, trace

__all__ = ["counter", "is_on", "job_directory", "mark", "observe", "open", "profile", "range", "replace", "schedule", "start", "step", "stop", "to_parquet",
           "trace"]
__version__ = "0.1.0"

# Names of modules that are not needed by every program: name -> module.
_LAZY = {"observe": "hooks", "open": "job", "profile": "profiler", "replace": "hooks", "schedule": "profiler", "to_parquet": "warehouse"}
_MODULES = ("apis", "compat", "hooks", "precision", "profiler", "tracer")


def __getattr__(name):
    if name in _LAZY:
        return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
