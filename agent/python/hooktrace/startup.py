"""python -m hooktrace.startup SCRIPT [ARG...] | -m MODULE [ARG...]: runs a program as `python` does, with parts of this package on from its start.

Environment variables choose the parts. A part is a module of this package with a function that PARTS names; it is called with the variable's
value before the program's first line, after start(). The part says in its documentation what the value means; "1" is its default.
"""
import importlib
import os
import runpy
import sys
import types
import warnings
from typing import List, NoReturn, Tuple

from . import tracing

# variable, module, function of it
PARTS: Tuple[Tuple[str, str, str], ...] = (
    ("HOOK_PYTHON_TRACE", "hooktrace.tracer", "start_from_environment"),
    ("HOOK_PYTHON_APIS", "hooktrace.apis", "start_from_environment"),
)


def begin() -> None:
    """Starts the parts that the environment asks for. A part that is missing or fails is left out after a RuntimeWarning."""
    wanted = [part for part in PARTS if os.environ.get(part[0], "0") not in ("", "0")]
    if not wanted or not tracing.start():
        return
    for variable, module, function in wanted:
        try:
            getattr(importlib.import_module(module), function)(os.environ[variable])
        except Exception as error:  # pylint: disable=broad-except
            warnings.warn(f"hooktrace: {variable} is left out: {error}", RuntimeWarning)


def _fresh_main() -> types.ModuleType:
    """The module __main__ of the program, in place of this one."""
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    return main


def run_script(path: str) -> None:
    """Runs the file at PATH as the program. Raises what it raises, and OSError if the file cannot be read."""
    sys.path[0] = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        sys.path[0] = path
        runpy.run_path(path, run_name="__main__")
        return
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    main = _fresh_main()
    main.__file__ = path
    exec(code, main.__dict__)  # pylint: disable=exec-used


def main(arguments: List[str]) -> None:
    if not arguments or arguments == ["-m"]:
        print("hooktrace: error: no script was given (python -m hooktrace.startup SCRIPT [ARG...])", file=sys.stderr)
        sys.exit(2)
    module = arguments[1] if arguments[0] == "-m" else None
    sys.argv = arguments[1:] if module else arguments
    begin()
    if module:
        _fresh_main()
        runpy._run_module_as_main(module)  # pylint: disable=protected-access
    else:
        run_script(arguments[0])


if __name__ == "__main__":
    main(sys.argv[1:])
