"""Starts WORLD ranks of a program on this machine, as torchrun would: ranks.py WORLD PROGRAM [ARGUMENT...]. Their outputs come one
after the other when all have ended; the exit status is the first one that is not 0.
"""
import os
import socket
import subprocess
import sys
import tempfile


def main(world, program, arguments):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    shared = {**os.environ, "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    ranks = []
    for rank in range(world):
        output = tempfile.TemporaryFile("w+")
        environment = {**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)}
        ranks.append((subprocess.Popen([sys.executable, program, *arguments], env=environment, stdout=output), output))
    statuses = [process.wait() for process, _ in ranks]
    for _, output in ranks:
        output.seek(0)
        sys.stdout.write(output.read())
    sys.exit(next((status for status in statuses if status), 0))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
