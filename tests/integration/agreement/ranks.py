"""One data-parallel rank. ranks.py DIRECTORY CASES LIVE: trains one small model after the other; CASES is JSON, a list of [fault, rank, step, place] or
null. With LIVE, it waits behind the first model until DIRECTORY has a file `seen`. Every rank ends with what the faults changed: nothing else does."""
import json
import os
import sys
import time

import torch
import torch.distributed

from hooktrace import _native, precision

STEPS, EVERY, MANY = 12, 2, 2000
DIRECTORY = sys.argv[1]


def flip(tensor, place):
    """One bit of one element."""
    bits = tensor.detach().view(torch.int32).view(-1)
    bits[place % bits.numel()] ^= 1 << 20


def batch_of(number, step, rank, case):
    generator = torch.Generator().manual_seed(1000 * number + step)
    mask = torch.rand(6, generator=generator) < 0.8
    if case and case[0] == "inputs" and rank == case[1] and step >= case[2]:
        mask = ~mask
    return mask, torch.randn(4, 6, generator=torch.Generator().manual_seed(1000 * number + 10 * step + rank + 1))


def train(number, case, rank, with_optimizer):
    torch.manual_seed(number)
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.LayerNorm(16), torch.nn.GELU(), torch.nn.Linear(16, 3))
    parallel = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(parallel.parameters(), lr=0.01)
    names = [name for name, _ in model.named_parameters()]
    watch = precision.agree(model, optimizer if with_optimizer else None, every=EVERY, name=f"case {number}")
    for step in range(STEPS):
        mask, batch = batch_of(number, step, rank, case)
        watch.inputs(mask=mask, step=step)
        optimizer.zero_grad()
        parallel(batch * mask).square().sum().backward()
        hit = bool(case) and rank == case[1] and step == case[2]
        if hit and case[0] == "gradients":
            flip(dict(model.named_parameters())[names[case[3] % len(names)]].grad, case[3])
        optimizer.step()
        if not with_optimizer:
            watch.step()
        if hit and case[0] == "parameters":
            flip(dict(model.named_parameters())[names[case[3] % len(names)]], case[3])
    watch.stop()
    assert not watch.left_out, watch.left_out
    return names


def main():
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{DIRECTORY}/meet", rank=int(os.environ["RANK"]),
                                         world_size=int(os.environ["WORLD_SIZE"]))
    rank = torch.distributed.get_rank()
    for number, case in enumerate(json.loads(sys.argv[2])):
        names = train(number, case, rank, number % 2 == 0)
        torch.distributed.barrier()
        while sys.argv[3] == "live" and number == 0 and not os.path.exists(os.path.join(DIRECTORY, "seen")):
            time.sleep(0.01)
    # More values than are kept one by one.
    _native.agree("many", 7, [(f"value {number}", number + (rank == 1 and number == MANY // 2 + 500)) for number in range(MANY)])
    with open(os.path.join(DIRECTORY, "names.json"), "w", encoding="utf-8") as stream:
        json.dump(names, stream)
    torch.distributed.barrier()


main()
