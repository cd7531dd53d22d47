#!/usr/bin/python3
"""The live page of a LAMMPS job, which is renewed each second, and of a job of a thousand ranks: bench_live.py BUILD_DIR [RANKS SITES].

`load` reports changes of every call site of every rank once a second to a collector. Limits: milliseconds that a browser takes for a
refresh, its parsing and drawing, and how long the collector takes to answer; the processor time that a watched page costs the collector and
the process that makes its pages, as a share of a core, beside the same time without a reader. The whole document of such a job, which
comes once a minute, is in that share.
"""
import os
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

from browser import Browser  # pylint: disable=wrong-import-position
from harness import Failure, Run, end_process, expect, expect_true, main, wait_for  # pylint: disable=wrong-import-position
from jobs import DEFAULTS, LAMMPS_INPUT  # pylint: disable=wrong-import-position
from scrape import get, url_of  # pylint: disable=wrong-import-position
from test_live import maker  # pylint: disable=wrong-import-position

RANKS, SITES, LEAVES, CALLS = 1024, 200, 16, 10
LAMMPS_S, WATCHED_S, TICKS = 60, 120, 400
REFRESH_MS, SHARE = 150, 0.05
STATE = "const one = document.documentElement.dataset; return [Number(one.refreshes ?? 0), Number(one.refreshMs ?? 0)]"


def cpu_s(pid):
    if pid is None:
        return 0
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def watch(browser, seconds):
    """Milliseconds of each refresh of so many SECONDS, as the page says; the whole documents among them are those of the first."""
    took, last, end = [], 0, time.monotonic() + seconds
    while time.monotonic() < end:
        number, milliseconds = browser.run(STATE)
        if number != last:
            took.append(milliseconds)
            last = number
        time.sleep(0.1)
    return took


def lammps(run, site, browser):
    """Two ranks for a minute, watched from beginning to end."""
    line = [run.binary("hookcli"), "run", "-q", "--job", "lammps", "--", "mpirun", "-n", "2", "lmp", "-log", "none", "-in", LAMMPS_INPUT, "-var",
            "STEPS", "1000000"]
    with subprocess.Popen(line, env=run.environment(**DEFAULTS), cwd=run.directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, start_new_session=True) as job:
        wait_for("the job", lambda: run.cli("report", "lammps", check=False).returncode == 0)
        browser.driver.get(f"{site}/jobs/lammps")
        wait_for("the page to be drawn", lambda: browser.run("return document.documentElement.dataset.ready ?? null"))
        took = watch(browser, LAMMPS_S)
        expect("console", [line["message"] for line in browser.driver.get_log("browser")], [])
        others = browser.run("return performance.getEntriesByType('resource').map((one) => one.name).filter((name) => !name.startsWith(arguments[0]))", site)
        expect("requests elsewhere", [name for name in others if not name.startswith("data:")], [])
        os.killpg(job.pid, signal.SIGTERM)
    print(f"LAMMPS on 2 ranks: {len(took)} refreshes in {LAMMPS_S} s, median {statistics.median(took):.0f} ms", flush=True)
    expect_true("renewed each second, a tenth left out at most", len(took) >= 0.9 * LAMMPS_S)


def test(run: Run, ranks=RANKS, sites=SITES):
    collector = run.start_collector("--http", "127.0.0.1:0")
    site = url_of(run).removesuffix("/metrics")
    line = [run.build + "/tests/load/load", f"ipc://{run.run_directory}/collector.sock", "--job", "big", "--ranks", ranks, "--sites", sites,
            "--ticks", TICKS, "--leaves", LEAVES, "--calls", CALLS, "--times", 1]
    with Browser(run.path("small")) as browser:
        lammps(run, site, browser)
    load = subprocess.Popen([str(part) for part in line], env=run.environment(), stdout=subprocess.DEVNULL)
    try:
        wait_for("every rank", lambda: f"{ranks}/{ranks} ranks" in run.cli("top", "big", "--once", check=False).stdout)
        before = cpu_s(collector.pid)
        time.sleep(WATCHED_S)
        alone = cpu_s(collector.pid) - before
        with Browser(run.directory) as browser:
            before = cpu_s(collector.pid) + cpu_s(maker(collector))
            browser.driver.get(f"{site}/jobs/big")
            wait_for("the page to be drawn", lambda: browser.run("return document.documentElement.dataset.ready ?? null"))
            took = watch(browser, WATCHED_S)
            watched = cpu_s(collector.pid) + cpu_s(maker(collector)) - before
        answers = []
        for _ in range(5):
            time.sleep(2)
            begun = time.monotonic()
            get(f"{site}/jobs/big/news")
            answers.append((time.monotonic() - begun) * 1e3)
    finally:
        load.send_signal(signal.SIGKILL)
        end_process(load)
    drawn = [milliseconds for milliseconds in took[1:] if milliseconds > 1]  # the rest had nothing newer
    share = (watched - alone) / WATCHED_S
    print(f"{ranks} ranks x {sites} sites: first drawing {took[0]:.0f} ms; {len(drawn)} refreshes in {WATCHED_S} s, median {statistics.median(drawn):.0f} ms, "
          f"most {max(drawn):.0f} ms, limit of the median {REFRESH_MS}; an answer {statistics.median(answers):.0f} ms; "
          f"{share * 100:.1f} % of a core for a reader, limit {SHARE * 100:.0f}; the collector alone {alone / WATCHED_S * 100:.1f} %")
    if statistics.median(drawn) > REFRESH_MS or share > SHARE:
        raise Failure("the limit is missed")


if __name__ == "__main__":
    main(test)
