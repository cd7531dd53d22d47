#!/usr/bin/python3
"""elastic: starts the ranks of one node as torchrun does, by the variables it sets, and all again once if one fails.

elastic.py NODE NODES RANKS_PER_NODE PORT RUN_ID [--no_python] COMMAND... ({restart} in it: how often they were started before)
"""
import os
import subprocess
import sys


def run_ranks(node, nodes, local, port, run_id, restart, command):
    """Statuses of this node's ranks."""
    ranks = []
    for index in range(local):
        environment = {
            **os.environ, "RANK": str(node * local + index), "LOCAL_RANK": str(index), "WORLD_SIZE": str(nodes * local),
            "LOCAL_WORLD_SIZE": str(local), "GROUP_RANK": str(node), "GROUP_WORLD_SIZE": str(nodes),
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "TORCHELASTIC_RUN_ID": run_id,
            "TORCHELASTIC_RESTART_COUNT": str(restart), "TORCHELASTIC_MAX_RESTARTS": "1",
        }
        ranks.append(subprocess.Popen([part.replace("{restart}", str(restart)) for part in command], env=environment))
    return [rank.wait() for rank in ranks]


def main():
    node, nodes, local, port = map(int, sys.argv[1:5])
    command = sys.argv[7:] if sys.argv[6] == "--no_python" else sys.argv[6:]
    for restart in range(2):
        statuses = run_ranks(node, nodes, local, port, sys.argv[5], restart, command)
        if not any(statuses):
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
