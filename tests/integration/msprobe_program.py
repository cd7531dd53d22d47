"""Trains a small CNN for two steps, the same in each run, while msprobe or hooktrace takes the values (arguments: msprobe or ours, then TASK:LEVEL:PATH ...).

Each run has a process of its own, forked once torch is loaded. LEVEL a or b: instead of a training, one call each of what comparisons have
rules for; b is the other side.
"""
import json
import os
import sys

import torch
from torch import nn
from torch.nn import functional

LEVELS = {"L0": "module", "L1": "api", "mix": "mix"}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.bn, self.c2, self.fc = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Conv2d(8, 4, 3, padding=1), nn.Linear(256, 10)

    def forward(self, values):
        values = functional.relu(self.bn(self.c1(values)))
        return self.fc(torch.flatten(functional.max_pool2d(self.c2(values), 4), 1))


def load(who):
    """What takes long to import."""
    if who == "msprobe":
        import msprobe.pytorch  # pylint: disable=import-error,import-outside-toplevel,unused-import
    else:
        import hooktrace.precision.dumper  # pylint: disable=import-error,import-outside-toplevel,unused-import


def observer(who, task, level, path, model):
    """start(), step() and stop() of the tool."""
    if who == "msprobe":
        from msprobe.pytorch import PrecisionDebugger  # pylint: disable=import-error,import-outside-toplevel

        config = {"task": task, "dump_path": path, "rank": [], "step": [], "level": level, task: {"scope": [], "list": [], "data_mode": ["all"]}}
        with open(path + ".json", "w", encoding="utf-8") as stream:
            json.dump(config, stream)
        debugger = PrecisionDebugger(config_path=path + ".json")

        def end_step():
            debugger.stop()
            debugger.step()

        return lambda: debugger.start(model=model), end_step, lambda: None
    import hooktrace.precision  # pylint: disable=import-error,import-outside-toplevel

    dumper = hooktrace.precision.Dumper(path, task=task, level=LEVELS[level], model=model, gradients=level != "L1")
    dumper.start()
    return lambda: None, dumper.step, dumper.stop


def train(who, task, level, path):
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    begin_step, end_step, end = observer(who, task, level, path, model)
    for step in range(2):
        source = torch.Generator().manual_seed(step)
        values, labels = torch.randn(4, 3, 32, 32, generator=source), torch.randint(0, 10, (4,), generator=source)
        begin_step()
        loss = functional.cross_entropy(model(values), labels) + torch.tensor(1.5) * 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        end_step()
    end()


def odd(who, task, path, other):
    begin_step, end_step, end = observer(who, task, "L1", path, None)
    nan, inf = float("nan"), float("inf")
    a, b = torch.tensor([1.0, nan, 3.0]), torch.tensor([1.0, inf, -inf])
    begin_step()
    torch.add(a, a if other else b)
    torch.mul(b, 3 if other else 2)
    torch.add(torch.ones(2, 2, dtype=torch.bfloat16 if other else torch.float32), 1)
    torch.zeros(0, 3) + 1  # pylint: disable=expression-not-assigned
    torch.sum(torch.ones(3), dtype=torch.float64)
    torch.add(torch.tensor([True, False]), torch.tensor([1, 2]))
    functional.interpolate(torch.ones(1, 1, 2, 2), scale_factor=2.0, mode="nearest")
    torch.sub(torch.tensor(1.0, requires_grad=other), torch.tensor(2))
    if not other:
        torch.div(torch.ones(3), 2)
    torch.exp((torch.arange(8.0) + 1) * (1.00001 if other else 1))
    functional.gelu(torch.ones(3) * other)
    functional.softplus(torch.tensor([1.0, 1.0] if other else [nan, 1.0]))
    functional.silu(torch.ones(3 + other))
    end_step()
    end()


def run(who, task, level, path):
    if level in LEVELS:
        train(who, task, level, path)
    else:
        odd(who, task, path, level == "b")


def main(who, *jobs):
    load(who)
    for job in jobs:
        child = os.fork()
        if child == 0:
            run(who, *job.split(":"))
            sys.stdout.flush()
            os._exit(0)
        if os.waitpid(child, 0)[1] != 0:
            sys.exit(f"{who} {job} failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
