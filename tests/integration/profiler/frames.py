"""Python functions, and APIs of torch, in a profile: frames.py [torch] prints {name: calls} of the recorded steps as JSON.

After the profile it calls getppid() three times. Step N calls outer() N times. That calls inner() to a depth of 4, and a generator that yields twice, and torch.add once.
"""
import json
import os
import sys

from hooktrace.profiler import profile, schedule

STEPS = 6
COUNTS = {}
torch = None
if sys.argv[1:] == ["torch"]:
    import torch


def inner(depth):
    return depth and inner(depth - 1)


def generator():
    yield 1
    yield 2


def outer():
    inner(3)
    for _ in generator():
        pass
    if torch:
        torch.add(ONE, ONE)


def ready(prof):
    COUNTS.update({row.key: row.count for row in prof.key_averages()})
    print(json.dumps(COUNTS))


ONE = torch.ones(1) if torch else None
with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=1), on_trace_ready=ready, with_stack=True, apis=torch is not None) as prof:
    for step in range(STEPS):
        for _ in range(step):
            outer()
        prof.step()
for _ in range(3):
    os.getppid()
