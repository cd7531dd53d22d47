"""Makes random trees of calls, whose leaves call libpython_truth_library.so, and notes each stack as python_truth.py does.

    python_trees.py LIBRARY OUTPUT TREES SEED

Between a function and the one that it calls lie C functions, generators, coroutines, handlers of exceptions, descriptors, threads and
others. The number of stacks is printed. Runs on CPython 3.8 and later.
"""
import ctypes
import functools
import json
import os
import random
import re
import sys
import threading
import weakref

import python_truth as truth

TREES, SEED = int(sys.argv[3]), int(sys.argv[4])
DEEPEST = 9
rng = random.Random(SEED)
KINDS = []


def kind(function):
    KINDS.append(function)
    return function


def leaf():
    if rng.random() < 0.5:
        truth.held.python_noted(truth.note)
    else:
        truth.released.python_noted(truth.note)
    return 1


def grow(depth):
    """Calls one or two random nodes, or a leaf."""
    if depth == 0:
        return leaf()
    for _ in range(2 if rng.random() < 0.15 else 1):
        rng.choice(KINDS)(depth - 1)
    return 1


@kind
def plain(depth):
    return grow(depth)


@kind
def recursive(depth, times=3):
    return recursive(depth, times - 1) if times else grow(depth)


@kind
def sorted_by_key(depth):
    return sorted([1], key=lambda _: grow(depth))


@kind
def sorted_by_method(depth):
    class Row:
        def __lt__(self, other):
            return grow(depth) < 0
    return sorted([Row(), Row()])


@kind
def called_back(depth):
    return ctypes.CFUNCTYPE(ctypes.c_int)(lambda: grow(depth))()


@kind
def called_back_by_qsort(depth):
    if depth > 4:
        return grow(depth)
    values = (ctypes.c_int * 2)(2, 1)
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda a, b: grow(depth) * 0)
    return truth.libc.qsort(values, ctypes.c_size_t(2), ctypes.c_size_t(4), compare)


@kind
def generated(depth):
    def inner():
        yield grow(depth)

    def outer():
        yield from inner()
    return list(outer())


@kind
def sent(depth):
    def receiver():
        while (yield):
            grow(depth)
    one = receiver()
    next(one)
    one.send(True)
    one.close()


@kind
def closed_generator(depth):
    def waiting():
        try:
            yield
        finally:
            grow(depth)
    one = waiting()
    next(one)
    one.close()


@kind
def awaited(depth):
    async def inner():
        return grow(depth)

    async def outer():
        return await inner()
    try:
        outer().send(None)
    except StopIteration:
        pass


@kind
def handled(depth):
    try:
        raise KeyError(depth)
    except KeyError:
        grow(depth)
    finally:
        len(())


@kind
def unwound(depth):
    def thrower():
        try:
            grow(depth)
            raise ValueError
        finally:
            len(())
    try:
        thrower()
    except ValueError:
        pass


@kind
def managed(depth):
    class Manager:
        def __enter__(self):
            return grow(depth)

        def __exit__(self, *_):
            pass
    with Manager():
        pass


@kind
def described(depth):
    class Descriptor:
        def __get__(self, instance, owner):
            return grow(depth)

        def __set__(self, instance, value):
            grow(depth)

    class Owner:
        value = Descriptor()
    if depth % 2:
        Owner().value = 1
    return Owner.value


@kind
def computed(depth):
    class Owner:
        @property
        def value(self):
            return grow(depth)

        def __getattr__(self, name):
            return grow(depth)
    return Owner().value if depth % 2 else Owner().missing


@kind
def operated(depth):
    class Number:
        def __add__(self, other):
            return grow(depth)

        def __format__(self, form):
            return str(grow(depth))

        def __hash__(self):
            return grow(depth)
    return Number() + 1 if depth % 3 == 0 else f"{Number()}" if depth % 3 == 1 else {Number(): 1}


@kind
def deleted(depth):
    class Mortal:
        def __del__(self):
            grow(depth)
    Mortal()


@kind
def released_reference(depth):
    class Target:
        pass
    target = Target()
    reference = weakref.ref(target, lambda _: grow(depth))
    del target
    return reference


@kind
def class_body(depth):
    class Meta(type):
        def __new__(cls, name, bases, space):
            grow(depth)
            return super().__new__(cls, name, bases, space)

    class Made(metaclass=Meta):
        pass
    return Made


@kind
def evaluated(depth):
    return eval("grow(depth)", globals(), {"depth": depth})


@kind
def executed(depth):
    exec(compile("\n" * rng.randrange(300) + "def made():\n    return grow(depth)\nmade()\n", "<made>", "exec"), {**globals(), "depth": depth})


@kind
def through_functions(depth):
    functools.reduce(lambda a, b: grow(depth), [1, 2])
    return functools.partial(plain, depth)() if depth < 4 else None


@kind
def through_iterators(depth):
    return all(map(lambda _: grow(depth), [1])) and any(grow(depth) < 0 for _ in (1,)) if depth < 3 else list(filter(lambda _: grow(depth), [1]))


@kind
def through_modules(depth):
    if depth % 2:
        return re.sub("a", lambda _: str(grow(depth)), "a")
    return json.dumps([object()], default=lambda _: grow(depth))


@kind
def comprehended(depth):
    return [grow(depth) for _ in (1,)] if depth % 2 else {1: grow(depth) for _ in (1,)}


@kind
def on_a_thread(depth):
    if depth % 3:
        return grow(depth)
    thread = threading.Thread(target=grow, args=(depth,))
    thread.start()
    thread.join()
    return 1


def main():
    sys.setrecursionlimit(10000)
    threading.stack_size(16 << 20)
    for _ in range(TREES):
        grow(rng.randrange(1, DEEPEST + 1))
    print(sum(truth.noted.values()), "calls,", len(truth.noted), "stacks")
    truth.write()


main()
