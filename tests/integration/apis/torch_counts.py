"""The calls of torch's APIs of one training, counted in one of two ways, as JSON {name: [calls, errors]}. Argument: `timed` for
hooktrace, `mode` for torch's own TorchFunctionMode and module hooks.
"""
import collections
import json
import sys
import warnings

import torch
import torch.nn.functional as F

warnings.simplefilter("ignore")
STEPS = 5
COUNTS = collections.defaultdict(lambda: [0, 0])


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = torch.nn.Conv2d(1, 3, 3)
        self.norm = torch.nn.BatchNorm2d(3)
        self.tail = torch.nn.Sequential(torch.nn.Linear(12, 8), torch.nn.GELU(), torch.nn.Dropout(0.1), torch.nn.Linear(8, 4))

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.convolution(x))), 2)
        return F.log_softmax(self.tail(torch.flatten(x, 1)), dim=1)


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return torch.mul(x, x)

    @staticmethod
    def backward(context, gradient):
        return torch.mul(context.saved_tensors[0], 2) * gradient


def fails(call):
    try:
        call()
    except (TypeError, RuntimeError):
        return
    raise AssertionError("did not raise")


def train(net, images, labels):
    for parameter in net.parameters():
        parameter.grad = None
    for _ in range(STEPS):
        loss = F.nll_loss(net(images), labels) + Squared.apply(images).mean()
        net.zero_grad()
        loss.backward()
        with torch.no_grad():
            for parameter in net.parameters():
                parameter.sub_(torch.mul(parameter.grad, 0.1))
        torch.add(images, 1), images + 1, 2 - images, images @ images.transpose(2, 3), images.sum().item(), abs(images)
        torch.einsum("bchw,bchw->b", images, images), torch.linalg.norm(images), torch.fft.fft(images), torch.special.expit(images)
        images[0, 0].matmul(images[0, 0].t()), torch.cat([images, images]), torch.stack([images]), images.dim(), images.size(), images.add(1, alpha=2)
        fails(lambda: torch.add(images, "1"))
        fails(lambda: torch.matmul(images, torch.ones(3)))
        fails(lambda: F.relu("1"))
        fails(lambda: images.add_([]))


def by_mode(net, images, labels):
    from torch.overrides import TorchFunctionMode, resolve_name

    class Counter(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            name = resolve_name(function) or f"torch.{function.__name__}"
            COUNTS[name][0] += 1
            try:
                return function(*args, **(kwargs or {}))
            except BaseException:
                COUNTS[name][1] += 1
                raise

    def call(module, _):
        if type(module).__module__.startswith("torch.nn."):
            COUNTS[f"torch.nn.{type(module).__name__}"][0] += 1
    handle = torch.nn.modules.module.register_module_forward_pre_hook(call)
    with Counter():
        train(net, images, labels)
    handle.remove()


def by_hooktrace(net, images, labels):
    import hooktrace.apis
    # Layers are counted in a training of their own: within them the mode sees functions, of which outermost calls are wanted.
    for only in (["torch.nn.[A-Z]*"], ["torch.nn.functional.*", "torch.[!n]*", "torch.n[!n]*"]):
        hooktrace.apis.start("torch", only=only, hook_inside=only[0].endswith("Z]*"))
        hooktrace.apis.start_analysis()
        train(net, images, labels)
        for row in hooktrace.apis.end_analysis():
            COUNTS[row.api] = [row.calls, row.errors]
        hooktrace.apis.stop()


def main():
    torch.manual_seed(3)
    data = Net(), torch.randn(2, 1, 6, 6), torch.tensor([1, 2])
    (by_hooktrace if sys.argv[1] == "timed" else by_mode)(*data)
    print(json.dumps(COUNTS))


main()
