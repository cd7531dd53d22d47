"""C functions replaced or observed, by functions of shared libraries, by C or C++ source, or by Python.

    with hooktrace.replace("getppid", lambda original: 1, restype=ctypes.c_int):
        assert os.getppid() == 1

A replacement holds for the calls that libraries make of a function by its name; calls within one library, and those of libc itself, are not
redirected. The process must be traced (hooktrace.start()); calls stay counted if hooks want them. What a replacement does is the caller's own
risk: it has to have the type of the function, and a Python function takes microseconds, the interpreter's lock, and must not be used where
the thread may hold a lock that another thread waits for with the interpreter's lock in hand.
"""
import atexit
import contextlib
import ctypes
import os
import threading
from typing import Any, Callable, List, Optional, Sequence, Union

from . import agent, tracing

Function = Union[str, int, Callable[..., Any]]

# Callbacks are never freed: a thread may still be in one.
_callbacks: List[object] = []
_active: List["Replacement"] = []


class Replacement:
    """A function that is replaced until undo(). A context manager, which undoes it at its end."""

    def __init__(self, symbol: str, caller: Optional[str], prototype: Callable[..., Any], address: int, origin: Optional[ctypes.c_void_p]) -> None:
        self.symbol = symbol
        self.caller = caller
        self._prototype = prototype
        self._address = address
        self._origin = origin if origin is not None else ctypes.c_void_p()
        self.slots = 0

    @property
    def original(self) -> Optional[Callable[..., Any]]:
        """The replaced function, to be called with the same types, or None if no library that is loaded has it yet."""
        return self._prototype(self._origin.value) if self._origin.value else None

    def _apply(self, address: Optional[int]) -> int:
        library = agent.load()
        function = library.hk_replace
        function.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
        return function(self.caller.encode(errors="surrogateescape") if self.caller is not None else None, self.symbol.encode(), address, ctypes.byref(self._origin))

    def begin(self) -> None:
        """Redirects the calls, also those of libraries that are loaded later. Raises HookError if the agent refuses."""
        slots = self._apply(self._address)
        if slots < 0:
            raise HookError(f"cannot replace {self.symbol}: the agent calls it itself, or the process is not traced any more")
        self.slots = slots
        _active.append(self)

    def undo(self) -> None:
        """Has the original called again. Calls that run end in the replacement."""
        if self in _active:
            _active.remove(self)
            if tracing.is_on():
                self._apply(None)

    def __enter__(self) -> "Replacement":
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()

    def __repr__(self) -> str:
        return f"<hooktrace replacement of {self.symbol}, {self.slots} slots>"


class HookError(RuntimeError):
    """A function cannot be replaced; the text says why."""


class _Original:
    """The original of one call: remembers its result, so that it is called once also if the replacement raises after it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.results: List[Any] = []

    def __call__(self, *arguments: Any) -> Any:
        result = self._function(*arguments)
        self.results.append(result)
        return result


def _report(error: BaseException) -> None:
    """Hands ERROR to sys.unraisablehook, as ctypes does with what a callback raises."""
    def again() -> None:
        raise error

    ctypes.CFUNCTYPE(None)(again)()


def _guarded(function: Callable[..., Any], original_of: Callable[[], Optional[Callable[..., Any]]]) -> Callable[..., Any]:
    """FUNCTION for ctypes: what it calls itself on this thread goes to the original, and so does a call in which it raises."""
    inside = threading.local()

    def called(*arguments: Any) -> Any:
        function_replaced = original_of()
        if function_replaced is None:
            return 0
        original = _Original(function_replaced)
        if getattr(inside, "now", False):
            return original(*arguments)
        inside.now = True
        try:
            return function(original, *arguments)
        except BaseException as error:  # pylint: disable=broad-except
            _report(error)
            return original.results[-1] if original.results else original(*arguments)
        finally:
            inside.now = False

    return called


def _address_in(function: str, symbol: str) -> "tuple[int, Optional[ctypes.c_void_p]]":
    """The address of "LIBRARY:NAME", or of SYMBOL in "LIBRARY", and the library's variable __origin_SYMBOL if it has one."""
    path, colon, name = function.rpartition(":")
    path, name = (path, name) if colon else (function, symbol)
    try:
        library = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
        address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    except (OSError, AttributeError) as error:
        raise HookError(f"cannot replace {symbol} by {function}: {error}") from None
    _callbacks.append(library)
    with contextlib.suppress(ValueError):
        return address or 0, ctypes.c_void_p.in_dll(library, f"__origin_{symbol}")
    return address or 0, None


def replace(symbol: str, function: Function, *, restype: Any = ctypes.c_int, argtypes: Sequence[Any] = (), caller: Optional[str] = None) -> Replacement:
    """Redirects calls of the C function SYMBOL to FUNCTION, until undo().

    function: a Python function, called as function(original, *arguments) with ARGTYPES and returning RESTYPE, both of ctypes; what it calls itself on
    that thread is not redirected, and if it raises, the error is reported by sys.unraisablehook and the original's result is returned. Or
    "LIBRARY.so:NAME", or "LIBRARY.so" with a function of the same name: its variable `__origin_SYMBOL`, if there is one, gets the original's address
    before. Or the address of a C function, or a function of ctypes.
    caller: only calls of libraries whose path or name matches this pattern, "" for those of the program itself; by default those of all libraries.

    Raises HookError if the process is not traced, the function cannot be replaced, or FUNCTION is not found.
    """
    if not tracing.is_on() or not hasattr(agent.load(), "hk_replace"):
        raise HookError(f"cannot replace {symbol}: this process is not traced (hooktrace.start())")
    prototype = ctypes.CFUNCTYPE(restype, *argtypes, use_errno=True)
    origin = None
    if isinstance(function, str):
        address, origin = _address_in(function, symbol)
    elif isinstance(function, int):
        address = function
    elif isinstance(function, ctypes._CFuncPtr):  # type: ignore[attr-defined]  # pylint: disable=protected-access
        address = ctypes.cast(function, ctypes.c_void_p).value or 0
        _callbacks.append(function)
    elif callable(function):
        address, made = 0, []
        callback = prototype(_guarded(function, lambda: made[0].original))
        _callbacks.append(callback)
        replacement = Replacement(symbol, caller, prototype, ctypes.cast(callback, ctypes.c_void_p).value or 0, None)
        made.append(replacement)
        replacement.begin()
        return replacement
    else:
        raise TypeError(f"a function, an address or 'LIBRARY:NAME' replaces {symbol}, not {type(function).__name__}")
    replacement = Replacement(symbol, caller, prototype, address, origin)
    replacement.begin()
    return replacement


def observe(symbol: str, function: Callable[..., Any], *, restype: Any = ctypes.c_int, argtypes: Sequence[Any] = (), caller: Optional[str] = None) -> Replacement:
    """Calls the Python FUNCTION after each call of the C function SYMBOL, as function(result, *arguments), on the thread of the call.

    The rest is as with replace(): also the errors.
    """
    def around(original: Callable[..., Any], *arguments: Any) -> Any:
        result = original(*arguments)
        saved = ctypes.get_errno()
        function(result, *arguments)
        ctypes.set_errno(saved)
        return result

    return replace(symbol, around, restype=restype, argtypes=argtypes, caller=caller)


@atexit.register
def _undo_all() -> None:
    # A callback must not be called once the interpreter has ended.
    for replacement in list(_active):
        replacement.undo()
