#!/usr/bin/python3
"""deploy/quickstart.sh, twice in a row: it ends well, shows the running job, and the files that it names are there and agree."""
import json
import os
import re
import shutil

from harness import RANKS, Run, expect, expect_true, main

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HANGS_S = 1700  # of one run, with a build of all programs
SOME = 1000


def paths(text, title):
    """What follows TITLE at the end of the output; lines that continue it have no title."""
    block = re.search(rf"^{title} +(\S+.*(?:\n +\S+.*)*)", text, re.MULTILINE)
    expect_true(f"{title} is named: {text[-1500:]}", block)
    return [line.split()[0] for line in block[1].splitlines()]


def once(run: Run):
    done = run.command(os.path.join(SOURCE, "deploy", "quickstart.sh"), timeout=HANGS_S)
    text = done.stdout
    expect_true(f"it shows the running job: {text[-3000:]}", "while it runs, hookcli top --once shows" in text)
    expect_true("top has functions of MPI", re.search(r"^MPI_\w+ +mpi ", text, re.MULTILINE))
    expect_true(f"the summary is there: {done.stderr}", "== hooktrace: mpirun -n 4 hpcc ==" in done.stderr)
    expect_true(f"it lost nothing: {done.stderr}", re.search(r"lost 0$", done.stderr, re.MULTILINE))
    job, = paths(text, "job")
    table, data = paths(text, "report")
    page, = paths(text, "page")
    timeline, = paths(text, "timeline")
    summary, = paths(text, "summary")
    for path in (table, data, page, timeline, summary, os.path.join(job, "statistics")):
        expect_true(f"{path} is there", os.path.getsize(path) > SOME)
    check_report(data)
    shown = run.cli("report", job, "--by", "rank").stdout
    expect_true(f"report by rank: {shown[:500]}", len(shown.splitlines()) >= RANKS)
    return job, os.path.dirname(timeline)


def check_report(path):
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    expect("ranks", [row["rank"] for row in report["ranks"]], list(range(RANKS)))
    for rank in report["ranks"]:
        expect("exit and loss", (rank["exit"], rank["lost_records"]), ({"kind": "exited", "code": 0}, 0))
        domains = {row["domain"] for row in report["calls"] if row["rank"] == rank["rank"] and row["role"] == "main"}
        expect_true(f"rank {rank['rank']}: {domains}", {"mpi", "blas", "memory", "io"} <= domains)
        heap = [row for row in report["memory"] if (row["rank"], row["role"], row["kind"], row["library"]) ==
                (rank["rank"], "main", "heap", "*")]
        expect_true(f"rank {rank['rank']}'s heap: {heap}", len(heap) == 1 and heap[0]["peak_bytes"] > heap[0]["live_bytes"] >= 0)


def test(run):
    runs = [once(run), once(run)]
    expect("jobs of their own", len({job for job, _ in runs if os.path.isdir(job)}), 2)
    # Each is hundreds of megabytes.
    for directory in (path for pair in runs for path in pair):
        shutil.rmtree(directory)


if __name__ == "__main__":
    main(test)
