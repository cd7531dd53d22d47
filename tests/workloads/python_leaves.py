"""A job of four ranks without MPI, of which one ends with status 0 before the others.

    python_leaves.py HOW RANK

HOW: fail (the others notice that its connection has ended, and fail), wait (the others wait for it in a lock until a signal ends them).
"""
import os
import socket
import subprocess
import sys
import threading

RANKS = 4


def reduce(how, connection):
    if how == "fail":
        if not connection.recv(1):
            raise ConnectionError("connection closed by peer")
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def rank_main(how, leaver):
    connection = socket.socket(fileno=int(os.environ["CONNECTION"]))
    if os.environ["RANK"] == leaver:
        return
    reduce(how, connection)


def main():
    how, leaver = sys.argv[1:]
    if "RANK" in os.environ:
        rank_main(how, leaver)
        return
    ends = [socket.socketpair() for _ in range(RANKS)]
    ranks = []
    for rank in range(RANKS):
        # The rank that leaves holds the other ends of all connections.
        mine = ends[rank][0]
        held = [end[1].fileno() for end in ends] if str(rank) == leaver else []
        ranks.append(subprocess.Popen([sys.executable, *sys.argv], pass_fds=[mine.fileno(), *held],
                                      env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(RANKS), "CONNECTION": str(mine.fileno())}))
    for near, far in ends:
        near.close()
        far.close()
    for rank in ranks:
        rank.wait()


main()
