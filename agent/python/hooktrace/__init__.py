"""hooktrace: what this process does, on one timeline with every other rank."""

import importlib

# Names of modules that are not needed by every program: name -> module.
_LAZY = {"open": "job"}


def __getattr__(name):
    if name in _LAZY:
        return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
