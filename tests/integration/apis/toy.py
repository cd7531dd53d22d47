"""toy: a framework of a few functions, methods, operators and layers."""
import functools

from _toy import TensorBase, add, apply, none, one, scale, yield_to_others  # noqa: F401


def relu(x, least=0):
    if x is None:
        raise ValueError("nothing")
    return max(add(x, 0), least)


def numbers(count):
    yield from range(count)


async def later(x):
    return x


def decorate(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)
    return wrapper


@decorate
def first(x):
    return x


@decorate
def second(x):
    return first(x)


def down(depth):
    return down(depth - 1) if depth else 0


def _private(x):
    return x


class Tensor(TensorBase):
    def norm(self):
        return self.scaled(2, by=3)

    def __hash__(self):
        return 1


class nn:
    class Layer:
        def __call__(self, *args, **kwargs):
            return self.forward(*args, **kwargs)

    class Linear(Layer):
        def forward(self, x):
            return add(x, 1)

    class Own(Layer):
        def __call__(self, x):
            return add(x, 2)

    class Twice(Layer):
        def __init__(self, inner):
            self.inner = inner

        def forward(self, x):
            return self.inner(self.inner(x))
