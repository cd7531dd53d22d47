"""Data-parallel training over gloo that traces itself, in steps: torch_nested.py late STORE | preloaded."""
import sys

import torch
import torch.distributed

import hooktrace

STEPS, LAYERS = 4, 2


def train_step(model, optimizer, batch):
    loss = model(batch).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def train():
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(LAYERS)]))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for number in range(STEPS):
        hooktrace.step(number)
        with hooktrace.range("training step"):
            train_step(model, optimizer, torch.rand(32, 64))
    torch.distributed.destroy_process_group()


settings = {"store": sys.argv[2], "level": ["record", "writev=record"], "job": "nested"} if sys.argv[1] == "late" else {}
assert hooktrace.start(quiet=True, python=True, apis={"frameworks": ["torch"], "hook_inside": True}, **settings)
train()
