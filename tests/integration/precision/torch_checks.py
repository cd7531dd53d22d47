"""What a dump of torch's values has, against NumPy and autograd itself. `done` is printed at the end. Argument: a directory to fill."""
import dataclasses
import math
import os
import random
import sys
import threading
import warnings

import numpy
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch_program import Block, Changes, Cnn, Transformer

from hooktrace import precision
from hooktrace.precision import sides

torch.set_num_threads(1)
DIRECTORY = sys.argv[1]


def same(what, got, wanted):
    assert got == wanted, f"{what}: {got}, expected {wanted}"


def dumped(name, work, **options):
    path = os.path.join(DIRECTORY, name)
    dumper = precision.Dumper(path, quiet=True, **options)
    with dumper:
        work(dumper)
    return precision.open(path), dumper.counts


def array_of(dump, row):
    """The elements as long doubles."""
    data = numpy.frombuffer(dump.elements(row).data, dtype=numpy.uint8)
    if row.dtype == "bfloat16":
        return (data.view(numpy.uint16).astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.longdouble)
    return data.view(numpy.bool_ if row.dtype == "bool" else row.dtype).astype(numpy.longdouble)


def check_statistics(dump, least):
    """Each row's numbers are NumPy's of its elements."""
    seen = 0
    for row in dump.rows():
        if row.scalar is not None or "no_statistics" in row.flags:
            continue
        assert row.has_elements, row
        values = array_of(dump, row)
        same(f"elements of {row}", (row.count, math.prod(row.shape)), (values.size, values.size))
        finite = values[numpy.isfinite(values)]
        same(f"counts of {row}", (row.nans, row.positive_infs, row.negative_infs, row.zeros),
             (int(numpy.isnan(values).sum()), int((values == numpy.inf).sum()), int((values == -numpy.inf).sum()), int((values == 0).sum())))
        seen += 1
        if not finite.size:
            assert math.isnan(row.min) and math.isnan(row.max) and row.l2 == 0, row
            continue
        same(f"range of {row}", (row.min, row.max), (float(finite.min()), float(finite.max())))
        scale = float(numpy.abs(finite).max()) or 1.0
        for field, wanted in (("mean", finite.mean()), ("l2", numpy.sqrt((finite * finite).sum())), ("deviation", finite.std())):
            assert abs(getattr(row, field) - float(wanted)) <= 1e-12 * scale * math.sqrt(finite.size), (field, wanted, row)
    assert seen >= least, f"{seen} rows with elements"


def statistics():
    torch.manual_seed(1)
    x = torch.randn(7, 5, 3)
    x[2, 3] = float("nan")
    x[0, 0, 0], x[1, 1, 1] = float("inf"), -float("inf")

    def work(_):
        for kind in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
            y = x.to(kind)
            torch.cat([y, y.transpose(0, 2).contiguous().transpose(0, 2)])
            y[::2, 1:4, 0].clone()
            torch.flip(y.expand(2, 7, 5, 3), [0])
        for kind in (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool):
            (torch.arange(-60, 60).reshape(4, 30).t() * 3).to(kind).clone()
        torch.zeros(0, 4) + 1
        torch.tensor(2.5) * 2
        torch.ones(3).expand(1000, 3).sum()
    dump, counts = dumped("statistics", work, task="tensor")
    check_statistics(dump, 60)
    same("left out", counts["left_out"], {})


def rows_of(dump, **wanted):
    return [row for row in dump.rows() if all(getattr(row, field) == value for field, value in wanted.items())]


def near(dump, row, tensor):
    same(f"shape of {row.name}", row.shape, tuple(tensor.shape))
    assert numpy.array_equal(array_of(dump, row), tensor.detach().reshape(-1).numpy().astype(numpy.longdouble)), row


def gradients():
    """What arrives at and leaves calls is what autograd has for their tensors."""
    torch.manual_seed(2)
    model, x, y = Cnn(), torch.randn(4, 3, 32, 32), torch.randint(0, 10, (4,))
    kept = {}

    def work(dumper):
        out = model(x)
        out.retain_grad()
        F.cross_entropy(out, y).backward()
        kept["out"] = out.grad
        dumper.step()
    dump, counts = dumped("gradients", work, task="tensor", model=model, gradients=True, parameters=True, scalars=False)
    check_statistics(dump, 80)
    backward = {(row.of, row.role, row.slot): row for row in rows_of(dump, phase="backward") if row.name != "torch.nn.functional.relu"}
    for path in ("first", "second", "last"):
        module = getattr(model, path)
        near(dump, backward[path, "input", "1"], module.weight.grad)
        near(dump, backward[path, "input", "2"], module.bias.grad)
    near(dump, backward["last", "output", "0"], kept["out"])
    forward = {row.sequence: row for row in rows_of(dump, phase="forward")}
    assert all(forward[row.forward_sequence].name == row.name and forward[row.forward_sequence].number == row.number
               for row in backward.values())
    state = {(row.phase, row.name): row for row in rows_of(dump, kind="state", step=0)}
    for name, parameter in model.named_parameters():
        near(dump, state["gradient", name], parameter.grad)
        near(dump, state["parameter", name], parameter)
    same("left out", counts["left_out"], {})


def optimizers():
    """Of several optimizers each one's step has the gradients of its own parameters, whatever becomes of them behind it."""
    models = {name: nn.Linear(2, 2) for name in ("critic", "maker")}
    steps = [torch.optim.SGD(models["critic"].parameters(), lr=0.1, momentum=0.5), torch.optim.Adam(models["maker"].parameters())]
    kept = {}

    def work(dumper):
        for (name, model), optimizer in zip(models.items(), steps):
            for each in steps:
                each.zero_grad(set_to_none=True)
            models["critic"](models["maker"](torch.randn(3, 2))).sum().backward()
            kept.update({f"{name}.{path}": parameter.grad.clone() for path, parameter in model.named_parameters()})
            optimizer.step()
        dumper.step()
    dump, _ = dumped("optimizers", work, task="tensor", model=models, optimizer=steps, gradients=True, parameters=True)
    state = rows_of(dump, kind="state", step=0)
    gradients_of = {row.name: row for row in state if row.phase == "gradient"}
    same("gradients", (sorted(gradients_of), len([row for row in state if row.phase == "gradient"])), (sorted(kept), 4))
    for name, wanted in kept.items():
        near(dump, gradients_of[name], wanted)
    same("states", {row.name for row in state if row.phase == "optimizer"}, set(kept))
    try:
        precision.Dumper(optimizer=[3])
    except TypeError as error:
        assert "expected an object with step()" in str(error), error
    else:
        raise AssertionError("a number is no optimizer")


@dataclasses.dataclass
class Answer:
    """What a module returns."""
    score: torch.Tensor
    more: tuple
    nothing: object = None


class Answers(nn.Linear):
    def forward(self, input):  # pylint: disable=redefined-builtin
        score = super().forward(input)
        return Answer(score, (score.relu(), 3))


def fields():
    """The fields of a dataclass are those of a dictionary: values, and gradients."""
    model, kept = Answers(2, 2), {}

    def work(_):
        answer = model(torch.ones(1, 2))
        answer.score.retain_grad()
        (answer.score * 3).sum().backward()
        kept["score"] = answer.score.grad
        kept["answer"] = model(input=Answer(torch.ones(1, 2), ()).score)
    dump, counts = dumped("fields", work, task="tensor", level="mix", model=model)
    rows = [row for row in dump.rows() if row.name == "Answers" and row.number == 0]
    same("slots", [(row.phase, row.slot) for row in rows if row.role == "output"],
         [("forward", "score"), ("forward", "more.0"), ("forward", "more.1"), ("forward", "nothing"), ("backward", "score")])
    near(dump, rows[-1], kept["score"])
    same("left out", counts["left_out"], {})
    loop = Answer(torch.ones(2), 0)
    loop.nothing = loop
    model.register_forward_hook(lambda *_: loop)
    _, counts = dumped("loop", lambda _: model(torch.ones(1, 2)), level="module", model=model)
    same("left out of what has itself", list(counts["left_out"].values()), [1])


def refusals():
    """What cannot be dumped as asked is refused at once, and a path's parents are made."""
    model = nn.Linear(2, 2)
    for options, words in (({"scope": ["torch.nn.functional.liner"]}, "no API and no module"), ({"scope": [model]}, "give model="),
                           ({"scope": [5]}, "invalid scope int"), ({"limit": 0}, "4096 bytes or more"), ({"limit": None}, "4096 bytes or more"),
                           ({"steps": 3}, "range(3)"), ({"gradients": True}, "give model="), ({"parameters": True}, "give model=")):
        try:
            dumped("refused", lambda _: None, **options)
        except ValueError as error:
            assert words in str(error), error
        else:
            raise AssertionError(f"{options} are taken")
    dump, counts = dumped(os.path.join("made", "here"), lambda _: model(torch.ones(1, 2)), limit=1e6, ranks=0, scope=["torch.nn.functional.*", "jax.*"])
    same("calls", (counts["calls"], {row.name for row in dump.rows()}), (1, {"torch.nn.functional.linear"}))


def changes():
    """Operators in place have their inputs of before; composed functions their gradients; gradients without a node are counted."""
    torch.manual_seed(2)
    model, x = Changes(), torch.randn(6, 8, requires_grad=True)
    dump, counts = dumped("changes", lambda _: model(x).sum().backward(), task="tensor", scalars=False)
    check_statistics(dump, 40)
    added = rows_of(dump, name="torch.Tensor.add_")
    before, after = (array_of(dump, row).astype(numpy.float32) for row in added[:2])
    assert numpy.array_equal(before + numpy.float32(1), after), added
    chunks = rows_of(dump, name="torch.chunk", phase="backward")
    same("gradients of chunks", sorted((row.role, row.slot) for row in chunks), [("input", "0"), ("output", "0"), ("output", "1")])
    joined = rows_of(dump, name="torch.cat", phase="backward", role="input")
    same("slots of what is joined", [row.slot for row in joined], ["0.0", "0.1", "0.2"])
    assert set(counts["left_out"]) <= {"gradients of calls that return their input", "gradients of inputs that another call shares, or that are not known"}, counts


def recomputation():
    torch.manual_seed(2)
    model, x = Transformer(True), torch.randint(0, 50, (4, 6))
    dump, _ = dumped("recomputed", lambda _: model(x).sum().backward(), model=model, scalars=False)
    first = [row for row in rows_of(dump, phase="forward", role="output") if row.of.startswith("blocks.0") and "recomputed" not in row.flags]
    again = [row for row in rows_of(dump, phase="forward", role="output") if row.of.startswith("blocks.0") and "recomputed" in row.flags]
    # The second pass ends as soon as it has what the backward pass asks for.
    assert len(again) > 5, len(again)
    same("digests of both passes", [(row.name, row.digest) for row in again], [(row.name, row.digest) for row in first[:len(again)]])


def shared():
    """A module that runs twice has two numbers and one path."""
    torch.manual_seed(2)
    model = Block()
    dump, _ = dumped("shared", lambda _: model(torch.randn(2, 3, 16)), model=model, level="mix")
    same("calls of the norm", sorted({row.number for row in rows_of(dump, kind="module", name="norm")}), [0, 1])


def transforms():
    """Tensors without memory of their own are left out, and said so."""
    def work(_):
        torch.zeros(3, device="meta") + 1
        torch.eye(3).to_sparse() * 2
        torch.jit.trace(lambda x: torch.relu(x), torch.ones(3))
        if hasattr(torch, "vmap"):
            torch.vmap(lambda x: torch.relu(x) + 1)(torch.ones(4, 3))
        torch.nn.functional.relu(Marked([1.0, -1.0]))
    dump, counts = dumped("transforms", work)
    same("a subclass is read", len(rows_of(dump, name="torch.nn.functional.relu", role="output")), 1)
    same("its own function saw its calls only", Marked.seen, 1)
    reasons = " ".join(counts["left_out"])
    assert "functorch" in reasons and "sparse" in reasons, counts


class Marked(torch.Tensor):
    seen = 0

    @staticmethod
    def __new__(cls, data):
        return torch.Tensor(data).as_subclass(cls)

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), keywords=None):
        cls.seen += function is torch.nn.functional.relu or function.__name__ in ("data_ptr", "__get__", "stride")
        with torch._C.DisableTorchFunction():
            return function(*arguments, **(keywords or {}))


def simulated_device():
    """The way of a device's tensors, simulated: torch's operators say the same as C does. SIMULATED: all tensors are in memory."""
    torch.manual_seed(2)
    model, x, y = Cnn(), torch.randn(4, 3, 32, 32), torch.randint(0, 10, (4,))
    x[0, 0, 0, 0] = float("nan")

    def work(dumper):
        F.cross_entropy(model(x), y).backward()
        dumper.step()
    both = []
    for simulated in (False, True):
        torch.manual_seed(2)
        model = Cnn()
        path = os.path.join(DIRECTORY, f"device{simulated}")
        dumper = precision.Dumper(path, quiet=True, scalars=False)
        if simulated:
            dumper._session.words |= {"simulated"}
        with dumper:
            work(dumper)
        both.append(sorted(precision.open(path).rows(), key=lambda row: (row.sequence, row.phase, row.role, row.slot)))
    plain, asked = both
    same("number of rows", len(plain), len(asked))
    same("rows", [(row.name, row.slot, row.role, row.shape) for row in plain], [(row.name, row.slot, row.role, row.shape) for row in asked])
    for a, b in zip(plain, asked):
        same(f"counts of {a}", (a.count, a.nans, a.zeros), (b.count, b.nans, b.zeros))
        assert "on_device" in b.flags and all(math.isnan(p) and math.isnan(q) or abs(p - q) <= 1e-9 * max(abs(p), abs(q), a.max - a.min) for p, q in (
            (a.min, b.min), (a.max, b.max), (a.mean, b.mean), (a.l2, b.l2), (a.deviation, b.deviation))), (a, b)


def freed():
    """A storage that a program has made smaller is not read."""
    x = torch.ones(1000)
    (x.untyped_storage() if hasattr(x, "untyped_storage") else x.storage()).resize_(0)
    _, counts = dumped("freed", lambda _: x.view(10, 100))
    same("tensors without their storage", [number for reason, number in counts["left_out"].items() if "storage is smaller" in reason], [2])


def resized():
    """Another thread takes a tensor's storage away and gives it back, while its values are taken."""
    x, ends = torch.ones(100000), threading.Event()
    storage = x.untyped_storage() if hasattr(x, "untyped_storage") else x.storage()
    whole = len(storage)

    def resize():
        while not ends.is_set():
            storage.resize_(0)
            storage.resize_(whole)
    other = threading.Thread(target=resize)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)

    def work(_):
        other.start()
        for _ in range(300):
            x.view(10, -1), x.detach(), x.t()
        ends.set()
        other.join()
    dump, counts = dumped("resized", work, task="tensor", scalars=False, stacks=False)
    sys.setswitchinterval(before)
    same("calls", counts["calls"], 900)
    same("rows", len(list(dump.rows())), 1800)


def watching():
    """The call that makes the first number that is not finite is the find; those after it inherit."""
    path = os.path.join(DIRECTORY, "watched")
    zero, finds = torch.zeros(3), []
    with precision.watch(on_find=finds.append, path=path) as watch:
        bad = torch.ones(3) / zero
        torch.log(bad - bad)
        watch.step()
        torch.tensor([60000.0], dtype=torch.float16).add_(5504.0)
        torch.ones(3) / 2
    same("finds", [(find.api, find.call, find.step, find.inherited, find.outputs) for find in finds],
         [("torch.Tensor.__truediv__", 0, 0, False, ("0",)), ("torch.Tensor.add_", 0, 1, False, ("0",))])
    assert all(__file__ in find.stack[0] and "watching" in find.stack[0] for find in finds), finds
    same("inherited", (watch.counts["finds"], watch.counts["inherited"]), (2, 2))
    dump = precision.open(path)
    saved = [(row.name, row.role, row.slot, row.has_elements) for row in dump.rows()]
    same("what is saved", saved, [
        ("torch.Tensor.__truediv__", "input", "0", True), ("torch.Tensor.__truediv__", "input", "1", True),
        ("torch.Tensor.__truediv__", "output", "0", True), ("torch.Tensor.add_", "input", "0", False), ("torch.Tensor.add_", "input", "1", False),
        ("torch.Tensor.add_", "output", "0", True)])
    assert "watching" in dump.stack(next(iter(dump.rows())))[0]
    check_statistics_of_finds(dump)


def wanted_infinities():
    """What the program asks for is no find: masks, and memory that is not written yet."""
    scores, least = torch.zeros(2, 2), torch.finfo(torch.float16).min
    garbage = torch.full((4096,), math.nan)
    del garbage
    with precision.watch(on_find="raise", save=False) as watch:
        for _ in range(20):
            torch.empty(4096)
        torch.full((2, 2), -math.inf).triu(1)
        scores.masked_fill(torch.eye(2) > 0, -math.inf)
        torch.full((2,), least, dtype=torch.float16)
        torch.full((2,), torch.finfo(torch.bfloat16).min, dtype=torch.bfloat16)
        same("finds", watch.finds, [])
        try:
            scores.add(1e38).mul(1e38)
        except ValueError:
            pass
    same("a find", [find.api for find in watch.finds], ["torch.Tensor.mul"])


def watched_device():
    """Tensors of a device, simulated: the same finds, and the elements of what was not changed."""
    path = os.path.join(DIRECTORY, "watched device")
    zero, finds = torch.zeros(3), []
    watch = precision.Watch(on_find=finds.append, path=path)
    watch._session.words |= {"simulated"}
    with watch:
        bad = torch.ones(3) / zero
        torch.log(bad - bad)
        torch.ones(3, dtype=torch.int64) + 1
        torch.tensor([60000.0], dtype=torch.float16).add_(5504.0)
        torch.ones(0) / 2
        torch.tensor([float("nan")]).add_(1)
        torch.sqrt(torch.zeros(3, requires_grad=True)).sum().backward()
    same("finds", [(find.api, find.inherited, find.phase, find.outputs) for find in finds], [
        ("torch.Tensor.__truediv__", False, "forward", ("0",)), ("torch.Tensor.add_", False, "forward", ("0",)), ("torch.tensor", False, "forward", ("0",)),
        ("torch.Tensor.add_", False, "forward", ("0",)), ("torch.sqrt", False, "backward", ("0",))])
    same("inherited", watch.counts["inherited"], 2)
    same("left out", {reason: many for reason, many in watch.counts["left_out"].items() if "device" in reason}, {})
    dump = precision.open(path)
    saved = [(row.name, row.role, row.slot, row.has_elements) for row in dump.rows()][:6]
    same("what is saved", sorted(saved), sorted([
        ("torch.Tensor.__truediv__", "input", "0", True), ("torch.Tensor.__truediv__", "input", "1", True),
        ("torch.Tensor.__truediv__", "output", "0", True), ("torch.Tensor.add_", "input", "0", False), ("torch.Tensor.add_", "input", "1", False),
        ("torch.Tensor.add_", "output", "0", True)]))
    check_statistics_of_finds(dump)


def check_statistics_of_finds(dump):
    for row in dump.rows():
        if row.has_elements:
            same("infinities", int(numpy.isinf(array_of(dump, row)).sum()), row.positive_infs + row.negative_infs)


def watch_raises():
    path = os.path.join(DIRECTORY, "raised")
    watch = precision.watch(limit=2, on_find="raise", path=path, inherited=True)
    bad = None
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            bad = torch.log(torch.tensor([-1.0]))
            bad = torch.relu(bad)
    except ValueError as error:
        same("the error", str(error), f"[overflow 2 times]: dump file is saved in '{path}'.")
    else:
        raise AssertionError("the second find did not raise")
    finally:
        watch.stop()
    same("warnings", ["its inputs were finite" in str(warned[0].message), "were not finite already" in str(warned[1].message)], [True, True])
    assert bad is not None and bool(torch.isnan(bad).all())


def watch_unsaved():
    """A find counts, and raises, where its values cannot be saved."""
    path = os.path.join(DIRECTORY, "occupied")
    with open(path, "w", encoding="utf-8"):
        pass
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with precision.watch(on_find="raise", path=path) as watch:
            try:
                torch.log(torch.zeros(2))
            except ValueError as error:
                same("the error", str(error), "[overflow 1 times]: no values are saved.")
            else:
                raise AssertionError("the first find did not raise")
    same("finds", [(find.api, find.path) for find in watch.finds], [("torch.log", None)])


def gradients_watched():
    x = torch.zeros(3, requires_grad=True)
    finds = []
    with precision.watch(on_find=finds.append, save=False):
        torch.sqrt(x).sum().backward()
    same("finds", [(find.api, find.phase, find.outputs, find.path) for find in finds], [("torch.sqrt", "backward", ("0",), None)])
    scaler_of = getattr(getattr(torch, "amp", None), "GradScaler", None)
    if scaler_of is None:
        return
    finds.clear()
    weight = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler = scaler_of("cpu", init_scale=2.0 ** 127)
    with precision.watch(on_find=finds.append, save=False) as watch:
        scaler.scale(((weight - 1) * 1e30).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    same("of a loss scale", (finds, watch.counts["loss_scale_steps"]), ([], 1))


def seeded():
    numbers = []
    for _ in range(2):
        precision.seed_all(7)
        numbers.append((torch.rand(2).tolist(), numpy.random.rand(2).tolist(), random.random(), os.environ["PYTHONHASHSEED"]))
    same("numbers of a seed", numbers[0], numbers[1])


def main():
    assert sides.TENSOR == 1
    for case in (statistics, gradients, optimizers, fields, refusals, changes, recomputation, shared, transforms, simulated_device, freed, resized, watching, watched_device,
                 watch_raises, watch_unsaved, wanted_infinities, gradients_watched, seeded):
        case()
        print(case.__name__, flush=True)
    print("done")


if __name__ == "__main__":
    main()
