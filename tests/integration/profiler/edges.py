"""What hooktrace.profiler does at its edges; each check is by itself. edges.py DIRECTORY [untraced]: prints `done`."""
import glob
import os
import re
import socket
import subprocess
import sys
import time
import types
import warnings

import hooktrace
from hooktrace.profiler import ProfilerAction, ProfilerError, device_time, profile, schedule, tensorboard_trace_handler

directory = sys.argv[1]


def need(what, holds):
    if not holds:
        sys.exit(f"FAILED: {what}")


def raises(error, function, *arguments, **keywords):
    try:
        function(*arguments, **keywords)
    except error as caught:
        return str(caught)
    sys.exit(f"FAILED: {function} raises no {error.__name__}")


def warned(function, *arguments, **keywords):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*arguments, **keywords)
    return [str(one.message) for one in caught]


def arguments():
    for wrong in ({"wait": -1}, {"warmup": -1}, {"active": 0}, {"repeat": -1}, {"skip_first": -1}):
        text = raises(ValueError, schedule, **{"wait": 1, "warmup": 1, "active": 1, **wrong})
        need("the error names what is expected", "active of 1 or more" in text)
    need("warmup=0 warns", len(warned(schedule, wait=1, warmup=0, active=1)) == 1)
    need("warmup=1 does not", warned(schedule, wait=1, warmup=1, active=1) == [])
    texts = warned(profile, profile_memory=True, with_flops=True)
    need("what is left out is named", ["profile_memory, with_flops" in text for text in texts] == [True])
    raises(TypeError, profile, schedule=lambda step: "RECORD")
    raises(TypeError, profile, on_trace_redy=print)
    need("a step below 0", "-1" in raises(ValueError, schedule(wait=0, warmup=1, active=1), -1))


def without_schedule():
    handled = []
    prof = profile(on_trace_ready=lambda prof: handled.append(prof.step_num))
    need("a step before it", ["before start()" in text for text in warned(prof.step)] == [True])
    need("no records yet", "no step was recorded" in raises(ProfilerError, prof.key_averages))
    prof.start()
    raises(RuntimeError, prof.start)
    os.getppid()
    need("not yet", "have not ended" in raises(ProfilerError, prof.key_averages))
    prof.step()
    prof.step()
    os.getppid()
    prof.stop()
    prof.stop()  # does nothing more
    need("a step after it", ["after stop()" in text for text in warned(prof.step)] == [True])
    need("the handler is called at the end", handled == [2])
    counts = {row.key: row.count for row in prof.key_averages()}
    need(f"all is recorded: {counts}", counts["getppid"] == 2 and counts["ProfilerStep*"] == 2)


def second():
    with profile() as first:
        need("one at a time", "has not ended" in raises(RuntimeError, profile().start))
        os.getppid()
    with profile() as then:
        os.getppid()
        os.getppid()
    need("of its own window", [{row.key: row.count for row in prof.key_averages()}["getppid"] for prof in (first, then)] == [1, 2])


def failing():
    """Exceptions of the block and of the handler leave nothing behind."""
    handled = []

    def block():
        with profile(schedule=schedule(wait=0, warmup=1, active=3), on_trace_ready=handled.append) as prof:
            prof.step()
            prof.step()
            raise KeyError("of the block")

    raises(KeyError, block)
    need("the open cycle is handed on", [prof.step_num for prof in handled] == [2])

    def fail(prof):
        raise LookupError(prof.step_num)

    def handler():
        with profile(schedule=schedule(wait=0, warmup=1, active=1, repeat=1), on_trace_ready=fail) as prof:
            for _ in range(4):
                prof.step()

    need("of the handler", raises(LookupError, handler) == "2")
    with profile() as prof:
        os.getppid()
    need("afterwards", prof.key_averages()[0].count == 1)


def wrong_schedules():
    orders = {"RECORD NONE": "RECORD followed by NONE", "RECORD WARMUP": "RECORD followed by WARMUP", "WARMUP NONE": "WARMUP followed by NONE"}
    for names, text in orders.items():
        actions = [ProfilerAction[name] for name in names.split()]
        handled = []

        def run(actions=actions, handled=handled):
            with profile(schedule=lambda step: actions[min(step, 1)], on_trace_ready=handled.append) as prof:
                prof.step()

        need(f"{names} warns", [text in one for one in warned(run)] == [True])
        need(f"{names}: nothing to hand on", not handled)


def files():
    with profile(on_trace_ready=tensorboard_trace_handler(os.path.join(directory, "new", "log"))) as prof:
        os.getppid()
    (name,) = os.listdir(os.path.join(directory, "new", "log"))
    found = re.fullmatch(r"(.*)_(\d+)\.(\d+)\.pt\.trace\.json", name)
    need(f"{name}: host and process", found and (found[1], int(found[2])) == (socket.gethostname(), os.getpid()))
    need(f"{name}: milliseconds", 0 <= time.time() - int(found[3]) / 1000 < 3600)
    with open(os.path.join(directory, "file"), "w", encoding="utf-8"):
        pass
    text = raises(RuntimeError, tensorboard_trace_handler(os.path.join(directory, "file")), prof)
    need("a file is no directory", "cannot create directory" in text)
    raises(OSError, prof.export_chrome_trace, os.path.join(directory, "absent", "trace.json"))
    prof.add_metadata("run", 'the "first"')
    prof.add_metadata_json("shape", "[1, 2]")
    raises(ValueError, prof.add_metadata_json, "shape", "[1, 2")
    prof.export_chrome_trace(os.path.join(directory, "metadata.json"))
    raises(ValueError, prof.key_averages().table, sort_by="nothing")


def forked():
    """A child of a process with a profile has one of its own."""
    with profile(schedule=lambda step: ProfilerAction.NONE):
        child = os.fork()
        if child == 0:
            with profile() as prof:
                prof.step()
            os._exit(0)
        need("the child ends", os.waitpid(child, 0)[1] == 0)
    subprocess.run(["true"], check=True)


def run_all(**arguments):
    with profile(schedule=schedule(wait=1, warmup=1, active=1), **arguments) as prof:
        for _ in range(8):
            prof.step()


def tracers():
    """Tracers are started for the steps that need them, and stopped, unless they ran before."""
    said = []
    for name in ("tracer", "apis"):
        module = types.ModuleType(f"hooktrace.{name}")
        module.is_on = lambda name=name: name == "apis"
        module.start = lambda name=name, **arguments: said.append(f"start {name} {arguments}")
        module.stop = lambda name=name: said.append(f"stop {name}")
        sys.modules[f"hooktrace.{name}"] = module
    with profile(schedule=schedule(wait=1, warmup=1, active=1, repeat=1), with_stack=True, apis=True) as prof:
        begun = "start tracer {'modules': False}"
        for wanted in ([], [begun], [begun], [begun, "stop tracer"]):
            need(f"step {prof.step_num}: {said}", said == wanted)
            prof.step()
    def refuse(**arguments):
        raise RuntimeError(f"no tool is free for {arguments}")

    sys.modules["hooktrace.tracer"].start = refuse
    texts = warned(run_all, with_modules=True)
    need(f"a tracer that refuses: {texts}", len(texts) == 1 and "no tool is free for {'modules': True}" in texts[0])
    for name in ("tracer", "apis"):
        sys.modules[f"hooktrace.{name}"] = None  # cannot be imported
    texts = warned(profile, with_modules=True, apis=True)
    need(f"missing tracers: {texts}", len(texts) == 2 and "Python functions" in texts[0] and "APIs" in texts[1])
    for name in ("tracer", "apis"):
        del sys.modules[f"hooktrace.{name}"]


class Event:
    """An event of a device that runs 2 ms for each call."""

    now = 0

    def __init__(self, enable_timing):
        need("a clock is asked for", enable_timing)
        self.at = None

    def record(self):
        self.at = Event.now

    def elapsed_time(self, end):
        return end.at - self.at


def timing():
    calls = []
    found = device_time(lambda: calls.append(0), warmup=3, repeat=7)
    need("calls", len(calls) == 10)
    need("times", len(found.times_ms) == 7 and found.clock == "cpu" and 0 <= found.min_ms <= found.median_ms)
    need("milliseconds", device_time(lambda: time.sleep(0.003), warmup=0, repeat=1).min_ms >= 3)
    raises(ValueError, device_time, print, repeat=0)
    cuda = types.ModuleType("torch.cuda")
    synchronized = []
    cuda.Event, cuda.is_available, cuda.synchronize = Event, lambda: True, lambda: synchronized.append(Event.now)
    before, sys.modules["torch"] = sys.modules.get("torch"), types.SimpleNamespace(cuda=cuda)

    def work():
        Event.now += 2

    found = device_time(work, warmup=5, repeat=4)
    need(f"on a device: {found}", found == (2, 2, [2, 2, 2, 2], "cuda"))
    need("the device has ended before times are read", synchronized == [10, 18])
    sys.modules["torch"] = before
    if before is None:
        del sys.modules["torch"]


def untraced():
    """Without an agent or a collector a program runs on, and its handler is called."""
    handled = []

    def ready(prof):
        handled.append(prof)
        prof.key_averages()

    def run():
        with profile(schedule=schedule(wait=1, warmup=1, active=1, repeat=1), on_trace_ready=ready) as prof:
            for _ in range(5):
                prof.step()

    texts = warned(run)
    need(f"warnings: {texts}", len(texts) == 2 and "not traced" in texts[0] and "on_trace_ready ended early" in texts[1])
    need("the handler", len(handled) == 1)
    need("no records", "not traced" in raises(ProfilerError, handled[0].key_averages))


if sys.argv[2:] == ["untraced"]:
    untraced()
else:
    need("traced", hooktrace.start())
    for check in (arguments, without_schedule, second, failing, wrong_schedules, files, forked, tracers, timing):
        check()
    need("no temporary files are left", not glob.glob(os.path.join(os.environ["TMPDIR"], "hooktrace-profile-*")) or hooktrace.is_on())
print("done")
