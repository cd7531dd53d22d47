"""A job of four ranks, of which one sleeps, and the others wait for it in a lock. No rank is in a call that ranks join. Every rank has a
thread that is blocked in a read. Nothing ends the job but a signal.

    python_hang.py RANK
"""
import os
import subprocess
import sys
import threading
import time

RANKS = 4


def prefetch():
    os.read(os.pipe()[0], 1)


def load():
    time.sleep(100_000)


def reduce():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def train(late):
    threading.Thread(target=prefetch, daemon=True).start()
    if late:
        load()
    reduce()


def main():
    if "RANK" in os.environ:
        train(os.environ["RANK"] == sys.argv[1])
        return
    ranks = [subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(RANKS)})
             for rank in range(RANKS)]
    for rank in ranks:
        rank.wait()


main()
