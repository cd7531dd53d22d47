#!/usr/bin/python3
"""What the default hooks add to a training loop of PyTorch on the simulated CUDA runtime: bench_torch_loop.py BUILD_DIR [PAIRS]

The loop is elementwise, forward, backward and optimizer: launches are as frequent as a launch-bound model makes them, and kernels take no
time. Each process times its own loop, after steps that warm it up, by the processor time of all its threads. Traced and untraced processes
take turns. The difference is the median over pairs, its interval a bootstrap of that median with 95 %; within noise is an interval that
holds 0 and is no wider than bench_jobs.py allows, or one that is below 2 %, the budget of the defaults. The start of a process, which is paid once, is bench_start.py's. Exit status 77
without PyTorch (TORCH_PYTHON, or what test_pytorch.py has installed).
"""
import json
import os
import statistics
import sys

from bench_jobs import WIDEST, interval
from jobs import DEFAULTS

from harness import Run, expect_true, main
from test_pytorch import install, simulated

WARM, STEPS, BUDGET = 300, 4000, 0.02
LOOP = r"""
import json, sys, time
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
steps(int(sys.argv[1]))
cpu, wall = time.process_time_ns(), time.monotonic_ns()
steps(int(sys.argv[2]))
print(json.dumps([time.process_time_ns() - cpu, time.monotonic_ns() - wall]))
"""


def loop(run, python, job=None):
    """Nanoseconds of processor time, and of the clock, of one loop; traced as JOB."""
    environment = {**DEFAULTS, **simulated(run, "cudart")}
    command = (python, "-c", LOOP, WARM, STEPS)
    done = run.trace(*command, options=("-q", "--job", job), env=environment) if job else run.command(*command, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def pair(run, python, turn):
    forms = [lambda: loop(run, python), lambda: loop(run, python, f"loop{turn}")]
    took = {form: forms[form]() for form in (turn % 2, 1 - turn % 2)}
    return took[0], took[1]


def test(run: Run, pairs="16"):
    python = install(run)
    if not os.path.exists(python):
        sys.exit(77)
    took = [pair(run, python, turn) for turn in range(int(pairs) + 1)][1:]
    report = run.report(run.path("store", "loop1"))
    launches = sum(row["calls"] for row in report["calls"] if row["function"] in ("cudaLaunchKernel", "cuLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernelEx"))
    expect_true("launches were traced", launches > STEPS)
    seconds = statistics.median(untraced[1] for untraced, _ in took) / 1e9
    print(f"{launches / (WARM + STEPS):.1f} launches a step, {launches / (WARM + STEPS) * STEPS / seconds:.0f} a second")
    for index, what in enumerate(("processor", "wall")):
        differences = [traced[index] / untraced[index] - 1 for untraced, traced in took]
        low, high = interval(differences)
        print(f"{what} time of the loop {statistics.median(u[index] for u, _ in took) / 1e9:.3f} s; traced {statistics.median(differences) * 100:+.2f} % "
              f"[{low * 100:+.2f}, {high * 100:+.2f}] with 95 %, {pairs} pairs", flush=True)
        if index == 0:
            expect_true("the processor time is within noise or budget", high <= BUDGET or (low <= 0 and high - low <= WIDEST))


if __name__ == "__main__":
    main(test)
