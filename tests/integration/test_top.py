#!/usr/bin/python3
"""top while a job runs: the table, one picture, several, JSON; and what it says when the job is over."""
import json
import os
import signal
import subprocess

import loop
from harness import TIMEOUT, Run, end_process, expect, expect_true, main, wait_for


def picture(run, *arguments, **options):
    return run.cli("top", "living", *arguments, **options).stdout


def row(text, function):
    """The cells of FUNCTION's row; a call that is open is not one of them."""
    lines = [line.split() for line in text.splitlines() if line.split()[:1] == [function]]
    expect_true(f"one row of {function} in {text}", len(lines) == 1)
    return lines[0]


def check_once(run: Run, path):
    before = loop.rows(path)
    text = picture(run, "--once", "--all")
    after = loop.rows(path)
    for function in sorted(loop.FUNCTIONS):
        expect_true(f"{function}: {row(text, function)}", float(row(text, function)[2]) > 0)
    expect_true(f"no codes in a pipe: {text!r}", "\033" not in text)
    report = json.loads(picture(run, "--once", "--json"))
    now = loop.rows(path)
    for function in sorted(loop.FUNCTIONS):
        counted = sum(line["calls"] for line in report["calls"] if line["function"] == function
                      and os.path.basename(line["library"]) == loop.LIBRARY)
        done, started = (sum(getattr(line, key) for line in table if line.function == function)
                         for table, key in ((after, "done"), (now, "started")))
        expect_true(f"{function}: {counted} calls, from {done} to {started}", done <= counted <= started)
    check_hidden(run)
    expect("the job is not closed", (report["job"]["closed"], report["ranks"][0]["exit"]["kind"]), (False, "running"))
    expect_true("time goes on", loop.rounds_of(path) > min(line.started for line in before))


def check_hidden(run):
    """Text and screen hide the same rows: the loop's nanosleep is an idle wait."""
    text = picture(run, "--once")
    expect_true(f"no idle wait in {text}", "calls_inner" in text and "nanosleep" not in text)
    expect_true(f"how many are hidden in {text}", "hidden: idle waits, launchers, helpers; --all shows them)" in text)


def check_shares(run):
    """What a rank does with its time: the loop sleeps and works, and knows no MPI."""
    def shares():
        lines = picture(run, "--once", "--view", "ranks").splitlines()
        head = next(line for line in lines if line.startswith("RANK"))
        cells = dict(zip(head.split(), lines[lines.index(head) + 1].split()))
        return cells if cells["CPU%"] not in ("-", "0.0") else None

    cells = wait_for("processor time of the rank", shares)  # the collector looks at it now and then
    expect_true(f"waits in {cells}", float(cells["WAIT%"]) > 0)
    expect("MPI", cells["MPI%"], "-")


def check_several(run: Run):
    """-n pictures, -d apart; -b puts one below the other."""
    text = picture(run, "-b", "-n", "3", "-d", "0.1")
    heads = [line for line in text.splitlines() if line.startswith("hooktrace living ")]
    expect("three pictures", len(heads), 3)
    expect_true("no codes with -b", "\033" not in text)
    lines = picture(run, "--once", "--rows", "2").splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("FUNCTION"))
    expect(f"two rows and how many more in {lines}", lines[head + 3][:1], "(")


def check_screen(run: Run):
    """A terminal gets a screen (test_top_screen); -n ends it; where none can be shown there are pictures. Ctrl-C ends those."""
    line = f"{run.binary('hookcli')} top living -n 2 -d 0.1"
    done = run.command("script", "-qec", line, "/dev/null", env={"TERM": "xterm"})
    expect_true(f"it takes the screen and gives it back: {done.stdout[:200]!r}",
                "\033[?1049h" in done.stdout and "\033[?1049l" in done.stdout)
    for terminal in "dumb", "no-such-terminal":
        done = run.command("script", "-qec", line, "/dev/null", env={"TERM": terminal}).stdout
        expect(f"pictures with TERM={terminal}", done.count("hooktrace living "), 2)
        expect_true(f"and no codes: {done!r}", "\033" not in done)
    with subprocess.Popen([run.binary("hookcli"), "top", "living", "-b", "-d", "0.1"], env=run.environment(), text=True,
                          cwd=run.directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as top:
        top.stdout.readline()
        top.send_signal(signal.SIGINT)
        top.communicate(timeout=TIMEOUT)
        expect_true(f"Ctrl-C: {top.returncode}", top.returncode in (0, -signal.SIGINT, 128 + signal.SIGINT))


def check_replaced(run: Run, collector):
    """A collector that is killed and started again is waited for; what lies in its directory is not shown meanwhile as if it were now."""
    output, job = run.path("pictures"), run.path("store", "living")
    with open(output, "w", encoding="utf-8") as file, subprocess.Popen([run.binary("hookcli"), "top", job, "-b", "-d", "0.05"],
                                                                       env=run.environment(), cwd=run.directory, stdout=file) as top:
        def heads():
            with open(output, encoding="utf-8") as pictures:
                return [line.split() for line in pictures if line.startswith("hooktrace living ")]

        wait_for("pictures", lambda: len(heads()) > 2)
        end_process(collector)
        # That one polls many times without a collector; a new top sees the files, and that they are old.
        for _ in range(20):
            first = run.cli("top", job, "--once").stdout.splitlines()[0]
            expect_true(f"without a collector: {first}", first.endswith("  NO COLLECTOR"))
        run.start_collector()
        seen = len(heads())
        wait_for("pictures of the next collector", lambda: len(heads()) > seen + 2)
        expect("states of the job", {words[-1] for words in heads()}, {"LIVE"})
        expect("top goes on", top.poll(), None)
        top.terminate()


def check_end(run: Run, path):
    """It ends with the job, and shows a finished one."""
    with subprocess.Popen([run.binary("hookcli"), "top", "living", "-b", "-d", "0.1"], env=run.environment(), text=True,
                          cwd=run.directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as top:
        top.stdout.readline()
        os.kill(loop.process_of(path), signal.SIGKILL)
        out, err = top.communicate(timeout=TIMEOUT)
        expect(f"top when the job ended: {err}", top.returncode, 0)
        expect_true(f"the last picture: {out[-2000:]}", "calls_inner" in out)
    expect_true("a finished job", "calls_inner" in picture(run, "--once"))


def test(run):
    collector = run.start_collector()
    path = run.path("progress")
    job = loop.start(run, run.workload("calls_truth"), "--loop", path, env=loop.agent_environment(run, "living"))
    loop.wait_rounds(path, 200)
    wait_for("the job's rows", lambda: (done := run.cli("top", "living", "--once", "--all", check=False)).returncode == 0
             and "nanosleep" in done.stdout)
    check_once(run, path)
    check_shares(run)
    check_several(run)
    check_screen(run)
    check_replaced(run, collector)
    check_end(run, path)
    end_process(job)


if __name__ == "__main__":
    main(test)
