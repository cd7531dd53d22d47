"""A program that counts each call of its own functions, by thread: what a tracer of Python functions has to say, from another source.

`run(start, stop)` calls START in the middle of open frames, and STOP at the end; it returns {native thread id: {function: [calls, failures]}}.
Each function says `note(name)` first, and a generator or coroutine again after each point where it is resumed. Runs on CPython 3.8 and
later.
"""
import asyncio
import functools
import gc
import re
import threading

# Comprehensions have no counter: they are functions up to 3.11. Up to 3.11 a generator runs as it ends, also if it never began.
UNCOUNTED = {"<listcomp>", "<genexpr>", "unbegun"}
WORKERS = 3
counts = {}
on = False


def note(name, failed=0):
    if on:
        tables = counts.setdefault(threading.get_native_id(), {})
        for one in (name, "note"):
            row = tables.setdefault(one, [0, 0])
            row[0] += 1
        tables[name][1] += failed


# ---- plain calls ----


def fib(n):
    note("fib")
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def deep(n):
    note("deep")
    return deep(n - 1) + 1 if n else 0


def keyed(value):
    note("keyed")
    return -value


def summed(a, b):
    note("summed")
    return a + b


def replaced(match):
    note("replaced")
    return match.group().upper()


double = lambda value: (note("<lambda>"), value * 2)[1]  # noqa: E731


class Meta(type):
    def __new__(mcs, name, bases, names):
        note("__new__")
        return super().__new__(mcs, name, bases, names)


class Things:
    def __init__(self, value):
        note("__init__")
        self.value = value

    def method(self):
        note("method")
        return self.value

    @classmethod
    def of_class(cls):
        note("of_class")
        return cls

    @staticmethod
    def of_none():
        note("of_none")

    @property
    def shown(self):
        note("shown")
        return self.value

    def __getattr__(self, name):
        note("__getattr__", 1)
        raise AttributeError(name)

    def __len__(self):
        note("__len__")
        return 3

    def __del__(self):
        note("__del__")

    def __enter__(self):
        note("__enter__")
        return self

    def __exit__(self, *_):
        note("__exit__")
        return True


def decorated(function):
    note("decorated")

    @functools.wraps(function)
    def wrapper(*arguments):
        note("wrapper")
        return function(*arguments)
    return wrapper


def plain_calls():
    note("plain_calls")
    fib(12)
    deep(150)
    sorted([3, 1, 2, 5], key=keyed)
    functools.reduce(summed, range(6))
    re.sub("[ab]", replaced, "a cab")
    list(map(double, range(4)))
    max([double(i) for i in range(3)])
    thing = Things(1)
    thing.method()
    for _ in range(50):
        thing.method()
    Things.of_class()
    thing.of_none()
    len(thing)
    assert thing.shown == 1 and not hasattr(thing, "missing")
    with thing:
        raising(0)
    del thing
    gc.collect()
    Meta("Made", (), {})
    decorated(fib)(4)

    class Body:
        note("Body")
    eval("fib(3)")
    exec("def made():\n    return fib(2)\nmade()", {"fib": fib})
    for _ in range(3):
        tuple(fib(i) for i in range(3))


# ---- exceptions ----


def raising(n):
    note("raising", 1)
    if n:
        raising(n - 1)
    raise ValueError(n)


def catching(n):
    note("catching")
    try:
        raising(n)
    except ValueError:
        return 1
    finally:
        fib(1)


def cleaning():
    note("cleaning", 1)
    try:
        raising(1)
    finally:
        catching(1)


def key_raises(value):
    note("key_raises", 1)
    raise KeyError(value)


def exceptions():
    note("exceptions")
    for i in range(5):
        catching(i)
    for call, arguments in ((cleaning, ()), (max, ([2, 1], key_raises)), (next, (iter([]),)), ({}.pop, ("no",))):
        try:
            call(arguments[0], key=arguments[1]) if call is max else call(*arguments)
        except (ValueError, KeyError, StopIteration):
            pass
    try:
        Things(1, 2)  # fails before it begins
    except TypeError:
        pass


# ---- generators ----


def counting(n):
    note("counting")
    for i in range(n):
        yield i
        note("counting")


def delegating(n):
    note("delegating")
    yield from counting(n)
    # each resumption but the first runs through it
    for _ in range(n):
        note("delegating")
    return n


def receiving():
    note("receiving")
    got = 0
    while got is not None:
        got = yield got
        note("receiving")


def surviving():
    note("surviving")
    while True:
        try:
            yield 1
            note("surviving")
        except ValueError:
            note("surviving")
        except GeneratorExit:
            note("surviving", 1)
            raise


def falling():
    note("falling")
    try:
        yield 1
    except ValueError:
        note("falling", 1)
        raise


def closing():
    note("closing")
    try:
        yield 1
    finally:
        note("closing", 1)


def unbegun():
    yield 1


def generators():
    note("generators")
    assert list(counting(4)) == [0, 1, 2, 3]
    assert sum(delegating(3)) == 3
    for _ in closing():
        break
    unused = unbegun()
    del unused
    one = receiving()
    next(one)
    one.send(5)
    assert next(one, "end") == "end"
    one = surviving()
    next(one)
    one.throw(ValueError())
    next(one)
    one.close()
    one = falling()
    next(one)
    try:
        one.throw(ValueError())
    except ValueError:
        pass
    one = closing()
    next(one)
    one.close()
    one = closing()
    next(one)
    del one
    gc.collect()
    a, b, *_ = counting(3)


# ---- coroutines ----


async def awaited(n):
    note("awaited")
    for _ in range(n):
        await asyncio.sleep(0)
        note("awaited")
    return n


async def async_counting(n):
    note("async_counting")
    for i in range(n):
        await asyncio.sleep(0)
        note("async_counting")
        yield i
        note("async_counting")


class Managed:
    async def __aenter__(self):
        note("__aenter__")
        return self

    async def __aexit__(self, *_):
        note("__aexit__")


async def failing():
    note("failing")
    await asyncio.sleep(0)
    note("failing", 1)
    raise ValueError


async def cancelled():
    note("cancelled")
    try:
        await asyncio.sleep(1000)
    except asyncio.CancelledError:
        note("cancelled", 1)
        raise


async def together():
    note("together")
    # awaiting passes each resumption through the frames that wait
    await awaited(0)
    async with Managed():
        pass
    tasks = [asyncio.ensure_future(awaited(i)) for i in range(4)]
    await asyncio.gather(*tasks)
    note("together")


async def iterating():
    note("iterating")
    async for _ in async_counting(2):
        pass
    note("iterating")
    note("iterating")


async def stopping():
    note("stopping")
    try:
        await failing()
    except ValueError:
        note("stopping")
    task = asyncio.ensure_future(cancelled())
    await asyncio.sleep(0)
    note("stopping")
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        note("stopping")


def coroutines():
    note("coroutines")
    asyncio.run(together())
    asyncio.run(iterating())
    asyncio.run(stopping())


# ---- threads ----


def thread_work(n):
    note("thread_work")
    fib(n)
    catching(2)
    list(counting(n))


def early_inner(begun, go, n):
    begun.release()
    go.wait()
    thread_work(n)


def early(begun, go, n):
    early_inner(begun, go, n)
    fib(3)


def late(n):
    note("late")
    thread_work(n)


def everything():
    note("everything")
    plain_calls()
    exceptions()
    generators()
    coroutines()
    threads = [threading.Thread(target=late, args=(n,)) for n in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# ---- frames that are open when tracing begins ----


def opened_innermost(start):
    global on
    start()
    on = True
    note_opened("opened_innermost", "opened_middle", "opened_outermost", "run")
    everything()


def note_opened(*names):
    """Each of NAMES is open on this thread. This function and what it calls are traced."""
    note("note_opened")
    tables = counts[threading.get_native_id()]
    for name in names:
        tables.setdefault(name, [0, 0])[0] += 1


def opened_middle(start):
    opened_innermost(start)
    fib(5)


def opened_outermost(start):
    opened_middle(start)
    fib(4)


def run(start, stop):
    global on
    go = threading.Event()
    begun = threading.Semaphore(0)
    threads = [threading.Thread(target=early, args=(begun, go, n), daemon=True) for n in range(WORKERS)]
    for thread in threads:
        thread.start()
    for _ in threads:
        begun.acquire()
    opened_outermost(start)
    go.set()
    for thread in threads:
        thread.join()
        # The two frames of ours that were open there are seen with the thread's next call.
        tables = counts[thread.native_id]
        for name in ("early", "early_inner"):
            tables.setdefault(name, [0, 0])[0] += 1
    on = False
    stop()
    return counts
