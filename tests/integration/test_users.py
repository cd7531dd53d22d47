#!/usr/bin/python3
"""One root for two users, each with a token: neither sees, changes or adds to what the other one has, even under the same name."""
import json
import os

import loop
from harness import end_process, expect, expect_true, main, wait_for
from nodes import Node, finish, free_url
from scrape import get, url_of

ROUNDS = {"alice": 300, "bob": 500}
JOB = "same"
SERIAL = {"alice": "a" * 32, "bob": "b" * 32}


def write_token(run, name, *lines):
    path = run.path(name)
    with open(path, "w", encoding="ascii", opener=lambda place, flags: os.open(place, flags, 0o600)) as file:
        file.writelines(line + "\n" for line in lines)
    return path


class Root:
    """A root as the owner of a token sees it."""

    def __init__(self, run):
        url = free_url()
        lines = [f"control {token} {user}" for user, token in SERIAL.items()] + ["read " + "c" * 32 + " bob", "read " + "d" * 32]
        self.node = Node(run, "root", ["--http", "127.0.0.1:0", "--listen", url, "--token-file", write_token(run, "tokens", *lines)]).start()
        self.run, self.url = run, url
        self.files = {user: write_token(run, f"{user}.token", f"control {token}") for user, token in SERIAL.items()}
        self.files["reader"] = write_token(run, "reader.token", "read " + "c" * 32)
        self.files["all"] = write_token(run, "all.token", "read " + "d" * 32)

    def ask(self, user, *words):
        return self.run.cli(*words, "--collector", self.url, "--token-file", self.files[user], check=False)

    def jobs(self, user):
        done = self.ask(user, "status", "--json")
        expect(f"status for {user}: {done.stderr}", done.returncode, 0)
        return sorted(job["id"] for job in json.loads(done.stdout)["jobs"])


def start_rank(run, leaf, user, rounds, job=JOB):
    path = run.path(f"progress-{user}")
    env = {**loop.agent_environment(run, job), "HOOK_RANK": "0", "HOOK_WORLD_SIZE": "1"}
    return leaf.popen(run.workload("calls_truth"), "--loop", path, rounds, env=env)


def calls_of(report):
    return {row["calls"] for row in report["calls"] if row["function"] in loop.FUNCTIONS
            and os.path.basename(row["library"]) == loop.LIBRARY}


def check_pages(root, seen):
    """Live pages have the job whose id was asked for, and only for its user, after any other request."""
    site = url_of(root.node).removesuffix("/metrics")
    for round_of in range(2):
        for owner, (job,) in seen.items():
            for user, token in SERIAL.items():
                for kind in ("data", "news"):
                    answer = get(f"{site}/jobs/{job}/{kind}", {"Authorization": f"Bearer {token}"})
                    expect(f"{round_of}: {kind} of {owner}'s job for {user}", answer.status, 200 if user == owner else 404)
                    if user == owner:
                        expect(f"the {kind}", json.loads(answer.text)["document"]["job"]["id"], job)
    for user, token in SERIAL.items():
        jobs = json.loads(get(f"{site}/jobs", {"Authorization": f"Bearer {token}"}).text)["jobs"]
        expect(f"{user}'s list", [job["id"] for job in jobs], seen[user])
    part = get(f"{site}/jobs/{JOB[:-1]}/data", {"Authorization": "Bearer " + "d" * 32})
    expect("the beginning of an id", part.status, 404)


def test(run):
    root = Root(run)
    leaves = {user: Node(run, user, ["--upstream", root.url, "--token-file", root.files[user]]).start() for user in SERIAL}
    for user, leaf in leaves.items():
        finish(start_rank(run, leaf, user, ROUNDS[user]), user, run.path("job.log"))
    for user, leaf in leaves.items():
        wait_for(f"the root to have {user}'s", lambda user=user: len(root.jobs(user)) == 1)
    seen = {user: root.jobs(user) for user in SERIAL}
    expect_true(f"two jobs: {seen}", seen["alice"] != seen["bob"])
    expect("who may look at all", root.jobs("all"), sorted(seen["alice"] + seen["bob"]))
    expect("bob's reader", root.jobs("reader"), seen["bob"])
    for user, rounds in ROUNDS.items():
        report = json.loads(root.ask(user, "report", JOB, "--format", "json").stdout)
        expect(f"{user}'s job by its name", report["job"]["id"], seen[user][0])
        expect(f"{user}'s calls", calls_of(report), {loop.THREADS * rounds})
    check_pages(root, seen)
    long = start_rank(run, leaves["bob"], "bob", 10_000_000, "running")
    wait_for("bob's next job", lambda: "running" in root.jobs("bob"))
    change = ("ctl", "level", "*:nanosleep=count", "--job", "running")
    done = root.ask("alice", *change)
    expect_true(f"alice does not even know of it: {done.stderr}", done.returncode != 0)
    expect("nor does bob's reader", root.ask("reader", *change).returncode, 1)
    done = root.ask("bob", *change)
    expect(f"bob does: {done.stderr}", done.returncode, 0)
    end_process(long)


if __name__ == "__main__":
    main(test)
