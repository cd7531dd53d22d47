"""A program that knows its own calls of a small framework, and finds them again with the APIs observed. Argument: recorder.so (a
simulated agent). Each case asserts what it knows; `done` is printed at the end.
"""
import asyncio
import contextlib
import functools
import gc
import os
import sys
import threading
import types
import weakref

import _toy
import recorder as recorders

import hooktrace.apis as apis
from hooktrace import _native

RECORDER = recorders.Recorder(sys.argv[1])
TOY = apis.Framework("toy", namespaces=("toy",), tensors=("toy.Tensor",), layers=(("toy.nn", "toy.nn.Layer"),))
# On 3.8 f(*arguments) of a builtin function goes around its slot.
STARS_SEEN = sys.version_info >= (3, 9)
ROUNDS = 100


def same(what, got, wanted):
    assert got == wanted, f"{what}: {got}, expected {wanted}"


@contextlib.contextmanager
def observed(wanted, frameworks=TOY, **options):
    """Calls of APIs within are WANTED: {name without "toy.": calls, or (calls, errors)}, for the agent and for the analysis."""
    wanted = {f"toy.{name}": calls if isinstance(calls, tuple) else (calls, 0) for name, calls in wanted.items()}
    apis.start(frameworks, **options)
    RECORDER.clear()
    apis.start_analysis()
    yield
    analysis = apis.end_analysis()
    apis.stop()
    same("agent", RECORDER.calls(), wanted)
    same("analysis", {row.api: (row.calls, row.errors) for row in analysis}, wanted)
    same("order of ends", RECORDER.wrong(), 0)
    for row in analysis:
        assert row.min_ns <= row.p50_ns <= row.p99_ns <= row.max_ns and row.calls * row.min_ns <= row.total_ns <= row.calls * row.max_ns, row


def comes_later():
    """Hooked as the program imports it."""
    assert "toy" not in sys.modules
    apis.start(TOY)
    same("before the import", apis.coverage().hooked, {})
    import toy
    same("loader", [key for key in vars(toy.__spec__.loader) if key == "exec_module"], [])
    same("after it", apis.coverage(), apis.start(TOY))
    same("hooked", apis.coverage().hooked, {"toy": 20})
    same("left out", apis.coverage().left_out, {"is not called through its slot": 2})
    apis.stop()
    return toy


def ways_to_call(toy):
    """Each way in which CPython calls."""
    x, arguments = toy.Tensor(), (1, 2)
    add, bound = toy.add, x.pair
    with observed({"add": (6 + 2 * STARS_SEEN) * ROUNDS, "scale": (3 + STARS_SEEN) * ROUNDS, "relu": 3 * ROUNDS, "Tensor.pair": 4 * ROUNDS,
                   "Tensor.scaled": 2 * ROUNDS, "Tensor.same": 2 * ROUNDS, "Tensor.itself": ROUNDS, "Tensor.__add__": 2 * ROUNDS,
                   "Tensor.norm": 2 * ROUNDS, "nn.Linear": 2 * ROUNDS, "nn.Twice": ROUNDS, "first": ROUNDS, "second": ROUNDS}):
        for _ in range(ROUNDS):
            same("add", [add(1, 2), toy.add(*arguments), toy.add(1, *[2]), list(map(add, [1], [2])), functools.partial(add, 1)(2), getattr(toy, "add")(1, 2),
                         functools.reduce(add, [1, 2, 3])], [3, 3, 3, [3], 3, 3, 6])
            same("scale", [toy.scale(2, 3), toy.scale(2, by=3), toy.scale(a=2, by=3), toy.scale(2, **{"by": 3})], [6, 6, 6, 6])
            same("relu", [toy.relu(1), toy.relu(-1, least=2), toy.relu(*[3])], [1, 2, 3])
            same("pair", [x.pair(1, 2), bound(1, 2), toy.Tensor.pair(x, 1, 2), x.pair(*arguments)], [3, 3, 3, 3])
            same("scaled", [x.scaled(2, by=3), toy.TensorBase.scaled(x, 2, 3)], [6, 6])
            same("same", [x.same(5), toy.Tensor.same(x, 6), x.itself() is x], [5, 6, True])
            same("operator", [x + 5, x.__add__(6)], [5, 6])
            same("norm", [x.norm(), toy.Tensor.norm(x)], [6, 6])
            same("layers", [toy.nn.Linear()(1), toy.nn.Linear().__call__(1), toy.nn.Twice(toy.nn.Linear())(1)], [2, 2, 3])
            same("decorated", [toy.first(1), toy.second(2)], [1, 2])


def inside(toy):
    wanted = {"add": 3 + 2, "relu": 1, "nn.Linear": 2, "nn.Twice": 1, "apply": 2, "Tensor.norm": 1, "Tensor.scaled": 1, "first": 2, "second": 1}

    def run():
        toy.relu(1), toy.nn.Twice(toy.nn.Linear())(1), toy.apply(lambda x: toy.add(x, 1), 1)
        toy.apply(lambda x: toy.add(x, 1), 1), toy.Tensor().norm(), toy.second(1), toy.first(1)
    with observed(wanted, hook_inside=True):
        run()
    with observed({"relu": 1, "nn.Twice": 1, "apply": 2, "Tensor.norm": 1, "second": 1, "first": 1}):
        run()
    with observed({**{name: wanted[name] for name in wanted if name != "nn.Linear"}}, hook_inside=True, inside_classes=False):
        run()
    with observed({"nn.Twice": 1, "add": 3 + 2}, hook_inside=True, only=["toy.nn.T*", "toy.add"]):
        run()


def classes(toy):
    """A subclass counts for its base that is an API; classes of the program do not count."""
    class Mine(toy.nn.Layer):
        def forward(self, x):
            return toy.add(x, 1)

    class Better(toy.nn.Linear):
        pass
    with observed({"nn.Linear": 2, "nn.Own": 1, "add": 1}):
        Mine()(1), Better()(1), toy.nn.Linear()(1), toy.nn.Own()(1)


def message(call):
    try:
        call()
    except (TypeError, ValueError) as error:
        return type(error).__name__, str(error)
    raise AssertionError(f"{call} did not raise")


def errors(toy):
    """Calls that fail are calls, and say what they say otherwise."""
    x = toy.Tensor()
    calls = [lambda: toy.add(), lambda: toy.add(1, "a"), lambda: toy.add(1, b=2), lambda: toy.scale(1), lambda: toy.scale(1, bye=2),
             lambda: toy.relu(None), lambda: toy.relu(), lambda: toy.relu(1, 2, 3), lambda: x.pair(), lambda: toy.nn.Linear()("a")]
    plain = [message(call) for call in calls]
    with observed({"add": (4, 3), "scale": (2, 2), "relu": (4, 3), "Tensor.pair": (1, 1), "nn.Linear": (1, 1)}):
        now = [message(call) for call in calls]
        toy.add(1, 2), toy.relu(1)
    same("messages", now, plain)


def recursion(toy):
    """It ends as without: RecursionError in Python and in C, at about the same depth."""
    def through_c(depth):
        return toy.apply(through_c, depth + 1)

    def raises(function, *args):
        try:
            function(*args)
        except RecursionError:
            return True
        return False
    with observed({"down": 501}, hook_inside=True):
        toy.down(500)
    apis.start(TOY, hook_inside=True)
    same("recursion", [raises(toy.down, 100000), raises(through_c, 0)], [True, True])
    apis.stop()
    same("order of ends", RECORDER.wrong(), 0)


def small_stack(_toy):
    """A thread whose C stack is small: on 3.11, where an evaluation takes some of it, a recursion ends before the stack does."""
    if sys.version_info[:2] != (3, 11):
        return
    ends = []

    def down(depth):
        return 1 + down(depth - 1) if depth else 0

    def work():
        try:
            down(90000)
        except RecursionError as error:
            ends.append(type(error))
    limit, size = sys.getrecursionlimit(), threading.stack_size(256 << 10)
    sys.setrecursionlimit(100000)
    apis.start(TOY)
    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    apis.stop()
    sys.setrecursionlimit(limit)
    threading.stack_size(size)
    same("ends", ends, [RecursionError])


def generators(toy):
    """Making a generator or a coroutine is the call."""
    with observed({"numbers": 2, "later": 3, "add": 1}):
        same("generator", [list(toy.numbers(3)), list(toy.numbers(2))], [[0, 1, 2], [0, 1]])

        async def both():
            return await asyncio.gather(toy.later(1), toy.later(2)), await toy.later(toy.add(1, 2))
        same("coroutine", asyncio.new_event_loop().run_until_complete(both()), ([1, 2], 3))


def threads(toy):
    """Outermost is a matter of each thread."""
    many, times = 8, 50

    def work():
        for _ in range(times):
            toy.yield_to_others(3)
            toy.apply(lambda x: toy.yield_to_others(x), 2)
            toy.nn.Linear()(1)
    with observed({"yield_to_others": many * times, "apply": many * times, "nn.Linear": many * times}):
        workers = [threading.Thread(target=work) for _ in range(many)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()


def stop_within(toy):
    """Slots are restored while calls are open, on this thread and on another."""
    apis.start(TOY, hook_inside=True)
    same("own", toy.apply(lambda x: apis.stop() or toy.add(x, 1), 1), 2)
    apis.start(TOY, hook_inside=True)
    inside_now, go_on = threading.Event(), threading.Event()

    def wait(x):
        inside_now.set()
        go_on.wait()
        return x
    answers = []
    worker = threading.Thread(target=lambda: answers.append(toy.apply(wait, 7)))
    worker.start()
    inside_now.wait()
    apis.stop()
    apis.start(TOY, hook_inside=True)
    go_on.set()
    worker.join()
    apis.stop()
    same("other", answers, [7])
    same("order of ends", RECORDER.wrong(), 0)


def restored(toy):
    """Everything is as before after many rounds: identity, hash, reference counts, and nothing is kept alive."""
    objects = [toy.add, toy.scale, toy.Tensor.pair, toy.relu, toy.nn.Linear, toy.Tensor, toy.nn.Layer.__call__]
    keys = dict.fromkeys(objects)
    apis.start(TOY), apis.stop()
    before = [sys.getrefcount(one) for one in objects]
    hashes = [hash(one) for one in objects]
    for _ in range(50):
        apis.start(TOY, hook_inside=True)
        assert all(one in keys and hash(one) == number for one, number in zip(objects, hashes))
        toy.add(1, 2), toy.relu(1)
        apis.stop(), apis.stop()
    same("references", [sys.getrefcount(one) for one in objects], before)
    assert isinstance(toy.add, types.BuiltinFunctionType) and toy.relu.__code__.co_name == "relu"
    RECORDER.clear()
    toy.add(1, 2), toy.relu(1), toy.Tensor().pair(1, 2), toy.nn.Linear()(1)
    same("calls after stop", RECORDER.calls(), {})

    module = types.ModuleType("toy.short")
    exec("def brief():\n    return 1", module.__dict__)
    module.brief.__module__ = "short"
    sys.modules["short"] = module
    gone = weakref.ref(module.brief)
    apis.start(apis.Framework("short", namespaces=("short",)))
    same("short", module.brief(), 1)
    apis.stop()
    del sys.modules["short"], module
    gc.collect()
    assert gone() is None, "a function is kept alive"


def no_leak(toy):
    apis.start(TOY, hook_inside=True)

    def run(times):
        for i in range(times):
            toy.scale(i, by=i + 1000), toy.add(1.5 * i, 2.5), toy.relu(i + 5000), toy.Tensor().pair(i, i), toy.nn.Linear()(i)
            try:
                toy.add(1, "a")
            except TypeError:
                pass
    run(100)
    gc.collect()
    before = sys.getallocatedblocks()
    run(5000)
    gc.collect()
    assert sys.getallocatedblocks() - before < 100, sys.getallocatedblocks() - before
    apis.stop()


def reports(toy):
    lines, synced = [], []
    apis.start(TOY, report=lambda name, seconds: lines.append((name, seconds, toy.add(1, 2))))
    toy.add(1, 2), toy.relu(1)
    with contextlib.suppress(ValueError):
        toy.relu(None)
    same("lines", [(name, total) for name, _, total in lines], [("toy.add", 3), ("toy.relu", 3)])
    assert all(0 < seconds < 60 for _, seconds, _ in lines)

    def interrupt(_name, _seconds):
        raise KeyboardInterrupt
    apis.start(TOY, report=interrupt)
    try:
        toy.add(1, 2)
        raise AssertionError("no KeyboardInterrupt")
    except KeyboardInterrupt:
        pass
    apis.stop()
    # Waiting for a device belongs to the call; a call that failed is not waited for.
    apis.start(TOY)
    _native.apis_settings(False, True, lambda: synced.append(toy.add(1, 2)), None)
    toy.add(1, 2), toy.relu(1)
    with contextlib.suppress(ValueError):
        toy.relu(None)
    apis.stop()
    same("synchronized", synced, [3, 3])


def blocks(toy):
    """A block has the calls that begin and end in it."""
    apis.start_analysis()
    toy.add(1, 2)
    apis.start(TOY)
    toy.add(1, 2), toy.add(1, 2)

    def restart(x):
        apis.start_analysis()
        return toy.yield_to_others(1)
    toy.apply(restart, 1)
    toy.add(1, 2)
    apis.stop()
    toy.add(1, 2)
    same("rows", {row.api: row.calls for row in apis.end_analysis()}, {"toy.add": 1})
    try:
        apis.end_analysis()
        raise AssertionError("no block is open")
    except RuntimeError:
        pass


def forked(toy):
    """A child keeps its parent's APIs and counts for itself."""
    apis.start(TOY)
    apis.start_analysis()
    toy.add(1, 2)
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            toy.add(1, 2), toy.relu(1)
            calls = {row.api: row.calls for row in apis.end_analysis()}
            apis.stop()
            os._exit(0 if calls == {"toy.add": 2, "toy.relu": 1} and toy.add(1, 2) == 3 else 1)
        os._exit(2)
    same("child", os.waitpid(child, 0)[1], 0)
    same("parent", {row.api: row.calls for row in apis.end_analysis()}, {"toy.add": 1})
    apis.stop()


def interpreters_own(toy):
    """The methods of str, list and dict, under programs of the standard library."""
    import json
    import pprint
    import textwrap
    builtin = apis.Framework("builtins", namespaces=("builtins",), tensors=("builtins.str", "builtins.list", "builtins.dict"))
    plain = json.dumps(json.loads('{"a": [1, {"b": "c"}]}')), pprint.pformat({"a": list(range(40))}), textwrap.fill("ab cd " * 40)
    apis.start(builtin, hook_inside=True)
    apis.start_analysis()
    now = json.dumps(json.loads('{"a": [1, {"b": "c"}]}')), pprint.pformat({"a": list(range(40))}), textwrap.fill("ab cd " * 40)
    for _ in range(ROUNDS):
        "a b c".split(), "a-b".split("-", maxsplit=1), [3, 1].sort(key=lambda x: -x), {}.setdefault(1, 2), "x".encode(), ",".join("ab")
        "ab".startswith("a"), max(1, 2)
    analysis = apis.end_analysis()
    apis.stop()
    same("results", now, plain)
    assert all(analysis[f"builtins.{name}"].calls >= ROUNDS * times for name, times in (
        ("str.split", 2), ("list.sort", 1), ("dict.setdefault", 1), ("str.encode", 1), ("str.join", 1), ("str.startswith", 1))), str(analysis)


def refusals(toy):
    for what, call in (("framework", lambda: apis.start("numpi")), ("many", lambda: apis.start([TOY] * 17))):
        try:
            call()
            raise AssertionError(what)
        except ValueError as error:
            assert "expected" in str(error), error
    for wrong in ((1,), (toy.add, "name", "library", 99), (toy.add, 5, "library", 0)):
        try:
            _native.apis_hook(*wrong)
            raise AssertionError(wrong)
        except (TypeError, ValueError):
            pass
    same("kinds", [_native.apis_hook(one, "name", "library", 0) for one in (5, len, toy.Tensor, toy.add, toy.add)],
         ["is of another kind", "is not called through its slot", "is of another kind", None, "is hooked already"])
    constant = _toy.constant()
    same("read-only", (_native.apis_hook(constant.same, "name", "library", 0), constant().same(3)), ("stands in memory that cannot be written", 3))
    same("unhooked", _native.apis_unhook(), 1)


def devices(toy):
    """A simulated torch with a device: a call waits for it, but not while its stream is captured, nor where there is none."""
    state = types.SimpleNamespace(available=True, capturing=False, waited=0)

    def synchronize():
        state.waited += 1
    cuda = types.SimpleNamespace(is_available=lambda: state.available, is_current_stream_capturing=lambda: state.capturing, synchronize=synchronize)
    simulated = types.ModuleType("torch")
    simulated.cuda, simulated.add = cuda, toy.add
    sys.modules["torch"] = simulated

    def waits(**options):
        state.waited = 0
        apis.start("torch", **options)
        with contextlib.suppress(TypeError):
            toy.add(1, 2), toy.add(1, 2), toy.add(1, "a")
        apis.stop()
        return state.waited
    same("waits", [waits(parall_execute=False), waits()], [2, 0])
    state.capturing = True
    same("captured", waits(parall_execute=False), 0)
    state.available, state.capturing = False, False
    same("no device", waits(parall_execute=False), 0)
    del sys.modules["torch"]


def tables(_toy):
    """Of numbers that are known."""
    a, b, other = (apis.Analysis(apis.Row(f"{prefix}.{name}", calls, 0, total, total / calls, 1, 2, 3, total) for name, calls, total in rows)
                   for prefix, rows in (("torch", [("add", 2, 4000), ("Tensor.add", 2, 2000), ("relu", 1, 5_000_000)]), ("torch", [("add", 4, 2000)]),
                                        ("mindspore", [("ops.add", 4, 3000), ("ops.exp", 1, 7)])))
    same("order", [row.api for row in a], ["torch.relu", "torch.add", "torch.Tensor.add"])
    same("text", [line.split()[:5] for line in a.text("calls", 2).splitlines()[1:]], [["torch.add", "2", "0", "4us", "2us"], ["torch.Tensor.add", "2", "0", "2us", "1us"]])
    same("of a run", [tuple(apis.compare(a, b)["torch.add"]), tuple(apis.compare(a, b)["torch.relu"])[1:5]],
         [("torch.add", 2, 4, 2000.0, 500.0, 4000, 2000, 4.0), (1, None, 5_000_000.0, None)])
    across = apis.compare(a, other)
    same("of frameworks", (across.labels, tuple(across["add"]), across["exp"].ratio), (("torch", "mindspore"), ("add", 4, 4, 1500.0, 750.0, 6000, 3000, 2.0), None))
    same("lines", [len(across.text().splitlines()), across.text(1).split()[-1]], [4, "-"])
    try:
        a.text("speed")
        raise AssertionError("sort_by")
    except ValueError as error:
        assert "expected one of" in str(error)
    same("table", len(a.table()), 3)


def sites(toy):
    apis.start(TOY)
    RECORDER.clear()
    toy.add(1, 2), toy.nn.Linear()(1), toy.Tensor().pair(1, 2)
    same("texts", {name: row[:2] for name, row in RECORDER.sites().items()},
         {"toy.add": ("toy", "toy"), "toy.nn.Linear": ("toy.nn", "toy"), "toy.Tensor.pair": ("toy.Tensor", "toy")})
    apis.stop()


def main():
    toy = comes_later()
    for case in (ways_to_call, inside, classes, errors, recursion, small_stack, generators, threads, stop_within, restored, no_leak, reports, blocks, forked,
                 interpreters_own, refusals, devices, tables, sites):
        case(toy)
    print("done")


main()
