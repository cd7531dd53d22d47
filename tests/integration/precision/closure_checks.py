"""Optimizers whose step is given a closure: training comes out the same, bit by bit, and what is taken of a step are the gradients and states that it
leaves. `done` is printed at the end. Argument: a directory to fill."""
import collections
import os
import sys

import numpy
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch_program import digest

from hooktrace import precision

torch.set_num_threads(1)
DIRECTORY = sys.argv[1]
STEPS = 3
OPTIMIZERS = {
    "lbfgs": lambda parameters: torch.optim.LBFGS(parameters, lr=0.5, max_iter=4, history_size=3),
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.05),
}


def same(what, got, wanted):
    assert got == wanted, f"{what}: {got}, expected {wanted}"


def tensors_of(slot, value):
    """{slot: tensor} of a state that is a tensor or a list."""
    if isinstance(value, torch.Tensor):
        return {slot: value.detach().clone()}
    found = {}
    for place, one in enumerate(value if isinstance(value, list) else ()):
        found.update(tensors_of(f"{slot}.{place}", one))
    return found


class Training:
    """Trains a small model by closures. KEPT: what each step left, before its gradients were set to zero."""

    def __init__(self, kind, inside=lambda: None):
        torch.manual_seed(3)
        self.model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        self.optimizer = OPTIMIZERS[kind](self.model.parameters())
        self.x, self.y = torch.randn(5, 4), torch.randn(5, 2)
        self.inside = inside
        self.evaluations = 0
        self.losses, self.kept = [], []

    def closure(self):
        self.evaluations += 1
        self.optimizer.zero_grad()
        loss = F.mse_loss(self.model(self.x), self.y)
        loss.backward()
        self.inside()
        return loss

    def keep(self, evaluations):
        names = {parameter: name for name, parameter in self.model.named_parameters()}
        states = {(names[parameter], slot): tensor for parameter, state in self.optimizer.state.items() for key, value in state.items()
                  for slot, tensor in tensors_of(key, value).items()}
        self.kept.append({"gradient": {name: parameter.grad.clone() for parameter, name in names.items()}, "optimizer": states,
                          "parameter": {name: parameter.detach().clone() for parameter, name in names.items()}, "evaluations": evaluations})

    def run(self, after=lambda: None):
        """AFTER is called behind each step, when the gradients are zero. Returns a digest of all that the training made."""
        for number in range(STEPS):
            before = self.evaluations
            loss = self.optimizer.step(self.closure) if number % 2 else self.optimizer.step(closure=self.closure)
            self.losses.append(loss.detach().clone())
            self.keep(self.evaluations - before)
            for parameter in self.model.parameters():
                parameter.grad.zero_()
            after()
        made = [tensor for step in self.kept for phase in ("gradient", "parameter", "optimizer") for tensor in step[phase].values()]
        return digest([*self.losses, *made, torch.tensor(self.evaluations), torch.randn(3)])


def near(dump, row, tensor):
    got = numpy.frombuffer(dump.elements(row).data, dtype=row.dtype)
    assert numpy.array_equal(got, tensor.reshape(-1).numpy()), f"{row}: {got}, expected {tensor}"


def check_states(dump, step, kept):
    """Each gradient, state and parameter has one row, with the values of when the optimizer's step had ended."""
    for phase in ("gradient", "parameter", "optimizer"):
        rows = [row for row in dump.rows(step=step) if row.kind == "state" and row.phase == phase]
        wanted = kept[phase]
        key = (lambda row: (row.name, row.slot)) if phase == "optimizer" else (lambda row: row.name)
        same(f"{phase} rows of step {step}", sorted(map(key, rows)), sorted(wanted))
        for row in rows:
            near(dump, row, wanted[key(row)])


def dumped():
    """A dump changes nothing, and has each evaluation's calls."""
    for kind in OPTIMIZERS:
        plain = Training(kind).run()
        training = Training(kind)
        path = os.path.join(DIRECTORY, kind)
        with precision.Dumper(path, task="tensor", model=training.model, optimizer=training.optimizer, gradients=True, parameters=True,
                              quiet=True) as dumper:
            same(f"training by {kind} with a dump", training.run(dumper.step), plain)
        dump = precision.open(path)
        assert training.evaluations > STEPS or kind != "lbfgs", training.evaluations
        for step, kept in enumerate(training.kept):
            check_states(dump, step, kept)
            linear = [row for row in dump.rows(step=step) if row.name == "torch.nn.functional.linear" and row.role == "output"]
            calls = collections.Counter(row.phase for row in linear)
            same(f"calls within the closure of {kind}", dict(calls), {"forward": 2 * kept["evaluations"], "backward": 2 * kept["evaluations"]})


class Cleaning(torch.optim.SGD):
    """Its step leaves no gradients."""

    def step(self, closure=None):
        loss = super().step(closure)
        self.zero_grad()
        return loss


def without_closure():
    """A step with closure=None has the gradients of its begin, as one without the argument."""
    model = nn.Linear(2, 2)
    optimizer = Cleaning(model.parameters(), lr=0.1)
    path = os.path.join(DIRECTORY, "none")
    kept = []
    with precision.Dumper(path, task="tensor", model=model, optimizer=optimizer, gradients=True, quiet=True) as dumper:
        for arguments, keywords in (((), {}), ((None,), {}), ((), {"closure": None})):
            model(torch.randn(3, 2)).sum().backward()
            kept.append({name: parameter.grad.clone() for name, parameter in model.named_parameters()})
            optimizer.step(*arguments, **keywords)
            dumper.step()
    dump = precision.open(path)
    for step, wanted in enumerate(kept):
        rows = [row for row in dump.rows(step=step) if row.kind == "state" and row.phase == "gradient"]
        same(f"gradients of step {step}", sorted(row.name for row in rows), sorted(wanted))
        for row in rows:
            near(dump, row, wanted[row.name])


def raised():
    """A closure's exception is the program's, and the next step has its rows."""
    fails = [True]

    def inside():
        if fails[0]:
            raise KeyError("as asked")
    training = Training("lbfgs", inside)
    path = os.path.join(DIRECTORY, "raised")
    with precision.Dumper(path, task="tensor", model=training.model, optimizer=training.optimizer, gradients=True, parameters=True,
                          quiet=True) as dumper:
        try:
            training.optimizer.step(training.closure)
        except KeyError as error:
            same("the exception", error.args, ("as asked",))
        else:
            raise AssertionError("the closure did not raise")
        dumper.step()
        fails[0] = False
        training.run(dumper.step)
    dump = precision.open(path)
    for step, kept in enumerate(training.kept):
        check_states(dump, step + 1, kept)


def watched():
    """A watch looks into closures, and changes nothing."""
    made = []

    def inside():
        if len(made) == 6:
            torch.log(torch.zeros(1))
        made.append(None)
    plain = Training("lbfgs", inside).run()
    made.clear()
    finds = []
    training = Training("lbfgs", inside)
    with precision.watch(on_find=finds.append, save=False) as watch:
        same("training with a watch", training.run(watch.step), plain)
    ends = numpy.cumsum([kept["evaluations"] for kept in training.kept])
    same("finds", [(find.api, find.step) for find in finds], [("torch.log", int(numpy.searchsorted(ends, 6, side="right")))])


def agreed():
    """Of a step with a closure the gradients that it leaves are compared."""
    plain = Training("lbfgs").run()
    training = Training("lbfgs")
    agreement = precision.agree(training.model, training.optimizer, every=1)
    sent = []
    agreement._is_traced = lambda: True
    agreement._send = lambda group, named: sent.append((group, agreement.number, {name: tensor.detach().clone() for name, tensor in named}))
    same("training that is compared", training.run(), plain)
    agreement.stop()
    same("groups", [(group, number) for group, number, _ in sent], [(group, step) for step in range(STEPS) for group in ("gradients", "parameters")])
    for group, step, named in sent:
        same(f"{group} of step {step}", digest(named.values()), digest(training.kept[step][group[:-1]].values()))


def main():
    for case in (dumped, without_closure, raised, watched, agreed):
        case()
        print(case.__name__, flush=True)
    print("done")


if __name__ == "__main__":
    main()
