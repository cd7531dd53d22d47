"""Makes and drops what Python's frames consist of, so that memory calls come while frames begin, end and are torn down.

    python_churn.py ROUNDS

Prints a line of what it computed. Threads that never end are left running at the interpreter's end. Runs on CPython 3.8 and later.
"""
import asyncio
import gc
import os
import sys
import threading
import weakref

ROUNDS = int(sys.argv[1])
total = 0


def note(value):
    global total
    total = (total * 31 + value) % 1000003


def deep(depth):
    """Enough frames for further pieces of the stack that the interpreter keeps them on."""
    local = [depth]
    return deep(depth - 1) + len(local) if depth else 0


def generated(i):
    """Code that only its own frame refers to; some of it is large enough for a mapping of its own."""
    body = f"total = {i}\n" + "".join(f"total = total * {k} % 1009\n" for k in range(1, 20 + (i % 10 == 0) * 4000))
    names = {}
    exec(f"def made_{i}(n):\n    yield n\n    yield n + 1\n", names)
    note(sum(names.pop(f"made_{i}")(i)))
    scope = {}
    exec(body, scope)
    note(scope["total"])


class Node:
    def __init__(self, value):
        self.value, self.other = value, None

    def __del__(self):
        note(self.value)


def cycles(i):
    a, b = Node(i), Node(i + 1)
    a.other, b.other = b, a
    weakref.finalize(a, note, i)
    del a, b
    gc.collect()


def generators(i):
    def inner(n):
        try:
            while True:
                n += (yield n) or 1
        finally:
            note(n)

    def outer(n):
        yield from inner(n)

    one = outer(i)
    note(next(one))
    note(one.send(5))
    try:
        one.throw(KeyError(i))
    except KeyError as error:
        note(len(error.args))
    abandoned = outer(i)
    next(abandoned)
    del abandoned


async def coroutines(i):
    async def part(n):
        await asyncio.sleep(0)
        return n

    async def stream(n):
        for k in range(n):
            yield await part(k)

    note(sum(await asyncio.gather(*(part(i + k) for k in range(5)))))
    note(sum([k async for k in stream(4)]))


def frames(i):
    """Frame objects outlive their calls, and are cleared."""
    def leave():
        local = [i]
        return sys._getframe(), local

    frame, local = leave()
    note(frame.f_lineno % 2 + len(local))
    frame.clear()
    try:
        raise ValueError(i)
    except ValueError as error:
        note(error.__traceback__.tb_frame.f_code.co_argcount)


def traced(i):
    seen = []

    def trace(frame, event, _):
        seen.append(event)
        return trace

    sys.settrace(trace)
    try:
        deep(3)
    finally:
        sys.settrace(None)
    note(len(seen))


def work(i):
    local = {"n": i}
    for k in range(50):
        local[k] = bytes(k * 100)
        deep(5)


def threads(i):
    own = [threading.Thread(target=work, args=(i,)) for _ in range(3)]
    for thread in own:
        thread.start()
    for thread in own:
        thread.join()
    note(i)


def forever():
    """Memory calls with and without the GIL, for as long as the process lives."""
    while True:
        os.stat("/")
        deep(20)


def main():
    sys.setrecursionlimit(20000)
    for i in range(ROUNDS):
        for shape in (generated, cycles, generators, frames, traced, threads):
            shape(i)
        note(deep(200 + i * 37 % 2500))
        asyncio.run(coroutines(i))
    print(total)
    for _ in range(3):
        threading.Thread(target=forever, daemon=True).start()


main()
