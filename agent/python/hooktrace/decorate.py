"""range(name) as a decorator of functions."""
import functools
import inspect
from typing import Any, Callable

from ._native import range as range_of


def decorate(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns FUNCTION with a range called NAME around each call.

    Raises TypeError for coroutine and generator functions, whose calls may interleave on a thread: put the range into them.
    """
    if not callable(function):
        raise TypeError(f"a range decorates a function, not {type(function).__name__}")
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"a range cannot decorate {function.__qualname__}, which is left and entered again: use `with range(...)` between its yields")

    @functools.wraps(function)
    def within(*arguments: Any, **keywords: Any) -> Any:
        with range_of(name):
            return function(*arguments, **keywords)

    return within
