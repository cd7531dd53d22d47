#!/usr/bin/python3
"""Live pages of `hookcollector --http` in a real browser: they show what a program says it has called while it runs, keep what the reader
does, ask no other server, survive the end of the process that makes them, and need a right beyond loopback."""
import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import urllib.parse

from browser import Browser
from harness import TIMEOUT, expect, expect_true, main, wait_for
from nodes import Node
from scrape import get, url_of
from told import Told

ROW = """return [...document.querySelectorAll('#functions tbody tr:not(.detail)')].filter((row) => row.cells[1].dataset.value === arguments[0])
    .map((row) => Number(row.cells[3].dataset.value))[0] ?? null"""
BADGE = "return document.getElementById('live').textContent"
FILTER = "const box = document.querySelector('#functions .filter'); box.value = arguments[0]; box.dispatchEvent(new Event('input')); box.focus();"


def site_of(run):
    return url_of(run).removesuffix("/metrics")


def raw(site, text):
    """The status of the answer to TEXT as it is."""
    parts = urllib.parse.urlsplit(site)
    with socket.create_connection((parts.hostname, parts.port), timeout=TIMEOUT) as connection:
        connection.sendall(text)
        return int(connection.makefile("rb").readline().split()[1])


def maker(collector):
    """The process that makes the pages, or None."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
                fields = stat.read().rpartition(")")[2].split()
            with open(f"/proc/{pid}/cmdline", "rb") as line:
                if int(fields[1]) == collector.pid and fields[0] != "Z" and b"make-pages" in line.read():
                    return int(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return None


def check_page(run, site, browser):
    """What a page shows is what the program has called by then; what the reader chose stays."""
    def shown(what):
        return browser.run(ROW, what)
    with Told(run, "seen") as told:
        told.call("one", 1000)
        wait_for("the job to be listed", lambda: any(job["id"] == "seen" for job in json.loads(get(f"{site}/jobs").text)["jobs"]))
        browser.driver.get(f"{site}/")
        link = wait_for("its link", lambda: browser.run("return document.querySelector('#jobs a[href=\"/jobs/seen\"]')"))
        link.click()
        wait_for("the page to be drawn", lambda: browser.run("return document.documentElement.dataset.ready"))
        wait_for("the first calls", lambda: shown("told_one") == 1000)
        expect("the badge", browser.run(BADGE), "live")
        browser.run("document.querySelector('#functions tbody button').click()")
        told.call("one", 234)
        told.call("two", 77)
        wait_for("more calls without a reload", lambda: (shown("told_one"), shown("told_two")) == (1234, 77))
        expect_true("an open row stays open", browser.run("return document.querySelectorAll('#functions tr.detail').length") == 1)
        expect_true("it was drawn more than once", int(browser.run("return document.documentElement.dataset.refreshes")) > 1)
        if browser.run("return document.querySelector('#functions .filter') !== null"):
            browser.run(FILTER, "told_two")
        told.call("two", 3)
        wait_for("a row behind a filter", lambda: shown("told_two") == 80)
        answer = json.loads(get(f"{site}/jobs/seen/data").text)
        expect("a document of a running job", (answer["live"], answer["document"]["job"]["id"]), (True, "seen"))
    wait_for("its end to be said", lambda: browser.run(BADGE) == "ended")
    expect("calls at the end", [job["state"] for job in json.loads(get(f"{site}/jobs").text)["jobs"] if job["id"] == "seen"], ["exit 0"])
    expect("console", [line["message"] for line in browser.driver.get_log("browser")], [])
    events = [json.loads(line["message"])["message"] for line in browser.driver.get_log("performance")]
    urls = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    expect_true("it asked its server", any(url.endswith("/jobs/seen/data") for url in urls))
    expect("requests elsewhere", [url for url in urls if not url.startswith((site, "data:", "chrome://"))], [])  # the last: its own first page


def check_paths(site):
    """What is no page, and what could be another file."""
    for path, status in (("/nothing", 404), ("/findings", 200), ("/findings/more", 404), ("/jobs/", 404), ("/jobs/none", 200), ("/jobs/none/data", 404), ("/jobs/.%2e/data", 404),
                         ("/jobs/..%2f..%2fetc/data", 404), ("/jobs/%00/data", 404), ("/jobs/%zz/data", 404), ("/jobs/%4", 404), ("/jobs/etc/data", 404),
                         (f"/jobs/{'x' * 3000}/data", 404), ("/jobs/seen/data/more", 404), ("/jobs/seen", 200), ("/jobs/s%65en/data", 200)):
        expect(path[:40], get(f"{site}{path}").status, status)
    for host, status in (("localhost:1", 200), ("127.0.0.1", 200), ("[::1]:9", 200), ("evil.example", 403), ("127.0.0.1.evil.example", 403),
                         ("localhost.evil.example", 403), ("[::1].evil.example", 403), ("", 403)):
        expect(f"host {host}", raw(site, f"GET /jobs HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer x\r\n\r\n".encode()), status)
    expect("no host", raw(site, b"GET /jobs HTTP/1.0\r\n\r\n"), 403)
    expect("POST", get(f"{site}/jobs", method="POST").status, 405)


def check_maker(run, site, collector):
    """The process that makes pages may end at any time, and ends with the collector."""
    first = maker(collector)
    os.kill(first, signal.SIGKILL)
    wait_for("pages after its death", lambda: get(f"{site}/jobs").status == 200)
    second = maker(collector)
    expect_true("another process makes them", second is not None and second != first)
    os.kill(second, signal.SIGSTOP)
    waiting = subprocess.Popen([run.binary("hookcli"), "status"], env=run.environment(), stdout=subprocess.DEVNULL)
    expect("a stopped one keeps nobody from the collector", waiting.wait(TIMEOUT), 0)
    os.kill(second, signal.SIGKILL)
    wait_for("pages after that", lambda: get(f"{site}/jobs").status == 200)
    collector.terminate()
    collector.wait(TIMEOUT)
    wait_for("the process to end with the collector", lambda: not os.path.exists(f"/proc/{second}") and maker(collector) is None)


def check_alone(run):
    """A collector without hookcli beside it says what is missing, and shows metrics."""
    alone = run.path("alone")
    os.mkdir(alone)
    shutil.copy(run.binary("hookcollector"), alone)
    node = Node(run, "alone", ["--http", "127.0.0.1:0"], before=("env", "--"))
    node.run = type("Alone", (), {"binary": lambda _, name: os.path.join(alone, name), "environment": run.environment, "directory": run.directory,
                                  "collectors": run.collectors, "path": run.path})()
    node.start()
    node.run = run
    site = url_of(node).removesuffix("/metrics")
    answer = get(f"{site}/")
    expect("its page", (answer.status, "hookcli" in answer.text), (503, True))
    expect("its metrics", get(f"{site}/metrics").status, 200)


def check_rights(run):
    """Beyond loopback nothing is said without a token; a token shows the jobs of its user."""
    keys, tokens = run.path("keys"), run.path("tokens")
    run.command(run.binary("hookcollector"), "keygen", keys)
    with open(tokens, "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as out:
        out.write("read everybody-s-jobs\nread her-own-jobs-only alice\n")
    node = Node(run, "asks", ["--http", "0.0.0.0:0", "--tls-cert", f"{keys}/collector.crt", "--tls-key", f"{keys}/collector.key",
                              "--token-file", tokens]).start()
    site = url_of(node).removesuffix("/metrics").replace("0.0.0.0", "127.0.0.1")
    trusted = {"authorities": f"{keys}/collector.crt"}
    node.cli("run", "-q", "--job", "hers", "--", "true", env={"HOOK_COLLECTOR": ""})

    def basic(token):
        return {"Authorization": "Basic " + base64.b64encode(f"reader:{token}".encode()).decode()}
    for path in ("/", "/jobs", "/jobs/hers", "/jobs/hers/data", "/jobs/none/data", "/nothing", "/metrics"):
        for headers in ({}, basic("wrong"), {"Authorization": "Basic %%%"}, {"Authorization": "Bearer her-own-jobs-onl"}):
            answer = get(f"{site}{path}", headers, **trusted)
            expect(f"{path} without a right", (answer.status, "hers" in answer.text), (401, False))
            expect_true("a browser asks for it", "Basic" in ",".join(answer.headers.get_all("WWW-Authenticate")))
    expect("a browser's token", get(f"{site}/", basic("everybody-s-jobs"), **trusted).status, 200)
    for token, jobs, status in (("everybody-s-jobs", ["hers"], 200), ("her-own-jobs-only", [], 404)):
        seen = json.loads(get(f"{site}/jobs", basic(token), **trusted).text)["jobs"]
        expect(f"jobs with {token}", [job["id"] for job in seen], jobs)
        expect(f"document with {token}", get(f"{site}/jobs/hers/data", basic(token), **trusted).status, status)


def check_open(run, browser):
    """`hookcli open`: the live page of a private collector's job, behind a token that is in no argument of a process; then the report."""
    script = run.path("browser")
    with open(script, "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o700)) as out:
        out.write(f'#!/bin/sh\nprintf "%s" "$1" >{run.path("shown.new")} && mv {run.path("shown.new")} {run.path("shown")}\n')
    line = [run.binary("hookcli"), "run", "-q", "--store", run.path("store"), "--job", "opened", "--", "cat"]
    with subprocess.Popen(line, env=run.environment(), cwd=run.directory, stdin=subprocess.PIPE) as job:
        wait_for("the job to run", lambda: run.cli("report", "opened", check=False).returncode == 0)
        address = run.cli("open", "opened", env={"BROWSER": script}).stdout.strip()
        token = urllib.parse.urlsplit(address).password
        given = wait_for("the browser", lambda: os.path.exists(run.path("shown")) and open(run.path("shown"), encoding="utf-8").read())
        expect_true(f"a secret token of 32 digits, {given} given", len(token) == 32 and token not in given)
        expect("rights of the file", os.stat(given.removeprefix("file://")).st_mode & 0o777, 0o600)
        expect("the same address again", run.cli("open", "opened", "--no-browser").stdout.strip(), address)
        bare = address.replace(f"hooktrace:{token}@", "")
        for headers in ({}, {"Authorization": f"Bearer {token[:-1]}"}, {"Authorization": f"Bearer {token}0"}):
            expect("without the token", get(bare, headers).status, 401)
        browser.driver.get_log("browser")
        browser.driver.get(given)
        wait_for("the page behind it", lambda: browser.run("return document.documentElement.dataset.ready ?? null"))
        wait_for("its badge", lambda: browser.run(BADGE) == "live")
        job.stdin.close()
        expect("end of the job", job.wait(TIMEOUT), 0)
    wait_for("the end of its collector to be said", lambda: browser.run(BADGE) in ("ended", "no newer data"))
    address = run.cli("open", run.path("store", "opened"), "--no-browser").stdout.strip()
    expect("its report", address, "file://" + run.path("store", "opened", "report.html"))
    expect("without a screen", run.cli("open", run.path("store", "opened")).stdout.strip(), address)
    expect("no such job", run.cli("open", "none", check=False).returncode, 3)


def test(run):
    collector = run.start_collector("--http", "127.0.0.1:0")
    site = site_of(run)
    with Browser(run.directory) as browser:
        check_page(run, site, browser)
        check_open(run, browser)
    check_paths(site)
    check_maker(run, site, collector)
    check_alone(run)
    check_rights(run)


if __name__ == "__main__":
    main(test)
