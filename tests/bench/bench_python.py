#!/usr/bin/python3
"""ns that the agent takes for a Python frame of a stack that it has seen before, on each CPython of the machine, at several depths.

    bench_python.py BUILD_DIR

Beside it in turns: the native frames of the same stack, and CPython's own ways to list its frames: faulthandler.dump_traceback(),
traceback.extract_stack(), and sys._current_frames() with each frame's code and line. Where py-spy is found, the time of one `py-spy dump`,
which is a command of its own. Exits with 1 if a frame takes more than 6 ns, beside 20 ns a stack, or longer than CPython's.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import pythons  # noqa: E402

ROUNDS = 101
DEPTHS = (5, 20, 60)
LIMIT_NS = 6
THREAD_NS = 20  # to find the thread's state, which takes two calls of the interpreter


def measure(library, depth):
    """Runs in each interpreter: prints frames, and the medians."""
    import ctypes
    import faulthandler
    import shutil
    import threading
    import time
    import traceback

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

    def by_faulthandler():
        faulthandler.dump_traceback(null, all_threads=False)

    def by_current_frames():
        frame = sys._current_frames()[threading.get_ident()]
        while frame:
            frame.f_code, frame.f_lineno
            frame = frame.f_back

    def by_spy():
        start = time.perf_counter_ns()
        done = subprocess.run(["py-spy", "dump", "--pid", str(os.getpid())], stdout=null, stderr=null)
        return time.perf_counter_ns() - start if done.returncode == 0 else 0

    def inside():
        ways = by_faulthandler, traceback.extract_stack, by_current_frames
        times = [], [], [], [], []
        for _ in range(ROUNDS):
            times[0].append(bench.bench_python())
            times[1].append(bench.bench_native())
            for way, taken in zip(ways, times[2:]):
                start = time.perf_counter_ns()
                for _ in range(10):
                    way()
                taken.append((time.perf_counter_ns() - start) / 10)
        spied = sorted(by_spy() for _ in range(5))[2] if shutil.which("py-spy") else 0
        print(bench.bench_frames(), *(sorted(one)[ROUNDS // 2] for one in times), spied)
        return 0

    names["inside"] = inside
    return names[f"f{depth - 1}"]()


def main():
    library = os.path.join(os.path.abspath(sys.argv[1]), "tests", "bench", "libbench_python_frames.so")
    missed = False
    for version, python in pythons.found():
        for depth in DEPTHS:
            done = subprocess.run([python, os.path.abspath(__file__), "--measure", library, str(depth)], stdout=subprocess.PIPE, text=True, check=True)
            frames, own, native, dump, extract, current, spied = (float(word) for word in done.stdout.split())
            late = own > THREAD_NS + LIMIT_NS * frames or own > min(dump, extract, current)
            missed = missed or late
            print(f"Python {version:4} {frames:3.0f} frames  {own:6.0f} ns  {own / frames:5.1f} ns a frame   native {native:6.0f} ns"
                  f"   faulthandler {dump:7.0f} ns   extract_stack {extract:8.0f} ns   _current_frames {current:6.0f} ns"
                  + (f"   py-spy dump {spied / 1e6:4.0f} ms" if spied else "") + ("   MISSED" if late else ""))
    pythons.say_left_out({version for version, _ in pythons.found()})
    return int(missed)


if __name__ == "__main__":
    sys.exit(measure(sys.argv[2], int(sys.argv[3])) if sys.argv[1] == "--measure" else main())
