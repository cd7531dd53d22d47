"""Calls python_noted of LIBRARY from Python stacks of many shapes, with and without the GIL. During each call it writes the stack that
`traceback` shows to standard error.

    callers.py LIBRARY
"""
import ctypes
import sys
import threading
import traceback


@ctypes.CFUNCTYPE(None)
def note():
    stack = traceback.extract_stack(sys._getframe().f_back) if sys._getframe().f_back else []
    lines = ["    %s(%d): %s\n" % (frame.filename, frame.lineno, frame.name) for frame in reversed(stack)]
    sys.stderr.write("call\n" + "".join(lines))


held, released = ctypes.PyDLL(sys.argv[1]), ctypes.CDLL(sys.argv[1])


def call():
    held.python_noted(note)
    released.python_noted(
        note)
    return 1


def recurse(depth):
    return recurse(depth - 1) + 1 if depth else call()


def generate():
    yield call()
    yield from (call() for _ in range(1))


class Shop:
    value = call()

    def größe(self):
        def inner():
            return (lambda: call())()
        return inner()

    def __del__(self):
        call()


def main():
    recurse(3)
    list(generate())
    Shop().größe()
    exec(compile("call(); [call() for _ in 'x']", "<made 名 up>", "exec"), {"call": call})
    sorted([2, 1], key=lambda _: call())
    thread = threading.Thread(target=recurse, args=(1,))
    thread.start()
    thread.join()
    recurse(100)


main()
