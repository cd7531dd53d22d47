"""hooktrace.precision: the values of a program's tensors: dumped, read, watched, and compared with other ranks and with a golden process.

    with hooktrace.precision.Dumper("values", model=model) as dumper:
        for batch in batches:
            train(batch)
            dumper.step()

    for row in hooktrace.precision.open("values").rows(rank=0):
        print(row.step, row.name, row.slot, row.mean)

    watch = hooktrace.precision.agree(model, optimizer, every=100)     # the same on all ranks?
    with hooktrace.precision.validate(golden=URL) as check: ...        # the same as in double?

Values are taken at the calls of torch's, Paddle's and MindSpore's APIs, which are hooked in place: no Python object is replaced,
and what the program computes is the same, bit by bit.
"""
import importlib

# Each name is imported when it is used: name -> module.
_LAZY = {"Agreement": "agreement", "agree": "agreement",
         "Difference": "validation", "Disagreement": "validation", "Validation": "validation", "validate": "validation",
         "Dump": "reading", "Elements": "reading", "Row": "reading", "open": "reading",
         "Dumper": "dumper", "Find": "watching", "Watch": "watching", "watch": "watching", "seed_all": "seeds",
         "export_msprobe": "formats.msprobe", "export_ptdbg": "formats.ptdbg"}
__all__ = sorted(_LAZY)


def __getattr__(name):
    if name in _LAZY:
        return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
