"""Runs python_calls.py under the tracer of Python functions.

    python_traced.py OUTPUT recorder LIBRARY    the simulated agent of python_recorder.c, whose JSON is OUTPUT.recorded
    python_traced.py OUTPUT agent               the agent that this process was started with
    python_traced.py OUTPUT bare                untraced

OUTPUT gets the program's own counts as JSON. PYTHONPATH leads to the package.
"""
import ctypes
import json
import os
import sys

import python_calls


def bind(library):
    from hooktrace import _native
    for name in ("hk_site_define", "hk_is_on", "hk_enter", "hk_leave"):
        _native.bind(name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)


def main():
    output, mode = sys.argv[1:3]
    library = None
    if mode == "bare":
        counts = python_calls.run(lambda: None, lambda: None)
    else:
        from hooktrace import tracer
        library = ctypes.CDLL(sys.argv[3] if mode == "recorder" else None)
        bind(library)
        counts = python_calls.run(tracer.start, tracer.stop)
    with open(output, "w", encoding="utf-8") as file:
        json.dump(counts, file)
    if mode == "recorder":
        library.recorder_dump(os.fsencode(output + ".recorded"))


if __name__ == "__main__":
    main()
