#!/usr/bin/python3
"""ns that observing an API call adds, through the agent at level record with a collector, on each CPython of the machine.

    bench_apis.py BUILD_DIR

Beside it in turns, in the same process: an open block of analysis, a wrapper written in Python that takes the time twice, and cProfile.
Calls: C functions with positional arguments and with a keyword, a C method, a Python function of the small framework of
tests/integration/apis; where Python has torch, torch.add and F.relu too. The least of several rounds, the call alone subtracted. Exits
with 1 if a call adds more than 90 ns, more than half of what the wrapper adds, or more than cProfile. Calls of torch take microseconds and
vary by more than this: they are shown.
"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
INTEGRATION = os.path.join(HERE, "..", "integration")
sys.path.insert(0, INTEGRATION)
import pythons  # noqa: E402

ROUNDS = 41
CALLS = 2000
LIMIT_NS = 90
STEADY_NS = 1000
NAMES = ("record", "with analysis", "Python wrapper", "cProfile")


def loops(times):
    """{name: (loop of TIMES calls, the function, setter of another function)}"""
    import toy
    x = toy.Tensor()
    found = {
        "C function": ("for _ in r: f(1, 2)", toy.add, {}),
        "C function, keyword": ("for _ in r: f(2, by=3)", toy.scale, {}),
        "C method": ("for _ in r: f(x, 1, 2)", toy.Tensor.pair, {"x": x}),
        "Python function": ("for _ in r: f(1)", toy.first.__wrapped__, {}),
    }
    try:
        import torch
        torch.set_num_threads(1)
        tensor = torch.ones(4)
        found["torch.add"] = ("for _ in r: f(x, x)", torch.add, {"x": tensor})
        found["F.relu"] = ("for _ in r: f(x)", torch.nn.functional.relu, {"x": tensor})
    except ImportError:
        pass
    made = {}
    for name, (text, function, names) in found.items():
        scope = dict(names)
        exec(f"def loop(f, r=range({times})):\n    {text}", scope)
        made[name] = (scope["loop"], function)
    return made


def wrapped(function):
    """What users of a timing package get: the time before and after, added up."""
    from time import perf_counter
    total = [0.0, 0]

    def wrapper(*args, **kwargs):
        start = perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            total[0] += perf_counter() - start
            total[1] += 1
    return wrapper


def measure():
    """Runs in each interpreter, with the agent: a line `name|base|added|...` for each kind of call."""
    import cProfile
    import ctypes
    import time

    import hooktrace.apis as apis
    from hooktrace import _native
    program = ctypes.CDLL(None)
    for name in ("hk_site_define", "hk_enter", "hk_leave"):
        _native.bind(name, ctypes.cast(getattr(program, name), ctypes.c_void_p).value)
    for name, (loop, function) in loops(CALLS).items():
        slow = wrapped(function)
        least = [float("inf")] * (len(NAMES) + 1)

        def observe():
            _native.apis_evaluator()
            assert _native.apis_hook(function, name, "bench", 0) is None
            loop(function, range(10))

        def profile():
            profiler = cProfile.Profile()
            profiler.enable()
            return profiler

        def take(place, one):
            start = time.perf_counter_ns()
            loop(one)
            least[place] = min(least[place], (time.perf_counter_ns() - start) / CALLS)
        for _ in range(ROUNDS):
            take(0, function)
            take(3, slow)
            profiler = profile()
            take(4, function)
            profiler.disable()
            observe()
            take(1, function)
            apis.start_analysis()
            take(2, function)
            apis.end_analysis()
            _native.apis_unhook()
        print("|".join([name] + [f"{value:.1f}" for value in [least[0]] + [one - least[0] for one in least[1:]]]), flush=True)


def missed(row):
    """Whether one of the aims is missed."""
    _, alone, record, _, wrapper, profiler = row
    return alone < STEADY_NS and (record > LIMIT_NS or 2 * record > wrapper or record > profiler)


def main():
    build = os.path.abspath(sys.argv[1])
    path = [os.path.join(build, "python"), os.path.join(build, "tests", "integration", "apis"), os.path.join(INTEGRATION, "apis")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "PYTHONDONTWRITEBYTECODE": "1"}
    found = pythons.found() + [("torch", path) for path in [os.environ.get("TORCH_PYTHON")] if path]
    bad = False
    for version, python in found:
        with tempfile.TemporaryDirectory() as store:
            done = subprocess.run([os.path.join(build, "cli", "hookcli"), "run", "-q", "--budget", "off", "--level", "record", "--hooks", "mpi", "--store",
                                   store, "--", python, os.path.abspath(__file__), "--measure"], env=environment, cwd=store, stdout=subprocess.PIPE,
                                  text=True, check=True)
        for line in done.stdout.splitlines():
            name, *numbers = line.split("|")
            row = [name] + [float(number) for number in numbers]
            bad = bad or missed(row)
            print(f"Python {version:5} {name:20} alone {row[1]:7.0f} ns   added: " + "   ".join(f"{what} {ns:5.0f}" for what, ns in zip(NAMES, row[2:]))
                  + ("   MISSED" if missed(row) else ""), flush=True)
    pythons.say_left_out({version for version, _ in found})
    return int(bad)


if __name__ == "__main__":
    sys.exit(measure() if sys.argv[1:] == ["--measure"] else main())
