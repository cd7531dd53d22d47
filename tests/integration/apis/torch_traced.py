"""Trains a network of torch's in a process that the agent is in, its APIs observed. Prints what it called: {name: [calls, errors]}."""
import contextlib
import ctypes
import json

import torch

import hooktrace.apis
from hooktrace import _native

STEPS = 20
program = ctypes.CDLL(None)
for name in ("hk_site_define", "hk_enter", "hk_leave"):
    _native.bind(name, ctypes.cast(getattr(program, name), ctypes.c_void_p).value)

torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
x = torch.ones(128, 64)
hooktrace.apis.start("torch", hook_inside=True)
for _ in range(STEPS):
    loss = net(x).pow(2).mean()
    net.zero_grad()
    loss.backward()
    with contextlib.suppress(TypeError):
        torch.add(x, "a")
hooktrace.apis.stop()
print(json.dumps({"torch.nn.Sequential": [STEPS, 0], "torch.nn.Linear": [2 * STEPS, 0], "torch.nn.functional.linear": [2 * STEPS, 0],
                  "torch.nn.ReLU": [STEPS, 0], "torch.nn.functional.relu": [STEPS, 0], "torch.relu": [STEPS, 0], "torch.Tensor.pow": [STEPS, 0],
                  "torch.Tensor.mean": [STEPS, 0], "torch.Tensor.backward": [STEPS, 0], "torch.add": [STEPS, STEPS]}))
