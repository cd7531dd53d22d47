"""A program that knows its own calls of Paddle or of MindSpore; the argument says which. Asserts, and prints `done`."""
import contextlib
import io
import os
import sys
import types

import hooktrace.apis as apis

TIMES = 5


def paddle_calls():
    import paddle
    import paddle.nn.functional as F
    x, layer = paddle.ones([3, 4]), paddle.nn.Linear(4, 4)

    def run():
        paddle.matmul(x, x, transpose_y=True), x + x, x * 2, F.relu(x), layer(x), paddle.nn.ReLU()(x), paddle.add(x, x), x.sum(), F.softmax(x)
        paddle.linalg.norm(x)
        with contextlib.suppress(ValueError):
            paddle.matmul(x, paddle.ones([3]))
    outermost = {"paddle.matmul": (2, 1), "paddle.Tensor.__add__": (1, 0), "paddle.Tensor.__mul__": (1, 0), "paddle.nn.functional.relu": (1, 0),
                 "paddle.nn.Linear": (1, 0), "paddle.nn.ReLU": (1, 0), "paddle.add": (1, 0), "paddle.sum": (1, 0), "paddle.ones": (1, 0),
                 "paddle.nn.functional.softmax": (1, 0), "paddle.linalg.norm": (1, 0)}
    inside = {"paddle.nn.functional.linear": 1, "paddle._C_ops.relu": 2, "paddle._C_ops.sum": 1, "paddle.nn.functional.relu": 2}
    return run, outermost, inside


def mindspore_calls():
    import mindspore
    import numpy
    from mindspore import mint, nn, ops
    x = mindspore.Tensor(numpy.ones([4, 4], numpy.float32))
    layer, relu, add = nn.Dense(4, 4), nn.ReLU(), ops.Add()

    def run():
        ops.matmul(x, x), add(x, x), x + x, x * 2, mint.add(x, x), mint.matmul(x, x), layer(x), relu(x), x.sum(), ops.relu(x)
        with contextlib.suppress(TypeError, ValueError):
            ops.matmul(x, "a")
    outermost = {"mindspore.ops.matmul": (3, 1), "mindspore.ops.Add": (1, 0), "mindspore.Tensor.__add__": (1, 0), "mindspore.Tensor.__mul__": (1, 0), "mindspore.mint.add": (1, 0),
                 "mindspore.nn.Dense": (1, 0), "mindspore.nn.ReLU": (1, 0), "mindspore.Tensor.sum": (1, 0),
                 "mindspore.ops.relu": (1, 0)}
    return run, outermost, {}


def counts(framework, run, **options):
    apis.start(framework, **options)
    apis.start_analysis()
    for _ in range(TIMES):
        run()
    found = {row.api: (row.calls, row.errors) for row in apis.end_analysis()}
    apis.stop()
    return found


def seed():
    """apitimewrapper's program for MindSpore: its lines, and a comparison with a function of another framework."""
    import mindspore
    import numpy
    from mindspore import nn, ops
    from hooktrace.compat import apitimewrapper
    x, layer = mindspore.Tensor(numpy.ones([4, 4], numpy.float32)), nn.Dense(4, 4)
    screen = io.StringIO()
    with contextlib.redirect_stdout(screen):
        apitimewrapper.start_hook_net()
        apitimewrapper.start_analysis()
        ops.matmul(x, x), x + x, layer(x)
        apitimewrapper.end_analysis()
        apis.stop()
    lines = screen.getvalue().splitlines()
    ops_called = ["ops.matmul", "Tensor.__add__", "nn.Dense"]
    assert [line.split(" cost_time:")[0] for line in lines[:5]] == ["start_analysis", *ops_called, "end_analysis"], lines
    assert [line.split("共执行了1次,总耗时")[0] for line in lines[5:]] == ops_called, lines
    sys.modules.setdefault("torch", types.SimpleNamespace(tensor=lambda array: array))  # simulated
    with contextlib.redirect_stdout(screen):
        ratio = apitimewrapper.performance_cmp(ops.exp, numpy.exp, 3, 2, numpy.ones(4, numpy.float32))
    lines = screen.getvalue().splitlines()[-3:]
    assert lines[0].startswith("mindspore exp run 3 times cost time: ") and lines[1].startswith("torch exp run 3 times cost time: "), lines
    assert float(lines[2]) == ratio > 0


def main():
    framework = sys.argv[1]
    run, outermost, inside = {"paddle": paddle_calls, "mindspore": mindspore_calls}[framework]()
    run()
    wanted = {name: (calls * TIMES, errors * TIMES) for name, (calls, errors) in outermost.items()}
    found = counts(framework, run)
    assert found == wanted, f"{found}, expected {wanted}"
    assert counts(framework, run, parall_execute=False) == wanted
    found = counts(framework, run, hook_inside=True)
    for name, calls in inside.items():
        assert found.get(name, (0, 0))[0] == calls * TIMES, f"{name}: {found.get(name)} within"
    assert all(found[name][0] >= wanted[name][0] for name in wanted), found
    apis.start(framework)
    hooked = apis.coverage().hooked[framework]
    apis.stop()
    assert hooked > 900, hooked
    if framework == "mindspore":
        seed()
    print("done")
    sys.stdout.flush()
    os._exit(0)


main()
