#!/usr/bin/python3
"""What `record+stack` on cudaLaunchKernel adds to a Python process with 10,000 launches a second: bench_launches.py BUILD_DIR

On each CPython of the machine, against the simulated CUDA of tests/workloads/simcuda. Each launch comes from 25 Python functions with a C
function between them, after about 100 us of Python's own work. Slices take turns in one process: by the name cudaLaunchKernel, which
is hooked, and by the function's own address, which is not. What a launch costs more, median over the pairs of slices, times 10,000 is
the share of a second: exits with 1 if it is above 2 %. A machine whose speed changes during the run changes the rate, and it does not
count for that. The collector's time is not in it. Nothing else is traced, as
the driver's functions would be in both, and there is no budget, which would keep to the limit by itself.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import pythons  # noqa: E402
from harness import Run, expect, expect_true, main  # noqa: E402

PAIRS, SLICE, DEPTH = 400, 50, 25
RATE = 10_000
LIMIT = 0.02


def measure(library, address):
    """Runs in each interpreter: prints launches that were traced, launches a second, and what tracing adds to each, in ns."""
    import ctypes
    import time

    class Dim3(ctypes.Structure):
        _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]

    kernel = ctypes.cast(ctypes.CDLL(None).getpid, ctypes.c_void_p)  # kernels are functions of the host; this one ignores its arguments
    runtime = ctypes.PyDLL(library)
    shape = [ctypes.c_void_p, Dim3, Dim3, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    runtime.cudaLaunchKernel.argtypes = shape
    base = next(int(line.split("-")[0], 16) for line in open("/proc/self/maps") if line.rstrip().endswith(os.path.realpath(library)))
    bare = ctypes.PYFUNCTYPE(ctypes.c_int, *shape)(base + address)
    one = Dim3(1, 1, 1)

    def work(turns):
        total = 0
        for i in range(turns):
            total += i & 7
        return total

    def launch_by(function, turns):
        def inside():
            work(turns)
            return function(kernel, one, one, None, 0, None)

        names = {"inside": inside}
        for i in range(DEPTH):
            inner = f"f{i - 1}()" if i else "inside()"
            body = f"sorted([0], key=lambda _: {inner})" if i == DEPTH // 2 else inner
            exec(f"def f{i}():\n    return {body}", names)
        return names[f"f{DEPTH - 1}"]

    def slice_ns(launch):
        start = time.process_time_ns()
        for _ in range(SLICE):
            launch()
        return (time.process_time_ns() - start) / SLICE

    turns = 1000
    for _ in range(4):
        turns = max(10, int(turns * 1e9 / RATE / slice_ns(launch_by(bare, turns))))
    traced, untraced = launch_by(runtime.cudaLaunchKernel, turns), launch_by(bare, turns)
    slice_ns(traced)
    pairs = [(slice_ns(traced), slice_ns(untraced)) for _ in range(PAIRS)]
    added = sorted(a - b for a, b in pairs)
    # The median lies between these two places in 95 of 100 runs (binomial).
    reach = int(PAIRS ** 0.5)
    base_ns = sorted(b for _, b in pairs)[PAIRS // 2]
    print(json.dumps({"calls": (PAIRS + 1) * SLICE, "rate": 1e9 / base_ns, "ns": added[PAIRS // 2],
                      "low": added[PAIRS // 2 - reach], "high": added[PAIRS // 2 + reach]}))


def address_of(run, library):
    lines = run.command("nm", "-D", "--defined-only", library).stdout.splitlines()
    return next(int(line.split()[0], 16) for line in lines if line.endswith(" T cudaLaunchKernel") or " T cudaLaunchKernel@@" in line)


def test(run: Run):
    library = os.path.realpath(os.path.join(run.build, "tests", "workloads", "simcuda", "libcudart.so.13"))
    address, missed = address_of(run, library), []
    for number, (version, python) in enumerate(pythons.found()):
        job = f"launches{number}"
        done = run.trace(python, os.path.abspath(__file__), "--measure", library, address, hooks=["cuda"],
                         level="*=off,cudaLaunchKernel=record+stack", options=("-q", "--budget", "off", "--job", job),
                         env={"LD_LIBRARY_PATH": os.path.dirname(library)})
        seen = json.loads(done.stdout)
        report = json.loads(run.cli("report", run.path("store", job), "--by", "stack", "--function", "cudaLaunchKernel", "--format", "json").stdout)
        calls = sum(row["calls"] for row in report["stacks"])
        others = {row["function"]: row["calls"] for row in run.report(run.path("store", job))["calls"]
                  if row["function"] not in ("cudaLaunchKernel", "simulated kernel")}  # the second is the device's own work, in both
        expect(f"{version}: other functions that were traced", {name: count for name, count in others.items() if count}, {})
        expect(f"{version}: launches with stacks, refused, without", (calls, report["refused"], report["calls_without"]), (seen["calls"], 0, 0))
        depth = max(len(row["frames"]) for row in report["stacks"])
        expect_true(f"{version}: stacks of {depth} frames", depth >= DEPTH)
        share, low, high = (seen[key] * RATE / 1e9 for key in ("ns", "low", "high"))
        print(f"Python {version:4} at {seen['rate']:6.0f} launches a second, stacks of {depth} frames: {seen['ns']:5.0f} ns a launch, "
              f"{share * 100:.2f} % of {RATE} a second (95 %: {low * 100:.2f} to {high * 100:.2f})", flush=True)
        missed += [version] if share > LIMIT else []
    pythons.say_left_out({version for version, _ in pythons.found()})
    expect("above 2 %", missed, [])


if __name__ == "__main__":
    if sys.argv[1] == "--measure":
        measure(sys.argv[2], int(sys.argv[3]))
    else:
        main(test)
