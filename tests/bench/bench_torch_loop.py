#!/usr/bin/python3
"""What the default hooks add to a training loop of PyTorch on the simulated CUDA runtime: bench_torch_loop.py BUILD_DIR [PROCESSES]

The loop is elementwise, forward, backward and optimizer: launches are as frequent as a launch-bound model makes them, and kernels take no
time. Blocks of steps take turns, traced and bare, in one process (slot_toggle.h): two processes differ by more than the tracing costs,
because no two have the same addresses. A block's time is the processor time of all threads. The figure of a process is the median over its
pairs of blocks; the result is the median over PROCESSES, and its interval a bootstrap of that median with 95 %. The limit is 2 %, the budget
of the defaults. Calls through addresses that PyTorch has kept, a count each, are traced in bare blocks too. The simulated devices tell
nothing of their work, as real ones do not (SIM_QUIET). The start of a process, which is paid once, is bench_start.py's. Exit status 77
without PyTorch (TORCH_PYTHON, or what test_pytorch.py has installed).
"""
import json
import os
import statistics
import sys

from bench_jobs import interval
from jobs import DEFAULTS

from harness import Run, expect_true, main
from test_pytorch import install, simulated, write_program

WARM, BLOCK, PAIRS, BUDGET = 300, 50, 100, 0.02
LOOP = r"""
import ctypes, json, sys, time
import torch
weight = torch.ones(1024, device="cuda", requires_grad=True)
inputs = torch.ones(1024, device="cuda")
optimizer = torch.optim.SGD([weight], lr=0.1, foreach=True)
toggle, warm, block, pairs = ctypes.CDLL(sys.argv[1]), *map(int, sys.argv[2:])
def steps(count):
    for _ in range(count):
        loss = (torch.relu(weight * inputs) + 1).mul(2)
        optimizer.zero_grad()
        loss.backward(torch.ones_like(loss))
        optimizer.step()
    torch.cuda.synchronize()
def measure(traced):
    toggle.slot_toggle(traced)
    start = time.process_time_ns()
    steps(block)
    return time.process_time_ns() - start
steps(warm)
slots = toggle.slot_toggle_find(b"")
measure(1), measure(0)
took = [dict((traced, measure(traced)) for traced in (pair % 2, 1 - pair % 2)) for pair in range(pairs)]
print(json.dumps({"slots": slots, "bare": [pair[0] for pair in took], "traced": [pair[1] for pair in took]}))
"""


def measure(run, python, turn):
    """The share that tracing adds to a bare step of one process, which it prints."""
    program = write_program(run, "loop.py", LOOP)
    toggle = os.path.join(run.build, "tests", "bench", "libslot_toggle.so")
    done = run.trace(python, program, toggle, WARM, BLOCK, PAIRS, hooks=[], options=("-q", "--job", f"loop{turn}"),
                     env={**DEFAULTS, **simulated(run, "cudart"), "SIM_QUIET": "1"})
    took = json.loads(done.stdout.splitlines()[-1])
    expect_true("slots were found", took["slots"] > 0)
    bare, added = statistics.median(took["bare"]), statistics.median(traced - bare for traced, bare in zip(took["traced"], took["bare"]))
    print(f"bare {bare / BLOCK / 1000:.1f} us a step, traced +{added / BLOCK:.0f} ns, {added / bare * 100:+.2f} %, {took['slots']} slots", flush=True)
    return added / bare


def test(run: Run, processes="6"):
    python = install(run)
    if not os.path.exists(python):
        sys.exit(77)
    added = [measure(run, python, turn) for turn in range(int(processes))]
    report = run.report(run.path("store", "loop0"))
    launches = sum(row["calls"] for row in report["calls"] if row["function"] in ("__cudaLaunchKernel", "cudaLaunchKernel", "cudaLaunchKernelExC"))
    expect_true("launches of traced blocks, and of no others, were traced", BLOCK * PAIRS < launches / 9 < BLOCK * PAIRS + WARM + 2 * BLOCK)
    low, high = interval(added)
    print(f"traced {statistics.median(added) * 100:+.2f} % [{low * 100:+.2f}, {high * 100:+.2f}] with 95 %, {processes} processes", flush=True)
    expect_true("the processor time is within the budget", high <= BUDGET)


if __name__ == "__main__":
    main(test)
