"""device_time(): how long a function takes, on the device that it uses, or on the processor."""
import statistics
import sys
import time
from typing import Any, Callable, List, NamedTuple

WARMUP = 5


class Timing(NamedTuple):
    """Times of calls of one function, in milliseconds."""

    median_ms: float
    min_ms: float
    times_ms: List[float]
    clock: str  # "cuda", "npu", "xpu": events on that device; "cpu": the clock of the processor


def _device() -> Any:
    """The module of the device that an imported torch can use (torch.cuda, ...), or None."""
    torch = sys.modules.get("torch")
    for name in ("cuda", "npu", "xpu"):
        module = getattr(torch, name, None)
        if module is not None and hasattr(module, "Event") and module.is_available():
            return module
    return None


def wait_for_device() -> None:
    """Waits until a device that an imported torch has used is idle."""
    device = _device()
    if device is not None and getattr(device, "is_initialized", lambda: True)():
        device.synchronize()


def _on_device(device: Any, function: Callable[[], Any], repeat: int) -> List[float]:
    pairs = [(device.Event(enable_timing=True), device.Event(enable_timing=True)) for _ in range(repeat)]
    for begin, end in pairs:
        begin.record()
        function()
        end.record()
    device.synchronize()
    return [begin.elapsed_time(end) for begin, end in pairs]


def _on_processor(function: Callable[[], Any], repeat: int) -> List[float]:
    times = []
    for _ in range(repeat):
        begin = time.perf_counter_ns()
        function()
        times.append((time.perf_counter_ns() - begin) / 1e6)
    return times


def device_time(function: Callable[[], Any], warmup: int = WARMUP, repeat: int = 20) -> Timing:
    """Calls FUNCTION WARMUP times, and then REPEAT times with a clock. Times are in milliseconds.

    If torch is imported and has a device, events in the current stream give the time between the beginning and the end of each call's work there.
    Otherwise the processor's clock is read before and after each call. Raises ValueError if WARMUP is below 0 or REPEAT below 1.
    """
    if warmup < 0 or repeat < 1:
        raise ValueError(f"invalid numbers of calls: expected warmup of 0 or more, and repeat of 1 or more, not {warmup} and {repeat}")
    for _ in range(warmup):
        function()
    device = _device()
    if device is None:
        times = _on_processor(function, repeat)
        return Timing(statistics.median(times), min(times), times, "cpu")
    device.synchronize()
    times = _on_device(device, function, repeat)
    return Timing(statistics.median(times), min(times), times, device.__name__.rpartition(".")[2])
