#!/usr/bin/python3
"""hookcli stacks and why on four ranks of PyTorch's data-parallel training, of which one spins in a Python loop: it is named with function, file and
line within two seconds, and the others wait in the reduction of their gradients. TORCH_PYTHON names a Python with another torch."""
import json
import os
import re
import subprocess
import sys
import time

from harness import RANKS, TIMEOUT, expect, expect_true, main, wait_for

STUCK, SOON_S, ATTEMPTS = 2, 2, 5
SCRIPT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "workloads", "torch_stuck.py"))


def line_of(text):
    """The number of the only line of SCRIPT with TEXT."""
    with open(SCRIPT, encoding="ascii") as file:
        found = [number for number, line in enumerate(file, 1) if text in line]
    expect(f"lines with {text}", len(found), 1)
    return found[0]


def places(run, job):
    """{rank: [(function, line)] of SCRIPT, innermost first} of the ranks' first threads."""
    done = run.cli("stacks", job, "--json", check=False)
    found = {}
    for group in json.loads(done.stdout)["groups"] if done.returncode == 0 else ():
        frames = [(frame["function"], frame["line"]) for frame in group["frames"]
                  if frame.get("language") == "python" and os.path.basename(frame["file"]) == "torch_stuck.py"]
        if group["thread"] == "main" and frames:
            found.update(dict.fromkeys(group["ranks"], frames))
    return found


def is_stuck(found):
    waiting = ("train", line_of("loss.backward()"))
    return (len(found) == RANKS and found[STUCK][0][0] == "clean"
            and all(found[rank][0] == waiting for rank in range(RANKS) if rank != STUCK))


def check_text(run, job):
    """The first answer that comes in time: the machine may be busy."""
    times = []
    while not times or (min(times) > SOON_S and len(times) < ATTEMPTS):
        began = time.monotonic()
        text = run.cli("stacks", job).stdout
        times.append(time.monotonic() - began)
    print(f"an answer in {min(times):.3f} s")
    expect_true(f"an answer within {SOON_S} s: {times}", min(times) <= SOON_S)
    line = next((line for line in text.splitlines() if line.startswith(f"rank {STUCK} ")), "")
    named = re.search(r"clean \(torch_stuck\.py:(\d+)\)", line)
    inside = range(line_of("while not"), line_of("return batch * number"))
    expect_true(f"rank {STUCK} is named with its line: {text}", named and int(named[1]) in inside)


def check_why(run, job):
    """No call of this job is one that other ranks must join: its stacks say who is awaited."""
    def finding():
        done = run.cli("why", job, "--json", check=False)
        findings = json.loads(done.stdout)["findings"] if done.returncode == 0 else []
        return next((one for one in findings if one["topic"] == "progress"), None)

    found = wait_for("the hang to be named", finding)
    expect("kind and ranks", (found["kind"], found["ranks"]), ("hang", [STUCK]))
    expect_true(f"its Python line: {found['stack']}", any(frame.startswith("clean (torch_stuck.py:") for frame in found["stack"]))


def test(run):
    python, end = os.environ.get("TORCH_PYTHON", sys.executable), run.path("end")
    begun = run.path("begun")
    job = subprocess.Popen([run.binary("hookcli"), "run", "-q", "--job", "stuck", "--", python, "-m", "torch.distributed.run", "--standalone",
                            "--nproc-per-node", str(RANKS), SCRIPT, str(STUCK), begun, end],
                           env=run.environment(), cwd=run.directory, stdin=subprocess.DEVNULL)
    try:
        wait_for("the stuck rank", lambda: os.path.exists(begun) or job.poll() is not None)
        wait_for("the job to hang", lambda: is_stuck(places(run, "stuck")))
        check_text(run, "stuck")
        check_why(run, "stuck")
    finally:
        with open(end, "w", encoding="ascii"):
            pass
        expect("exit of the job", job.wait(TIMEOUT), 0)


if __name__ == "__main__":
    main(test)
