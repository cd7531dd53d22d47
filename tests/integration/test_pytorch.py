#!/usr/bin/python3
"""PyPI's PyTorch on the simulated CUDA runtime: launches with their kernels and device time, and the ledger beside PyTorch's own books.

PyTorch (5.4 GB with its libraries) is installed once per build directory, or TORCH_PYTHON names a Python that has it. Its kernels do
nothing here. What needs cuBLAS, cuDNN or NCCL does not run: these libraries have the real runtime inside.
"""
import collections
import json
import os
import re
import sys

from harness import Run, expect, expect_true, main

STEPS = 7
ROUNDS = 50
LOOP = r"""
import ctypes
import json
import os
import sys
import torch

steps, out = int(sys.argv[1]), sys.argv[2]
found = torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.get_device_name(0)
weight = torch.ones(1024, device="cuda", requires_grad=True)
inputs = torch.ones(1024, device="cuda")
large = torch.zeros(1 << 20, device="cuda")
optimizer = torch.optim.SGD([weight], lr=0.1, foreach=True)
side = torch.cuda.Stream()
for step in range(steps):
    loss = (torch.relu(weight * inputs) + 1).mul(2)
    optimizer.zero_grad()
    loss.backward(torch.ones_like(loss))
    optimizer.step()
    with torch.cuda.stream(side):
        large.add_(1)
torch.cuda.synchronize()
read, write = os.pipe()
ctypes.CDLL("libcuda.so.1").sim_driver_counts(write)
os.close(write)
with os.fdopen(read) as pipe:
    driver = json.loads(pipe.read())
stats = torch.cuda.memory_stats()
with open(out, "w") as file:
    json.dump({"found": found, "driver": driver, "peak": stats["reserved_bytes.all.peak"], "side": side.cuda_stream,
               "segments": stats["segment.all.allocated"]}, file)
"""

PROFILED = r"""
import sys
import torch
from torch.profiler import ProfilerActivity, profile

rounds, out = int(sys.argv[1]), sys.argv[2]
values = torch.ones(1 << 20, device="cuda")
copy = torch.empty(1 << 20)
values.sin_()
torch.cuda.synchronize()
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
    for _ in range(rounds):
        values.add_(1)
        values.mul_(2)
        values.zero_()
        copy.copy_(values)
    torch.cuda.synchronize()
for _ in range(rounds):
    values.cos_()
torch.cuda.synchronize()
profiler.export_chrome_trace(out)
"""


def install(run):
    """The Python that has PyTorch."""
    given = os.environ.get("TORCH_PYTHON")
    place = os.path.join(run.build, "tests", "torch")
    python, ready = os.path.join(place, "bin", "python"), os.path.join(place, "ready")
    if given or os.path.exists(ready):
        return given or python
    done = run.command("/usr/bin/python3", "-m", "venv", "--clear", place, check=False)
    if done.returncode == 0:
        done = run.command(python, "-m", "pip", "install", "-q", "--no-cache-dir", "torch", "numpy", check=False)
    if done.returncode != 0:
        print(f"PyTorch cannot be installed here: {done.stderr.strip()[-300:]}")
        sys.exit(77)
    with open(ready, "w", encoding="utf-8"):
        pass
    return python


def simulated(run, *libraries):
    """The environment of the simulated devices. PyTorch's libraries have paths of their own to these, so only a preloaded one takes its place."""
    place = run.workload("simcuda")
    return {"LD_PRELOAD": " ".join(f"{place}/lib{name}.so.13" for name in libraries), "LD_LIBRARY_PATH": place,
            "SIM_TRUTH": run.path("device.truth")}


def write_program(run, name, text):
    with open(run.path(name), "w", encoding="utf-8") as file:
        file.write(text)
    return run.path(name)


def trace(run, python, job, *options, libraries=("cudart",)):
    program = write_program(run, "loop.py", LOOP)
    run.trace(python, program, STEPS, run.path("truth.json"), hooks=["auto"], options=("--job", job, *options), env=simulated(run, *libraries))
    with open(run.path("truth.json"), encoding="utf-8") as file:
        return json.load(file)


def kernels_of(run, job):
    return json.loads(run.cli("report", run.path("store", job), "--by", "kernel", "--format", "json").stdout)


def check_device_time(run, python):
    """Each kernel's time on the device is what the device says."""
    trace(run, python, "device", "--device-time", libraries=("cudart", "cupti"))
    wanted = collections.defaultdict(lambda: [0, 0])
    with open(run.path("device.truth"), encoding="utf-8") as file:
        for line in file:
            kind, name, _, _, _, start, end, *_ = line.split("\t")
            if kind == "kernel":
                wanted[name][0] += 1
                wanted[name][1] += int(end) - int(start)
    rows = {row["symbol"]: row for row in kernels_of(run, "device")["kernels"] if row["launches"]}
    expect("kernels on the device", sorted(rows), sorted(wanted))
    for name, (count, device_ns) in wanted.items():
        row = rows[name]
        expect(f"{row['short']}: launches, activities", (row["launches"], row["device_activities"]), (count, count))
        # The clock of the simulated CUPTI is fast by 20 in a million.
        expect_true(f"{row['short']}: {row['device_ns']} ns, not {device_ns}", abs(row["device_ns"] - device_ns) <= 2 * count + device_ns // 10000)


def profile_of(path):
    """What PyTorch's profiler saw of the device and of CUDA: {(category, name): [events, ns]}"""
    sums = collections.defaultdict(lambda: [0, 0])
    with open(path, encoding="utf-8") as file:
        for event in json.load(file)["traceEvents"]:
            if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver"):
                row = sums[event["cat"], event["name"].replace(" ", "")]
                row[0] += 1
                row[1] += event["dur"] * 1000
    return sums


def check_profiler(run, python):
    """PyTorch's own profiler, which uses CUPTI too, has what it has without a tracer, and says the same as we do."""
    program = write_program(run, "profiled.py", PROFILED)
    libraries = simulated(run, "cudart", "cupti")
    run.command(python, program, ROUNDS, run.path("alone.json"), env=libraries)
    run.trace(python, program, ROUNDS, run.path("beside.json"), hooks=["auto"], options=("--job", "profiled", "--device-time"), env=libraries)
    alone, beside = (profile_of(run.path(f"{name}.json")) for name in ("alone", "beside"))
    counts = [{key: row[0] for key, row in profile.items()} for profile in (alone, beside)]
    expect("events of PyTorch's profiler", counts[1], counts[0])
    kernels = {name: row for (category, name), row in beside.items() if category == "kernel"}
    expect("kernels of PyTorch's profiler", [row[0] for row in kernels.values()], [ROUNDS] * len(kernels))
    rows = {row["kernel"].replace(" ", ""): row for row in kernels_of(run, "profiled")["kernels"]}
    for name, (count, device_ns) in kernels.items():
        row = rows[name]
        expect(f"{row['short']}: launches, activities", (row["launches"], row["device_activities"]), (count, count))
        expect_true(f"{row['short']}: {row['device_ns']} ns, PyTorch's profiler says {device_ns}", abs(row["device_ns"] - device_ns) <= 0.02 * device_ns)
    outside = [row for row in rows.values() if row["launches"] and row["kernel"].replace(" ", "") not in kernels]
    expect_true(f"kernels outside of the profile: {len(outside)}", len(kernels) >= 2 and len(outside) >= 3)


def check_kernels(run, truth):
    report = kernels_of(run, "loop")
    launched = [row for row in report["kernels"] if row["launches"]]
    expect("launches", (report["launches"], report["unrecorded"]), (truth["driver"]["cuLaunchKernel"], 0))
    expect_true("every launch has a kernel of PyTorch", all(row["kernel"].find("at::native::") >= 0 for row in launched))
    per_step = [row for row in launched if row["launches"] % STEPS == 0]
    expect_true(f"{len(per_step)} kernels of each step", len(per_step) >= 5)
    for pattern in ("CUDAFunctor_add|CUDAFunctorOnSelf_add", "FillFunctor<float>", "multi_tensor_apply_kernel"):
        rows = [row for row in launched if re.search(pattern, row["kernel"])]
        expect_true(f"{pattern} was launched", rows)
    small = [shape for row in launched for shape in row["shapes"] if shape["block"] == [128, 1, 1] and shape["grid"] == [1, 1, 1]]
    expect_true("1,024 elements are one block of 128 threads or a few", small)
    large = {tuple(shape["grid"]): shape["launches"] for row in launched for shape in row["shapes"] if shape["grid"][0] >= 256}
    expect_true(f"a million elements are many blocks: {large}", STEPS in large.values())
    longest = max(len(row["symbol"]) for row in launched)
    expect_true(f"names are whole: the longest has {longest} bytes", longest > 127)


def test(run: Run):
    python = install(run)
    truth = trace(run, python, "loop")
    expect("devices", truth["found"], [True, 2, "Simulated device 0"])
    check_kernels(run, truth)
    report = run.report(run.path("store", "loop"))
    rows = [row for row in report["memory"] if row["kind"] == "device" and row["library"] == "*" and row["role"] == "main"]
    expect("memory", [(row["device"], row["allocs"], row["peak_bytes"]) for row in rows], [(0, truth["segments"], truth["peak"])])
    registered = sum(row["calls"] for row in report["calls"] if row["function"] == "__cudaRegisterFunction")
    expect_true(f"{registered} kernels were registered", registered > 20000)
    check_device_time(run, python)
    check_profiler(run, python)
    total_ns = sum(row["total_ns"] for row in report["calls"] if row["function"] == "__cudaRegisterFunction")
    print(f"{registered} registrations: {total_ns / 1e6:.1f} ms in them")


if __name__ == "__main__":
    main(test)
