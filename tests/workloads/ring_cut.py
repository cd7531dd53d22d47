"""Ranks on hosts of their own in a ring, which pass numbers to both neighbours, over TCP, until something ends them.

    ring_cut.py DIRECTORY

RANK and WORLD_SIZE in the environment say which rank it is. Each rank writes its address and port to DIRECTORY; the file `begun` says that
all of them pass numbers.
"""
import os
import socket
import subprocess
import sys
import time

DIRECTORY = sys.argv[1]
RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
NUMBER_BYTES, ROUNDS_BEFORE = 64, 20
PAUSE_S = 0.01


def own_address():
    """The first one that is not of the loopback interface."""
    return subprocess.run(["hostname", "-I"], check=True, capture_output=True, text=True).stdout.split()[0]


def address_of(rank):
    path = os.path.join(DIRECTORY, f"address{rank}")
    while not os.path.exists(path):
        time.sleep(PAUSE_S)
    with open(path, encoding="ascii") as file:
        host, port = file.read().split()
        return host, int(port)


def publish(name, text):
    with open(os.path.join(DIRECTORY, name + ".new"), "w", encoding="ascii") as file:
        file.write(text)
    os.rename(file.name, os.path.join(DIRECTORY, name))


def receive(connection):
    left = NUMBER_BYTES
    while left:
        got = len(connection.recv(left))
        if got == 0:
            sys.exit("the neighbour is gone")
        left -= got


def main():
    with socket.create_server((own_address(), 0)) as server:
        publish(f"address{RANK}", " ".join(map(str, server.getsockname())))
        after = socket.create_connection(address_of((RANK + 1) % RANKS))
        before, _ = server.accept()
    for turn in range(1_000_000):
        if turn == ROUNDS_BEFORE and RANK == 0:
            publish("begun", "")
        for neighbour in (after, before):
            neighbour.sendall(bytes(NUMBER_BYTES))
        for neighbour in (after, before):
            receive(neighbour)
        time.sleep(PAUSE_S)


main()
