#!/usr/bin/python3
"""The timeline of a job whose records are mostly given up: every call is in it, when it was, because the collector counted them."""
import json
import re

from harness import expect, expect_true, main

BLOCKS = 400000


def overview_of(run, job):
    path = run.path("page.html")
    run.cli("report", job, "--format", "html", "-o", path)
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    return json.loads(re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL).group(1))["overview"]


def test(run):
    run.trace("dd", "if=/dev/zero", "of=/dev/null", "bs=1", f"count={BLOCKS}", level=["read=record", "write=record"],
              options=("--job", "timeline", "--keep", "1M"))
    view = overview_of(run, run.path("store", "timeline"))
    rank = view["ranks"][0]
    print(f"{view['records_there']} records are there, {view['records_missing']} were given up, {view['bins']} bins")
    expect_true("no records were given up", view["records_missing"] > 0)
    expect("seen", rank["seen"], True)
    # dd reads and writes each block; its few other calls are at its beginning and end.
    expect_true(f"{sum(rank['calls'])} calls in the timeline", 2 * BLOCKS <= sum(rank["calls"]) <= 2 * BLOCKS + 200)
    expect("bins that are not known", rank.get("unknown", []), [])
    # It does the same all the time: no stretch of a tenth of the job is empty.
    tenth = len(rank["calls"]) // 10
    stretches = [sum(rank["calls"][i * tenth:(i + 1) * tenth]) for i in range(10)]
    expect_true(f"calls in tenths of the job: {stretches}", min(stretches[1:9]) > 0)


if __name__ == "__main__":
    main(test)
