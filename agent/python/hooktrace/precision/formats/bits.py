"""Elements whose dtype Python's array module has not, as float32: exact, and without NumPy."""
import struct
from array import array
from typing import Any, List

_CODES = {"bool": "B", "uint8": "B", "int8": "b", "uint16": "H", "int16": "h", "uint32": "I", "int32": "i", "uint64": "Q", "int64": "q",
          "float32": "f", "float64": "d"}
FLOATING = ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2")


def _float8(exponent_bits: int) -> List[float]:
    """The values of all 256 codes: e4m3fn (no infinity, NaN has all bits set) or e5m2 (as IEEE 754)."""
    mantissa_bits = 7 - exponent_bits
    bias, steps = (1 << (exponent_bits - 1)) - 1, 1 << mantissa_bits
    values = []
    for code in range(128):
        exponent, fraction = code >> mantissa_bits, code % steps / steps
        value = fraction * 2.0 ** (1 - bias) if exponent == 0 else (1 + fraction) * 2.0 ** (exponent - bias)
        if exponent_bits == 5 and exponent == 31:
            value = float("nan") if fraction else float("inf")
        elif exponent_bits == 4 and code == 127:
            value = float("nan")
        values.append(value)
    return values + [-value for value in values]


def floats(data: Any, dtype: str) -> Any:
    """The elements of DATA (a buffer) as an array or memoryview of float32; float64 is rounded."""
    raw = memoryview(data).cast("B")
    if dtype == "float32":
        return raw.cast("f")
    if dtype == "float16":
        return array("f", struct.unpack(f"<{len(raw) // 2}e", raw))
    if dtype == "bfloat16":
        wide = array("I", (code << 16 for code in raw.cast("H")))
        return memoryview(wide).cast("B").cast("f")
    if dtype in ("float8_e4m3fn", "float8_e5m2"):
        table = _float8(4 if dtype == "float8_e4m3fn" else 5)
        return array("f", map(table.__getitem__, raw))
    return array("f", (_narrow(value) for value in raw.cast(_CODES[dtype])))


def _narrow(value: float) -> float:
    """VALUE as array("f") takes it: beyond float32 is infinite, where array raises."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
