"""Dumps calls of the simulated framework and finds in the dump what it knows of them. `done` is printed at the end."""
import math
import os
import sys
import tempfile
import threading

import simulated as toy

import hooktrace.apis as apis
from hooktrace import precision

TOY = apis.Framework("simulated", namespaces=("simulated",), tensors=("simulated.Tensor",), layers=(("simulated.nn", "simulated.nn.Module"),))
DIRECTORY = tempfile.mkdtemp()
NUMBER = iter(range(1000))


def same(what, got, wanted):
    assert got == wanted, f"{what}: {got}, expected {wanted}"


def dumped(work, **options):
    """The rows of WORK(), and the counts."""
    path = os.path.join(DIRECTORY, str(next(NUMBER)))
    dumper = precision.Dumper(path, frameworks=[TOY], quiet=True, **options)
    with dumper:
        work(dumper)
    return precision.open(path), dumper.counts


def brief(dump, *fields):
    return [tuple(getattr(row, field) for field in fields) for row in dump.rows()]


def moments(numbers):
    finite = [x for x in numbers if math.isfinite(x)]
    return (len(numbers), sum(x != x for x in numbers), sum(x == 0 for x in numbers), min(finite), max(finite), math.fsum(finite) / len(finite),
            math.sqrt(math.fsum(x * x for x in finite)))


def close(a, b):
    return all(x == y or abs(x - y) <= 1e-12 * max(abs(x), abs(y)) for x, y in zip(a, b))


def statistics():
    numbers = [1.5, -2.0, 0.0, float("nan"), 3.25, float("inf"), 0.125, 8.0]
    a = toy.Tensor(numbers, (2, 4))
    view = toy.Tensor((), (2, 3), strides=(4, 1), offset=1, storage=a.storage)
    dump, counts = dumped(lambda _: (toy.plus(a, b=a), toy.plus(view, view)), task="tensor", scalars=False)
    for row in dump.rows():
        shown = list(dump.elements(row).data.cast("B").cast("f"))
        assert close(moments(shown), (row.count, row.nans, row.zeros, row.min, row.max, row.mean, row.l2)), (row, moments(shown))
    rows = list(dump.rows())
    same("elements of the view", [x for x in dump.elements(rows[3]).data.cast("B").cast("f") if x == x], [x for x in view.numbers() if x == x])
    same("flags", [row.flags for row in rows], [(), (), (), ("not_contiguous", "view"), ("not_contiguous", "view"), ()])
    same("identity", len({row.storage for row in rows[:2] + rows[3:5]}), 1)
    same("counts", (counts["rows"], counts["calls"], counts["left_out"]), (6, 2, {}))


def slots():
    a, b = toy.Tensor([1, 2]), toy.Tensor([3, 4])

    def work(_):
        toy.plus(a, b, by=2)
        toy.add(a, b)
        toy.scale(a=a, by=2)
        toy.cat([a, (b, [a])][:1] + [b], names={"x": a})
        toy.split(a)
        a.same(b)
        toy.one(a)
    dump, _ = dumped(work)
    same("slots", [(row.name[10:], row.role, row.slot, row.scalar) for row in dump.rows()], [
        ("plus", "input", "0", None), ("plus", "input", "1", None), ("plus", "keyword", "by", "2"), ("plus", "output", "0", None),
        ("add", "input", "0", None), ("add", "input", "1", None), ("add", "output", "0", None),
        ("scale", "keyword", "a", None), ("scale", "keyword", "by", "2"), ("scale", "output", "0", None),
        ("cat", "input", "0.0", None), ("cat", "input", "0.1", None), ("cat", "keyword", "names.x", None), ("cat", "output", "0", None),
        ("split", "input", "0", None), ("split", "output", "low", None), ("split", "output", "high.0", None),
        ("Tensor.same", "input", "0", None), ("Tensor.same", "input", "1", None), ("Tensor.same", "output", "0", None),
    ])


def numbering():
    a = toy.Tensor([1, 2])

    def work(dumper):
        for _ in range(3):
            toy.plus(a, a)
            toy.nested(a, a)
            toy.plus(a, a)
            toy.number(a)
            dumper.step()
    dump, counts = dumped(work, steps=range(1, 3), scalars=False)
    outputs = [(row.step, row.name[10:], row.number) for row in dump.rows() if row.role == "output"]
    same("calls", outputs, [(step, name, number) for step in (1, 2) for name, number in (("plus", 0), ("nested", 0), ("plus", 1))])
    same("sequence grows", brief(dump, "sequence"), sorted(brief(dump, "sequence")))
    same("calls taken", counts["calls"], 6)
    stacks = [dump.stack(row) for row in dump.rows()]
    assert all(__file__ in stack[0] and "work" in stack[0] and "numbering" in stack[2] for stack in stacks), stacks[0]


def modules():
    class Model(toy.nn.Module):
        def __init__(self):
            self.first, self.second = toy.nn.Twice(), toy.nn.Twice()

        def forward(self, x):
            return toy.plus(self.second(self.first(x)), x)
    model = Model()
    dump, _ = dumped(lambda _: model(toy.Tensor([1])), model=model, level="mix")
    same("modules", [(row.name, row.of) for row in dump.rows() if row.role == "output"], [
        ("simulated.plus", "first"), ("first", "Twice"), ("simulated.plus", "second"), ("second", "Twice"), ("simulated.plus", ""), ("Model", "Model")])
    dump, _ = dumped(lambda _: model(toy.Tensor([1])), model=model, scope=["second"])
    same("in the scope of a module", {row.of for row in dump.rows()}, {"second"})
    dump, _ = dumped(lambda _: model(toy.Tensor([1])), model=model, level="module", scope=[model.first])
    same("a module as scope", {row.name for row in dump.rows()}, {"first"})


def scopes():
    a = toy.Tensor([1, 2])

    def work(_):
        for _ in range(3):
            toy.plus(a, a)
            toy.add(a, a)
    for scope, wanted in ((["simulated.a*"], ["add0", "add1", "add2"]), (["simulated.plus.1"], ["plus1"]),
                          ([("simulated.add.0", "simulated.add.1")], ["add0", "plus1", "add1"]), ([(1, 2)], ["add0", "plus1"])):
        dump, _ = dumped(work, scope=scope)
        same(f"scope {scope}", [f"{row.name[10:]}{row.number}" for row in dump.rows() if row.role == "output"], wanted)
    for wrong in (["simulated.absent"], [("a", "b", "c")], [(1.5, 2)]):
        try:
            dumped(work, scope=wrong)
        except ValueError as error:
            assert str(error).startswith("invalid "), error
        else:
            raise AssertionError(wrong)


def left_out():
    a = toy.Tensor([1, 2])
    freed, sparse, negative, huge = toy.Tensor([1, 2]), toy.Tensor([1]), toy.Tensor([1]), toy.Tensor([1])
    freed.storage.bytes = 4
    sparse.layout = toy.sparse
    negative.negative = True
    huge.dtype = toy.Dtype("complex64", toy.ctypes.c_float)
    broken = toy.Tensor([1])
    broken.shape, broken.numbers = "no shape", lambda: [1]

    def work(_):
        toy.cat([freed, sparse, negative, huge, broken])
        try:
            toy.fail(a)
        except ValueError as error:
            same("the exception", str(error), "as asked")
        toy.plus(a, [[[[[a]]]]][0][0][0][0][0])
        toy.apply(lambda x: a, [[[[[a]]]]])
    _, counts = dumped(work)
    same("reasons", {" ".join(reason.split(" ")[:2]): number for reason, number in counts["left_out"].items()},
         {"tensors without": 1, "tensors whose": 1, "sparse, quantized": 2, "dtypes without": 1, "calls that": 1, "containers nested": 1})


def in_place():
    a = toy.Tensor([1, 2, 3])
    dump, _ = dumped(lambda _: a.fill_(7), task="tensor", scalars=False)
    same("before and after", [list(dump.elements(row).data.cast("B").cast("f")) for row in dump.rows()], [[1, 2, 3], [7, 7, 7]])


def one_at_a_time():
    dumper = precision.Dumper(os.path.join(DIRECTORY, "one"), frameworks=[TOY], quiet=True)
    dumper.start()
    dumper.start()
    try:
        precision.Dumper(os.path.join(DIRECTORY, "two"), frameworks=[TOY], quiet=True).start()
    except RuntimeError as error:
        assert "one at a time" in str(error), error
    else:
        raise AssertionError("a second dumper started")
    dumper.stop()
    dumper.stop()
    with precision.Dumper(os.path.join(DIRECTORY, "three"), frameworks=[TOY], quiet=True, ranks=[5]) as other:
        toy.plus(toy.Tensor([1]), toy.Tensor([1]))
    same("of another rank", other.counts, {})


def beside_timing():
    """The APIs' own session begins and ends within a dump, and around one."""
    a = toy.Tensor([1])

    def work(_):
        toy.plus(a, a)
        apis.start(TOY)
        apis.start_analysis()
        toy.plus(a, a)
        same("timed", {row.api: row.calls for row in apis.end_analysis()}, {"simulated.plus": 1})
        apis.stop()
        toy.plus(a, a)
    _, counts = dumped(work)
    same("dumped", counts["calls"], 3)
    apis.start(TOY)
    _, counts = dumped(lambda _: toy.plus(a, a))
    same("dumped within", counts["calls"], 1)
    apis.start_analysis()
    toy.plus(a, a)
    same("timed after the dump", {row.api: row.calls for row in apis.end_analysis()}, {"simulated.plus": 1})
    apis.stop()


def threads():
    def many(_):
        def one():
            a = toy.Tensor([1, 2, 3])
            for _ in range(200):
                toy.plus(a, a)
                a = toy.Tensor([4, 5])
        workers = [threading.Thread(target=one) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    dump, counts = dumped(many, scalars=False)
    same("calls of threads", counts["calls"], 800)
    same("threads", len({row.thread for row in dump.rows()}), 4)


def forked():
    a = toy.Tensor([1])

    def work(_):
        toy.plus(a, a)
        child = os.fork()
        if child == 0:
            toy.plus(a, a)
            os._exit(0)
        os.waitpid(child, 0)
        toy.plus(a, a)
    dump, counts = dumped(work)
    same("calls of this process", (counts["calls"], len(dump.ranks)), (2, 1))


def main():
    for case in (statistics, slots, numbering, modules, scopes, left_out, in_place, one_at_a_time, beside_timing, threads, forked):
        case()
    print("done")


if __name__ == "__main__":
    sys.exit(main())
