"""One rank of a distributed training: a small network, gloo, everything it prints the same in every run.

Started by ranks.py; RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT say who it is.
"""
import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main(steps):
    torch.manual_seed(7)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="env://")
    model = DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    generator = torch.Generator().manual_seed(dist.get_rank())
    losses = []
    for _ in range(steps):
        inputs = torch.randn(64, 256, generator=generator)
        targets = torch.randint(0, 10, (64,), generator=generator)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    parameters = sum(parameter.double().sum().item() for parameter in model.parameters())
    print(f"rank {dist.get_rank()}: {losses[0]!r} {losses[-1]!r} {parameters!r}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]))
