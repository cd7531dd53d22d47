#!/usr/bin/python3
"""What the default hooks add to a training loop of PyTorch on the simulated CUDA runtime: bench_torch_loop.py BUILD_DIR [PAIRS]

The loop is elementwise, forward, backward and optimizer: launches are as frequent as a launch-bound model makes them, and kernels take no
time. A pair is a traced and an untraced process that live at the same time and take turns, BLOCK steps each, after steps that warm them up.
A block's time is the processor time of all threads of its process. The difference of a pair is the median over its blocks, because others
interrupt some; the result is the median over pairs, because no two processes have the same addresses, and its interval a bootstrap of that
median with 95 %. Within noise is an interval that holds 0 and is no wider than WIDEST, or one that is below 2 %, the budget of the defaults.
The simulated devices tell nothing
of their work, as real ones do not (SIM_QUIET). The start of a process, which is paid once, is bench_start.py's. Exit status 77 without PyTorch (TORCH_PYTHON, or what test_pytorch.py has
installed).
"""
import contextlib
import os
import statistics
import subprocess
import sys

from bench_jobs import interval
from jobs import DEFAULTS

from harness import Run, expect, expect_true, main
from test_pytorch import install, simulated

WARM, BLOCK, BLOCKS, BUDGET, WIDEST = 300, 50, 80, 0.02, 0.02
LOOP = r"""
import sys, time
import torch
weight = torch.ones(1024, device="cuda", requires_grad=True)
inputs = torch.ones(1024, device="cuda")
optimizer = torch.optim.SGD([weight], lr=0.1, foreach=True)
def steps(count):
    for _ in range(count):
        loss = (torch.relu(weight * inputs) + 1).mul(2)
        optimizer.zero_grad()
        loss.backward(torch.ones_like(loss))
        optimizer.step()
    torch.cuda.synchronize()
for line in sys.stdin:
    cpu = time.process_time_ns()
    steps(int(line))
    print(time.process_time_ns() - cpu, flush=True)
"""


@contextlib.contextmanager
def loop(run, python, job=None):
    """A process of the loop, traced as JOB: the function that makes it run a number of steps and returns the ns of processor time."""
    command = [python, "-c", LOOP]
    if job:
        command = [run.binary("hookcli"), "run", "-q", "--store", run.path("store"), "--job", job, "--", *command]
    process = subprocess.Popen(command, env=run.environment(**DEFAULTS, **simulated(run, "cudart"), SIM_QUIET="1"), cwd=run.directory, text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def steps(count):
        process.stdin.write(f"{count}\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    try:
        yield steps
    finally:
        process.stdin.close()
        expect("exit status of the loop", process.wait(), 0)


def pair(run, python, turn):
    """(untraced ns of a block, what tracing adds to it as a share)."""
    with loop(run, python) as untraced, loop(run, python, f"loop{turn}") as traced:
        untraced(WARM), traced(WARM)
        took = []
        for block in range(BLOCKS):
            forms = (untraced, traced)
            ns = {form: forms[form](BLOCK) for form in (block % 2, 1 - block % 2)}
            took.append((ns[0], ns[1]))
    return statistics.median(ns for ns, _ in took), statistics.median(traced / untraced - 1 for untraced, traced in took)


def test(run: Run, pairs="12"):
    python = install(run)
    if not os.path.exists(python):
        sys.exit(77)
    took = [pair(run, python, turn) for turn in range(int(pairs))]
    report = run.report(run.path("store", "loop0"))
    launches = sum(row["calls"] for row in report["calls"] if row["function"] in ("cudaLaunchKernel", "cuLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernelEx"))
    expect_true("launches were traced", launches > BLOCK * BLOCKS)
    step = statistics.median(ns for ns, _ in took) / BLOCK
    print(f"{launches / (WARM + BLOCK * BLOCKS):.1f} launches a step, {step / 1000:.0f} us of processor time")
    differences = [difference for _, difference in took]
    low, high = interval(differences)
    print(f"traced {statistics.median(differences) * 100:+.2f} % [{low * 100:+.2f}, {high * 100:+.2f}] with 95 %, {pairs} pairs", flush=True)
    expect_true("the processor time is within noise or budget", high <= BUDGET or (low <= 0 and high - low <= WIDEST))


if __name__ == "__main__":
    main(test)
