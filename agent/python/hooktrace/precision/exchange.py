"""What a validated process and a golden process say to each other: values as bytes, and nothing that is executed.

A message is 36 bytes of head, a description in JSON, and the elements of tensors, each at a multiple of 64 bytes. The head holds magic, version,
kind, the lengths of the two other parts, and a keyed checksum of everything: a peer without the token makes none that is accepted.
"""
import ctypes
import hashlib
import hmac
import json
import struct
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

MAGIC = b"HKGV"
VERSION = 1
CALL, ANSWER, FAILED = 1, 2, 3
ALIGN = 64
TEXT_MOST = 1 << 20  # bytes of a description
DEPTH_MOST = 8
ITEMS_MOST = 4096  # of a list
DIMENSIONS_MOST = 64
_HEAD = struct.Struct("<4sHHIQ")
_CHECK = 16
HEAD_BYTES = _HEAD.size + _CHECK
BYTES = {"bool": 1, "uint8": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8,
         "complex64": 8, "complex128": 16}


class Refused(ValueError):
    """A message that is not as it must be, and why."""


class Unsupported(TypeError):
    """A value that cannot be sent, and why."""


class Message(NamedTuple):
    kind: int
    fields: Dict[str, Any]
    bytes: bytearray  # of the whole message
    first: int  # where the elements begin


def key_of(token: Optional[str]) -> bytes:
    return hashlib.sha256((token or "").encode()).digest()


def _checksum(key: bytes, head: bytes, rest: memoryview) -> bytes:
    digest = hashlib.blake2b(head, key=key, digest_size=_CHECK)
    digest.update(rest)
    return digest.digest()


def _padded(count: int) -> int:
    return -(-count // ALIGN) * ALIGN


def encode(kind: int, fields: Dict[str, Any], memories: List[Any], key: bytes) -> bytearray:
    """The message. MEMORIES are buffers of bytes."""
    text = json.dumps(fields, separators=(",", ":")).encode()
    text += b" " * (_padded(HEAD_BYTES + len(text)) - HEAD_BYTES - len(text))
    if len(text) > TEXT_MOST:
        raise Unsupported("the arguments have more than 1 MiB of text")
    length = sum(_padded(len(memory)) for memory in memories)
    message = bytearray(HEAD_BYTES + len(text) + length)
    message[HEAD_BYTES:HEAD_BYTES + len(text)] = text
    at = HEAD_BYTES + len(text)
    for memory in memories:
        message[at:at + len(memory)] = memory
        at += _padded(len(memory))
    head = _HEAD.pack(MAGIC, VERSION, kind, len(text), length)
    message[:_HEAD.size] = head
    message[_HEAD.size:HEAD_BYTES] = _checksum(key, head, memoryview(message)[HEAD_BYTES:])
    return message


def decode(message: bytearray, key: bytes) -> Message:
    """The parts of MESSAGE. Raises Refused."""
    if len(message) < HEAD_BYTES:
        raise Refused(f"{len(message)} bytes are no message")
    magic, version, kind, text_bytes, length = _HEAD.unpack_from(message)
    if magic != MAGIC:
        raise Refused("the message is not hooktrace's")
    if version != VERSION:
        raise Refused(f"the message has version {version}, expected {VERSION} (the same hooktrace on both sides)")
    if text_bytes > TEXT_MOST or HEAD_BYTES + text_bytes + length != len(message):
        raise Refused("the message has another length than it says")
    if not hmac.compare_digest(bytes(message[_HEAD.size:HEAD_BYTES]), _checksum(key, bytes(message[:_HEAD.size]), memoryview(message)[HEAD_BYTES:])):
        raise Refused("the message's checksum is wrong (the same token on both sides)")
    try:
        fields = json.loads(message[HEAD_BYTES:HEAD_BYTES + text_bytes].decode())
    except (ValueError, RecursionError) as error:
        raise Refused(f"the message's description is no JSON: {error}") from None
    if not isinstance(fields, dict):
        raise Refused("the message's description is no object")
    return Message(kind, fields, message, HEAD_BYTES + text_bytes)


# ---- values of torch ----


def _name(dtype: Any) -> str:
    return str(dtype).split(".")[-1]


class Packer:
    """Turns values into a description and buffers. The buffers point into `kept`."""

    def __init__(self) -> None:
        import torch  # pylint: disable=import-outside-toplevel
        self.torch = torch
        self.memories: List[Any] = []
        self.kept: List[Any] = []
        self.bytes = 0

    def _tensor(self, tensor: Any) -> Dict[str, Any]:
        torch = self.torch
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
            raise Unsupported(f"a {type(tensor).__name__}")
        if tensor.layout != torch.strided or tensor.is_quantized or tensor.device.type == "meta" or _name(tensor.dtype) not in BYTES:
            raise Unsupported(f"a tensor of {tensor.layout}, {tensor.dtype} on {tensor.device}")
        plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
        count = plain.numel() * plain.element_size()
        self.kept.append(plain)
        self.memories.append(memoryview((ctypes.c_char * count).from_address(plain.data_ptr())) if count else b"")
        self.bytes += count
        return {"t": [_name(plain.dtype), list(plain.shape)]}

    def pack(self, value: Any, depth: int = 0) -> Any:
        """VALUE's description. Raises Unsupported."""
        torch = self.torch
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, int):
            return {"i": str(int(value))}
        if isinstance(value, float):
            return {"f": value.hex()}
        if isinstance(value, (tuple, list)):
            if depth >= DEPTH_MOST or len(value) > ITEMS_MOST:
                raise Unsupported("lists that are too deep or long")
            return {"l" if isinstance(value, list) else "u": [self.pack(item, depth + 1) for item in value]}
        if isinstance(value, dict):
            if depth >= DEPTH_MOST or len(value) > ITEMS_MOST or not all(isinstance(name, str) for name in value):
                raise Unsupported("a dict that is too deep, long, or has other keys than text")
            return {"d": [[name, self.pack(item, depth + 1)] for name, item in value.items()]}
        if isinstance(value, slice):
            return {"s": [self.pack(part, depth + 1) for part in (value.start, value.stop, value.step)]}
        for letter, kind in (("y", torch.dtype), ("m", torch.memory_format)):
            if isinstance(value, kind):
                return {letter: _name(value)}
        if isinstance(value, torch.device):
            return {"v": None}
        if value is Ellipsis:
            return {"e": None}
        raise Unsupported(f"a {type(value).__name__}")


class Unpacker:
    """Turns a description and elements into values. WIDE: the dtype that floating tensors and dtypes become; None: they stay.
    FIRST: where the elements of the first tensor are, if others come before."""

    def __init__(self, message: Message, device: str = "cpu", wide: Any = None, first: Optional[int] = None) -> None:
        import torch  # pylint: disable=import-outside-toplevel
        self.torch, self.message, self.device, self.wide = torch, message, device, wide
        self.at = message.first if first is None else first

    def widened(self, dtype: Any) -> Any:
        """What elements of DTYPE become."""
        torch = self.torch
        if self.wide is None or not (dtype.is_floating_point or dtype.is_complex):
            return dtype
        return (torch.complex128 if self.wide == torch.float64 else torch.complex64) if dtype.is_complex else self.wide

    def _tensor(self, described: Any) -> Any:
        torch = self.torch
        name, shape = described if isinstance(described, list) and len(described) == 2 else (None, None)
        if not isinstance(name, str) or name not in BYTES or not isinstance(shape, list) or len(shape) > DIMENSIONS_MOST:
            raise Refused("a tensor is not described as it must be")
        count, size = 1, BYTES[name]
        for length in shape:
            if type(length) is not int or length < 0:
                raise Refused("a tensor's shape is no list of numbers")
            count *= length
        if count * size > len(self.message.bytes) - self.at:
            raise Refused("a tensor is larger than the message")
        dtype = getattr(torch, name)
        if count == 0:
            return torch.empty(shape, dtype=self.widened(dtype), device=self.device)
        kind = torch.uint8 if name == "bool" else dtype
        plain = torch.frombuffer(self.message.bytes, dtype=kind, count=count, offset=self.at).reshape(shape)
        self.at += _padded(count * size)
        plain = plain != 0 if name == "bool" else plain
        # A copy in any case: operators may change their arguments.
        return plain.to(device=self.device, dtype=self.widened(dtype), copy=True)

    def unpack(self, value: Any, depth: int = 0) -> Any:
        """The value described by VALUE, in the order in which it was packed. Raises Refused."""
        torch = self.torch
        if value is None or isinstance(value, (bool, str)):
            return value
        if depth > DEPTH_MOST + 1 or not isinstance(value, dict) or len(value) != 1:
            raise Refused("a value is not described as it must be")
        (kind, inner), = value.items()
        try:
            if kind == "t":
                return self._tensor(inner)
            if kind == "i":
                return int(inner) if len(inner) < 32 else self._refuse(kind)
            if kind == "f":
                return float.fromhex(inner)
            if kind in ("l", "u", "s"):
                if not isinstance(inner, list) or len(inner) > ITEMS_MOST:
                    self._refuse(kind)
                items = [self.unpack(item, depth + 1) for item in inner]
                if kind == "s" and len(items) != 3:
                    self._refuse(kind)
                return items if kind == "l" else tuple(items) if kind == "u" else slice(*items)
            if kind == "d":
                return {str(name): self.unpack(item, depth + 1) for name, item in inner}
            if kind == "y":
                return self.widened(getattr(torch, inner)) if isinstance(inner, str) and inner in BYTES else self._refuse(kind)
            if kind == "m":
                known = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
                return getattr(torch, inner) if inner in known else self._refuse(kind)
        except (TypeError, ValueError) as error:
            raise error if isinstance(error, Refused) else Refused(f"a value is not described as it must be: {error}") from None
        return torch.device(self.device) if kind == "v" else Ellipsis if kind == "e" else self._refuse(kind)

    @staticmethod
    def _refuse(kind: str) -> Any:
        raise Refused(f"no value of kind {kind[:16]!r} is known")


def tensors_of(value: Any) -> List[Any]:
    """The tensors in VALUE, in order."""
    import torch  # pylint: disable=import-outside-toplevel
    if isinstance(value, torch.Tensor):
        return [value]
    items: Tuple[Any, ...] = tuple(value.values()) if isinstance(value, dict) else tuple(value) if isinstance(value, (tuple, list)) else ()
    return [tensor for item in items for tensor in tensors_of(item)]
