"""The .pt files of torch.save with one tensor, written without torch: a ZIP archive, nothing compressed, with a pickle of few opcodes.
torch.load reads them, also with weights_only=True."""
import struct
import zipfile
from typing import Any, Sequence

_ALIGNMENT = 64  # of storages within the file, as torch has them, so that they can be mapped
_FOLDER = "archive"
_STORAGES = {"bool": "BoolStorage", "uint8": "ByteStorage", "int8": "CharStorage", "int16": "ShortStorage", "int32": "IntStorage",
             "int64": "LongStorage", "float16": "HalfStorage", "bfloat16": "BFloat16Storage", "float32": "FloatStorage",
             "float64": "DoubleStorage"}
_UNTYPED = {"uint16": 2, "uint32": 4, "uint64": 8, "float8_e4m3fn": 1, "float8_e5m2": 1}  # dtypes without a class: bytes of an element


def element_bytes(dtype: str) -> int:
    """Bytes of an element; 0 for a dtype that is not known."""
    sizes = {"8": 1, "16": 2, "32": 4, "64": 8}
    return _UNTYPED.get(dtype) or (1 if dtype == "bool" else sizes.get(dtype.lstrip("abcdefghijklmnopqrstuvwxyz"), 0))


def _text(word: str) -> bytes:
    encoded = word.encode()
    return b"X" + struct.pack("<I", len(encoded)) + encoded


def _number(value: int) -> bytes:
    return b"J" + struct.pack("<i", value) if value < 1 << 31 else b"\x8a\x08" + struct.pack("<q", value)


def _global(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def _numbers(values: Sequence[int]) -> bytes:
    return b"(" + b"".join(map(_number, values)) + b"t"


def _strides(shape: Sequence[int]) -> Sequence[int]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return strides[::-1]


def pickled(dtype: str, shape: Sequence[int], count: int) -> bytes:
    """The pickle of a contiguous tensor whose COUNT elements are the storage "0"."""
    if dtype in _STORAGES:
        function, storage, last = "_rebuild_tensor_v2", _global("torch", _STORAGES[dtype]), b""
    else:
        function, storage, last = "_rebuild_tensor_v3", _global("torch.storage", "UntypedStorage"), _global("torch", dtype)
        count *= _UNTYPED[dtype]
    persistent = b"(" + _text("storage") + storage + _text("0") + _text("cpu") + _number(count) + b"tQ"
    hooks = _global("collections", "OrderedDict") + b")R"
    arguments = persistent + _number(0) + _numbers(shape) + _numbers(_strides(shape)) + b"\x89" + hooks + last
    return b"\x80\x02" + _global("torch._utils", function) + b"(" + arguments + b"tR."


def _add(archive: zipfile.ZipFile, name: str, data: Any) -> None:
    """Adds an entry whose bytes begin at a multiple of _ALIGNMENT."""
    info = zipfile.ZipInfo(f"{_FOLDER}/{name}")
    assert archive.fp is not None
    start = archive.fp.tell() + 30 + len(info.filename.encode()) + 4  # behind the local header and the head of its extra field
    room = -start % _ALIGNMENT
    info.extra = b"FB" + struct.pack("<H", room) + b"Z" * room
    archive.writestr(info, data)


def save(path: str, data: Any, dtype: str, shape: Sequence[int]) -> None:
    """Writes the elements in DATA, a contiguous buffer, as a tensor."""
    raw = memoryview(data).cast("B")
    count = 1
    for size in shape:
        count *= size
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        _add(archive, "data.pkl", pickled(dtype, shape, count))
        _add(archive, "byteorder", b"little")
        _add(archive, "data/0", raw)
        _add(archive, "version", b"3\n")
