"""Training steps of a small network on a GPU, bound by launches. torch_steps.py STEPS [profiler] prints the time of a step in us: the median of
STEPS, with PyTorch's profiler of the device's work if asked."""
import contextlib
import statistics
import sys
import time

import torch
import torch.nn.functional as F
import torch.profiler

STEPS, WARMUP = int(sys.argv[1]), 30
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.LayerNorm(512), torch.nn.Linear(512, 512), torch.nn.GELU(),
                            torch.nn.Linear(512, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
inputs, labels = torch.randn(128, 256, device="cuda"), torch.randint(0, 10, (128,), device="cuda")
profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) if sys.argv[2:] else contextlib.nullcontext()
times = []
with profiler:
    for step in range(STEPS + WARMUP):
        begin = time.perf_counter_ns()
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        torch.cuda.synchronize()
        if step >= WARMUP:
            times.append(time.perf_counter_ns() - begin)
print(f"{statistics.median(times) / 1000:.1f}")
