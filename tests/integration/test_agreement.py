#!/usr/bin/python3
"""Data-parallel ranks, one of which has another bit in a parameter or gradient, or another input: rank, step and tensor are named, while the job runs and
when it has ended, on one node and over two. Ranks without a fault are named nowhere, also when records are lost. Debian's torch."""
import json
import os
import random
import sys

from harness import expect, expect_true, main, wait_for
from nodes import Node, finish, root_and_leaves

HERE = os.path.dirname(os.path.abspath(__file__))
RANKS_PROGRAM = os.path.join(HERE, "agreement", "ranks.py")
ELASTIC = os.path.join(HERE, "elastic.py")
RANKS, STEPS, EVERY = 4, 12, 2
KINDS = ("parameters", "gradients", "inputs")
PORT = 1  # of no use: ranks meet by a file


def cases_of(seed, many):
    """MANY cases of each kind, each at its own place, and as many without a fault between them."""
    chosen = random.Random(seed)
    cases = []
    for number in range(many * len(KINDS)):
        cases += [[KINDS[number % len(KINDS)], chosen.randrange(RANKS), chosen.randrange(STEPS), chosen.randrange(1000)], None]
    return cases


def environment(run):
    return {"PYTHONPATH": os.path.join(run.build, "python"), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1",
            "PATH": os.pathsep.join([os.path.dirname(run.binary("hookcli")), os.path.dirname(run.binary("hookcollector")), os.environ["PATH"]])}


def line_of(run, directory, cases, live, node=0, nodes=1):
    os.makedirs(directory, exist_ok=True)
    return [sys.executable, ELASTIC, node, nodes, RANKS // nodes, PORT, "agreement", run.binary("hookcli"), "run", "--job", "agreement", "-q", "--",
            sys.executable, RANKS_PROGRAM, directory, json.dumps(cases), "live" if live else "through"]


def wanted_step(case):
    """The first compared step at which the fault shows. A parameter changes behind the step's digests."""
    first = case[2] + (case[0] == "parameters")
    return first + first % EVERY


def others_of(rank):
    """The other ranks as text."""
    left = [one for one in range(RANKS) if one != rank]
    runs = [[left[0], left[0]]]
    for one in left[1:]:
        if one == runs[-1][1] + 1:
            runs[-1][1] = one
        else:
            runs.append([one, one])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def check_group(row, case, kind, names):
    what = f"{row['group']} with {case}"
    expect(f"{what}: ranks", (row["ranks"], row["ranks_reporting"]), (RANKS, RANKS))
    expect_true(f"{what}: {row['compared_steps']} steps were compared", 0 < row["compared_steps"] <= STEPS // EVERY)
    found = row["divergence"]
    if case is None or case[0] != kind:
        # What a fault of another kind changes later is no matter here, what precedes it is.
        expect_true(f"{what}: {found}", found is None or (case is not None and found["step"] >= case[2]))
        return
    if wanted_step(case) >= STEPS:
        expect(f"{what}: behind the last compared step", found, None)
        return
    expect(f"{what}: step", found["step"], wanted_step(case))
    expect(f"{what}: ranks that differ", (found["ranks"], found["others"]), (str(case[1]), others_of(case[1])))
    expect(f"{what}: confidence", (found["confidence"], found["majority"], found["missing_ranks"]), ("high", True, 0))
    if kind == "inputs":
        expect(f"{what}: tensor", (found["tensor"], found["tensors"], found["of"]), ("mask", 1, 2))
    elif kind == "parameters":
        # The optimizer may have spread it before the next compared step; the first tensor then comes no later.
        place = case[3] % len(names)
        expect_true(f"{what}: tensor {found['tensor']}, expected {names[place]}", names.index(found["tensor"]) <= place)
    elif case[2] % EVERY == 0:
        expect(f"{what}: tensor", (found["tensor"], found["tensors"], found["of"]), (names[case[3] % len(names)], 1, len(names)))


def check_report(report, cases, names):
    rows = {row["group"]: row for row in report["agreements"]}
    many = rows.pop("many")["divergence"]
    expect("of 2,000 values", (many["step"], many["tensor"], many["tensors"], many["of"], many["ranks"]), (7, "(all others)", 1, 1024, "1"))
    expect("groups", sorted(rows), sorted(f"{kind} of case {number}" for number in range(len(cases)) for kind in KINDS))
    for number, case in enumerate(cases):
        for kind in KINDS:
            check_group(rows[f"{kind} of case {number}"], case, kind, names)
    texts = [finding["evidence"] for finding in report["findings"] if finding["kind"] == "divergence" and finding["weight"] == "finding"]
    expect("findings", len(texts), sum(row["divergence"] is not None for row in report["agreements"]))
    expect("marks among the calls", [row["function"] for row in report["calls"] if row["domain"] == "agreement"], [])


def visible(case):
    """A gradient's fault at a step that is not compared is a parameter's from then on."""
    return case is None or case[0] != "gradients" or case[2] % EVERY == 0


def names_in(directory):
    with open(os.path.join(directory, "names.json"), encoding="utf-8") as stream:
        return json.load(stream)


def one_node(run, seed, many):
    """A collector of its own; the first fault is reported while the job runs."""
    cases = [case if visible(case) else [case[0], case[1], case[2] - 1, case[3]] for case in cases_of(seed, many)]
    cases[0] = ["parameters", 2, 3, 5]
    directory = run.path("one")
    node = Node(run, "solo").start()
    job = node.popen(*line_of(run, directory, cases, True), env=environment(run))

    def look():
        done = node.cli("report", "agreement", "--format", "json", check=False)
        report = json.loads(done.stdout) if done.returncode == 0 else {"agreements": []}
        return next((row["divergence"] for row in report["agreements"] if row["group"] == "parameters of case 0" and row["divergence"]), None)

    found = wait_for("the first fault to be reported", look)
    expect("while the job runs", (found["step"], found["ranks"]), (4, "2"))
    expect("the job runs", (node.collector.poll(), job.poll()), (None, None))
    summary = node.cli("report", "agreement").stdout
    expect_true(f"the summary of a running job: {summary}", "ranks 0-1,3 equal, rank 2 differs" in summary)
    top = node.cli("top", "agreement", "--once").stdout
    expect_true(f"top of a running job: {top}", "ranks 0-1,3 equal, rank 2 differs" in top)
    open(os.path.join(directory, "seen"), "w", encoding="utf-8").close()
    finish(job, "ranks", run.path("job.log"))
    check_report(node.closed_report("agreement"), cases, names_in(directory))


def two_nodes(run, seed, many):
    """Two ranks on each of two nodes; only the root sees that they differ."""
    cases = [case if visible(case) else None for case in cases_of(seed, many)]
    directory = run.path("two")
    root, leaves = root_and_leaves(run, ("alpha", "beta"))
    jobs = [leaf.popen(*line_of(run, directory, cases, False, number, len(leaves)), env=environment(run), log=f"{leaf.name}-job.log")
            for number, leaf in enumerate(leaves)]
    for job, leaf in zip(jobs, leaves):
        finish(job, f"ranks of {leaf.name}", run.path(f"{leaf.name}-job.log"))
    check_report(root.closed_report("agreement"), cases, names_in(directory))


def test(run, seed="7"):
    try:
        import torch  # pylint: disable=import-outside-toplevel,unused-import
    except ImportError:
        print("skipped: no torch (python3-torch) here")
        sys.exit(77)
    one_node(run, int(seed), 2)
    two_nodes(run, int(seed) + 1, 1)


if __name__ == "__main__":
    main(test)
