"""Tensors as memory that hooktrace._native reads: of torch, or of anything with NumPy's array interface."""
import struct
from typing import Any, Optional, Tuple, Union

from .. import _native

Described = Union[bytes, Tuple[int, str, Tuple[int, ...], Optional[Tuple[int, ...]]]]


def is_tensor(value: Any) -> bool:
    """Whether VALUE has elements in memory: a tensor of torch, or an array."""
    return hasattr(value, "data_ptr") or hasattr(value, "__array_interface__")


def readable(tensor: Any) -> Any:
    """TENSOR, or what holds its elements in this process's memory: a copy from a device, the local part of a distributed one, real and imaginary
    parts of a complex one. Raises TypeError if it has no elements in a row: sparse, quantized, without memory."""
    if not hasattr(tensor, "data_ptr"):
        return tensor
    tensor = tensor.detach()
    if hasattr(tensor, "to_local"):
        tensor = tensor.to_local()
    if str(tensor.layout) != "torch.strided" or tensor.is_quantized or tensor.device.type == "meta":
        raise TypeError(f"a tensor of layout {tensor.layout} on {tensor.device} has no elements to read")
    if tensor.device.type != "cpu":
        tensor = tensor.cpu()
    if tensor.is_complex():
        import torch  # pylint: disable=import-outside-toplevel
        tensor = torch.view_as_real(tensor.resolve_conj())
    return tensor.resolve_neg() if hasattr(tensor, "resolve_neg") else tensor


def described(tensor: Any) -> Described:
    """Where the elements of TENSOR are, which `readable` has returned, and which must live until they have been read."""
    if hasattr(tensor, "data_ptr"):
        return tensor.data_ptr(), str(tensor.dtype), tuple(tensor.shape), tuple(tensor.stride())
    interface = tensor.__array_interface__
    size = int(interface["typestr"][2:])
    strides = interface.get("strides")
    return interface["data"][0], interface["typestr"], tuple(interface["shape"]), None if strides is None else tuple(step // size for step in strides)


def digest(value: Any) -> int:
    """A number that is equal for equal values: of a tensor's elements and their dtype; of a number, text or bytes. Raises TypeError for others."""
    if is_tensor(value):
        memory = readable(value)
        return _native.digest(described(memory))
    if isinstance(value, bytes):
        return _native.digest(value)
    if isinstance(value, float):
        return _native.digest(struct.pack("<d", value))
    if isinstance(value, (int, str)):
        return _native.digest(repr(value).encode())
    raise TypeError(f"cannot take the digest of a {type(value).__name__} (a tensor, array, number, text or bytes)")
