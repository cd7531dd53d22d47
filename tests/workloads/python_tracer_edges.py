"""Unusual moments of the tracer of Python functions, with the simulated agent of python_recorder.c.

    python_tracer_edges.py LIBRARY [CASE ...]

Runs the cases, by default all, and fails with the first that is not as it must be. PYTHONPATH leads to the package. Runs on CPython
3.8 and later.
"""
import collections
import contextlib
import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile
import threading
import types

from hooktrace import _native, tracer

NEW = sys.version_info >= (3, 12)
recorder = ctypes.CDLL(sys.argv[1])


def bind():
    for name in ("hk_site_define", "hk_is_on", "hk_enter", "hk_leave"):
        _native.bind(name, ctypes.cast(getattr(recorder, name), ctypes.c_void_p).value)


def recorded():
    """What the simulated agent has seen so far."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
        recorder.recorder_dump(os.fsencode(file.name))
        return json.load(file)


def rows():
    """{function without its class and place: [calls, ends, failures]} over all threads."""
    found = collections.defaultdict(lambda: [0, 0, 0])
    for thread in recorded()["threads"].values():
        for function, _, _, *numbers in thread["rows"]:
            row = found[function.rsplit(" (", 1)[0].rsplit(".", 1)[-1]]
            for i, number in enumerate(numbers):
                row[i] += number
    return found


def calls_of(name):
    return rows()[name][0]


@contextlib.contextmanager
def tracing(**settings):
    tracer.start(**settings)
    try:
        yield
    finally:
        tracer.stop()


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: {got!r}, expected {wanted!r}")


def refusal(call, *arguments, **names):
    try:
        call(*arguments, **names)
    except RuntimeError as error:
        return str(error)
    return None


# ---- recursion ----


def descend(depth):
    depth[0] += 1
    descend(depth)


def descend_to(n):
    return descend_to(n - 1) + 1 if n else 0


def depth_reached():
    depth = [0]
    try:
        descend(depth)
    except RecursionError as error:
        return depth[0], str(error)[:32]
    return None


def recursion_limit():
    bare = depth_reached()
    with tracing():
        traced = depth_reached()
    expect("depth and error", traced, bare)
    # Up to 3.11 the frame that CPython refuses is seen, too.
    expect("calls", calls_of("descend"), bare[0] + (not NEW))
    expect("failures", rows()["descend"][2], bare[0] + (not NEW))


def in_thread(function, stack_bytes):
    result = []
    before = threading.stack_size(stack_bytes)
    thread = threading.Thread(target=lambda: result.append(function()))
    thread.start()
    thread.join()
    threading.stack_size(before)
    return result[0]


def deep_recursion():
    """From 3.12 on as deep as untraced; before, RecursionError where the stack ends, in any thread."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200000)
    try:
        with tracing():
            if NEW:
                expect("depth", descend_to(150000), 150000)
            else:
                reached, error = depth_reached()
                expect("error", error, "maximum recursion depth exceeded")
                expect("deep enough", reached > 5000, True)
                small, error = in_thread(depth_reached, 512 * 1024)
                expect("error", error, "maximum recursion depth exceeded")
                expect(f"a smaller stack: {small}", 100 < small < reached, True)
            expect("and still", descend_to(500), 500)
    finally:
        sys.setrecursionlimit(limit)


# ---- starting and stopping ----


def one():
    return 1


def rounds():
    for _ in range(200):
        one()
        with tracing():
            one()
            one()
        one()
    expect("calls", rows()["one"], [400, 400, 0])
    tracer.stop()
    tracer.start()
    tracer.start()
    one()
    expect("on", tracer.is_on(), True)
    tracer.stop()
    expect("on", tracer.is_on(), False)
    expect("calls after a second start", calls_of("one"), 401)


def stops_within():
    one()
    tracer.stop()
    one()


def starts_within():
    one()
    tracer.start()
    one()


def resumed():
    yield one()
    tracer.stop()
    yield one()
    tracer.start()
    yield one()


def within():
    """Starts and stops in the middle of open calls: what is open then counts once for each start."""
    tracer.start()
    stops_within()
    expect("stopped: calls", [calls_of(name) for name in ("stops_within", "one")], [1, 1])
    starts_within()
    one()
    tracer.stop()
    expect("started: calls", [calls_of(name) for name in ("starts_within", "one")], [1, 3])
    tracer.start()
    list(resumed())
    tracer.stop()
    expect("generator: calls", [calls_of(name) for name in ("resumed", "one")], [4, 5])
    expect("open", {thread["open"] for thread in recorded()["threads"].values()}, {0})
    expect("unknown", recorded()["unknown"], 0)


def other_threads():
    """Another thread is in the middle of calls at each start and stop."""
    turn, reply = threading.Semaphore(0), threading.Semaphore(0)

    def inner():
        one()
        reply.release()
        turn.acquire()
        one()

    def outer():
        for _ in range(10):
            inner()
        reply.release()

    thread = threading.Thread(target=outer)
    thread.start()
    for i in range(10):
        reply.acquire()
        if i % 3 == 0:
            tracer.start()
        elif i % 3 == 2:
            tracer.stop()
        turn.release()
    thread.join()
    tracer.stop()
    # Turn i makes a call before and one after it is started or stopped: on are b0 a1 b1 a2, b3 a4 b4 a5, b6 a7 b7 a8, and b9.
    expect("calls", calls_of("one"), 13)
    expect("unknown", recorded()["unknown"], 0)


def selection():
    with tracing(include=["one", "*descend_*"], exclude=["*_to"]):
        descend_to(3)
        one()
    with tracing(exclude=["*/python_tracer_edges.py"]):
        one()
    with tracing():
        descend_to(3)
    with tracing(include=["nothing"]):
        descend_to(3)
    expect("calls", [calls_of("one"), calls_of("descend_to")], [1, 4])
    expect("one text", type_error(tracer.start, include="one"), True)


def names_stay():
    """A function has the same name after sys.path has grown."""
    tracer.start()
    one()
    tracer.stop()
    sys.path += [os.path.dirname(os.path.abspath(__file__)) + "/below", os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
    tracer.start()
    one()
    tracer.stop()
    names = [row[0] for thread in recorded()["threads"].values() for row in thread["rows"] if row[0].startswith("one (")]
    expect("names", names, [f"one (python_tracer_edges.py:{one.__code__.co_firstlineno})"])


def type_error(call, **names):
    try:
        call(**names)
    except TypeError:
        return True
    return False


# ---- other tools ----


def traced_lines():
    value = one()
    return value + 1


def other_tools():
    def seen(setter):
        events = []

        def see(frame, event, _):
            if frame.f_code in (one.__code__, traced_lines.__code__):
                events.append((frame.f_code.co_name, event, frame.f_lineno))
            return see
        setter(see)
        traced_lines()
        setter(None)
        return events

    for setter in (sys.settrace, sys.setprofile):
        bare = seen(setter)
        with tracing():
            traced = seen(setter)
        expect("events", traced, bare)
        expect("some", len(bare) > 3, True)
    expect("calls", [calls_of("one"), calls_of("traced_lines")], [2, 2])


def counted_c_calls(run):
    counts = collections.Counter()

    def see(_, event, argument):
        if event == "c_call":
            counts[argument.__name__] += 1
    sys.setprofile(see)
    run()
    sys.setprofile(None)
    return counts


def c_work():
    values = []
    for i in range(7):
        values.append(i)
    len(values)
    abs(-3)
    sorted(values, key=descend_to)
    "a b".split()
    dict.fromkeys(values)
    for bad in ("x", "y"):
        with contextlib.suppress(ValueError):
            values.index(bad)


def c_calls():
    wanted = counted_c_calls(c_work)
    with tracing(c_calls=True):
        c_work()
    found = rows()
    for name in ("append", "len", "abs", "sorted", "split", "fromkeys", "index"):
        expect(name, found[name], [wanted[name], wanted[name], 2 if name == "index" else 0])
    with tracing():
        c_work()
    expect("off", calls_of("abs"), 1)
    if not NEW:
        # The user's profile function stays.
        sys.setprofile(lambda *_: None)
        mine = sys.getprofile()
        with tracing(c_calls=True):
            c_work()
        expect("the user's", sys.getprofile(), mine)
        sys.setprofile(None)
    expect("unknown", recorded()["unknown"], 0)


def tools_taken():
    if not NEW:
        return
    sys.monitoring.use_tool_id(3, "first")
    with tracing():
        one()
    expect("calls by the other tool", calls_of("one"), 1)
    sys.monitoring.use_tool_id(4, "second")
    message = refusal(tracer.start)
    expect(message, "'first' and 'second'" in message, True)
    expect("on", tracer.is_on(), False)
    for tool in (3, 4):
        sys.monitoring.free_tool_id(tool)


# ---- lives ----


def codes():
    """Code objects come and go, also while they run."""
    with tracing():
        for i in range(3000):
            names = {}
            exec(f"def made_{i % 10}():\n    return {i}", names)
            names[f"made_{i % 10}"]()
        holder = {}
        exec("def last(holder):\n    holder.clear()\n    import gc; gc.collect()\n    return 1", holder)
        last = holder.pop("last")
        last.__globals__["last"] = None
        last(holder)
    expect("calls", [calls_of(f"made_{i}") for i in range(10)], [300] * 10)
    expect("calls", rows()["last"], [1, 1, 0])


def forks():
    with tracing():
        one()
        child = os.fork()
        if child == 0:
            one()
            os._exit(0 if calls_of("one") == 2 else 1)
        expect("child", os.waitpid(child, 0)[1], 0)
        one()
    expect("calls", calls_of("one"), 2)


def takes_turns(inside, turn):
    """A call that others follow on another thread before it ends."""
    one()
    inside.release()
    turn.acquire()
    one()


def begin_turns():
    inside, turn = threading.Semaphore(0), threading.Semaphore(0)
    thread = threading.Thread(target=takes_turns, args=(inside, turn))
    thread.start()
    inside.acquire()
    return thread, turn


def end_turns(thread, turn):
    turn.release()
    thread.join()


def forks_beside_threads():
    """The threads of children may be where threads of the parent were, whose calls are open for ever there."""
    with tracing(include=["one", "takes_turns"]):
        for generation in range(4):
            turns = begin_turns()
            one()
            end_turns(*turns)
            turns = begin_turns()
            child = os.fork()
            if child:
                break
        if child:
            end_turns(*turns)
            expect(f"child of {generation}", os.waitpid(child, 0)[1], 0)
            expect(f"calls of {generation}", rows()["takes_turns"], [2 * generation + 2, generation + 2, 0])
    expect("unknown", recorded()["unknown"], 0)
    if not child or generation:
        os._exit(0)


def threads_end():
    with tracing():
        for _ in range(300):
            thread = threading.Thread(target=one)
            thread.start()
            thread.join()
    expect("calls", rows()["one"], [300, 300, 0])


def threads_follow():
    """Each may be where the one before was, and no other has made a traced call in between."""
    with tracing(include=["one"]):
        for _ in range(300):
            thread = threading.Thread(target=one)
            thread.start()
            thread.join()
    expect("calls", rows()["one"], [300, 300, 0])


SUB = """
import sys
sys.path[:] = %r
from hooktrace import tracer
try:
    tracer.start()
except RuntimeError as error:
    assert "sub-interpreter" in str(error), error
else:
    raise AssertionError("not refused")
def one():
    return 1
for _ in range(10):
    one()
"""


def sub_interpreter():
    try:
        import _interpreters as interpreters
        made = interpreters.create("legacy")
    except ImportError:
        import _xxsubinterpreters as interpreters
        made = interpreters.create(isolated=False) if sys.version_info >= (3, 9) else interpreters.create()
    with tracing():
        failure = interpreters.run_string(made, SUB % (sys.path,))
        one()
    expect("failure", failure, None)
    expect("calls", calls_of("one"), 1)
    interpreters.destroy(made)


def exits():
    """The process ends while functions are traced and a daemon thread runs."""
    code = ("import sys, threading; sys.argv = ['', %r]; exec(open(%r).read().split('# ---- recursion')[0]); bind(); tracer.start()\n"
            "def turn():\n    while True:\n        len([])\n        step()\ndef step():\n    pass\n"
            "threading.Thread(target=turn, daemon=True).start()\nfor _ in range(1000): step()\n"
            "class Late:\n    def __del__(self):\n        step()\nkept = Late()\nkept.itself = kept\n")
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code % (sys.argv[1], os.path.abspath(__file__))], stderr=subprocess.PIPE, check=False)
        expect("exit", (done.returncode, done.stderr), (0, b""))


def without_agent():
    done = subprocess.run([sys.executable, "-c", "from hooktrace import tracer; tracer.stop(); tracer.start()"], stderr=subprocess.PIPE, check=False)
    expect("error", done.stderr.splitlines()[-1], b"RuntimeError: cannot trace Python functions: no agent (hooktrace.start() loads it)")


def environment():
    for wrong in ("2", "modules=1", "include", "include=", "1,c_call"):
        try:
            tracer.start_from_environment(wrong)
        except ValueError as error:
            expect("names the variable", "HOOK_PYTHON_TRACE" in str(error), True)
        else:
            sys.exit(f"{wrong} was accepted")
    tracer.start_from_environment("include=one,include=descend*,exclude=*_to,c_calls")
    one()
    descend_to(3)
    tracer.stop()
    tracer.start_from_environment("1")
    descend_to(3)
    tracer.stop()
    expect("calls", [calls_of("one"), calls_of("descend_to")], [1, 4])


# ---- torch.nn.Module, simulated ----


def modules():
    module = types.ModuleType("torch.nn.modules.module")
    exec("class Module:\n    def __call__(self, value):\n        return self.forward(value)\n", module.__dict__)
    sys.modules["torch.nn.modules.module"] = module

    class Linear(module.Module):
        def forward(self, value):
            return value

    class Net(module.Module):
        def __init__(self):
            self.parts = [Linear(), Linear()]

        def forward(self, value):
            for part in self.parts:
                value = part(value)
            return value

    net = Net()
    with tracing(modules=True):
        for _ in range(5):
            net(1)
        del net
        gc.collect()
        for _ in range(3):
            Linear()(1)
    wanted = {"nn.Module: Net_0": 5, "nn.Module: Linear_0": 5, "nn.Module: Linear_1": 5, "nn.Module: Linear_2": 1, "nn.Module: Linear_3": 1,
              "nn.Module: Linear_4": 1}
    expect("modules", {f"nn.{name}": row[0] for name, row in rows().items() if name.startswith("Module: ")}, wanted)
    with tracing():
        Linear()(1)
    expect("not asked for", calls_of("__call__"), 1)


CASES = {case.__name__: case for case in (
    recursion_limit, deep_recursion, rounds, within, other_threads, selection, names_stay, other_tools, c_calls, tools_taken, codes, forks,
    forks_beside_threads, threads_end, threads_follow, sub_interpreter, exits, without_agent, environment, modules)}


def main():
    bind()
    for name in sys.argv[2:] or CASES:
        recorder.recorder_reset()
        try:
            CASES[name]()
        except SystemExit as error:
            sys.exit(f"{name}: {error}")


if __name__ == "__main__":
    main()
