#!/usr/bin/python3
"""hookcli why and report --by step on jobs in which the work of a step grows from a known step on: of one rank, of all, of none.

    test_why_slow.py BUILD [RUNS]

What is claimed is checked beside the program's own clock reads. The machine may slow a rank down too, when other processes want its
processors: a claim that these clock reads confirm is true, and the job runs again. With RUNS so many seeded jobs of each kind run.
"""
import csv
import io
import json
import random
import re
import statistics

from harness import Failure, expect, expect_true, main

STEPS = 600
WORK_NS = 1e6
ATTEMPTS = 6
NEAR = 14  # steps
CONFIRMED = 1.03  # least growth of what is said to grow
DISTURBED, DISTURBED_MOST = 1.15, 0.1  # a step takes so much longer than its work; part of the steps that may
ENVIRONMENT = {"HOOK_BUDGET": "2"}


def notes_of(run, name, ranks):
    """[(own part, whole) of each step] of each rank in ns, by the program's clock reads."""
    notes = []
    for rank in range(ranks):
        with open(run.path(f"{name}.notes.{rank}"), encoding="ascii") as lines:
            notes.append([tuple(int(word) for word in line.split()) for line in lines])
    return notes


class Job:
    """One run of the program, and what was said about it."""

    def __init__(self, run, name, ranks, fault, step, percent, seed):
        self.ranks, self.step, self.factor = ranks, step, 1 + percent / 100
        self.slow = {"none": [], "all": list(range(ranks))}.get(fault) if isinstance(fault, str) else [fault]
        run.trace("mpirun", "-n", str(ranks), run.workload("mpi_slowing"), str(fault), str(step), str(percent), str(STEPS), str(seed),
                  run.path(f"{name}.notes"), store=name, options=("-q", "--job", name), env=ENVIRONMENT)
        self.path = run.path(name, name)
        self.notes = notes_of(run, name, ranks)
        findings = json.loads(run.cli("why", self.path, "--json").stdout)["findings"]
        self.findings = [one for one in findings if one["kind"] == "fail-slow"]

    @staticmethod
    def step_of(finding):
        return int(re.search(r"longer since [0-9:.]+ \(step (\d+)\)", finding["evidence"]).group(1))

    def is_right(self, finding):
        return finding["ranks"] == self.slow and abs(self.step_of(finding) - self.step) <= NEAR

    def is_true(self, finding):
        """Whether the program's clock reads confirm FINDING. The first step ends the program's step 0."""
        before, behind = (int(count) for count in re.search(r"medians of (\d+) steps before and (\d+)", "".join(finding["details"])).groups())
        step = self.step_of(finding) + 1
        if "own part" in finding["evidence"]:
            values = [[own for own, _ in self.notes[rank]] for rank in finding["ranks"]]
        else:
            values = [[statistics.median(whole for _, whole in rows) for rows in zip(*self.notes)]]
        return all(statistics.median(own[step:step + behind]) >= CONFIRMED * statistics.median(own[step - before:step]) for own in values)

    def is_clear(self):
        """Whether the program's clock reads show that its work was all that the ranks did."""
        return all(self.disturbed(rank) <= DISTURBED_MOST * STEPS for rank in range(self.ranks))

    def disturbed(self, rank):
        """In how many steps RANK's own part took longer than its work."""
        slow = [rank in self.slow and step >= self.step for step in range(STEPS)]
        return sum(own > DISTURBED * WORK_NS * (self.factor if more else 1) for more, (own, _) in zip(slow, self.notes[rank]))

    def judge(self):
        """True: right. False: not, though the fault is clear. None: something else slowed the ranks down."""
        for finding in self.findings:
            expect_true(f"a claim that the program's clocks do not confirm: {json.dumps(finding)}", self.is_right(finding) or self.is_true(finding))
        if self.slow:
            return True if any(self.is_right(finding) for finding in self.findings) else False if self.is_clear() else None
        return True if all(finding["confidence"] == "low" for finding in self.findings) else None


def judged(run, kind, ranks, fault, step, percent, seed):
    """A job about which the right was said; None if the machine did not allow to see it in so many attempts."""
    missed = []
    for turn in range(ATTEMPTS):
        job = Job(run, f"{kind}-{turn}", ranks, fault, step, percent, seed + turn)
        right = job.judge()
        print(f"{kind}, {ranks} ranks, from step {step} {percent} % more: {right}; " +
              ("; ".join(f"{one['evidence']} ({one['confidence']})" for one in job.findings) or "nothing was said"))
        if right:
            return job
        if right is False:
            missed.append(turn)
    if len(missed) > 1:
        raise Failure(f"{kind}: not found in attempts {missed} of {ATTEMPTS}")
    return None


def check_table(run, job):
    """report --by step has the program's steps: the end of each MPI_Allreduce to that of the next."""
    report = json.loads(run.cli("report", job.path, "--by", "step", "--format", "json").stdout)
    expect("what ends a step", (report["kind"], report["name"], report["ranks"]), ("collective", "MPI_Allreduce", job.ranks))
    rows = report["steps"]
    expect("steps", [(row["step"], row["steps"]) for row in rows], [(i, 1) for i in range(STEPS - 1)])
    for earlier, later in zip(rows, rows[1:]):
        expect_true("steps in order", earlier["start_ns"] < later["start_ns"])
    sums = [sum(whole for _, whole in steps[1:]) for steps in job.notes]
    share = sum(row["duration_ns"] for row in rows) / statistics.median(sums)
    expect_true(f"durations beside the program's: {share}", 0.95 < share < 1.05)
    marked = [row["step"] for row in rows if "% longer" in row["change"]]
    expect("marked steps", marked, sorted({job.step_of(finding) for finding in job.findings}))
    behind = [row for row in rows if row["step"] >= job.step]
    slowest = sum(row["slowest_rank"] in job.slow for row in behind)
    expect_true(f"the slow rank is the slowest in {slowest} of {len(behind)} steps", slowest > 0.7 * len(behind))
    table = list(csv.DictReader(io.StringIO(run.cli("report", job.path, "--by", "step", "--format", "csv").stdout)))
    expect("the rows as CSV", table, [{key: str(value) for key, value in row.items()} for row in rows])
    text = run.cli("report", job.path, "--by", "step").stdout
    expect_true(f"the change in the text: {text}", re.search(rf"rank {job.slow[0]}: [0-9]+ % longer", text))
    expect_true(f"what a step is: {text}", "a step ends with MPI_Allreduce" in text)


def check_finding(run, job):
    finding = next(one for one in job.findings if job.is_right(one))
    details = "\n".join(finding["details"])
    expect_true(f"numbers: {details}", "not waiting for others, rank" in details and "; the other rank " in details)
    expect_true("costs", finding["cost_ns"] > 0)
    expect_true(f"advice: {finding['advice']}", re.search(r"report \S+ --by step", finding["advice"]))
    if finding["confidence"] != "low":
        expect_true(f"its cause: {details}", "its own computation, in no recorded call" in details)
    text = run.cli("why", job.path).stdout
    expect_true(f"in the text: {text}", f"rank {job.slow[0]} is slow: its own part of each step takes" in " ".join(text.split()))


def check_everywhere(run, job):
    """The summary, the page and the report's JSON have what why has."""
    wanted = [one["evidence"] for one in json.loads(run.cli("why", job.path, "--json").stdout)["findings"] if one["weight"] == "finding"]
    listed = [one["evidence"] for one in json.loads(run.cli("report", job.path, "--format", "json").stdout)["findings"] if one["weight"] == "finding"]
    expect("findings in JSON", listed, wanted)
    summary = run.cli("report", job.path).stdout
    page = run.cli("report", job.path, "--format", "html").stdout
    for text in wanted:
        expect_true(f"{text!r} in the summary: {summary}", f"! {text}\n" in summary)
        expect_true(f"{text!r} in the page", json.dumps(text, ensure_ascii=False)[1:-1] in page)


def test_short(run):
    one = judged(run, "one", 2, 1, 350, 50, 1)
    if one:
        check_finding(run, one)
        check_table(run, one)
        check_everywhere(run, one)
    judged(run, "all", 2, "all", 150, 50, 100)
    judged(run, "none", 2, "none", 0, 0, 200)
    judged(run, "four", 4, 2, 200, 100, 300)
    run.trace("true", store="no-steps", options=("-q", "--job", "no-steps"))
    expect_true("a job without steps", "no steps" in run.cli("report", run.path("no-steps", "no-steps"), "--by", "step").stdout)


def test(run, runs=0):
    if not int(runs):
        test_short(run)
        return
    choose = random.Random(3)
    for number in range(int(runs)):
        for fault in (choose.randrange(2), "all", "none"):
            judged(run, f"run{number}-{fault}", 2, fault, choose.randrange(60, STEPS - 60), choose.randrange(30, 61), 1000 * number)


if __name__ == "__main__":
    main(test)
