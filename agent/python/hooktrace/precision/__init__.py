"""hooktrace.precision: the tensors of a program, in a dump on disk.

    import hooktrace.precision

    dump = hooktrace.precision.open("dump")        # a directory
    for row in dump.rows(rank=0):
        print(row.step, row.name, row.slot, row.mean)
"""
import importlib

# Each name is imported when it is used: name -> module.
_LAZY = {"Dump": "reading", "Elements": "reading", "Row": "reading", "open": "reading"}
__all__ = sorted(_LAZY)


def __getattr__(name):
    if name in _LAZY:
        return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
