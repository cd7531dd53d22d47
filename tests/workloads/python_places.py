"""Threads of Python in known places, and in trees of calls that change all the time.

    python_places.py LIBRARY places | storm THREADS SEED

Prints "ready". Each line of input is answered by a line of JSON: {thread id: [[function, file, line], ...]}, innermost first, as
sys._current_frames knows it. Ends with its input.
"""
import ctypes
import functools
import json
import platform
import random
import sys
import threading
import time
import traceback

library = ctypes.CDLL(sys.argv[1])
held = ctypes.PyDLL(sys.argv[1])
forever = threading.Lock()
forever.acquire()
stop = False


def id_of():
    """threading.get_native_id of 3.8."""
    return ctypes.CDLL(None).syscall(186 if platform.machine() == "x86_64" else 178)


# ---- places ----


def in_spin():
    number = 0
    while not stop:
        number += 1


def in_lock():
    forever.acquire()


def in_sleep():
    time.sleep(100000)


def in_callback():
    """Python, C, Python, C; without the GIL in between."""
    library.python_noted(ctypes.CFUNCTYPE(None)(lambda: in_lock()))


def in_held_callback():
    held.python_noted(ctypes.CFUNCTYPE(None)(in_lock))


def in_sorted():
    sorted([2, 1], key=lambda _: in_lock())


def in_generator():
    def numbers():
        yield in_lock()
    list(number for number in numbers())


def in_class():
    class Größe:
        inner = in_lock()
    return Größe


def in_made():
    exec(compile("def made():\n    in_lock()\n\nmade()", "<made>", "exec"), {"in_lock": in_lock})


def in_recursion(depth=60):
    return in_recursion(depth - 1) + 1 if depth else in_lock()


def in_deep():
    return in_recursion(400)


PLACES = [in_spin, in_lock, in_sleep, in_callback, in_held_callback, in_sorted, in_generator, in_class, in_made, in_recursion, in_deep]

# ---- a storm: each call on a line of its own, and only of functions that its line names ----


class Storm:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def enter(self):
        while not stop:
            self.choose(8)

    def choose(self, depth):
        way = self.random.randrange(8) if depth else 8
        if way == 0:
            return self.plain(depth - 1)
        if way == 1:
            return self.sorting(depth - 1)
        if way == 2:
            return self.reducing(depth - 1)
        if way == 3:
            return self.generating(depth - 1)
        if way == 4:
            return self.calling_back(depth - 1)
        if way == 5:
            return self.making(depth - 1)
        if way == 6:
            return self.raising(depth - 1)
        if way == 7:
            return self.spread(depth - 1, *range(3), key=2)
        return self.leaf()

    def plain(self, depth):
        self.choose(depth)
        return self.choose(depth)

    def sorting(self, depth):
        return sorted([1], key=functools.partial(self.by_key, depth))

    def by_key(self, depth, key):
        self.choose(depth)
        return key

    def reducing(self, depth):
        return functools.reduce(lambda a, b: self.choose(depth), [1, 2])

    def generating(self, depth):
        for _ in self.generator(depth):
            pass

    def generator(self, depth):
        yield self.choose(depth)
        yield self.choose(depth)

    def calling_back(self, depth):
        which = held if depth % 2 else library
        which.python_noted(ctypes.CFUNCTYPE(None)(lambda: self.back(depth)))

    def back(self, depth):
        self.choose(depth)

    def making(self, depth):
        text = "def made%d(go, depth):\n    return go(depth)\n" % self.random.randrange(1000)
        names = {}
        exec(compile(text, "<made>", "exec"), names)
        made = [value for name, value in names.items() if name.startswith("made")][0]
        return made(self.choose, depth)

    def raising(self, depth):
        try:
            return self.thrower(depth)
        except ValueError:
            return self.leaf()

    def thrower(self, depth):
        self.choose(depth)
        raise ValueError

    def spread(self, depth, *rest, key=None, **more):
        return self.choose(depth)

    def leaf(self):
        return [str(number) * 3 for number in range(20)]


# ---- main ----


def begin(place, ids):
    ids[threading.current_thread().ident] = id_of()
    place()


def known(ids):
    """The threads' stacks. Functions are named as code objects name them."""
    stacks = {}
    for ident, frame in sys._current_frames().items():
        if ident in ids:
            stacks[ids[ident]] = [[getattr(one.f_code, "co_qualname", one.f_code.co_name), one.f_code.co_filename, line]
                                  for one, line in traceback.walk_stack(frame)]
    return stacks


def main():
    global stop
    ids = {}
    if sys.argv[2] == "storm":
        places = [Storm(int(sys.argv[4]) + number).enter for number in range(int(sys.argv[3]))]
    else:
        places = PLACES
    threads = [threading.Thread(target=begin, args=(place, ids), daemon=True) for place in places]
    for thread in threads:
        thread.start()
    while len(ids) < len(places):
        time.sleep(0.001)
    print("ready", flush=True)
    for _ in sys.stdin:
        print(json.dumps(known(ids)), flush=True)
    stop = True
    for thread in threads if sys.argv[2] == "storm" else ():
        thread.join()  # a callback of C at the end of the interpreter would crash


main()
