#!/usr/bin/python3
"""Size of the HTML report of many ranks, and how soon a browser has drawn it: bench_html.py BUILD_DIR [RANKS FUNCTIONS]."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

from browser import Browser  # pylint: disable=wrong-import-position
from harness import Failure, Run, main  # pylint: disable=wrong-import-position

RANKS, FUNCTIONS, SIZE_MB, READY_MS, ROUNDS = 256, 500, 10, 2000, 5


def test(run: Run, ranks=RANKS, functions=FUNCTIONS):
    job, page = run.path("job"), run.path("report.html")
    os.mkdir(job)
    run.command(run.build + "/tests/load/ranks", job, ranks, functions)
    begun = time.monotonic()
    run.cli("report", job, "--format", "html", "-o", page)
    written, size = time.monotonic() - begun, os.path.getsize(page) / 1e6
    with Browser(run.directory) as browser:
        ready = sorted(browser.open(page) for _ in range(ROUNDS))[ROUNDS // 2]
    print(f"{ranks} ranks x {functions} functions: written in {written:.2f} s, {size:.1f} MB, limit {SIZE_MB}; "
          f"drawn {ready:.0f} ms after navigation, limit {READY_MS}")
    if size > SIZE_MB or ready > READY_MS:
        raise Failure("the limit is missed")


main(test)
