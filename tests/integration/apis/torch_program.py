"""A program that knows its own calls of torch in threads, autograd, subclasses, workers and jit. Each case asserts; prints `done`."""
import contextlib
import io
import os
import sys
import threading
import warnings

import torch
import torch.nn.functional as F

import hooktrace.apis as apis

warnings.simplefilter("ignore")
torch.set_num_threads(1)
X = torch.arange(12.0).reshape(3, 4)


def same(what, got, wanted):
    assert got == wanted, f"{what}: {got}, expected {wanted}"


@contextlib.contextmanager
def observed(wanted, **options):
    """Of the names in WANTED so many calls."""
    apis.start("torch", **options)
    apis.start_analysis()
    yield
    counts = {row.api: row.calls for row in apis.end_analysis()}
    apis.stop()
    same("calls", {name: counts.get(name, 0) for name in wanted}, wanted)


def names():
    with observed({"torch.add": 2, "torch.Tensor.add": 1, "torch.Tensor.__add__": 1, "torch.nn.functional.relu": 1, "torch.relu": 0,
                   "torch.nn.Linear": 1, "torch.nn.functional.linear": 1, "torch.nn.functional.max_pool2d": 1, "torch.linalg.norm": 1, "torch.zeros": 1,
                   "torch.nn.functional.softmax": 1, "torch.Tensor.softmax": 1, "torch.fft.fft": 1, "torch.special.expit": 1, "torch.nn.functional.gelu": 1}):
        layer = torch.nn.Linear(4, 2)
        torch.add(X, 1), torch.add(X, other=X), X.add(1), X + 1, F.relu(X), layer(X), F.linear(X, X), F.max_pool2d(X[None], 2), torch.linalg.norm(X)
        torch.zeros(2), F.softmax(X, 0), X.softmax(0), torch.fft.fft(X), torch.special.expit(X), F.gelu(X)


def in_threads():
    def work():
        for _ in range(50):
            torch.mm(X, X.t())
            F.relu(X)
    with observed({"torch.mm": 200, "torch.nn.functional.relu": 200, "torch.Tensor.t": 200, "torch.relu": 0}):
        workers = [threading.Thread(target=work) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return torch.mul(x, 2)

    @staticmethod
    def backward(context, gradient):
        return torch.mul(gradient, 2)


def autograd():
    """Backward functions in Python run within Tensor.backward, and on threads of autograd's where there is a device."""
    def run():
        x = X.clone().requires_grad_()
        x.register_hook(lambda gradient: torch.neg(gradient))
        y = Doubled.apply(x).sum()
        y.backward()
        same("gradient", x.grad[0, 0].item(), -2.0)
    with observed({"torch.Tensor.backward": 1, "torch.neg": 0, "torch.mul": 1}):
        run()
    with observed({"torch.Tensor.backward": 1, "torch.neg": 1, "torch.mul": 2}, hook_inside=True):
        run()


class Sub(torch.Tensor):
    seen = []

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        cls.seen.append(function.__name__)
        return super().__torch_function__(function, types, args, kwargs or {})


def subclass():
    x = X.as_subclass(Sub)
    Sub.seen.clear()
    with observed({"torch.add": 1, "torch.Tensor.__add__": 1, "torch.nn.functional.relu": 1}):
        answers = torch.add(x, 1), x + 1, F.relu(x)
    same("__torch_function__", (Sub.seen[:3], {type(one) for one in answers}), (["add", "add", "relu"], {Sub}))


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.add(torch.full((2,), float(index)), 1), os.getpid()


def workers():
    """Processes of a DataLoader are forks: they work, and their calls are their own."""
    with observed({"torch.add": 0}):
        batches = list(torch.utils.data.DataLoader(Numbers(), batch_size=2, num_workers=2))
    same("sum", sum(batch.sum().item() for batch, _ in batches), 72.0)
    assert os.getpid() not in {pid.item() for _, pids in batches for pid in pids}


def scripted():
    @torch.jit.script
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.add(torch.relu(x), 1)
    with observed({"torch.add": 0, "torch.relu": 0}):
        same("scripted", function(X)[0].tolist(), [1.0, 2.0, 3.0, 4.0])


def no_device():
    with observed({"torch.add": 3}, parall_execute=False):
        for _ in range(3):
            torch.add(X, 1)


def compared():
    blocks = []
    for times in (2, 4):
        apis.start("torch")
        apis.start_analysis()
        for _ in range(times):
            torch.add(X, 1), F.relu(X)
        blocks.append(apis.end_analysis())
        apis.stop()
    comparison = apis.compare(*blocks)
    row = comparison["torch.add"]
    same("compared", (row.calls_a, row.calls_b, len(comparison)), (2, 4, 2))
    assert row.ratio == row.mean_a_ns / row.mean_b_ns and "torch.nn.functional.relu" in str(comparison)
    blocks[0].save("block.json")
    same("saved", apis.compare("block.json", blocks[1]).rows, comparison.rows)


def seed():
    """apitimewrapper's program, with its lines."""
    from hooktrace.compat import apitimewrapper as seed_names
    screen = io.StringIO()
    with contextlib.redirect_stdout(screen):
        seed_names.start_hook_torch_net(hook_inside=False, parall_execute=False)
        torch.add(X, 1)
        seed_names.start_analysis()
        for _ in range(2):
            torch.add(X, 1), X + 1, F.relu(X), torch.nn.ReLU()(X)
        with contextlib.suppress(TypeError):
            torch.add(X, "a")
        seed_names.torch_gp.g_stop_torch_print = True
        torch.mul(X, 1)
        seed_names.print("mine", 1)
        seed_names.end_analysis()
    apis.stop()
    lines = screen.getvalue().splitlines()
    ops = ["torch.add", "torch.Tensor.__add__", "torch.nn.function.relu", "torch.nn.ReLU"]
    same("lines", [line.split(" cost_time:")[0] for line in lines[:10]], ["torch.add", "start_analysis"] + ops * 2)
    assert all(float(line.split(" cost_time:")[1]) > 0 for line in lines[2:10])
    same("own line", lines[10:12], ["mine 1", "end_analysis"])
    costs = [float(line.split(":")[1]) for line in lines if line.startswith("torch.add cost_time:")][1:]
    same("analysis", lines[12], f"torch.add共执行了2次,总耗时{sum(costs)}秒,平均耗时{sum(costs) / 2}秒,最低耗时{min(costs)},最高耗时{max(costs)}.")
    same("analysis of", [line.split("共执行了")[0] for line in lines[12:]], ops + ["torch.mul"])
    with open("performance.log", encoding="utf-8") as file:
        log = [line.rstrip("\n").split(" - INFO: ", 1) for line in file]
    same("log", [text.split(" cost_time:")[0] for _, text in log],
         [line.split(" cost_time:")[0] for line in lines[:10]] + ["torch.mul", "mine 1", "end_analysis"])
    assert all(len(when) == len("2026-11-25 22:30:55,433") for when, _ in log), log


def main():
    for case in (names, in_threads, autograd, subclass, workers, scripted, no_device, compared, seed):
        case()
    print("done")
    sys.stdout.flush()
    os._exit(0)


main()
