"""Calls of the small framework in a process that the agent is in. Prints what it called: {name: [calls, errors]}. Argument: `python`
traces Python functions meanwhile, of which it prints the counts too, and stops before the APIs do.
"""
import contextlib
import ctypes
import json
import sys
import threading

import toy

import hooktrace.apis as apis
from hooktrace import _native, tracer

ROUNDS = 500
program = ctypes.CDLL(None)
for name in ("hk_site_define", "hk_enter", "hk_leave"):
    _native.bind(name, ctypes.cast(getattr(program, name), ctypes.c_void_p).value)


def work():
    for _ in range(ROUNDS):
        toy.add(1, 2), toy.scale(2, by=3), toy.relu(1), toy.Tensor().pair(1, 2), toy.nn.Linear()(1)
        with contextlib.suppress(TypeError):
            toy.add(1, "a")
        with contextlib.suppress(ValueError):
            toy.relu(None)


if sys.argv[1:] == ["python"]:
    tracer.start(include=["work", "relu"])
apis.start(apis.Framework("toy", namespaces=("toy",), tensors=("toy.Tensor",), layers=(("toy.nn", "toy.nn.Layer"),)), hook_inside=True)
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
work()
for thread in threads:
    thread.join()
functions = {"work": [4, 0], "relu": [2 * 4 * ROUNDS, 4 * ROUNDS]}
tracer.stop()
work()
apis.stop()
toy.add(1, 2)
times = 5 * ROUNDS
print(json.dumps({**(functions if sys.argv[1:] else {}), "toy.add": [4 * times, times], "toy.scale": [times, 0], "toy.relu": [2 * times, times], "toy.Tensor.pair": [times, 0],
                  "toy.nn.Linear": [times, 0]}))
