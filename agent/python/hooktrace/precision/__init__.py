"""hooktrace.precision: the numbers of a program: whether ranks agree on them, and whether they are right.

    watch = hooktrace.precision.agree(model, optimizer, every=100)     # the same on all ranks?
    with hooktrace.precision.validate(golden=URL) as check: ...        # the same as in double?

Parts are imported when they are used.
"""
import importlib

_LAZY = {"Agreement": "agreement", "agree": "agreement",
         "Difference": "validation", "Disagreement": "validation", "Validation": "validation", "validate": "validation"}

__all__ = sorted(_LAZY)


def __getattr__(name):
    if name in _LAZY:
        return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
