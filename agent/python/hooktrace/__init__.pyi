import contextlib
from types import TracebackType
from typing import Any, Callable, ContextManager, Dict, Optional, Sequence, Type, TypeVar, Union

from .hooks import Replacement, observe as observe, replace as replace
from .job import open as open
from .profiler import profile as profile, schedule as schedule
from .warehouse import to_parquet as to_parquet

_F = TypeVar("_F", bound=Callable[..., Any])

__all__: Sequence[str]
__version__: str


class range(ContextManager["range"]):
    def __init__(self, name: str) -> None: ...
    def __enter__(self) -> "range": ...
    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], traceback: Optional[TracebackType]) -> None: ...
    def __call__(self, function: _F) -> _F: ...


def mark(name: str) -> None: ...
def counter(name: str, value: float) -> None: ...
def step(number: Optional[int] = ...) -> None: ...
def start(
    *,
    hooks: Union[str, Sequence[str], None] = ...,
    level: Union[str, Sequence[str], None] = ...,
    store: Optional[str] = ...,
    job: Optional[str] = ...,
    budget: Union[str, float, None] = ...,
    on_full: Optional[str] = ...,
    upstream: Optional[str] = ...,
    keep: Optional[str] = ...,
    device_time: bool = ...,
    children: bool = ...,
    quiet: bool = ...,
    python: Union[bool, Dict[str, Any]] = ...,
    apis: Union[bool, Dict[str, Any]] = ...,
) -> bool: ...
def stop() -> None: ...
def is_on() -> bool: ...
def job_directory() -> Optional[str]: ...
def trace(**settings: Any) -> contextlib.AbstractContextManager[bool]: ...
