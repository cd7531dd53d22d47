"""torch_faults CASES.json TRUTHS.json: trains small models on the ranks of torchrun, once for each case, and dumps what every step computes.

CASES.json is a list of {"model": "cnn" or "transformer", "store": directory, "narrow": whether operators compute in bfloat16,
"fault": null or {"kind", "operator", "nth", "seed"}}.
A fault changes the result of the NTH call of the aten operator OPERATOR within the forward pass of step 3 on rank 2, below every
function of Python: one bit, one NaN, a weight that is used transposed, or a result that was rounded to bfloat16. TRUTHS.json
gets for each case the module that the fault lies in, found by a pass of its own.
"""
import json
import random
import sys

import torch
import torch.distributed
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils._python_dispatch import TorchDispatchMode

import hooktrace.precision

RANK, STEP, STEPS = 2, 3, 5
WIDTH, WORDS, LENGTH, BATCH = 32, 50, 12, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.wide, self.narrow = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        y = self.first(x)
        scores = torch.matmul(self.query(y), self.key(y).transpose(1, 2)) / WIDTH ** 0.5
        x = x + self.out(torch.matmul(functional.softmax(scores, dim=-1), self.value(y)))
        return x + self.narrow(functional.gelu(self.wide(self.second(x))))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, words):
        x = self.embedding(words)
        for block in self.blocks:
            x = block(x)
        return functional.cross_entropy(self.head(x[:, :-1]).reshape(-1, WORDS), words[:, 1:].reshape(-1))


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.hidden, self.out = nn.Linear(128, 128), nn.Linear(128, 10)

    def forward(self, images, labels):
        x = functional.max_pool2d(functional.relu(self.norm(self.first(images))), 2)
        x = functional.max_pool2d(functional.relu(self.second(x)), 2)
        x = functional.relu(self.hidden(x.flatten(1)))
        return functional.cross_entropy(self.out(x), labels)


MODELS = {"cnn": Cnn, "transformer": Transformer}


def batch(model, rank, step):
    generator = torch.Generator().manual_seed(1000 * step + rank)
    if model == "cnn":
        return torch.randn(BATCH, 3, 16, 16, generator=generator), torch.randint(10, (BATCH,), generator=generator)
    return (torch.randint(WORDS, (BATCH, LENGTH), generator=generator),)


def changed(kind, func, args, kwargs, result, choose):
    """RESULT of FUNC with the fault in it."""
    first = (result[0] if isinstance(result, tuple) else result).clone()
    if kind == "transposed":
        at = 2 if "addmm" in func._schema.name else 1
        return func(*args[:at], args[at].transpose(0, 1).contiguous(), *args[at + 1:], **kwargs)
    if kind == "cast":
        first = first.to(torch.bfloat16).to(first.dtype)
    elif kind == "nan":
        first.view(-1)[choose.randrange(first.numel())] = float("nan")
    else:
        bits = first.view(torch.int32).view(-1)
        at = choose.randrange(bits.numel())
        bits[at] = int(bits[at]) ^ (1 << choose.randrange(30))
    return (first, *result[1:]) if isinstance(result, tuple) else first


class Fault(TorchDispatchMode):
    """The operators called in this context; the one that FAULT names gives a wrong result."""

    def __init__(self, fault, path):
        super().__init__()
        self.fault, self.path, self.calls, self.truth = fault, path, 0, None

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func._schema.name != "aten::" + self.fault["operator"]:
            return result
        self.calls += 1
        if self.calls != self.fault["nth"] + 1:
            return result
        self.truth = {"operator": self.fault["operator"], "module": self.path[-1] if self.path else ""}
        return changed(self.fault["kind"], func, args, kwargs or {}, result, random.Random(self.fault["seed"]))


def truth(case):
    """Where the fault lies: the innermost module that runs when the operator is called."""
    path, model = [], MODELS[case["model"]]()
    for name, module in model.named_modules():
        module.register_forward_pre_hook(lambda module, inputs, name=name: path.append(name))
        module.register_forward_hook(lambda module, inputs, result: path.pop() and None)
    with Fault(case["fault"], path) as fault, torch.no_grad():
        model(*batch(case["model"], 0, 0))
    return fault.truth


def train(case, rank):
    torch.manual_seed(7)
    model = MODELS[case["model"]]()
    parallel = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    with hooktrace.precision.Dumper(case["store"], model=model, gradients=True, quiet=True) as dumper:
        for step in range(STEPS):
            data = batch(case["model"], rank, step)
            if case["fault"] and rank == RANK and step == STEP:
                with Fault(case["fault"], []):
                    loss = parallel(*data)
            else:
                with torch.autocast("cpu", enabled=case["narrow"]):
                    loss = parallel(*data)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            dumper.step()


def main():
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    with open(sys.argv[1]) as file:
        cases = json.load(file)
    for case in cases:
        train(case, rank)
    if rank == 0:
        with open(sys.argv[2], "w") as file:
            json.dump([case["fault"] and truth(case) for case in cases], file)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
