"""Trains a small network for some steps while its functions and modules are traced.

    torch_modules.py OUTPUT

OUTPUT gets JSON: "calls", {module's class and number: calls} as torch's own hooks count them, and "noted" and "parameters", the tensors
as the tracer and as torch describe them. PYTHONPATH leads to the package; the agent is in this process from its start.
"""
import collections
import ctypes
import json
import sys

import torch
from python_traced import bind

STEPS = 4


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ModuleList([torch.nn.Conv2d(3, 4, 3), torch.nn.Conv2d(4, 4, 3), torch.nn.ReLU()])
        self.last = torch.nn.Linear(4 * 28 * 28, 5)

    def forward(self, value):
        for part in self.parts:
            value = part(value)
        return self.last(self.parts[2](value).flatten(1))


def name_modules(net):
    """{module: class and number by first call}; the first call of each comes in this order."""
    numbers, names = collections.Counter(), {}
    for module in [net, *net.parts, net.last]:
        kind = type(module).__name__
        names[module] = f"{kind}_{numbers[kind]}"
        numbers[kind] += 1
    return names


def describe(owner, name, kind, tensor):
    return [owner, name, kind, str(tensor.dtype), list(tensor.shape), list(tensor.stride()), str(tensor.device), tensor.data_ptr()]


def main():
    from hooktrace import tracer, tracer_parameters

    bind(ctypes.CDLL(None))
    net, calls = Net(), collections.Counter()
    names = name_modules(net)
    for module, name in names.items():
        module.register_forward_pre_hook(lambda *_, name=name: calls.update([name]))
    optimizer = torch.optim.Adam(net.parameters())
    inputs, targets = torch.randn(2, 3, 32, 32), torch.tensor([1, 2])
    tracer.start(parameters=True)
    for _ in range(STEPS):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(inputs), targets).backward()
        optimizer.step()
    tracer.stop()
    noted = [[row["owner"], row["name"], row["kind"], row["dtype"], list(row["shape"]), list(row["strides"]), row["device"], row["address"]]
             for row in tracer_parameters.noted()]
    wanted = [describe(name, key, "parameter", tensor) for module, name in names.items() for key, tensor in module.named_parameters(recurse=False)]
    for place, tensor in enumerate(net.parameters()):
        wanted += [describe("Adam", f"0.{place}", "parameter", tensor)]
        wanted += [describe("Adam", f"0.{place}.{key}", "state", value) for key, value in optimizer.state[tensor].items()]
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({"calls": calls, "noted": [row for row in noted if row[2] != "gradient"], "parameters": wanted,
                   "gradients": sum(row[2] == "gradient" for row in noted), "tensors": len(list(net.parameters()))}, file)


if __name__ == "__main__":
    main()
