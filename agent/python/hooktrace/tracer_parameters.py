"""The tensors of the torch modules and optimizers that ran while `tracer.start(parameters=True)` was on, noted once per instance.

A module is noted at its first call, an optimizer at the end of its first step. No tensor is kept, only what describes it.
"""
from typing import Any, Dict, Iterator, List

Tensor = Dict[str, Any]
_noted: List[Tensor] = []


def noted() -> List[Tensor]:
    """Returns a dict for each tensor, in the order in which they were met:

    owner: "Linear_0", the module as the timeline names it, or "SGD", the optimizer's class
    name: the parameter's within its module; of an optimizer, "0.1" for parameter 1 of group 0, and "0.1.exp_avg" for its state
    kind: "parameter", "gradient" or "state"
    dtype, device: as texts; shape, strides: tuples, strides in elements and None where the tensor has none
    address: of its data, in bytes; 0 where it cannot be read; bytes: size of its elements
    """
    return list(_noted)


def clear() -> None:
    """Forgets what was noted. Instances that were noted are not noted again."""
    _noted.clear()


def _describe(tensor: Any) -> Tensor:
    try:
        strides = tuple(tensor.stride())
    except RuntimeError:
        strides = None
    try:
        address = tensor.data_ptr()
    except RuntimeError:
        address = 0
    return {"dtype": str(tensor.dtype), "shape": tuple(tensor.shape), "strides": strides, "device": str(tensor.device), "address": address,
            "bytes": tensor.numel() * tensor.element_size()}


def _tensors_of(owner: str, name: str, tensor: Any) -> Iterator[Tensor]:
    """TENSOR, and its gradient where there is one."""
    yield {"owner": owner, "name": name, "kind": "parameter", **_describe(tensor)}
    gradient = tensor.grad if tensor.is_leaf else None
    if gradient is not None:
        yield {"owner": owner, "name": name, "kind": "gradient", **_describe(gradient)}


def _tensors_of_module(module: Any, owner: str) -> Iterator[Tensor]:
    for name, parameter in vars(module).get("_parameters", {}).items():
        if parameter is not None:
            yield from _tensors_of(owner, name, parameter)


def _tensors_of_optimizer(optimizer: Any, owner: str) -> Iterator[Tensor]:
    for number, group in enumerate(optimizer.param_groups):
        for place, parameter in enumerate(group["params"]):
            name = f"{number}.{place}"
            yield from _tensors_of(owner, name, parameter)
            for key, value in optimizer.state.get(parameter, {}).items():
                if hasattr(value, "data_ptr"):
                    yield {"owner": owner, "name": f"{name}.{key}", "kind": "state", **_describe(value)}


def note(instance: Any, number: int) -> None:
    """Called by the tracer with a module and its number among the instances of its class, or with an optimizer and -1."""
    name = type(instance).__name__
    _noted.extend(_tensors_of_optimizer(instance, name) if number < 0 else _tensors_of_module(instance, f"{name}_{number}"))
