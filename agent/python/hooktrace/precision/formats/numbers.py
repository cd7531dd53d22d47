"""Max, min, mean and norm of a row as torch computes them: NaN and infinity, which rows count apart, are in them."""
import math
from typing import Any, NamedTuple, Optional


class Figures(NamedTuple):
    """Of a tensor with elements; None where nothing is known."""
    max: Optional[float]
    min: Optional[float]
    mean: Optional[float]
    norm: Optional[float]


NONE = Figures(None, None, None, None)


def _infinite(row: Any) -> Figures:
    up, down, finite = row.positive_infs > 0, row.negative_infs > 0, row.count > row.positive_infs + row.negative_infs
    largest = math.inf if up else row.max if finite else -math.inf
    least = -math.inf if down else row.min if finite else math.inf
    mean = math.nan if up and down else math.inf if up else -math.inf
    return Figures(largest, least, mean, math.inf)


def figures(row: Any) -> Figures:
    """Of a Row of hooktrace.precision."""
    if row.count == 0 or "no_statistics" in row.flags:
        return NONE
    if row.nans:
        return Figures(math.nan, math.nan, math.nan, math.nan)
    if row.positive_infs or row.negative_infs:
        return _infinite(row)
    return Figures(row.max, row.min, row.mean, row.l2)
