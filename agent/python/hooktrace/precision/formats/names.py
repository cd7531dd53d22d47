"""The names of APIs in the tools' dumps: "torch.nn.functional.conv2d" is their type Functional and operation conv2d."""
import linecache
import os
from typing import Tuple

# The longer prefix is first.
_TYPES = (("torch.nn.functional.", "Functional"), ("torch._C._nn.", "Functional"), ("torch.Tensor.", "Tensor"), ("torch._tensor.Tensor.", "Tensor"),
          ("torch._C._TensorBase.", "Tensor"), ("torch.distributed.", "Distributed"), ("torch._VF.", "VF"), ("torch.ops.aten.", "Aten"),
          ("torch_npu.", "NPU"), ("torch.", "Torch"), ("mindspore.mint.nn.functional.", "MintFunctional"), ("mindspore.mint.", "Mint"),
          ("mindspore.ops.", "Functional"), ("mindspore.Tensor.", "Tensor"), ("mindspore.", "MindSpore"), ("paddle.nn.functional.", "Functional"),
          ("paddle.Tensor.", "Tensor"), ("paddle.distributed.", "Distributed"), ("paddle.", "Paddle"))


def split(api: str) -> Tuple[str, str]:
    """The type and the operation of an API's full name."""
    for prefix, kind in _TYPES:
        if api.startswith(prefix):
            return kind, api[len(prefix):]
    kind, _, operation = api.partition(".")
    return (kind, operation) if operation else ("Other", api)


def frame(text: str) -> Tuple[str, int, str]:
    """The path, line and function of a frame "path:line function"."""
    place, _, function = text.partition(" ")
    path, _, line = place.rpartition(":")
    return (path, int(line), function) if path and line.isdigit() else (text, 0, "")


def code(path: str, line: int) -> str:
    """The line of a Python file, or "" if it is not there any more."""
    return linecache.getline(path, line).strip() if path.endswith(".py") and os.path.isfile(path) else ""
