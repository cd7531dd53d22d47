"""sides: what hooktrace._native needs to know of a framework to read its tensors.

A side is a dictionary of the functions that values_functions() takes. Tensors of torch, and of classes with the same methods, are
read in C; those of other frameworks by `read`.
"""
import sys
from typing import Any, Callable, Dict, List, Optional, Tuple

from ..apis.catalog import Framework, resolve

OTHER, TENSOR, READ, WRAPPER, SCALAR, FIELDS = range(6)  # enum hk_values_class

Side = Dict[str, Any]
Read = Optional[Tuple[Any, ...]]


def _classes(framework: Framework) -> List[type]:
    return [found for found in map(resolve, framework.tensors) if isinstance(found, type)]


def _torch_class(torch: Any, kind: type) -> int:
    if issubclass(kind, (torch.dtype, torch.device, torch.layout, torch.memory_format)):
        return SCALAR
    if not issubclass(kind, torch.Tensor):
        return OTHER
    if kind in (torch.Tensor, torch.nn.Parameter):
        return TENSOR
    dispatch = getattr(kind, "__torch_dispatch__", None)
    if dispatch is not None and dispatch is not getattr(torch._C, "_disabled_torch_dispatch_impl", None):
        return WRAPPER
    return TENSOR if getattr(kind, "__torch_function__", None) is torch._C._disabled_torch_function_impl else READ


def _torch_read(torch: Any) -> Callable[[Any], Read]:
    """Reads tensors of subclasses, whose own `__torch_function__` must not see it."""
    guard = getattr(torch._C, "DisableTorchFunctionSubclass", torch._C.DisableTorchFunction)

    def read(tensor: Any) -> Read:
        try:
            with guard():
                if tensor.layout is not torch.strided or tensor.device.type != "cpu" or tensor.is_neg():
                    return None
                storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor._storage()
                shape, strides, offset = tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
                size = tensor.element_size()
                last = sum((many - 1) * stride for many, stride in zip(shape, strides)) if 0 not in shape else -1
                if (offset + last + 1) * size > storage.nbytes():
                    return None
                return (tensor.data_ptr() or 1, str(tensor.dtype), shape, strides, "cpu", tensor.requires_grad, tensor._is_view(),
                        tensor.data_ptr() - offset * size, tensor._version, offset, None)
        except RuntimeError:
            return None
    return read


def _torch(framework: Framework) -> Side:
    torch = sys.modules["torch"]
    native = torch._C
    return {
        "classify": lambda kind: _torch_class(torch, kind),
        "read": _torch_read(torch),
        "strided": torch.strided,
        "tracing": native._get_tracing_state,
        "modes": getattr(native, "_len_torch_function_stack", None),
        # Older versions' guard is of subclasses only.
        "guard": native.DisableTorchFunction if hasattr(native, "DisableTorchFunctionSubclass") else None,
        "graph_task": getattr(native, "_current_graph_task_id", None),
    }


def _array(tensor: Any) -> Read:
    """A tensor that NumPy sees, in place or as a copy."""
    try:
        array = tensor.numpy()
        name = str(tensor.dtype)
        itemsize = array.dtype.itemsize or 1
        address = array.__array_interface__["data"][0]
        requires = not getattr(tensor, "stop_gradient", True)
        return (address or 1, name, array.shape, tuple(stride // itemsize for stride in array.strides), "cpu", requires, False, address, 0, 0, array)
    except Exception:  # what the framework raises where a tensor has no value yet
        return None


def _by_numpy(framework: Framework) -> Side:
    classes = tuple(_classes(framework))
    return {"classify": lambda kind: READ if classes and issubclass(kind, classes) else OTHER, "read": _array}


def _like_torch(framework: Framework) -> Side:
    classes = tuple(_classes(framework))
    return {"classify": lambda kind: TENSOR if classes and issubclass(kind, classes) else OTHER,
            "strided": getattr(sys.modules.get(framework.name), "strided", None)}


_SIDES: Dict[str, Callable[[Framework], Side]] = {"torch": _torch, "paddle": _by_numpy, "mindspore": _by_numpy}


def side_of(framework: Framework) -> Side:
    """The side of FRAMEWORK, which is imported. One that hooktrace does not know is taken to have torch's methods."""
    return _SIDES.get(framework.name, _like_torch)(framework)


def backward_of(framework: Framework) -> Optional[Any]:
    """The method in which backward passes run, or None where hooktrace does not know it."""
    if framework.name != "torch":
        return None
    return getattr(type(sys.modules["torch"].autograd.Variable._execution_engine), "run_backward", None)


def join(sides: List[Side]) -> Side:
    """One side for several frameworks: each class belongs to one of them."""
    joined: Side = {}
    for side in sides:
        for name, value in side.items():
            if value is not None:
                joined.setdefault(name, value)
    owners: Dict[type, Side] = {}

    def classify(kind: type) -> int:
        for side in sides:
            answer = side["classify"](kind)
            if answer != OTHER:
                owners[kind] = side
                return answer
        return FIELDS if hasattr(kind, "__dataclass_fields__") else OTHER

    def read(tensor: Any) -> Read:
        return owners[type(tensor)]["read"](tensor)
    joined["classify"] = classify
    joined["read"] = read
    return joined
