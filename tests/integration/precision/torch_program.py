"""Trains with torch, without and with a dump, and prints what came out of it as digests. Arguments: cases with commas between, a directory
for their dumps or "-" for none, and the options of the Dumper as JSON."""
import hashlib
import json
import os
import sys
import threading

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.checkpoint

torch.set_num_threads(1)


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.Conv2d(16, 32, 3, padding=1)
        self.last = nn.Linear(32 * 8 * 8, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.first(x))), 2)
        return self.last(torch.flatten(F.max_pool2d(F.relu(self.second(x)), 2), 1))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.norm = nn.MultiheadAttention(16, 2, batch_first=True), nn.LayerNorm(16)
        self.inside, self.outside, self.drop = nn.Linear(16, 32), nn.Linear(32, 16), nn.Dropout(0.1)

    def forward(self, x):
        x = self.norm(x + self.attention(x, x, x)[0])
        return self.norm(x + self.drop(self.outside(F.gelu(self.inside(x)))))  # the norm is shared


class Transformer(nn.Module):
    def __init__(self, again=False):
        super().__init__()
        self.words, self.blocks, self.last, self.again = nn.Embedding(50, 16), nn.ModuleList([Block(), Block()]), nn.Linear(16, 50), again

    def forward(self, x):
        x = self.words(x)
        for block in self.blocks:
            x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False) if self.again else block(x)
        return self.last(x.mean(1))


class Changes(nn.Module):
    """Operators in place, views, results that are inputs, several results, no_grad, hooks, a Function of its own."""

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            context.save_for_backward(x)
            return x ** 3

        @staticmethod
        def backward(context, gradient):
            x, = context.saved_tensors
            return 3 * x ** 2 * gradient

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.linear.register_forward_hook(lambda module, inputs, output: output * 1.5)
        self.linear.register_full_backward_hook(lambda module, inputs, outputs: None)

    def forward(self, x):
        x = self.linear(self.linear(x))
        y = x * 2
        y.add_(1).mul_(0.5)
        y[:, :2].sub_(0.25)
        a, b = torch.chunk(y, 2, dim=1)
        a = F.dropout(a, 0.0)
        with torch.no_grad():
            shift = a.mean() + self.linear.weight.sum()
        joined = torch.cat([a.t().contiguous().t(), self.Cube.apply(b), torch.stack([a[:, 0], b[:, 1]], 1)], 1)
        values, places = torch.max(joined, 1)
        return joined.sum(1) + values * shift + places


def data(case):
    if case == "cnn" or case == "compiled":
        return torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))
    if case in ("transformer", "checkpoint"):
        return torch.randint(0, 50, (4, 6)), torch.randint(0, 50, (4,))
    return torch.randn(6, 8), None


def model_of(case):
    made = {"cnn": Cnn, "compiled": Cnn, "transformer": Transformer, "checkpoint": lambda: Transformer(True), "changes": Changes,
            "threads": Changes}
    return made[case]()


def digest(tensors):
    found = hashlib.sha256()
    for tensor in tensors:
        found.update(tensor.detach().contiguous().numpy().tobytes())
    return found.hexdigest()


def train(case, steps, after):
    torch.manual_seed(3)
    model = model_of(case)
    optimizer = (torch.optim.Adam if case != "cnn" else torch.optim.SGD)(model.parameters(), lr=0.05)
    run = torch.compile(model, backend="aot_eager") if case == "compiled" else model
    x, y = data(case)
    after = after(model, optimizer)
    losses, gradients = [], []
    for _ in range(steps):
        optimizer.zero_grad()
        out = run(x)
        loss = F.cross_entropy(out, y) if y is not None else out.sum()
        loss.backward()
        gradients += [parameter.grad.clone() for parameter in model.parameters()]
        optimizer.step()
        losses.append(loss.detach().clone())
        after()
    return digest([*losses, *gradients, *model.state_dict().values(), torch.randn(3)])


def nothing(*_):
    return lambda: None


def beside(case, steps, after):
    """The same while another thread computes."""
    other = threading.Thread(target=lambda: [torch.ones(100, 100) @ torch.ones(100, 100) for _ in range(300)])
    other.start()
    trained = train(case, steps, after)
    other.join()
    return trained


def dumped(case, directory, options):
    from hooktrace import precision
    dumpers = []

    def start(model, optimizer):
        dumpers.append(precision.Dumper(os.path.join(directory, case), model=model, optimizer=optimizer, quiet=True, **options))
        dumpers[0].start()
        return dumpers[0].step
    trained = (beside if case == "threads" else train)(case, 3, start)
    dumpers[0].stop()
    return trained


def main():
    cases, directory, options = sys.argv[1].split(","), sys.argv[2], json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}
    for case in cases:
        print(case, train(case, 3, nothing) if directory == "-" else dumped(case, directory, options))


if __name__ == "__main__":
    main()
