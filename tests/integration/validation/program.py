"""program.py URL MODE [FAULT]: trains a small model under validation, or without (MODE plain), and prints JSON: digests of its parameters, and what the
validation found. FAULT is an operator below the API, of which the third call returns one wrong element. MODE kill: waits for a line on stdin between
its steps."""
import json
import sys
import warnings

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from hooktrace import precision
from hooktrace.precision import values

STEPS = 3
CALL = 3


class Fault(TorchDispatchMode):
    """Makes one element of the third call's result of an operator half as large again, or one."""

    def __init__(self, operator):
        super().__init__()
        self.operator, self.calls = operator, 0

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        result = function(*arguments, **(keywords or {}))
        # A backward pass has grad mode off, and is not made of calls of APIs; nor has the optimizer, but that is.
        if str(function).split(".")[1] == self.operator and (torch.is_grad_enabled() or self.operator == "addcmul_"):
            self.calls += 1
            if self.calls == CALL:
                first = result[0] if isinstance(result, tuple) else result
                flat = first.detach().view(-1)
                place = int(flat.abs().argmax())
                flat[place] = flat[place] * 1.5 if flat[place] != 0 else 1.0
        return result


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(2, 8, 3), torch.nn.LayerNorm(8)
        self.query, self.key, self.value = (torch.nn.Linear(8, 8) for _ in range(3))
        self.drop, self.out = torch.nn.Dropout(0.1), torch.nn.Linear(8, 4)

    def forward(self, images):
        # Contiguous: torch 1.13 takes gradients of gelu from memory that it has not written otherwise.
        tokens = torch.nn.functional.gelu(self.norm(self.conv(images).flatten(2).transpose(1, 2).contiguous()))
        scores = torch.bmm(self.query(tokens), self.key(tokens).transpose(1, 2)) / 8**0.5
        mixed = torch.bmm(torch.softmax(scores, -1), self.value(tokens))
        return self.out(self.drop(mixed).relu_().mean(1))


def train(between=lambda: None):
    torch.manual_seed(1)
    model = Block()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(torch.randn(4, 2, 6, 6)), torch.tensor([0, 1, 2, 3])).backward()
        optimizer.step()
        between()
    half = torch.nn.functional.linear(torch.randn(3, 5).bfloat16(), torch.randn(2, 5).bfloat16())
    torch.argsort(torch.randn(9)), torch.fft.fft(torch.randn(8)), half.sum()
    return {name: values.digest(tensor) for name, tensor in model.state_dict().items()}


def wait():
    print("stepped", flush=True)
    sys.stdin.readline()


def main():
    url, mode = sys.argv[1:3]
    torch.set_num_threads(1)
    if mode == "plain":
        print(json.dumps({"digests": train()}))
        return
    said = []
    warnings.showwarning = lambda message, *rest: said.append(str(message))
    check = precision.validate(url, on_differ=lambda difference: None, timeout=5 if mode == "kill" else 600)
    # The mode is the outermost: what it changes, the validation sees as the operator's result.
    with check:
        if mode == "fault":
            with Fault(sys.argv[3]):
                digests = train()
        else:
            digests = train(wait if mode == "kill" else lambda: None)
    print(json.dumps({"digests": digests, "text": str(check), "agreed": check.agreed, "skipped": check.skipped, "lost": check.lost, "said": said,
                      "differences": [[one.operator, one.call, one.reason, one.stack] for one in check.differences]}))


main()
