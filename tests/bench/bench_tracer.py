#!/usr/bin/python3
"""ns that tracing adds to a Python call and return, on each CPython of the machine, with the real agent at level record and a collector.

    bench_tracer.py BUILD_DIR [VERSION ...]

Beside it in turns, in the same process: cProfile, VizTracer and torch.profiler (with_stack) where they are installed, and from 3.12 on
`events`: what sys.monitoring takes for the same events without calling anything, below which no tracer can come. VizTracer writes again
and again to the same memory, which is in the caches; VizFirst is a new one for each burst, as in a program that is traced once. `call`: an empty function, called in a loop;
`fib`: a recursion; `method`: of an object; `yield`: a resumption of a generator; `raise`: a call that raises, and is caught. Each figure is
the least of many bursts, less the least of untraced ones. Exits with 1 if `call` or `fib` takes more than 70 ns up to 3.11 or 85 ns later,
or more than half of what cProfile adds, or more than another tracer, or records were lost.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import pythons  # noqa: E402

ROUNDS = 60
TORCH_EVERY = 12  # rounds: it takes long to stop
BURST = 20000
LIMIT_NS = {"old": 70, "new": 85}
JUDGED = ("call", "fib")
KINDS = ("call", "fib", "method", "yield", "raise")


def loops():
    """{kind: (function, calls that it makes)}."""
    def nothing():
        pass

    def call():
        for _ in range(BURST):
            nothing()

    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    def fibs():
        fib(20)

    class Thing:
        def method(self):
            pass

    def method():
        thing = Thing()
        for _ in range(BURST):
            thing.method()

    def numbers():
        for i in range(BURST):
            yield i

    def generator():
        for _ in numbers():
            pass

    def fail():
        raise ValueError

    def failing():
        for _ in range(BURST):
            try:
                fail()
            except ValueError:
                pass

    return {"call": (call, BURST), "fib": (fibs, 21891), "method": (method, BURST), "yield": (generator, BURST), "raise": (failing, BURST)}


def tools():
    """{name: (start, stop)}; None does nothing."""
    import cProfile
    import ctypes
    from hooktrace import _native, tracer

    library = ctypes.CDLL(None)
    for name in ("hk_site_define", "hk_is_on", "hk_enter", "hk_leave"):
        _native.bind(name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
    profile = cProfile.Profile()
    found = {"bare": (lambda: None, lambda: None), "hooktrace": (tracer.start, tracer.stop), "cProfile": (profile.enable, profile.disable)}
    return {**found, **events(tracer), **viztracer(), **torch()}


def events(tracer):
    if sys.version_info < (3, 12):
        return {}
    monitoring = sys.monitoring
    mask = sum(getattr(monitoring.events, name) for name in tracer._EVENTS)

    def start():
        monitoring.use_tool_id(3, "bench")
        monitoring.set_events(3, mask)

    def stop():
        monitoring.set_events(3, 0)
        monitoring.free_tool_id(3)
    return {"events": (start, stop)}


def viztracer():
    try:
        from viztracer import VizTracer
    except ImportError:
        return {}

    def new():
        return VizTracer(ignore_c_function=True, verbose=0)
    held, first = new(), []

    def stop():
        held.stop()
        held.clear()

    def start_first():
        first.append(new())
        first[-1].start()

    def stop_first():
        first.pop().stop()
    return {"VizTracer": (held.start, stop), "VizFirst": (start_first, stop_first)}


def torch():
    try:
        from torch.profiler import ProfilerActivity, profile
    except ImportError:
        return {}
    running = []

    def start():
        running.append(profile(activities=[ProfilerActivity.CPU], with_stack=True))
        running[-1].start()

    def stop():
        running.pop().stop()
    return {"torch": (start, stop)}


def measure():
    """Runs in each interpreter: prints {tool: {kind: ns}} as JSON."""
    import time

    kinds, ways = loops(), tools()
    least = {tool: dict.fromkeys(kinds, float("inf")) for tool in ways}
    for i in range(ROUNDS):
        for tool, (start, stop) in ways.items():
            if tool == "torch" and i % TORCH_EVERY:
                continue
            for kind, (function, calls) in kinds.items():
                start()
                begin = time.perf_counter_ns()
                function()
                end = time.perf_counter_ns()
                stop()
                least[tool][kind] = min(least[tool][kind], (end - begin) / calls)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(least, file)


def run(build, python, directory):
    """Returns {tool: {kind: ns}} and how many records were lost."""
    hookcli = os.path.join(build, "cli", "hookcli")
    output, store = os.path.join(directory, "ns"), os.path.join(directory, "store")
    environment = dict(os.environ, PYTHONPATH=os.path.join(build, "python") + os.pathsep + os.environ.get("PYTHONPATH", ""))
    subprocess.run([hookcli, "run", "-q", "--budget", "off", "--level", "record", "--store", store, "--job", "bench", "--",
                    python, os.path.abspath(__file__), "--measure", output], env=environment, check=True)
    report = subprocess.run([hookcli, "report", os.path.join(store, "bench"), "--format", "json"], stdout=subprocess.PIPE, text=True, check=True)
    lost = sum(rank["lost_records"] for rank in json.loads(report.stdout)["ranks"])
    with open(output, encoding="utf-8") as file:
        return json.load(file), lost


def added(ns, tool, kind):
    return ns[tool][kind] - ns["bare"][kind]


def peers(ns):
    return [tool for tool in ns if tool not in ("bare", "hooktrace", "events")]


def judge(version, ns, lost):
    """Returns what is missed, as words."""
    limit = LIMIT_NS["old" if version in ("3.8", "3.9", "3.10", "3.11") else "new"]
    missed = [f"{lost} records lost"] if lost else []
    for kind in JUDGED:
        own = added(ns, "hooktrace", kind)
        if own > limit:
            missed.append(f"{kind}: more than {limit} ns")
        if own * 2 > added(ns, "cProfile", kind):
            missed.append(f"{kind}: more than half of cProfile's")
        missed += [f"{kind}: more than {tool}'s" for tool in peers(ns) if own > added(ns, tool, kind)]
    return missed


def show(version, ns):
    for tool in ns:
        if tool != "bare":
            print(f"Python {version:4} {tool:9}  " + "  ".join(f"{kind} {added(ns, tool, kind):6.1f} ns" for kind in KINDS))
    for kind in JUDGED:
        own = added(ns, "hooktrace", kind)
        print(f"Python {version:4} {kind}: cheaper than " + ", ".join(f"{tool} {added(ns, tool, kind) / own:.2f} x" for tool in peers(ns)))


def main():
    build, wanted, missed = os.path.abspath(sys.argv[1]), sys.argv[2:], False
    for version, python in pythons.found():
        if wanted and version not in wanted:
            continue
        with tempfile.TemporaryDirectory() as directory:
            ns, lost = run(build, python, directory)
        show(version, ns)
        words = judge(version, ns, lost)
        missed = missed or bool(words)
        if words:
            print(f"Python {version:4} MISSED: {'; '.join(words)}")
    pythons.say_left_out({version for version, _ in pythons.found()})
    return int(missed)


if __name__ == "__main__":
    sys.exit(measure() if sys.argv[1] == "--measure" else main())
