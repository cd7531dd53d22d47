"""device: waiting for the work that an API has begun on a device, where there is one."""
import sys
from typing import Any, Callable, List, Optional


def _torch(torch: Any) -> Optional[Callable[[], None]]:
    if torch.cuda.is_available():
        capturing = getattr(torch.cuda, "is_current_stream_capturing", lambda: False)

        def synchronize() -> None:
            # A stream whose work is recorded for later must not be waited for.
            if not capturing():
                torch.cuda.synchronize()
        return synchronize
    for name in ("npu", "xpu"):
        device = getattr(torch, name, None)
        if device is not None and device.is_available():
            return device.synchronize
    return None


def _paddle(paddle: Any) -> Optional[Callable[[], None]]:
    if paddle.device.is_compiled_with_cuda() and paddle.device.cuda.device_count() > 0:
        return paddle.device.synchronize
    return None


def _mindspore(_: Any) -> Optional[Callable[[], None]]:
    # Its operators run on threads of their own, on a processor too. The executor has moved between versions.
    for name in ("mindspore.graph.api", "mindspore.common.api"):
        executor = getattr(sys.modules.get(name), "_pynative_executor", None)
        if executor is not None:
            return executor.sync
    return None


_WAYS = {"torch": _torch, "paddle": _paddle, "mindspore": _mindspore}


def synchronizer(frameworks: List[str]) -> Optional[Callable[[], None]]:
    """A function that waits for the devices of FRAMEWORKS, or None where nothing has to be waited for."""
    ways = [_WAYS[name](sys.modules[name]) for name in frameworks if name in _WAYS and name in sys.modules]
    known = [way for way in ways if way is not None]
    if not known:
        return None

    def synchronize() -> None:
        for way in known:
            way()
    return known[0] if len(known) == 1 else synchronize
