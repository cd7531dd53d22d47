"""What programs do with torch's functions, and what comes of it, one JSON line a check. Argument: `timed` observes the APIs meanwhile.

What is made "before" is made before the APIs are observed. An answer holds no addresses and no times, so that the answers of two
processes are equal.
"""
import copy
import functools
import inspect
import io
import json
import os
import pickle
import sys
import types
import warnings

import torch
import torch.nn.functional as F

warnings.simplefilter("ignore")
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 8)
        self.second = torch.nn.Linear(8, 2)
        self.activation = F.relu

    def forward(self, x):
        return self.second(self.activation(torch.add(self.first(x), 1)))


class Scripted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)

    def forward(self, x):
        return F.softmax(torch.mul(self.layer(x), 2), 1)


class Tensor(torch.Tensor):
    seen = []

    @classmethod
    def __torch_function__(cls, function, types_, args=(), kwargs=None):
        cls.seen.append(function.__name__)
        return super().__torch_function__(function, types_, args, kwargs or {})


def formula(x):
    return F.relu(torch.add(x, 1) * x).sum()


def numbers(tensor):
    return [round(value, 5) for value in tensor.detach().flatten().tolist()]


torch.manual_seed(7)
X = torch.randn(3, 4)
BEFORE_MODEL = Net()
BEFORE_BYTES = pickle.dumps(BEFORE_MODEL)
BEFORE_KEYS = {torch.add: "add", torch.Tensor.add: "Tensor.add", F.relu: "relu", F.conv2d: "conv2d", torch.matmul: "matmul", len: "len"}
BEFORE_OBJECTS = [torch.add, torch.Tensor.add, torch.Tensor.__add__, F.relu, torch.matmul, torch.linalg.norm, torch.nn.Linear, torch.einsum]
BEFORE_ADD = torch.add


@check
def jit_script_function():
    def scripted(x: torch.Tensor) -> torch.Tensor:
        return torch.add(x, 1) * 2
    return numbers(torch.jit.script(scripted)(X))


@check
def jit_script_functional():
    def scripted(x: torch.Tensor) -> torch.Tensor:
        return F.relu(F.max_pool1d(x, 2)) + F.softmax(x, 1).sum()
    return numbers(torch.jit.script(scripted)(X))


@check
def jit_script_module():
    return numbers(torch.jit.script(Scripted())(X)), sorted(str(node.kind()) for node in torch.jit.script(Scripted()).graph.nodes())


@check
def jit_trace():
    traced = torch.jit.trace(BEFORE_MODEL, X)
    return numbers(traced(X)), sorted(str(node.kind()) for node in traced.inlined_graph.nodes())


@check
def compile_eager():
    return numbers(torch.compile(formula, backend="eager", fullgraph=True)(X)), numbers(torch.compile(Net(), backend="eager", fullgraph=True)(X))


@check
def compile_aot_eager():
    return numbers(torch.compile(formula, backend="aot_eager", fullgraph=True)(X)), numbers(torch.compile(Net(), backend="aot_eager", fullgraph=True)(X))


@check
def export():
    program = torch.export.export(BEFORE_MODEL, (X,))
    return numbers(program.module()(X)), [str(node.target) for node in program.graph.nodes]


@check
def symbolic_trace():
    graph = torch.fx.symbolic_trace(BEFORE_MODEL)
    return numbers(graph(X)), [f"{node.op} {getattr(node.target, '__name__', node.target)}" for node in graph.graph.nodes]


@check
def pickle_before():
    return numbers(pickle.loads(pickle.dumps(BEFORE_MODEL))(X)), numbers(pickle.loads(BEFORE_BYTES)(X)), pickle.dumps(BEFORE_MODEL) == BEFORE_BYTES


@check
def pickle_after():
    torch.manual_seed(8)
    return numbers(pickle.loads(pickle.dumps(Net()))(X)), pickle.loads(pickle.dumps([torch.add, F.relu])) == [torch.add, F.relu]


@check
def deep_copy():
    copied = copy.deepcopy(BEFORE_MODEL)
    return numbers(copied(X)), copied.activation is BEFORE_MODEL.activation


@check
def save_and_load():
    file = io.BytesIO()
    torch.save(BEFORE_MODEL.state_dict(), file)
    file.seek(0)
    model = Net()
    model.load_state_dict(torch.load(file))
    return numbers(model(X))


@check
def is_builtin():
    return [isinstance(one, types.BuiltinFunctionType) for one in (torch.add, torch.Tensor.add, F.relu, F.conv2d)], type(torch.Tensor.add).__name__


@check
def is_routine():
    return [inspect.isroutine(one) for one in (torch.add, torch.Tensor.add, F.relu, F.conv2d, torch.nn.Linear)]


@check
def signature():
    answers = []
    for one in (F.relu, torch.einsum, torch.add, torch.nn.Module.__call__):
        try:
            answers.append(str(inspect.signature(one)))
        except ValueError as error:
            answers.append(str(error).partition(" at 0x")[0])
    return answers


@check
def wraps():
    wrapped = functools.wraps(torch.add)(lambda *arguments: torch.add(*arguments))
    return wrapped.__name__, wrapped.__wrapped__ is torch.add, (wrapped.__doc__ or "")[:40], numbers(wrapped(X, 1))


@check
def resolve_name():
    return [torch.overrides.resolve_name(one) for one in (torch.add, torch.Tensor.add, F.relu, torch.matmul)]


@check
def torch_function():
    Tensor.seen.clear()
    x = X.as_subclass(Tensor)
    torch.add(x, 1), x + 1, F.relu(x), x.sum()
    return Tensor.seen, type(torch.add(x, 1)).__name__


@check
def identity():
    now = [torch.add, torch.Tensor.add, torch.Tensor.__add__, F.relu, torch.matmul, torch.linalg.norm, torch.nn.Linear, torch.einsum]
    return [a is b and a == b for a, b in zip(now, BEFORE_OBJECTS)], BEFORE_ADD is torch.add, torch.add in torch.overrides.get_testing_overrides()


@check
def transforms():
    return numbers(torch.func.vmap(torch.add)(X, X)), numbers(torch.func.grad(formula)(X)), numbers(torch.func.vmap(torch.func.grad(formula))(X))


@check
def keys_before():
    return [BEFORE_KEYS.get(one) for one in (torch.add, torch.Tensor.add, F.relu, F.conv2d, torch.matmul, len)]


def main():
    if sys.argv[1:] == ["timed"]:
        import hooktrace.apis
        hooked = hooktrace.apis.start("torch", hook_inside=True).hooked["torch"]
        hooktrace.apis.start_analysis()
    for one in CHECKS:
        try:
            answer = one()
        except Exception as error:  # the other process has to raise it too
            answer = ["raised", type(error).__name__, str(error).split("\n")[0][:100]]
        print(json.dumps([one.__name__, answer]), flush=True)
    if sys.argv[1:] == ["timed"]:
        calls = sum(row.calls for row in hooktrace.apis.end_analysis())
        hooktrace.apis.stop()
        print(json.dumps(["observed", [hooked, calls]]))
    # Some versions of torch have threads that do not end.
    sys.stdout.flush()
    os._exit(0)


main()
