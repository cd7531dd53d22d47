"""A job of MPI in which one rank does not come: it spins in a loop of Python until FILE exists. All others wait for it in a barrier.

    python_stuck.py RANK FILE
"""
import ctypes
import os
import sys

mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
WORLD = ctypes.byref((ctypes.c_char * 1).in_dll(mpi, "ompi_mpi_comm_world"))


def find_batch(path):
    tries = 0
    while True:
        tries += 1  # the loop
        if tries % 100000 == 0 and os.path.exists(path):
            return tries


def sum_all():
    mpi.MPI_Barrier(WORLD)


def step(late, path):
    if late:
        find_batch(path)
    sum_all()


def main():
    rank = ctypes.c_int()
    mpi.MPI_Init(None, None)
    mpi.MPI_Comm_rank(WORLD, ctypes.byref(rank))
    mpi.MPI_Barrier(WORLD)
    step(rank.value == int(sys.argv[1]), sys.argv[2])
    mpi.MPI_Finalize()


main()
