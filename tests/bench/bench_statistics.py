#!/usr/bin/python3
"""GB/s of a tensor's statistics and digest on one core from memory that no cache holds, beside NumPy's and torch's reductions.

    bench_statistics.py BUILD_DIR [MIB]

In turns over buffers of MIB (256): each kind of loops that this machine runs, reading alone (NumPy's sum of 64-bit words), NumPy's
reductions for the same figures (without a digest), and torch's, where Python has torch: all of them, and the fastest single one. The
best of several rounds counts. Then ns of one small tensor. Exits with 1 if the fastest loops of float32 are slower than 0.6 of reading
alone and than 15 GB/s, those of a half-precision dtype slower than 0.4 of it and than 10 GB/s, any slower than three times NumPy's
reductions, or a tensor of 100 elements takes a microsecond.
"""
import ctypes
import os
import sys
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))
from tensor_library import Library, array_of, tensor_of  # noqa: E402

ROUNDS = 7
DTYPES = ("float32", "bfloat16", "float16", "float64", "uint8", "int64")
LEAST_OF_READING = {"float32": 0.6, "bfloat16": 0.4, "float16": 0.4}
ENOUGH = {"float32": 15, "bfloat16": 10, "float16": 10}  # GB/s: with a fast memory less of reading is enough
TIMES_NUMPY = 3
SMALL = (1, 100, 1000, 10000)
SMALL_NS = 1000


def buffer_of(dtype, size):
    """SIZE bytes of numbers around 0: one MiB, repeated."""
    values = np.random.default_rng(1).normal(size=1 << 17) * (1 if "float" in dtype else 50)
    part = array_of(np.abs(values) if dtype == "uint8" else values, dtype)
    return np.resize(part, size // part.itemsize)


def by_numpy(x):
    finite = np.isfinite(x)
    np.isnan(x).sum(), np.isposinf(x).sum(), np.isneginf(x).sum(), (x == 0).sum(), finite.all()
    x.min(), x.max(), x.mean(dtype=np.float64), x.std(dtype=np.float64)
    return np.sqrt(np.square(x, dtype=np.float64).sum())


def torch_functions(array, dtype):
    """Of torch: all the figures, and the fastest of its reductions over the same memory."""
    try:
        import torch
    except ImportError:
        return {}
    torch.set_num_threads(1)
    x = torch.from_numpy(array.view(np.int16) if dtype == "bfloat16" else array)
    x = x.view(torch.bfloat16) if dtype == "bfloat16" else x

    def everything():
        torch.isnan(x).sum(), torch.isinf(x).sum(), (x == 0).sum(), x.min(), x.max(), x.mean(), x.std(), x.norm()

    return {"torch": everything, "torch max": x.max, "torch sum": x.sum} if x.is_floating_point() else {}


def functions_of(library, array, dtype):
    words = array.view(np.uint64)
    tensor = tensor_of(array, dtype)
    made = {name: lambda name=name: library.statistics_of(tensor, name) for name in library.kernels}
    made["reading"] = words.sum
    if dtype in ("float32", "float64"):
        made["NumPy"] = lambda: by_numpy(array)
        made["NumPy max"] = array.max
    made.update(torch_functions(array, dtype))
    return made


def best_rates(functions, size):
    """GB/s of processor time: what else runs on the machine takes no part."""
    best = dict.fromkeys(functions, 0.0)
    for _ in range(ROUNDS):
        for name, function in functions.items():
            before = time.thread_time()
            function()
            best[name] = max(best[name], size / (time.thread_time() - before) / 1e9)
    return best


def small_ns(library, count):
    tensor = tensor_of(array_of(np.arange(count), "float32"), "float32")
    times = max(10, 2000000 // (count + 100))
    best = float("inf")
    for _ in range(ROUNDS):
        before = time.thread_time()
        library.native.numbers_repeat(ctypes.byref(tensor), times)
        best = min(best, (time.thread_time() - before) / times * 1e9)
    return best


def main():
    library = Library(sys.argv[1])
    size = int(sys.argv[2] if len(sys.argv) > 2 else 256) << 20
    fastest, failed = next(iter(library.kernels)), False
    for dtype in DTYPES:
        rates = best_rates(functions_of(library, buffer_of(dtype, size), dtype), size)
        print(f"{dtype}: " + ", ".join(f"{name} {rate:.1f}" for name, rate in rates.items()) + " GB/s")
        failed |= rates[fastest] < min(LEAST_OF_READING.get(dtype, 0) * rates["reading"], ENOUGH.get(dtype, 0))
        failed |= rates[fastest] < TIMES_NUMPY * rates.get("NumPy", 0)
    for count in SMALL:
        ns = small_ns(library, count)
        print(f"{count} elements of float32: {ns:.0f} ns")
        failed |= count == 100 and ns >= SMALL_NS
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
