"""A data-parallel job of torch over gloo that hangs. At one step one rank does something else than the others, which wait for it. Nothing
ends the job but a signal. The rank makes the file DIRECTORY/begun before. The flight recorder's entries of a rank are written to
DIRECTORY/trace_RANK when the fifo DIRECTORY/ask_RANK is opened for writing and closed.

    torch_hang.py FAULT RANK STEP DIRECTORY

FAULT: sleep, loop (in Python), lock (that the rank holds), read (of a pipe that stays empty), native (C code that keeps the interpreter's
lock), skip (of a whole step), op (broadcast instead of all_reduce), gather (all_gather instead of all_reduce), order (barrier before
all_reduce), stop (SIGSTOP).
"""
import ctypes
import os
import signal
import sys
import threading
import time

import torch
import torch.distributed
from torch._C import _distributed_c10d

FAULT, RANK, STEP, DIRECTORY = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
STEPS = 40


def fault_sleep():
    time.sleep(100_000)


def fault_loop():
    number = 1
    while number >= 0:
        number = (number * 31 + 7) % 1_000_003


def fault_lock():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def fault_read():
    os.read(os.pipe()[0], 1)


def fault_native():
    # Not pause: a signal would end it.
    ctypes.PyDLL(None).read(os.pipe()[0], ctypes.create_string_buffer(1), 1)


def fault_op():
    torch.distributed.broadcast(torch.ones(3), RANK)


def fault_gather():
    torch.distributed.all_gather([torch.ones(3) for _ in range(torch.distributed.get_world_size())], torch.ones(3))


def fault_order():
    torch.distributed.barrier()


def fault_stop():
    os.kill(os.getpid(), signal.SIGSTOP)


def fail():
    with open(os.path.join(DIRECTORY, "begun"), "w", encoding="ascii"):
        pass
    if FAULT != "skip":
        globals()["fault_" + FAULT]()


def answer(rank):
    """Writes the entries of the flight recorder once."""
    with open(os.path.join(DIRECTORY, f"ask_{rank}"), "rb") as ask:
        ask.read()
    path = os.path.join(DIRECTORY, f"trace_{rank}")
    with open(path + ".part", "wb") as file:
        file.write(_distributed_c10d._dump_fr_trace())
    os.rename(path + ".part", path)


def train():
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    os.mkfifo(os.path.join(DIRECTORY, f"ask_{rank}"))
    threading.Thread(target=answer, args=(rank,), daemon=True).start()
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(STEPS):
        here = (rank, step) == (RANK, STEP)
        # In half of the jobs the others wait for their gradients, in the other half for a sum.
        if here and (STEP % 2 == 0 or FAULT in ("skip", "order")):
            fail()
            if FAULT == "skip":
                continue
        loss = model(torch.rand(8, 16)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        if here and STEP % 2 == 1 and FAULT not in ("skip", "order"):
            fail()
        torch.distributed.all_reduce(torch.ones(3))
        optimizer.step()
        torch.distributed.barrier()
    # A rank that skipped a step waits here for ever.
    torch.distributed.all_gather([torch.ones(3) for _ in range(torch.distributed.get_world_size())], torch.ones(3))


train()
