"""Calls the functions of libpython_truth_library.so from Python stacks of many shapes, and notes each stack while such a call is open.

    python_truth.py LIBRARY OUTPUT

Python's frames come from `traceback`, native ones from glibc's backtrace(). OUTPUT is a file of JSON lines, one per process:
[[calls, [[function, file, line], ...], [[object, address] or "E", ...]], ...], both innermost first. "E" stands for one or more
frames of the interpreter's evaluation loop that follow each other; frames of the tracer's agent are left out. Runs on CPython 3.8
and later.
"""
import asyncio
import collections
import ctypes
import functools
import json
import os
import subprocess
import sys
import threading
import traceback

LIBRARY, OUTPUT = sys.argv[1:3]
TIMES = 7
FRAMES = 512
noted = collections.Counter()
lock = threading.Lock()

# ---- what is true ----

libc = ctypes.PyDLL(None)
libc.backtrace.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_int]


class Objects:
    """The process's objects by address."""

    def __init__(self):
        self.spans = []

    def find(self, address):
        for _ in range(2):
            for start, end, base, path in self.spans:
                if start <= address < end:
                    return path, address - base
            self.read()
        return "?", address

    def read(self):
        bases = {}
        self.spans = []
        with open("/proc/self/maps", encoding="utf-8") as lines:
            for line in lines:
                words = line.split(None, 5)
                if len(words) < 6 or not words[5].startswith("/"):
                    continue
                path = words[5].rstrip("\n")
                start, end = (int(word, 16) for word in words[0].split("-"))
                if path not in bases:
                    bases[path] = start if self.is_relocated(path) else 0
                self.spans.append((start, end, bases[path], path))

    @staticmethod
    def is_relocated(path):
        with open(path, "rb") as elf:
            return elf.read(18)[16] == 3  # ET_DYN


def evaluations():
    """The object with the interpreter, and the addresses of its evaluation loop: [(start, end)]."""
    mapped = [span[3] for span in objects.spans]
    interpreter = next((path for path in mapped if "/libpython3" in path), os.path.realpath(sys.executable))
    spans = []
    for options in (["-D"], []):
        done = subprocess.run(["nm", "-S", "--defined-only", *options, interpreter], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              universal_newlines=True, check=False, env={**os.environ, "LD_PRELOAD": ""})
        for line in done.stdout.splitlines():
            words = line.split()
            if len(words) == 4 and words[3].startswith("_PyEval_EvalFrameDefault"):
                spans.append((int(words[0], 16), int(words[0], 16) + int(words[1], 16)))
    return interpreter, spans


objects = Objects()
objects.read()
INTERPRETER, SPANS = evaluations()


def native_frames():
    """Those outside of python_noted."""
    addresses = (ctypes.c_void_p * FRAMES)()
    count = libc.backtrace(addresses, FRAMES)
    places = [objects.find(addresses[i] - 1) for i in range(count)]
    # A thread that the library itself began has the frame of its first function further out.
    first = next(i for i, (path, _) in enumerate(places) if path == LIBRARY) + 1
    frames, behind = [], 0
    for path, address in places[first:]:
        if os.path.basename(path) == "libhookagent.so":
            behind = 1  # glibc's address of the frame outside of the agent's lies one byte before the others'
            continue
        if path == INTERPRETER and any(start <= address < end for start, end in SPANS):
            if frames[-1:] != ["E"]:
                frames.append("E")
        else:
            frames.append((os.path.basename(path), address + behind))
        behind = 0
    return tuple(frames)


def python_frames(frame):
    frames = []
    for one, line in traceback.walk_stack(frame) if frame else ():
        code = one.f_code
        frames.append((getattr(code, "co_qualname", code.co_name), code.co_filename, line))
    return tuple(frames)


@ctypes.CFUNCTYPE(None)
def note():
    frame = sys._getframe().f_back
    key = python_frames(frame), native_frames()
    with lock:
        noted[key] += 1


def write():
    with lock, open(OUTPUT, "a", encoding="utf-8") as out:
        json.dump([[calls, *key] for key, calls in noted.items()], out)
        out.write("\n")
        noted.clear()


# ---- calls ----

held = ctypes.PyDLL(LIBRARY)
released = ctypes.CDLL(LIBRARY)
for library in (held, released):
    library.python_doubled.argtypes = [ctypes.c_double]
    library.python_doubled.restype = ctypes.c_double


def call():
    """Once with the GIL, once without."""
    held.python_noted(note)
    released.python_noted(note)
    if held.python_doubled(1.25) != 2.5 or released.python_doubled(-0.375) != -0.75:
        os.abort()
    return 1


def recurse(depth):
    return recurse(depth - 1) + 1 if depth else call()


class Shapes:
    def method(self):
        return call()

    @classmethod
    def of_class(cls):
        return call()

    @staticmethod
    def of_none():
        return (lambda: call())()

    @property
    def value(self):
        return call()

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return call()

    def __enter__(self):
        call()
        return self

    def __exit__(self, *_):
        call()

    def __del__(self):
        call()

    def __lt__(self, other):
        return call() < 0


def generate(depth):
    if depth:
        yield from generate(depth - 1)
    yield call()


async def await_it(depth):
    if depth:
        await await_it(depth - 1)
    return call()


async def generate_later():
    for _ in range(2):
        await asyncio.sleep(0)
        yield call()


async def all_of_it():
    return [one async for one in generate_later()] + await asyncio.gather(await_it(1), await_it(2))


def native_between():
    sorted([2, 1], key=lambda _: call())
    sorted([Shapes(), Shapes()])
    functools.reduce(lambda a, b: call(), [1, 2, 3])
    list(map(lambda _: call(), [1]))
    functools.partial(recurse, 2)()
    [call() for _ in range(2)]
    {key: call() for key in [1]}
    max(1, 2, key=lambda _: recurse(1))
    back = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: recurse(1))
    back()
    eval("call()")
    exec(compile("\n\ndef inner():\n    return call()\n\nclass Body:\n    inner()\n", "<made>", "exec"), dict(globals()))


def raising():
    try:
        recurse(1)
        raise ValueError(call())
    except ValueError:
        call()
    finally:
        call()


def é_latin():
    return call()


def 名前():
    return é_latin()


def 𐐀𐐁():
    return 名前()


def other_names():
    𐐀𐐁()
    for name in ("/tmp/ü.py", "/tmp/名.py", "/tmp/𐐀 x.py"):
        exec(compile("call()", name, "exec"), globals())


# Many lines, and steps of lines that need several entries of a table.
exec(compile(("def far():\n" + "    x = 1\n" * 3 + "\n" * 400 + "    y = (call(),\n" + "\n" * 300 + "        call())\n"
              "    for z in (1, 2):\n        call()\n    return call()\n" + "\n" * 70000 + "def last(): return call()\n"),
             "far.py", "exec"))


def traced():
    """The trace function makes calls of its own."""
    def trace(frame, event, argument):
        if frame.f_code.co_name == "recurse" and event == "call":
            call()
        return trace

    sys.settrace(trace)
    try:
        recurse(2)
    finally:
        sys.settrace(None)


def every_shape():
    recurse(3)
    shapes = Shapes()
    shapes.method()
    shapes.of_class()
    shapes.of_none()
    shapes.value + shapes.missing
    with shapes:
        call()
    del shapes
    list(generate(2))
    for _ in generate(1):
        call()
    asyncio.run(all_of_it())
    native_between()
    raising()
    other_names()
    far()
    last()
    traced()


def without_python():
    """On threads that Python did not begin: with a state of Python's for the time of NOTE, and without one."""
    released.python_noted_by_thread(note, TIMES)
    released.python_noted_by_thread(None, TIMES)
    for key in noted:
        noted[key] += 0 if key[0] else TIMES


def many():
    for _ in range(TIMES):
        every_shape()


def main():
    many()
    threads = [threading.Thread(target=many) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    without_python()
    write()
    child = os.fork()
    if child == 0:
        many()
        write()
        os._exit(0)
    os.waitpid(child, 0)


if __name__ == "__main__":
    main()
