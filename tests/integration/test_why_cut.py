#!/usr/bin/python3
"""hookcli why on a job whose ranks are on hosts of their own (network namespaces) of which one loses its network: the rank there is named,
and, where there are two hosts only, that nothing gets through between them."""
import os
import signal
import subprocess
import sys

from harness import expect, expect_true, main, wait_for
from network import Network
from nodes import root_and_leaves
from test_gloo import findings_of

SCRIPT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "workloads", "ring_cut.py"))
CUT = 1


class Job:
    """A job of a rank on each host of NETWORK, which run COMMAND, and say by the file BEGUN that they exchange data.

    LEAF: the node whose collector they have, ROOT: where it is looked at; without them RUN's own.
    """

    def __init__(self, run, network, name, begun, *command, leaf=None, root=None, **environment):
        self.root, self.network, self.name, self.begun = root or run, network, name, begun
        ranks = [f'RANK={rank} ip netns exec {network.space(host)} "$@" &' for rank, host in enumerate(network.hosts)]
        self.process = subprocess.Popen([run.binary("hookcli"), "run", "-q", "--job", name, "--", "sh", "-c", " ".join([*ranks, "wait"]), "sh", *command],
                                        env=(leaf or run).environment(WORLD_SIZE=str(len(ranks)), **environment), cwd=run.directory, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def hang(self):
        return next((one for one in findings_of(self.root, self.name) if one["kind"] == "hang"), None)

    def hang_by_cut(self, rank):
        """Cuts off the host of RANK. Returns what is said about it."""
        wait_for("the ranks to exchange data", lambda: os.path.exists(self.begun))
        expect_true("no hang before", not self.hang())
        self.network.link(self.network.hosts[rank], "down")
        return wait_for("the cut to be named", self.hang)

    def end(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def hang_of(run, name, hosts, **nodes):
    directory = run.path("files-" + name)
    os.mkdir(directory)
    with Network("hub", hosts) as network:
        ring = Job(run, network, name, os.path.join(directory, "begun"), sys.executable, SCRIPT, directory, **nodes)
        try:
            hang = ring.hang_by_cut(CUT)
        finally:
            ring.end()
        print(hang["evidence"], *hang["details"], sep="\n  ")
        return hang, network.address(hosts[CUT])


def test(run):
    run.start_collector()
    root, (leaf,) = root_and_leaves(run, ["leaf"])
    with leaf.told():
        hang, address = hang_of(run, "four", ["alpha", "beta", "gamma", "delta"], leaf=leaf, root=root)
    expect("the rank on the host that is cut off", hang["ranks"], [CUT])
    expect("confidence", hang["confidence"], "high")
    expect_true("the sentence names its address, and the ranks that it had data for, or they for it",
                hang["evidence"].startswith(f"nothing gets through between rank {CUT} on ") and f"({address}) and rank" in hang["evidence"])
    expect_true("lines about connections", any(f"to {address}, " in line and "without an answer" in line for line in hang["details"]))
    hang, address = hang_of(run, "two", ["alpha", "beta"])
    expect("with two hosts no rank is known to be the cause", hang["ranks"], [])
    expect_true("both are named", all(f"rank {rank} on " in hang["evidence"] for rank in range(2)))


if __name__ == "__main__":
    main(test)
