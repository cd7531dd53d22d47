"""Data-parallel training of torch over gloo, in steps: each rank gets a batch from a loader process, waits for a device, computes, trains on
the batch, and sums up its loss with the others. One rank has a fault from one step on, or none has.

    torch_ddp.py FAULT RANK STEP STEPS [COUNTS]

RANK and WORLD_SIZE in the environment say which rank it is, MEETING the file in which the ranks meet, BEGUN, if set, the file that rank 0
makes after 20 steps.

FAULT: none, sleep (a pause in each step), work (more computation), gc (a collection of garbage in each step, over a heap that all ranks
have), loader (the batch is not ready in time). With COUNTS the gradients come in several buckets, and rank 0 writes there how many
collectives it asked for itself or torch did for its gradients, and the bytes of those that sum, as JSON.
"""
import gc
import json
import os
import random
import sys
import time

import torch
import torch.distributed
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

FAULT, BAD, FROM, STEPS = sys.argv[1], *map(int, sys.argv[2:5])
COUNTS = sys.argv[5] if len(sys.argv) > 5 else None
BEGUN, BEGUN_STEPS = os.environ.get("BEGUN"), 20
HEAP = 200_000  # lists
WORK_S, DEVICE_S, PAUSE_S = 0.005, 0.01, 0.012  # over all ranks, each, of a fault
BATCH, WIDTH = 4096, 64
counts = {"allreduce": 0, "barrier": 0, "bytes": 0}


def compute(seconds):
    end, number = time.thread_time() + seconds, 1
    while time.thread_time() < end:
        for _ in range(500):
            number = (number * 31 + 7) % 1_000_003
    return number


class Loader:
    """A process that makes batches, one ahead."""

    def __init__(self):
        (self.batches, output), (pause, self.pauses) = os.pipe(), os.pipe()
        if os.fork() == 0:
            os.close(self.batches)
            os.close(self.pauses)
            while ask := os.read(pause, 1):
                if ask == b"s":
                    time.sleep(DEVICE_S + WORK_S + 2 * PAUSE_S)
                os.write(output, bytes(BATCH))
            os._exit(0)
        os.close(output)
        os.close(pause)
        self.ask(False)

    def ask(self, slowly):
        os.write(self.pauses, b"s" if slowly else b"f")

    def next(self, slowly):
        batch = os.read(self.batches, BATCH)
        self.ask(slowly)
        return torch.frombuffer(bytearray(batch), dtype=torch.float32).reshape(-1, WIDTH)


def count_bucket(state, bucket):
    counts["allreduce"] += 1
    counts["bytes"] += bucket.buffer().numel() * bucket.buffer().element_size()
    return allreduce_hook(state, bucket)


def make_model():
    layers = [torch.nn.Linear(WIDTH, WIDTH) for _ in range(8)]
    if not COUNTS:
        return torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=0.03)
    model.register_comm_hook(None, count_bucket)
    return model


def main():
    loader = Loader()
    torch.set_num_threads(1)
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.distributed.init_process_group("gloo", init_method=f"file://{os.environ['MEETING']}", rank=rank, world_size=ranks)
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    gc.collect()
    gc.freeze()  # what torch itself has: collections pass it over
    gc.disable()
    heap = [[number] for number in range(HEAP)]
    choose = random.Random(rank)
    for step in range(STEPS):
        if step == BEGUN_STEPS and rank == 0 and BEGUN:
            with open(BEGUN, "w", encoding="ascii"):
                pass
        faulty = rank == BAD and step >= FROM
        batch = loader.next(faulty and FAULT == "loader")
        time.sleep(DEVICE_S * (1 + choose.random() / 2))
        compute(WORK_S / ranks)
        if faulty and FAULT == "sleep":
            time.sleep(PAUSE_S)
        if faulty and FAULT == "work":
            compute(PAUSE_S)
        if faulty and FAULT == "gc":
            gc.collect()
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total = loss.detach() + len(heap)
        torch.distributed.all_reduce(total)
        counts["allreduce"] += 1
        counts["bytes"] += total.element_size()
    torch.distributed.barrier()
    counts["barrier"] += 1
    if COUNTS and rank == 0:
        with open(COUNTS, "w", encoding="ascii") as file:
            json.dump(counts, file)
    torch.distributed.destroy_process_group()


main()
