"""Which functions of torch may be asked of a golden process: those that take tensors, by the names that users write."""
from typing import Any, Dict, Iterator

from ..apis import catalog

# Not operators on values: they hand out memory, give the storage another meaning, call functions, or make elements that mean nothing.
_LEFT_OUT = frozenset(
    "apply_ as_subclass data_ptr empty empty_like empty_permuted empty_strided map_ map2_ new_empty new_empty_strided numpy pin_memory record_stream "
    "register_hook register_post_accumulate_grad_hook resize_ resize_as_ retain_grad set_ share_memory_ storage to_dlpack tolist type_ untyped_storage "
    "__array__ __array_wrap__ __contains__ __delitem__ __dlpack__ __dlpack_device__ __iter__ __len__ __cuda_array_interface__ backward".split())


def operators() -> Iterator[catalog.Api]:
    """Functions and methods of the torch that is imported which a golden process may run."""
    import torch.overrides  # pylint: disable=import-outside-toplevel
    takes_tensors = set()
    for functions in torch.overrides.get_overridable_functions().values():
        takes_tensors.update(id(function) for function in functions)
    for api in catalog.functions(catalog.FRAMEWORKS["torch"], False):
        if id(api.function) in takes_tensors and api.name.split(".")[-1] not in _LEFT_OUT:
            yield api


def by_name() -> Dict[str, Any]:
    """The same by name."""
    return {api.name: api.function for api in operators()}
