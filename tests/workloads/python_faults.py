"""A job of MPI in Python, in steps: each rank gets a batch from a loader process, waits for a device, computes for a short time and sums up
with the others. One rank has a fault from one step on, or none has.

    python_faults.py FAULT RANK STEP STEPS

FAULT: none, sleep (a pause in each step), work (more computation), gc (a collection of garbage in each step, over a heap that all ranks
have), loader (the batch is not ready in time).
"""
import ctypes
import gc
import os
import random
import sys
import time

FAULT, BAD, FROM, STEPS = sys.argv[1], *map(int, sys.argv[2:])
HEAP = 40_000  # dictionaries
WORK_S, DEVICE_S, PAUSE_S = 0.005, 0.005, 0.006  # over all ranks, each, of a fault
BATCH = 4096


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
                    time.sleep(DEVICE_S + WORK_S + PAUSE_S)
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
        return batch


def main():
    loader = Loader()
    mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
    world = ctypes.byref((ctypes.c_char * 1).in_dll(mpi, "ompi_mpi_comm_world"))
    real, total = (ctypes.byref((ctypes.c_char * 1).in_dll(mpi, name)) for name in ("ompi_mpi_double", "ompi_mpi_op_sum"))
    rank, ranks = ctypes.c_int(), ctypes.c_int()
    mine, result = ctypes.c_double(), ctypes.c_double()
    mpi.MPI_Init(None, None)
    mpi.MPI_Comm_rank(world, ctypes.byref(rank))
    mpi.MPI_Comm_size(world, ctypes.byref(ranks))
    heap = [{"number": number} for number in range(HEAP)]
    gc.collect()
    gc.disable()
    choose = random.Random(rank.value)
    for step in range(STEPS):
        faulty = rank.value == BAD and step >= FROM
        batch = loader.next(faulty and FAULT == "loader")
        time.sleep(DEVICE_S * (1 + choose.random() / 2))
        compute(WORK_S / ranks.value)
        if faulty and FAULT == "sleep":
            time.sleep(PAUSE_S)
        if faulty and FAULT == "work":
            compute(PAUSE_S)
        if faulty and FAULT == "gc":
            gc.collect()
        mine.value = len(batch) + len(heap)
        mpi.MPI_Allreduce(ctypes.byref(mine), ctypes.byref(result), 1, real, total, world)
    mpi.MPI_Finalize()


main()
