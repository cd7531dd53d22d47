#!/usr/bin/python3
"""top on a terminal while a job runs: keys and mouse, resize, what happens to the collector and to the job, and how it leaves."""
import json
import os
import re
import signal

import loop
from harness import Run, end_process, expect, expect_true, main, wait_for
from nodes import Node
from screen import Screen

SITES, RANKS = 50, 96


def top(run, *words, columns=100, lines=30, **environment):
    return Screen(run, [run.binary("hookcli"), "top", *words], columns, lines, **environment)


def rows(text, first="function_"):
    return [line for line in text.splitlines() if line.lstrip("▼ ").startswith(first)]


def pid_of(run, command):
    """Process id of the hookcli that was started with COMMAND in its line, of this test alone."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as line, open(f"/proc/{entry}/environ", "rb") as environment:
                words = line.read().split(b"\0")
                if words[0].endswith(b"hookcli") and command.encode() in words and run.run_directory.encode() in environment.read():
                    return int(entry)
        except OSError:
            continue
    return None


def check_keys(screen):
    screen.wait("rates", lambda text: "LIVE 0.2s" in text and len(rows(text)) > 10)
    first = rows(screen.text())[0].split()
    screen.press(">")
    screen.wait("another column sorted by", lambda text: "p50↓" in text)
    screen.press("<", "R")
    screen.wait("the fewest first", lambda text: "BUSY%↑" in text and rows(text)[0].split()[0] != first[0])
    screen.press("R", "\\")
    screen.type("function_17")
    screen.press("Enter")
    screen.wait("one row", lambda text: len(rows(text)) == 1 and "only 'function_17'" in text)
    screen.press("Escape")
    screen.wait("all rows again", lambda text: len(rows(text)) > 10 and "only '" not in text)
    screen.press("/")
    screen.type("TION_33")
    screen.press("Enter", "Enter")
    screen.wait("the row that was found, expanded", lambda text: "▼function_33" in text and f"median of {RANKS} ranks" in text)
    screen.press("Enter")
    screen.wait("all of its ranks", lambda text: "median of" not in text and len(rows(text, "rank ")) > 9)
    screen.press("Enter")
    screen.wait("none of them", lambda text: not rows(text, "rank "))
    screen.press("Space")
    paused = screen.wait_text("PAUSED").splitlines()[0]
    screen.press("t")
    screen.wait("totals", lambda text: "TIME↓" in text and text.splitlines()[0] == paused)
    screen.press("t", "Space", "s")
    screen.wait("a key that means nothing", lambda text: "LIVE" in text and "? shows the keys" in text)
    screen.press("d")
    screen.type("0.1")
    screen.press("Enter")
    screen.wait_text("LIVE 0.1s")
    screen.press("d")
    screen.type("never")
    screen.press("Enter")
    screen.wait_text("'never' is no time")


def check_views(screen):
    for key, shown in (("2", "█"), ("3", "libpart"), ("4", "no memory call"), ("5", "no call is open"), ("6", "node000"),
                       ("7", "solver"), ("?", "any key goes back")):
        screen.press(key)
        screen.wait(f"view {key}", lambda text, what=shown: what in text)
    screen.press("x", "1")
    screen.wait_text("[1 Functions]")


def check_help(screen):
    """All of the help can be read on a small terminal."""
    screen.resize(60, 15)
    screen.press("?")
    text = screen.wait("the first lines", lambda text: "another view" in text and "any other key goes back" in text)
    expect_true(f"no last line in {text}", "leave" not in text)
    screen.press("End")
    screen.wait("the last lines", lambda text: "leave" in text and "another view" not in text)
    screen.press("PPage", "Home")
    screen.wait("the first lines again", lambda text: "another view" in text)
    screen.press("x")
    screen.wait_text("[1 Functions]")
    screen.resize(100, 30)


def click_until(screen, place, shown, condition):
    """A click whose bytes come apart, on a machine that is busy, is none; one on a tab or on a row may come twice."""
    def clicked():
        screen.click(*place)
        return screen.soon(condition)
    wait_for(shown, clicked)


def expand_clicked(screen, line):
    """Clicks on the row of LINE and expands the row that is chosen then; whether it is that one. Any other is closed again."""
    screen.click(5, line)
    screen.press("Enter")
    done = screen.soon(lambda text: text.splitlines()[line].startswith("▼"))
    if not done:
        screen.press("Enter")
    return done


def check_mouse(screen):
    lines = screen.wait("tabs", lambda text: "Libraries" in text.splitlines()[2]).splitlines()
    click_until(screen, (lines[2].index("Libraries"), 2), "[3 Libraries]", lambda text: "[3 Libraries]" in text)
    lines = screen.wait("rows", lambda text: "libpart" in text and "CALLS/s" in text.splitlines()[3]).splitlines()
    screen.click(lines[3].index("CALLS/s"), 3)
    screen.wait_text("CALLS/s↓")
    wait_for("the third row, expanded", lambda: expand_clicked(screen, 6))
    screen.press("Enter", "1")
    screen.wait_text("[1 Functions]")
    screen.press("Home")
    first = screen.wait("rows", lambda text: len(rows(text)) > 10).splitlines()[4]
    screen.click(5, 6, button=65)
    screen.press("End")
    screen.wait("the last rows", lambda text: text.splitlines()[4] != first)


def check_sizes(screen):
    for columns, lines in (40, 12), (20, 5), (8, 3), (200, 50), (80, 24):
        screen.resize(columns, lines)
        text = screen.wait(f"{columns}x{lines}", lambda text, most=columns: max(map(len, text.splitlines())) <= most and "hooktra" in text)
        expect_true(f"lines of {columns}x{lines}: {text}", len(text.splitlines()) <= lines)
    screen.wait("all there again", lambda text: "[1 Functions]" in text and len(rows(text)) > 10)


def check_load(run):
    """Many ranks, played to a root."""
    url = f"ipc://{run.run_directory}/collector.sock"
    numbers = {"ranks": RANKS, "leaves": 3, "sites": SITES, "ticks": 100000, "calls": 7, "period": 200, "job": "many"}
    load = loop.start(run, run.build + "/tests/load/load", url, *[part for name, value in numbers.items() for part in (f"--{name}", value)])
    wait_for("every rank", lambda: f"{RANKS}/{RANKS} ranks" in run.cli("top", "many", "--once", check=False).stdout)
    with top(run, "many", "-d", "0.2") as screen:
        check_keys(screen)
        check_views(screen)
        check_mouse(screen)
        check_help(screen)
        check_sizes(screen)
        screen.press("q")
        screen.wait_left(0)
    end_process(load)


def level_of(run, function):
    shown = run.cli("ctl", "show", "-j", "living").stdout
    return [line.split()[1] for line in shown.splitlines() if line.split()[:1] == [function]]


def check_level(run, screen):
    screen.press("/")
    screen.type("calls_inner")
    screen.press("Enter", "l")
    screen.wait_text("level for 60 s")
    screen.press("c")
    screen.wait("the level set", lambda text: re.search("level set for 60 s: [1-9]", text))
    expect("its level", level_of(run, "calls_inner"), ["count"])


def check_collector(run, screen, collector):
    """One that dies is waited for; what was seen stays; its successor is found."""
    end_process(collector)
    text = screen.wait_text("collector gone, trying")
    expect_true(f"the last rows stay: {text}", "calls_inner" in text)
    run.start_collector()
    screen.wait("the next one", lambda shown: "LIVE" in shown and "calls_inner" in shown)


def check_signals(run, path):
    for number, status in (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGSEGV, 139), (signal.SIGINT, 0):
        with top(run, "living", "-d", f"0.{number}7") as screen:
            screen.wait_text("LIVE")
            os.kill(pid_of(run, f"0.{number}7"), number)
            screen.wait_left(status)
    with top(run, "living") as screen:
        screen.wait_text("LIVE")
        screen.press("C-c")
        screen.wait_left(0)
    expect_true("the job goes on", loop.process_of(path) > 0)


def check_remote(run):
    """The same over TCP, with TLS and a token that may read only."""
    keys = run.path("keys")
    run.command(run.binary("hookcollector"), "keygen", keys)
    root = Node(run, "far", ["--listen", "tls+tcp://127.0.0.1:0", "--token-file", f"{keys}/tokens", "--tls-cert", f"{keys}/collector.crt",
                             "--tls-key", f"{keys}/collector.key"]).start()
    path = run.path("far-progress")
    job = root.popen(run.workload("calls_truth"), "--loop", path, env=loop.agent_environment(run, "faraway"))
    loop.wait_rounds(path, 200)
    url = json.loads(root.cli("status", "--json").stdout)["listen"]
    with top(run, "faraway", "--collector", url, "--tls-ca", f"{keys}/collector.crt", "--token-file", f"{keys}/read.token") as screen:
        screen.wait("rows", lambda text: "LIVE 1s" in text and "calls_inner" in text)
        screen.press("Enter")
        screen.wait_text("rank 0")
        # A collector that is just being asked for the next picture is to be asked again.
        while True:
            screen.press("l", "c")
            if "token" in screen.wait("an answer", lambda text: "token" in text or "last look yet: again" in text):
                break
        screen.press("q")
        screen.wait_left(0)
    os.kill(loop.process_of(path), signal.SIGKILL)
    end_process(job)


def test(run: Run):
    collector = run.start_collector()
    check_load(run)
    path = run.path("progress")
    job = loop.start(run, run.workload("calls_truth"), "--loop", path, env=loop.agent_environment(run, "living"))
    loop.wait_rounds(path, 200)
    with top(run, "living", "-d", "0.2") as screen:
        screen.wait("rows", lambda text: "LIVE" in text and "calls_inner" in text)
        check_level(run, screen)
        check_signals(run, path)
        check_collector(run, screen, collector)
        os.kill(loop.process_of(path), signal.SIGKILL)
        text = screen.wait_text("ENDED")
        expect_true(f"the last picture stays: {text}", "calls_inner" in text)
        screen.press("q")
        screen.wait_left(0)
    end_process(job)
    check_remote(run)


main(test)
