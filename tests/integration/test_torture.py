#!/usr/bin/python3
"""Seeded rounds of random kill -9 among ranks, leaves and root, in jobs of known counts, over a bad network.

Statistics are exact within the one call a killed thread was in; every record that a leaf committed is on the root once, chunk for
chunk. `test_torture.py BUILD_DIR [ROUNDS [SEED]]`.
"""
import glob
import os
import random
import signal
import struct

import loop
from harness import TIMEOUT, end_process, expect, expect_true, main, wait_for
from nodes import Node, free_url
from proxy import Proxy, address_of

ROUNDS = 1
SEED = 1
LEAVES = 2
RANKS_EACH = 2
LOOPS = 6000
KILLS = 5
HEADER, PAGE, ROOM = 256, 4096, 65536
TOTAL_AT, PROCESS_AT, NUMBER_AT = 32, 40, 56


class Rank:
    """A loop under the agent on LEAF, and what it did according to itself."""

    def __init__(self, run, leaf, job, rank, world):
        self.rank, self.path, self.killed = rank, run.path(f"progress-{job}-{rank}"), False
        # A process that ends before any collector has seen it leaves nothing, unless that is asked for.
        env = {**loop.agent_environment(run, job), "HOOK_RANK": str(rank), "HOOK_WORLD_SIZE": str(world), "HOOK_KEEP_SEGMENT": "1"}
        self.command = leaf.popen(run.workload("calls_truth"), "--loop", self.path, LOOPS, env=env)

    def kill(self):
        self.killed |= self.command.poll() is None
        end_process(self.command)

    def finish(self):
        status = self.command.wait(TIMEOUT)
        expect(f"rank {self.rank}: exit", status, -signal.SIGKILL if self.killed else 0)


class Round:
    """One job; the collectors live from round to round, as far as they are not killed."""

    def __init__(self, run, chance, number, root, leaves):
        self.run, self.chance, self.root, self.leaves = run, chance, root, leaves
        self.job = f"round-{number}"
        world = RANKS_EACH * len(leaves)
        self.ranks = [Rank(run, leaves[i // RANKS_EACH], self.job, i, world) for i in range(world)]

    def progress(self):
        return max(loop.rounds_of(rank.path) for rank in self.ranks)

    def one_kill(self):
        victim = self.chance.choice(["rank", "leaf", "leaf", "root", "root"])
        if victim == "rank":
            self.chance.choice(self.ranks).kill()
            return
        node = self.root if victim == "root" else self.chance.choice(self.leaves)
        node.kill()
        # Sometimes no collector runs for a while.
        gap = self.chance.choice([0, 0, LOOPS // 20])
        until = min(self.progress() + gap, LOOPS)
        wait_for("the ranks to go on", lambda: self.progress() >= until or self.over())
        node.start()

    def over(self):
        return all(rank.command.poll() is not None for rank in self.ranks)

    def torture(self):
        for kill in range(KILLS):
            at = LOOPS * kill // KILLS + self.chance.randrange(1, LOOPS // KILLS)
            wait_for("the ranks to go on", lambda: self.progress() >= at or self.over())  # pylint: disable=cell-var-from-loop
            self.one_kill()
        for rank in self.ranks:
            rank.finish()
        # And at the end, when what is left is on its way.
        self.one_kill()

    def judge(self):
        # A rank that was killed before anybody saw it is waited for.
        report = self.root.closed_report(self.job)
        # One that was killed before its program began had no agent yet, or only just.
        begun = {rank.rank for rank in self.ranks if os.path.exists(rank.path) or not rank.killed}
        found = [row["rank"] for row in report["ranks"]]
        expect("ranks", found, [rank.rank for rank in self.ranks if rank.rank in begun.union(found)])
        events = loop.events_of(self.root, self.job)
        loop.expect_once(events)
        for rank in self.ranks:
            table = loop.rows(rank.path)
            if rank.killed and not table:
                continue
            loop.expect_loop(f"{self.job}: rank {rank.rank}", report, table, rank.rank)
            loop.expect_records(f"{self.job}: rank {rank.rank}", events, table, rank.rank)
        for path in glob.glob(os.path.join(self.root.store, self.job, "*.chunks")):
            expect_chunks(path)


def place(end):
    """Where the chunk behind END begins (FORMAT.md): no header lies across a page's border, and there is room behind the first."""
    end = max(end, ROOM) if end else 0
    return end if end % PAGE + HEADER <= PAGE else end + PAGE - end % PAGE


def expect_chunks(path):
    """Numbers from 1 without a gap, each chunk where the one before says, nothing behind the last."""
    with open(path, "rb") as stream:
        data = stream.read()
    at, number = 0, 0
    while at < len(data):
        total, = struct.unpack_from("<Q", data, at + TOTAL_AT)
        found, = struct.unpack_from("<Q", data, at + NUMBER_AT)
        number += 1
        expect(f"{path}: number of the chunk at {at}", found, number)
        expect(f"{path}: process of the chunk at {at}", data[at + PROCESS_AT:at + PROCESS_AT + 16].hex(),
               os.path.basename(path).removesuffix(".chunks"))
        expect_true(f"{path}: the chunk at {at} is {total} bytes long", HEADER <= total <= len(data) - at)
        at += total
        at = place(at) if at < len(data) else at


def test(run, rounds=ROUNDS, seed=SEED):
    chance = random.Random(int(seed))
    url = free_url()
    with Proxy(address_of(url), seed=int(seed)) as proxy:
        proxy.set(up_ms="0-2", down_ms="0-2", twice=0.1, swap=0.1)
        root = Node(run, "root", ["--listen", url]).start()
        leaves = [Node(run, f"leaf{i}", ["--upstream", proxy.url]).start() for i in range(LEAVES)]
        for number in range(int(rounds)):
            one = Round(run, chance, number, root, leaves)
            try:
                one.torture()
                one.judge()
            except Exception:
                for node in (root, *leaves):
                    print(f"--- {node.name}\n{node.said()[-2500:]}")
                    print(node.cli("status", check=False).stdout)
                raise
    print(f"{rounds} rounds, seed {seed}")


if __name__ == "__main__":
    main(test)
