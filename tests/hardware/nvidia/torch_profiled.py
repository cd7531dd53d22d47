"""Training on a GPU inside of PyTorch's profiler, and further kernels after it. torch_profiled.py ROUNDS TRACE writes the profiler's trace."""
import sys

import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

ROUNDS, TRACE = int(sys.argv[1]), sys.argv[2]
torch.manual_seed(1)
torch.cuda.init()
# The profiler starts before the first kernel: all that the device does until `stop` is in its trace.
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 3), torch.nn.BatchNorm2d(64), torch.nn.ReLU(), torch.nn.Conv2d(64, 64, 3), torch.nn.ReLU(),
                                torch.nn.AdaptiveAvgPool2d(8), torch.nn.Flatten(), torch.nn.Linear(4096, 1000)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    images, labels = torch.randn(64, 3, 64, 64).cuda(), torch.randint(0, 1000, (64,)).cuda()
    for _ in range(ROUNDS):
        optimizer.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()
    values = torch.ones(1 << 24, device="cuda")
    torch.cuda.synchronize()
for _ in range(ROUNDS):
    values.cos_()
torch.cuda.synchronize()
profiler.export_chrome_trace(TRACE)
print("peak", torch.cuda.max_memory_reserved())
