"""NumPy's .npy files (format version 1.0), written."""
import struct
from typing import Any, BinaryIO, Sequence

from . import bits

_MAGIC = b"\x93NUMPY\x01\x00"
_ALIGNMENT = 64
_DESCRIPTIONS = {"bool": "|b1", "uint8": "|u1", "int8": "|i1", "uint16": "<u2", "int16": "<i2", "uint32": "<u4", "int32": "<i4", "uint64": "<u8",
                 "int64": "<i8", "float16": "<f2", "float32": "<f4", "float64": "<f8"}


def header(dtype: str, shape: Sequence[int]) -> bytes:
    """What comes before the elements of an array in C order."""
    text = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (_DESCRIPTIONS[dtype], tuple(shape))
    room = -(len(_MAGIC) + 2 + len(text) + 1) % _ALIGNMENT
    line = text.encode("ascii") + b" " * room + b"\n"
    return _MAGIC + struct.pack("<H", len(line)) + line


def write(stream: BinaryIO, data: Any, dtype: str, shape: Sequence[int]) -> None:
    """Writes the elements in DATA, a contiguous buffer. bfloat16 and float8, which NumPy has not, become float32, exactly."""
    if dtype not in _DESCRIPTIONS:
        data, dtype = bits.floats(data, dtype), "float32"
    stream.write(header(dtype, shape))
    stream.write(memoryview(data).cast("B"))


def save(path: str, data: Any, dtype: str, shape: Sequence[int]) -> None:
    """As write(), to the file PATH."""
    with open(path, "wb") as stream:
        write(stream, data, dtype, shape)
