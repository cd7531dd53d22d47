#!/usr/bin/python3
"""Collectives matched while a job runs: the rank that others wait for is shown live, on one node and on a root with two leaves, and in the
end the sums are those of report --by wait, which reads every record. A root that is killed continues; after a leaf was killed nothing
is matched that should not be.
"""
import collections
import json

import loop
from harness import expect, expect_true, main, wait_for
from nodes import Node, free_url

STEPS, SEED, LATE, MORE_MS = 280, 5, 1, 25
MIDDLE, END = 1, 2  # where mpi_waits stays until it may go on
RANKS = 2
LEAST = 40  # collectives until a look at the running job
PATTERNS = ("barrier", "all-to-all", "late-broadcast", "early-reduce")
SLACK_NS = 2000  # of a wait: the rate of the clock is known better in the end
BELOW_ERROR = 3  # waits that one side may find to be below the clock error


def go_on(run, job, *places):
    for place in places:
        with open(run.path(f"{job}.gate.{place}"), "wb"):
            pass


def live(report):
    return not report["job"]["closed"]


def awaited(report):
    """{(function, awaited rank): [waits, ns]} as matched while the job ran."""
    return {(row["function"], late["rank"]): [late["times"], late["wait_ns"]] for row in report["waits"] for late in row["awaited"]}


def read_waits(cli, job):
    """The same by the records."""
    sums = collections.defaultdict(lambda: [0, 0])
    for row in json.loads(cli("report", job, "--by", "wait", "--format", "json").stdout)["waits"]:
        if row["pattern"] in PATTERNS:
            sums[row["function"], row["awaited"]][0] += row["waits"]
            sums[row["function"], row["awaited"]][1] += row["wait_ns"]
    return dict(sums)


def expect_equal(what, report, read):
    """With two ranks each time that others waited is one wait."""
    found = awaited(report)
    error = max(row["clock_error_ns"] for row in report["waits"]) + SLACK_NS
    for key in {**found, **read}:
        got, wanted = found.get(key, [0, 0]), read.get(key, [0, 0])
        print(f"{what}: {key[0]} for rank {key[1]}: {got[0]} waits, {got[1] / 1e6:.3f} ms live; {wanted[0]}, {wanted[1] / 1e6:.3f} ms read")
        expect_true(f"{what}: waits {key}: {got} and {wanted}", abs(got[0] - wanted[0]) <= BELOW_ERROR)
        expect_true(f"{what}: time {key}: {got} and {wanted}, error {error}", abs(got[1] - wanted[1]) <= (wanted[0] + BELOW_ERROR) * 2 * error)


def expect_late(what, cli, job):
    """The running job says which rank is late, in JSON, in why and in top."""
    report = wait_for(f"{what}: matched collectives", lambda: next(
        (found for found in [json.loads(cli("report", job, "--format", "json", check=False).stdout or "{}")]
         if found and found["matching"]["collectives"] >= LEAST), None))
    expect_true(f"{what}: the job runs", live(report))
    sums = collections.Counter()
    for (_, rank), (_, ns) in awaited(report).items():
        sums[rank] += ns
    expect(f"{what}: the most awaited rank: {sums}", sums.most_common(1)[0][0], LATE)
    # The rank is named once: as late, or as awaited if there is no better reason yet.
    wait_for(f"{what}: the late rank in why", lambda: any(
        row["ranks"] == [LATE] and row["kind"] in ("awaited-rank", "late-rank", "no-processor")
        for row in json.loads(cli("why", job, "--json").stdout)["findings"]))
    text = cli("why", job).stdout
    expect_true(f"{what}: collectives in the text: {text}", "Collectives so far:" in text and f"rank {LATE} was awaited" in text)
    # On a busy machine the other rank may be awaited too for a while.
    wait_for(f"{what}: the late rank in top", lambda: f"for rank {LATE} so far" in cli("top", job, "--once").stdout)
    return report


def expect_all_matched(what, report):
    counts = report["matching"]
    expect(f"{what}: collectives that were not matched", {name: count for name, count in counts.items() if name != "collectives" and count}, {})
    expect_true(f"{what}: collectives: {counts}", counts["collectives"] >= STEPS * 5 // 8)


def on_one_node(run):
    node = Node(run, "alone").start()
    job = node.popen(run.binary("hookcli"), "run", "-q", "--job", "one", "--", "mpirun", "-n", str(RANKS), run.workload("mpi_waits"), str(STEPS),
                     str(SEED), run.path("one.notes"), str(LATE), str(MORE_MS), run.path("one.gate"))
    go_on(run, "one", MIDDLE)
    expect_late("one node", node.cli, "one")
    go_on(run, "one", END)
    expect("exit of the job", job.wait(), 0)
    report = node.closed_report("one")
    expect_all_matched("one node", report)
    expect_equal("one node", report, read_waits(node.cli, "one"))


def start_over(run, leaves, job):
    """Starts a rank on each leaf."""
    words = []
    for leaf in leaves:
        environment = leaf.environment(**{**loop.agent_environment(run, job), "HOOK_HOOKS": "mpi"})
        ours = [f"{name}={value}" for name, value in environment.items() if name.startswith("HOOK_") or name == "LD_PRELOAD"]
        words += [":"] * bool(words) + ["-n", "1", "env", *ours, run.workload("mpi_waits"), str(STEPS), str(SEED), run.path(f"{job}.notes"), str(LATE),
                                        str(MORE_MS), run.path(f"{job}.gate")]
    return leaves[0].popen("mpirun", *words, log=f"{job}.log")


def matched(root, job):
    done = root.cli("report", job, "--format", "json", check=False)
    return json.loads(done.stdout)["matching"]["collectives"] if done.returncode == 0 else 0


def over_two_leaves(run, root, leaves):
    job = start_over(run, leaves, "two")
    expect_late("root", root.cli, "two")
    before = matched(root, "two")
    root.kill()
    root.start()
    go_on(run, "two", MIDDLE)
    wait_for("more collectives after the root was killed", lambda: matched(root, "two") > before + LEAST)
    go_on(run, "two", END)
    expect("exit of the job", job.wait(), 0)
    report = root.closed_report("two")
    read, found = read_waits(root.cli, "two"), awaited(report)
    expect_true("collectives that waited for a rank when the root was killed are counted, and few", report["matching"]["incomplete"] < LEAST)
    for key in read:
        got, wanted = found.get(key, [0, 0]), read[key]
        print(f"root, killed once: {key[0]} for rank {key[1]}: {got[0]} waits, {got[1] / 1e6:.3f} ms live; {wanted[0]}, {wanted[1] / 1e6:.3f} ms read")
        expect_true(f"{key}: {got} is no more than {wanted}", got[0] <= wanted[0] + BELOW_ERROR)


def with_a_leaf_killed(run, root, leaves):
    job = start_over(run, leaves, "three")
    wait_for("matched collectives", lambda: matched(root, "three") >= LEAST)
    leaves[LATE].kill()
    leaves[LATE].start()
    go_on(run, "three", MIDDLE)
    reason = f"calls of rank {LATE} have no numbers: a collector was restarted"
    wait_for("the reason in why", lambda: any(reason in row["evidence"] for row in json.loads(root.cli("why", "three", "--json").stdout)["findings"]))
    go_on(run, "three", END)
    expect("exit of the job", job.wait(), 0)
    report = root.closed_report("three")
    read, found = read_waits(root.cli, "three"), awaited(report)
    counts = report["matching"]
    expect_true(f"what is not matched is counted: {counts}", counts["unnumbered"] > 0)
    for key, got in found.items():
        expect_true(f"{key}: {got} is no more than {read.get(key)}", got[0] <= read.get(key, [0, 0])[0] + BELOW_ERROR)


def test(run):
    on_one_node(run)
    url = free_url()
    root = Node(run, "root", ["--listen", url]).start()
    leaves = [Node(run, name, ["--upstream", url]).start() for name in ("near", "far")]
    over_two_leaves(run, root, leaves)
    with_a_leaf_killed(run, root, leaves)


if __name__ == "__main__":
    main(test)
