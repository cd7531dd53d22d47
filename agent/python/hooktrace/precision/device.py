"""device: statistics of torch's tensors on a device, by torch's own operators there.

The operators are queued behind the call whose tensor they look at, and nothing waits for them: the answers of a step are fetched
at its end, in one copy for each device.
"""
import contextlib
import math
import sys
from typing import Any, ContextManager, Dict, List, Optional, Tuple

from .. import _native

def _statistics(torch: Any, tensor: Any) -> Any:
    """Nine numbers, as a tensor on the device: see _answer()."""
    wide = torch.float32 if tensor.device.type == "mps" else torch.float64
    values = tensor.to(wide).reshape(-1)
    finite = torch.isfinite(values)
    only = torch.where(finite, values, torch.zeros((), dtype=wide, device=values.device))
    many = finite.sum().to(wide)
    mean = only.sum() / many
    away = torch.where(finite, values - mean, torch.zeros((), dtype=wide, device=values.device))
    infinite = torch.full((), math.inf, dtype=wide, device=values.device)
    return torch.stack([
        torch.isnan(values).sum().to(wide), (values == infinite).sum().to(wide), (values == -infinite).sum().to(wide), (values == 0).sum().to(wide),
        torch.where(finite, values, infinite).min(), torch.where(finite, values, -infinite).max(), mean, (only * only).sum(),
        (away * away).sum() / many])


def _capturing(torch: Any, tensor: Any) -> bool:
    """Whether the device records its work for later: what is queued now would be a part of that."""
    device = getattr(torch, tensor.device.type, None)
    return bool(getattr(device, "is_current_stream_capturing", lambda: False)())


def _can_ask(torch: Any, tensor: Any) -> bool:
    """Whether torch's operators can say now what TENSOR holds."""
    plain = tensor.layout is torch.strided and not tensor.is_complex() and not tensor.is_quantized
    return plain and not _capturing(torch, tensor)


def _aside(torch: Any) -> ContextManager[Any]:
    """A context in which no TorchDispatchMode sees the operators."""
    modes = sys.modules.get("torch.utils._python_dispatch")
    disable = getattr(modes, "_disable_current_modes", None)
    return disable() if disable and getattr(torch._C, "_len_torch_dispatch_stack", lambda: 0)() else contextlib.nullcontext()


def look(tensor: Any) -> Optional[Tuple[float, float]]:
    """The least and the largest element of TENSOR, NaN if one is; (0, 0) of integers. Waits for the device. None: it cannot be looked at."""
    torch = sys.modules.get("torch")
    if torch is None or not _can_ask(torch, tensor):
        return None
    if not tensor.is_floating_point() or not tensor.numel():
        return 0.0, 0.0
    with torch.no_grad(), _aside(torch):
        ends = torch.stack(_ends(torch, tensor.detach())).tolist()
    return float(ends[0]), float(ends[1])


def _ends(torch: Any, tensor: Any) -> Any:
    """The least and the largest element, on the device."""
    try:
        return tuple(torch.aminmax(tensor))
    except RuntimeError:  # not every device has this for every dtype
        return tuple(torch.aminmax(tensor.float()))


class Queue:
    """Tensors of this step whose statistics a device has still to say. ELEMENTS: tensors are copied to memory instead, at once."""

    def __init__(self, elements: bool) -> None:
        self._elements = elements
        self._waiting: Dict[Any, List[Tuple[int, int, Any]]] = {}

    def add(self, tensor: Any, number: int) -> bool:
        """Called by hooktrace._native. Returns whether row NUMBER is waited for."""
        torch = sys.modules.get("torch")
        if torch is None or not _can_ask(torch, tensor):
            return False
        with torch.no_grad(), _aside(torch):
            tensor = tensor.detach()
            answer = tensor.to("cpu", copy=True) if self._elements else _statistics(torch, tensor) if tensor.numel() else None
        self._waiting.setdefault(tensor.device, []).append((number, tensor.numel(), answer))
        return True

    def collect(self) -> None:
        """The step has ended: waits for the devices and has the rows written."""
        waiting, self._waiting = self._waiting, {}
        torch = sys.modules.get("torch")
        for rows in waiting.values():
            if self._elements:
                for number, _, copy in rows:
                    _native.values_elements(number, copy)
                continue
            answers = [answer for _, _, answer in rows if answer is not None]
            with torch.no_grad(), _aside(torch):  # type: ignore[union-attr]
                fetched = iter(torch.stack(answers).cpu().tolist() if answers else ())  # type: ignore[union-attr]
            for number, count, answer in rows:
                _answer(number, count, next(fetched) if answer is not None else None)


def _answer(number: int, count: int, numbers: Any) -> None:
    if numbers is None:
        _native.values_answer(number, count, 0, 0, 0, 0, math.nan, math.nan, math.nan, 0.0, math.nan)
        return
    nans, positive, negative, zeros, least, most, mean, squares, variance = numbers
    finite = count - nans - positive - negative
    if not finite:
        least = most = mean = variance = math.nan
    _native.values_answer(number, count, int(nans), int(positive), int(negative), int(zeros), least, most, mean, math.sqrt(squares),
                          math.sqrt(variance) if variance >= 0 else math.nan)
