#!/usr/bin/python3
"""ns that the agent takes for a Python frame of a stack that it has seen before, on each CPython of the machine, at several depths.

    bench_python.py BUILD_DIR

Beside it in turns: the native frames of the same stack, and CPython's own list of its frames, faulthandler.dump_traceback(). Exits with
1 if a frame takes more than 6 ns, beside 20 ns a stack, or longer than CPython's.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import pythons  # noqa: E402

ROUNDS = 101
DEPTHS = (10, 30, 90)
LIMIT_NS = 6
THREAD_NS = 20  # to find the thread's state, which takes two calls of the interpreter


def measure(library, depth):
    """Runs in each interpreter: prints frames, and the medians."""
    import ctypes
    import faulthandler
    import time

    bench = ctypes.PyDLL(library)
    bench.bench_python.restype = bench.bench_native.restype = ctypes.c_double
    if bench.bench_begin():
        return 1
    null = open(os.devnull, "w")

    # Functions of their own, as in a program.
    names = {}
    for i in range(depth):
        inner = f"f{i - 1}()" if i else "inside()"
        exec(f"def f{i}():\n    return {inner}", names)

    def inside():
        times = [], [], []
        for _ in range(ROUNDS):
            times[0].append(bench.bench_python())
            times[1].append(bench.bench_native())
            start = time.perf_counter_ns()
            for _ in range(10):
                faulthandler.dump_traceback(null, all_threads=False)
            times[2].append((time.perf_counter_ns() - start) / 10)
        print(bench.bench_frames(), *(sorted(one)[ROUNDS // 2] for one in times))
        return 0

    names["inside"] = inside
    return names[f"f{depth - 1}"]()


def main():
    library = os.path.join(os.path.abspath(sys.argv[1]), "tests", "bench", "libbench_python_frames.so")
    missed = False
    for version, python in pythons.found():
        for depth in DEPTHS:
            done = subprocess.run([python, os.path.abspath(__file__), "--measure", library, str(depth)], stdout=subprocess.PIPE, text=True, check=True)
            frames, own, native, cpython = (float(word) for word in done.stdout.split())
            late = own > THREAD_NS + LIMIT_NS * frames or own > cpython
            missed = missed or late
            print(f"Python {version:4} {frames:3.0f} frames  {own:6.0f} ns  {own / frames:5.1f} ns a frame   native {native:6.0f} ns"
                  f"   faulthandler {cpython / frames:5.0f} ns a frame  {'MISSED' if late else ''}")
    pythons.say_left_out({version for version, _ in pythons.found()})
    return int(missed)


if __name__ == "__main__":
    sys.exit(measure(sys.argv[2], int(sys.argv[3])) if sys.argv[1] == "--measure" else main())
