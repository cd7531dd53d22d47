"""cuda_mock's names for changing calls: `from hooktrace.compat import cuda_mock`.

HookInstaller, dynamic_obj, internal_install_hook, internal_install_hook_regex, xpu_initialize, set_level. Unlike there, libraries loaded later are
changed too, calls through GLOB_DAT slots are seen, a second installation does not call itself, and the slots' pages are read-only again.
Not here: cuda_mock's own headers (logger, statistics), print_hook_initialize, patch_runtime, triton_mock, GpuValidation. Use `hookcli log`, and `skip` and
`return` lines of a hooks file.
"""
import os
import re
from typing import Dict, List, Tuple

from .. import compiled, hooks, objects, tracing

_installed: Dict[Tuple[str, str], hooks.Replacement] = {}


def _start() -> None:
    if not tracing.is_on():
        tracing.start()


def initialize() -> None:
    """Traces this process. cuda_mock does it when it is imported."""
    _start()


def uninitialize() -> None:
    """Ends what initialize() or xpu_initialize() began."""
    for replacement in _installed.values():
        replacement.undo()
    _installed.clear()
    tracing.stop()


def xpu_initialize() -> bool:
    """Traces the calls of the XPU and CUDA runtimes, with cuda_mock's lines as LOG_LEVEL and HOOK_ENABLE_TRACE ask for (deploy/docs/cuda_mock.md).

    Before or after `import torch`. Returns whether the process is traced.
    """
    os.environ["HOOK_COMPAT"] = "1"
    return tracing.start()


def set_level(level: str) -> None:
    """Sets LOG_LEVEL, as "WARN,PROFILE=INFO", for the tracing that xpu_initialize() begins. Raises RuntimeError if it began already."""
    if tracing.is_on():
        raise RuntimeError("set_level() comes before xpu_initialize(): the level of a traced process stays")
    os.environ["LOG_LEVEL"] = level


def _install(library: objects.Object, symbol: str, new_library: str, new_symbol: str) -> bool:
    """Has the calls of SYMBOL that the object LIBRARY makes go to NEW_SYMBOL of NEW_LIBRARY. Returns whether a slot does."""
    _start()
    replacement = hooks.replace(symbol, f"{new_library}:{new_symbol}", caller=library.name)
    _installed[library.name, symbol] = replacement
    return replacement.slots > 0


def _is_file(one: objects.Object, path: str) -> bool:
    return os.path.realpath(one.path) == os.path.realpath(path)


def internal_install_hook(source: str, target: str, symbol: str, library: str, new_symbol: str) -> int:
    """Calls of SYMBOL, which the library SOURCE defines, from the library TARGET (part of its path) go to NEW_SYMBOL of the file LIBRARY.

    Returns the number of libraries that call SYMBOL and were changed. Raises hooktrace.hooks.HookError if the process is not traced or LIBRARY has no
    such function.
    """
    return internal_install_hook_regex(source, re.escape(target), symbol, library, new_symbol)


def internal_install_hook_regex(source: str, target: str, symbol: str, library: str, new_symbol: str) -> int:
    """The same with a regular expression for the path of TARGET."""
    del source  # a symbol has one definition that calls reach
    chosen = [one for one in objects.loaded() if re.search(target, one.path) and not _is_file(one, library)]
    return sum(_install(one, symbol, str(library), new_symbol) for one in chosen if symbol in objects.imports(one.path))


class HookInstaller:
    """Changes calls of the libraries and functions that its methods choose. A subclass defines is_target_lib and is_target_symbol.

    Each loaded library is asked for once, and each function that it calls, when the object is made. `lib` is the path of the shared library with
    the replacements; its variable __origin_<symbol> gets the original's address. Raises hooktrace.hooks.HookError as internal_install_hook does.
    """

    def __init__(self, lib: str) -> None:
        self.lib = str(lib)
        self.installed: List[Tuple[str, str]] = []
        for one in objects.loaded():
            if not _is_file(one, self.lib) and self.is_target_lib(one.path):
                self._install(one)

    def _install(self, one: objects.Object) -> None:
        for symbol in sorted(objects.imports(one.path)):
            if self.is_target_symbol(symbol) and _install(one, symbol, self.lib, self.new_symbol_name(symbol)):
                self.installed.append((one.path, symbol))

    def is_target_lib(self, name: str) -> bool:
        """Whether calls of the library with path NAME are changed."""
        raise NotImplementedError("a HookInstaller defines is_target_lib(name)")

    def is_target_symbol(self, name: str) -> bool:
        """Whether calls of the function NAME are changed. Asked only of functions that a target library calls."""
        raise NotImplementedError("a HookInstaller defines is_target_symbol(name)")

    def new_symbol_name(self, name: str) -> str:
        """The name of the replacement of the function NAME in `lib`."""
        return name


class dynamic_obj:  # pylint: disable=invalid-name
    """A shared library of C++ source: dynamic_obj(code, True) of text, dynamic_obj(path) of a file."""

    def __init__(self, code: str, is_str: bool = False) -> None:
        self._code = code
        self._is_str = is_str
        self._options: List[str] = []
        self._path = ""

    def appen_compile_opts(self, *options: str) -> "dynamic_obj":
        """Adds options of the compiler."""
        self._options += options
        return self

    def compile(self) -> "dynamic_obj":
        """Compiles it. Raises hooktrace.compiled.CompileError with the compiler's words, or OSError if the file cannot be read."""
        if self._is_str:
            text = self._code
        else:
            with open(self._code, encoding="utf-8") as file:
                text = file.read()
            self._options.append("-I" + os.path.dirname(os.path.abspath(self._code)))
        self._path = compiled.compile_source(text, language="c++", options=self._options)
        return self

    def get_lib(self) -> str:
        """The path of the compiled library."""
        return self._path
