"""steps: which steps and ranks are dumped, and sizes in words."""
import re
from typing import Container, Iterable, Optional, Union

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
LIMIT_LEAST = 4096  # bytes


def parse_size(size: Union[int, str]) -> int:
    """Bytes of "10G", "500M" or a number. ValueError: it is neither, or too little for the head of a file."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)i?B?", str(size).strip(), re.IGNORECASE)
    many = int(float(found.group(1)) * _UNITS[found.group(2).upper()]) if found else 0
    if many < LIMIT_LEAST:
        raise ValueError(f"invalid limit {size!r}: expected {LIMIT_LEAST} bytes or more, or a number with K, M, G or T, as \"10G\"")
    return many


def show_size(size: float) -> str:
    """Three digits and a unit: "1.21 GiB"."""
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size:.0f} bytes"


class Steps:
    """Every SAMPLE-th of STEPS: a range, a list, or None for all."""

    def __init__(self, steps: Optional[Iterable[int]], sample: int) -> None:
        if isinstance(steps, (int, str)):
            raise ValueError(f"invalid steps {steps!r}: expected a range or a list of numbers, as range({steps})")
        if sample < 1:
            raise ValueError(f"invalid sample {sample}: expected 1 or more")
        self._steps: Optional[Container[int]] = steps if steps is None or isinstance(steps, range) else frozenset(steps)
        self._sample = sample

    def wants(self, step: int) -> bool:
        return step % self._sample == 0 and (self._steps is None or step in self._steps)
