"""Data-parallel training over gloo, whose rank STUCK makes the file BEGUN in its fourth step, and stays in a Python loop until the file END
is there."""
import os
import sys

import torch
import torch.distributed

STUCK, BEGUN, END = int(sys.argv[1]), *sys.argv[2:]


def clean(batch):
    number = 1
    with open(BEGUN, "w", encoding="ascii"):
        pass
    while not os.path.exists(END):
        for _ in range(100_000):
            number = (number * 31 + 7) % 1_000_003
    return batch * number


def load(rank, step):
    batch = torch.rand(8, 16)
    return clean(batch) if (rank, step) == (STUCK, 3) else batch


def train():
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(6):
        loss = model(load(torch.distributed.get_rank(), step)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
    torch.distributed.destroy_process_group()


train()
