"""steps: which steps and ranks are dumped, and sizes in words."""
import re
from typing import Container, Iterable, Optional, Union

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_size(size: Union[int, str]) -> int:
    """Bytes of "10G", "500M" or a number. ValueError: it is neither."""
    if isinstance(size, int):
        return size
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)i?B?", size.strip(), re.IGNORECASE)
    if not found:
        raise ValueError(f"invalid limit {size!r}: expected bytes, or a number with K, M, G or T, as \"10G\"")
    return int(float(found.group(1)) * _UNITS[found.group(2).upper()])


def show_size(size: float) -> str:
    """Three digits and a unit: "1.21 GiB"."""
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size:.0f} bytes"


class Steps:
    """Every SAMPLE-th of STEPS: a range, a list, or None for all."""

    def __init__(self, steps: Optional[Iterable[int]], sample: int) -> None:
        if sample < 1:
            raise ValueError(f"invalid sample {sample}: expected 1 or more")
        self._steps: Optional[Container[int]] = steps if steps is None or isinstance(steps, range) else frozenset(steps)
        self._sample = sample

    def wants(self, step: int) -> bool:
        return step % self._sample == 0 and (self._steps is None or step in self._steps)
