#!/usr/bin/python3
"""Dumps in the forms of msprobe and ptdbg_ascend: what the exporters write is what the readers of hookcli compare read, and what NumPy and
torch read; records written by hand are read as they say; samples are compared as samples; the numbers of ptdbg_ascend's csv are NumPy's."""
import csv
import glob
import io
import json
import math
import os
import re
import sys

import numpy
import torch
from dumps import BACKWARD, FORWARD, GRADIENT, INPUT, KEYWORD, MODULE, OUTPUT, STATE, Rank, Tensor
from harness import Run, expect, expect_true, main

NPY = ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64"]
PT = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
SHAPES = [(), (0,), (3,), (2, 3, 4)]
REQUIRES_GRAD = 1
SAME = ("name", "slot", "scalar", "kind", "phase", "role", "number", "step", "dtype", "shape", "frame", "elements", "count", "nans")
FIGURES = ("max", "min", "mean", "l2")


def python(run: Run, *words, check=True):
    return run.command("/usr/bin/python3", *words, check=check, env={"PYTHONPATH": os.path.join(run.build, "python"), "PYTHONDONTWRITEBYTECODE": "1"})


def load_package(run: Run):
    """hooktrace.precision as it was built."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.path.join(run.build, "python"))
    from hooktrace.precision.formats import npy, pt, ptdbg  # pylint: disable=import-error,import-outside-toplevel
    from hooktrace.precision import reading  # pylint: disable=import-error,import-outside-toplevel
    return npy, pt, ptdbg, reading


def rows(run: Run, path):
    found = json.loads(run.command(run.workload("dump_print"), "rows", path).stdout)
    expect_true(f"{path}: {found}", isinstance(found, list) and all("rows" in one for one in found))
    return found


def conv(rank, step, seed, number=0, bad=0.0):
    """A call with a bit of everything, its module, its backward pass."""
    source = numpy.random.default_rng(seed)
    name, frames = "torch.nn.functional.conv2d", ("/a/model.py:12 forward", "/a/main.py:3 <module>")
    stack, forward = rank.stack(frames), rank.call()
    value = source.standard_normal((4, 3, 8, 8)).astype("float32")
    value[0, 0, 0, 0] += bad
    rank.row(forward, step, name, Tensor(value), number=number, of="c1", stack=stack, flags=REQUIRES_GRAD)
    rank.row(forward, step, name, Tensor(source.standard_normal((5, 3, 3, 3)), "bfloat16"), slot="1", number=number, of="c1", stack=stack,
             flags=REQUIRES_GRAD)
    rank.row(forward, step, name, "None", slot="2", number=number, of="c1", stack=stack)
    rank.row(forward, step, name, "(1, 1)", slot="3", number=number, of="c1", stack=stack)
    rank.row(forward, step, name, "0.5", slot="4", number=number, of="c1", stack=stack)
    rank.row(forward, step, name, "'same'", role=KEYWORD, slot="mode", number=number, of="c1", stack=stack)
    rank.row(forward, step, name, "True", role=KEYWORD, slot="bias", number=number, of="c1", stack=stack)
    rank.row(forward, step, name, Tensor(source.standard_normal((4, 5, 6, 6))), role=OUTPUT, number=number, of="c1", stack=stack)
    module = rank.call()
    rank.row(module, step, "c1", Tensor(value), kind=MODULE, of="Conv2d", number=number, stack=stack)
    rank.row(module, step, "c1", Tensor(numpy.arange(7), "int64"), kind=MODULE, of="Conv2d", role=OUTPUT, number=number, stack=stack)
    backward = rank.call()
    for role, slot, shape in ((OUTPUT, "0", (4, 5, 6, 6)), (INPUT, "0", (4, 3, 8, 8)), (INPUT, "1", (5, 3, 3, 3))):
        rank.row(backward, step, name, Tensor(source.standard_normal(shape)), phase=BACKWARD, role=role, slot=slot, number=number, forward=forward,
                 of="c1", stack=stack)


def odd(rank, step):
    """Values that statistics have their own rules for."""
    nan, inf = float("nan"), float("inf")
    arrays = [Tensor([1, nan, 3]), Tensor([1, inf, 2]), Tensor([1, -inf, inf]), Tensor(numpy.zeros((0, 3))), Tensor(2.5), Tensor(numpy.int32(7), "int32"),
              Tensor([True, False], "bool"), Tensor([3, -1, 2], "int64"), Tensor([[0.5, 70000]], "float32"), Tensor([6e-8, 65504], "float16"),
              Tensor([1e-300, 1.0], "float64")]
    for number, value in enumerate(arrays):
        call = rank.call()
        rank.row(call, step, "torch.abs", value, number=number)
        rank.row(call, step, "torch.abs", value, role=OUTPUT, number=number)


def own_dump(run: Run, name, ranks=2, bad=0.0):
    path = run.path(name)
    for number in range(ranks):
        rank = Rank(number, about={"framework": "torch", "world": ranks, "level": "mix"})
        for step in range(2):
            conv(rank, step, 10 * number + step, bad=bad if number == 1 and step == 1 else 0.0)
            odd(rank, step)
            rank.row(rank.call(), step, "c1.weight", Tensor(numpy.full((5, 3, 3, 3), 0.25)), kind=STATE, phase=GRADIENT, slot="grad")
        rank.write(run, path)
    return path


def export(run: Run, dump, form, name, *options):
    done = python(run, "-m", "hooktrace.precision.export", dump, "--format", form, "-o", run.path(name), *options)
    expect_true(f"export says what it takes: {done.stderr!r}", re.search(r"rows: about .*iB in .*free\n", done.stderr))
    return run.path(name), done.stderr


# ---- msprobe ----

def key(row):
    return (row["step"], row["name"], row["kind"], row["phase"], row["number"], row["role"], row["slot"])


def check_same_row(what, ours, theirs, scalar):
    for field in SAME:
        if field == "nans" and "elements" not in ours:
            continue
        expect(f"{what}: {field}", theirs.get(field), ours.get(field))
    integer = "int" in ours["dtype"] or ours["dtype"] == "bool"
    for field in FIGURES if not scalar and ours["count"] and not integer else ():
        expect_true(f"{what}: {field} {theirs[field]} {ours[field]}", theirs[field] == ours[field] or {theirs[field], ours[field]} == {"nan", "0"})


def check_msprobe(run: Run):
    dump = own_dump(run, "own")
    directory, _ = export(run, dump, "msprobe", "msprobe")
    expect("directories", sorted(os.path.relpath(path, directory) for path in glob.glob(directory + "/*/*")),
           ["step0/rank0", "step0/rank1", "step1/rank0", "step1/rank1"])
    for ours, theirs in zip(rows(run, dump), rows(run, directory)):
        expect("rank", theirs["rank"], ours["rank"])
        expect("damage", theirs["damage"], None)
        found = {key(row): row for row in theirs["rows"]}
        expect("rows", sorted(found), sorted(map(key, ours["rows"])))
        for row in ours["rows"]:
            check_same_row(str(key(row)), row, found[key(row)], row["scalar"] is not None)
    check_msprobe_files(os.path.join(directory, "step1", "rank0"))
    done = run.cli("compare", dump, directory, "--format", "json")
    levels = json.loads(done.stdout)
    expect_true(f"compare with the export: {str(levels)[:300]}", '"differs"' not in done.stdout.replace(" ", ""))


def check_msprobe_files(directory):
    with open(os.path.join(directory, "dump.json"), encoding="utf-8") as stream:
        dump = json.load(stream)
    expect("keys", list(dump), ["task", "level", "framework", "dump_data_dir", "data"])
    expect("task", (dump["task"], dump["level"], dump["framework"]), ("tensor", "mix", "pytorch"))
    call = dump["data"]["Functional.conv2d.0.forward"]
    expect("lists", list(call), ["input_args", "input_kwargs", "output"])
    expect("values", call["input_args"][2:], [None, [{"type": "int", "value": 1}] * 2, {"type": "float", "value": 0.5}])
    expect("keywords", call["input_kwargs"], {"mode": {"type": "str", "value": "same"}, "bias": {"type": "bool", "value": True}})
    expect("backward", [len(dump["data"]["Functional.conv2d.0.backward"][word]) for word in ("input", "output")], [1, 2])
    tensor = torch.load(os.path.join(directory, "dump_tensor_data", call["input_args"][1]["data_name"]))
    expect("torch's dtype and shape", (tensor.dtype, list(tensor.shape)), (torch.bfloat16, call["input_args"][1]["shape"]))
    expect("Norm", round(call["input_args"][1]["Norm"], 4), round(float(tensor.double().norm()), 4))
    with open(os.path.join(directory, "stack.json"), encoding="utf-8") as stream:
        stacks = json.load(stream)
    expect("stack", stacks["0"], [["Functional.conv2d.0.forward", "Module.c1.Conv2d.forward.0", "Functional.conv2d.0.backward"],
                                  ["File /a/model.py, line 12, in forward, \n ", "File /a/main.py, line 3, in <module>, \n "]])
    with open(os.path.join(directory, "construct.json"), encoding="utf-8") as stream:
        parents = json.load(stream)
    expect("parents", [parents[name] for name in ("Functional.conv2d.0.forward", "Module.c1.Conv2d.forward.0")], ["Module.c1.Conv2d.forward.0", None])
    expect("Max of NaN", math.isnan(dump["data"]["Torch.abs.0.forward"]["input_args"][0]["Max"]), True)
    expect("integers", [dump["data"]["Torch.abs.7.forward"]["input_args"][0][word] for word in ("Max", "Min", "Mean", "Norm")], [3, -1, None, None])


BY_HAND = """{"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": null, "data": {
 "Tensor.__mul__.3.forward": {"input_args": [{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": NaN, "Min": -Infinity, "Mean": NaN,
  "Norm": 3.5, "requires_grad": true}, {"type": "slice", "value": [0, null, 2]}], "input_kwargs": {"n": {"type": "int", "value": 123456789012345678901}},
  "output": [[{"type": "torch.Tensor", "dtype": "torch.int64", "shape": [], "Max": 4, "Min": 4, "Mean": 4, "Norm": 4, "requires_grad": false}], null]},
 "Distributed.all_reduce.0.forward": {"input_args": [], "input_kwargs": {}, "output": []}, "what": {"input_args": []}, "Tensor.t.0.forward": 3,
 "Tensor.__mul__.3.backward": {"input": [{"type": "torch.Tensor", "dtype": "torch.bool", "shape": [1], "Max": true, "Min": false, "Mean": null,
  "Norm": null, "requires_grad": false, "data_name": "../../../secret.pt"}], "output": [{"type": "torch.Tensor", "dtype": 3, "shape": [1]}]}}}"""


def check_by_hand(run: Run):
    os.makedirs(run.path("hand", "step7", "proc42"))
    with open(run.path("hand", "step7", "proc42", "dump.json"), "w", encoding="utf-8") as stream:
        stream.write(BY_HAND)
    for path in (run.path("hand"), run.path("hand", "step7"), run.path("hand", "step7", "proc42")):
        found, = rows(run, path)
        expect(f"{path}: damage", bool(re.search(r"3 entries of .*/dump.json are not understood", found["damage"])), True)
        seen = [(row["name"], row["phase"], row["role"], row["slot"], row["scalar"], row["step"], row["number"]) for row in found["rows"]]
        expect("rows by hand", seen, [
            ("torch.Tensor.__mul__", FORWARD, INPUT, "0", None, 7, 3), ("torch.Tensor.__mul__", FORWARD, INPUT, "1", "[0, null, 2]", 7, 3),
            ("torch.Tensor.__mul__", FORWARD, KEYWORD, "n", "123456789012345678901", 7, 3), ("torch.Tensor.__mul__", FORWARD, OUTPUT, "0.0", None, 7, 3),
            ("torch.Tensor.__mul__", FORWARD, OUTPUT, "1", "None", 7, 3), ("torch.Tensor.__mul__", BACKWARD, OUTPUT, "0", None, 7, 3)])

        expect("elements are not looked for elsewhere", "elements" in found["rows"][5] or "without" in found["rows"][5], False)
        expect("figures", [found["rows"][0][field] for field in FIGURES], ["nan", "-inf", "nan", "3.5"])
    with open(run.path("hand", "step7", "proc42", "dump.json"), "w", encoding="utf-8") as stream:
        stream.write(BY_HAND[:400])
    expect("a cut dump.json", run.command(run.workload("dump_print"), "rows", run.path("hand", "step7")).stdout.count("error"), 1)


# ---- ptdbg_ascend ----

def is_dumped(row):
    return row.scalar is None and row.dtype in ("float16", "bfloat16", "float32", "float64") and row.shape and row.count


def sampled(flat, step):
    return flat if flat.size <= 512 else numpy.concatenate([flat[:256], flat[256:-256:step], flat[-256:]])


def records(path):
    with open(path, encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def check_ptdbg(run: Run, reading):
    dump = run.path("own")
    directory, said = export(run, dump, "ptdbg", "ptdbg", "--dump-step", "3")
    expect_true(f"what is left out is said: {said!r}", re.search(r"\d+ rows have no place there", said))
    path = os.path.join(directory, "step1", "rank1")
    data, = (name for name in os.listdir(path) if re.fullmatch(r"dump_\d{8}_\d{6}", name))
    wanted = [row for row in reading.open(dump).rows(rank=1, step=1) if row.kind == "api" and is_dumped(row) and row.role != "keyword"]
    found = records(os.path.join(path, "dump.pkl"))
    expect("records", len(found), len(wanted))
    expect("names", [record[0] for record in found[:6]], [
        "0_Functional_conv2d_forward_input.0", "0_Functional_conv2d_forward_input.1", "0_Functional_conv2d_forward_output",
        "1_Functional_conv2d_backward_input.0", "1_Functional_conv2d_backward_input.1", "1_Functional_conv2d_backward_output.0"])
    opened = reading.open(dump)
    by_shape = {(row.name, row.phase, row.role, row.slot, row.number): row for row in wanted}
    expect("rows of one name each", len(by_shape), len(wanted))
    for record in found[:6]:
        name, step, empty, dtype, shape, figures = record
        phase, role, slot = re.fullmatch(r"\d+_Functional_conv2d_(forward|backward)_(input|output)(?:\.(\d+))?", name).groups()
        row = by_shape["torch.nn.functional.conv2d", phase, role, slot or "0", 0]
        truth = opened.numpy(row).astype("float32")
        expect(f"{name}: record", (step, empty, dtype, shape), (3, [], f"torch.{row.dtype}", list(row.shape)))
        expect_true(f"{name}: {figures}", numpy.allclose(figures, [truth.max(), truth.min(), truth.mean(dtype="float64")], rtol=1e-6, atol=1e-9))
        stored = numpy.load(os.path.join(path, data, name + ".npy"))
        expect_true(f"{name}: elements", stored.dtype == numpy.float32 and numpy.array_equal(stored, sampled(truth.reshape(-1), 3)))
    check_samples(run, dump, directory)


def check_samples(run: Run, dump, directory):
    """Ours against the samples: all that they have agrees, and a change of one element is seen if the sample has it."""
    own = reread(run.cli("compare", dump, os.path.join(directory, "step1"), "--format", "csv", check=False).stdout)
    pairs = [row for row in own if row["verdict"] not in ("unmatched", "?") and row["step"] == "1"]
    expect("steps of one side", pairs, [])
    steps = reread(run.cli("compare", one_step(run, "alone", 0.0), os.path.join(directory, "step1"), "--format", "csv", "--steps", "order", check=False).stdout)
    pairs = [row for row in steps if row["name_b"] and row["name"] == "torch.nn.functional.conv2d"]
    expect("pairs", (len(pairs), {row["verdict"] for row in pairs} - {"equal", "yes"}), (6, set()))
    wrong = reread(run.cli("compare", one_step(run, "wrong", 2.0), os.path.join(directory, "step1"), "--format", "csv", "--steps", "order", check=False).stdout)
    bad = [(row["role"], row["slot"]) for row in wrong if row["name"] == "torch.nn.functional.conv2d" and row["verdict"] not in ("equal", "yes", "unmatched")]
    expect("the changed element", bad, [("input", "0")])


def one_step(run: Run, name, bad):
    """Step 1 of rank 1 of own_dump alone."""
    rank = Rank(1)
    conv(rank, 0, 11, bad=bad)
    rank.write(run, run.path(name))
    return run.path(name)


def reread(text):
    return list(csv.DictReader(io.StringIO(text)))


LATER = """["Functional_conv2d_4_forward_input.0", 1, [], "torch.float32", [600], [2.0, 0.0, 0.5]]
["Functional_conv2d_4_forward_output", 1, [], "torch.float32", [1], [NaN, NaN, NaN]]
["Functional_conv2d_4_backward_input.0", 1, [], "torch.float16", [3], [1.0, 0.0, 0.5]]
not a record
["x_y", 1]
"""
FIRST = """["7_Tensor___add___forward_stack_info", [["/a.py", "3", "f", "x + y"], ["/b.py", "9", "<module>", "f()"]]]["7_Tensor___add___forward_input.0", 2, [],\
 "torch.float32", [2], [1.0, 0.0, 0.5]]
["7_Tensor___add___forward_output", 2, [], "torch.float32", [2], [3.0, 1.0, 2.0]]
"""


def check_records(run: Run, ptdbg):
    for name, text in (("later.pkl", LATER), ("first.pkl", FIRST)):
        with open(run.path(name), "w", encoding="utf-8") as stream:
            stream.write(text)
    later, = rows(run, run.path("later.pkl"))
    expect("damage", later["damage"], "2 records are not understood")
    expect("later", [(row["name"], row["phase"], row["role"], row["slot"], row["number"]) for row in later["rows"]],
           [("torch.nn.functional.conv2d", FORWARD, INPUT, "0", 4), ("torch.nn.functional.conv2d", FORWARD, OUTPUT, "0", 4),
            ("torch.nn.functional.conv2d", BACKWARD, OUTPUT, "0", 4)])
    first, = rows(run, run.path("first.pkl"))
    expect("first", [(row["name"], row["sequence"], row["role"], row["slot"], row["frame"]) for row in first["rows"]],
           [("torch.Tensor.__add__", 7, INPUT, "0", "/a.py:3 f"), ("torch.Tensor.__add__", 7, OUTPUT, "0", "/a.py:3 f")])
    out = io.StringIO()
    ptdbg.parse(run.path("first.pkl"), "7_Tensor", out)
    expect("parse", out.getvalue(), 'Trace back(7_Tensor___add___forward_stack_info):\n  File "/b.py", line 9, in <module>\n    f()\n  File "/a.py", line 3, in f\n'
           "    x + y\nKey Statistic Info:\n  [7_Tensor___add___forward_input.0][dtype: torch.float32][shape: [2]][max: 1.0][min: 0.0][mean: 0.5]\n"
           "  [7_Tensor___add___forward_output][dtype: torch.float32][shape: [2]][max: 3.0][min: 1.0][mean: 2.0]\n")


def check_modes(run: Run, ptdbg, reading):
    opened = reading.open(run.path("own"))
    calls = [row for row in opened.rows(rank=0, step=0) if row.kind == "api"]
    wanted = {(ptdbg.LIST, ("3_Torch_abs", "0_")): [0, 3], (ptdbg.RANGE, (1, 3)): [1, 2, 3], (ptdbg.STACK, ()): list(range(13)), (ptdbg.STACK, (2, 2)): [2]}
    for place, ((mode, scope), numbers) in enumerate(wanted.items()):
        with ptdbg.Writer(run.path(f"mode{place}.pkl"), 1, mode, scope, now=0) as writer:
            writer.add(opened, calls)
        found = records(run.path(f"mode{place}.pkl"))
        expect(f"mode {mode} {scope}", sorted({int(record[0].split("_")[0]) for record in found}), numbers)
        expect(f"mode {mode}: stacks", sum(record[0].endswith("stack_info") for record in found), len(numbers))
        expect(f"mode {mode}: a directory", os.path.isdir(run.path(f"mode{place}_19700101_000000")), mode != ptdbg.STACK)
        expect(f"mode {mode}: tensors", any(len(record) == 6 for record in found), mode != ptdbg.STACK)
    for words, error in (((0,), ValueError), ((101,), ValueError), ((True,), ValueError), ((1, 5), ValueError), ((1, ptdbg.RANGE, [1]), ValueError)):
        try:
            ptdbg.Writer(run.path("bad.pkl"), *words)
            raise AssertionError(f"Writer{words} takes it")
        except error:
            pass


def number(text):
    return float(text.strip("%"))


def check_ptdbg_csv(run: Run, ptdbg):
    source = numpy.random.default_rng(5)
    a, b = source.standard_normal(100).astype("float32"), source.standard_normal(100).astype("float32")
    pairs = [(a, b), (a, a), (numpy.zeros(4), numpy.zeros(4)), (numpy.zeros(4), numpy.ones(4)), (numpy.ones(4), numpy.zeros(4)), ([2.0], [4.0]),
             (numpy.ones(3), numpy.ones(4))]
    for side in (0, 1):
        rank = Rank(0)
        for place, values in enumerate(pairs):
            rank.row(rank.call(), 0, "torch.norm", Tensor(values[side]), number=place)
        rank.write(run, run.path(f"csv{side}"))
        export(run, run.path(f"csv{side}"), "ptdbg", f"csv-ptdbg{side}")
    paths = {f"{word}_pkl_path": run.path(f"csv-ptdbg{side}", "step0", "rank0", "dump.pkl") for side, word in enumerate(("npu", "bench"))}
    os.mkdir(run.path("out"))
    os.environ["PATH"] = os.path.dirname(run.binary("hookcli")) + ":" + os.environ["PATH"]
    found = ptdbg.compare(paths, run.path("out"), False, now=0)
    expect_true(found, re.fullmatch(r"compare_result_\d{14}\.csv", os.path.basename(found)))
    with open(found, encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    expect("columns", list(lines[0]), ["NPU Name", "Bench Name", "NPU Tensor Dtype", "Bench Tensor Dtype", "NPU Tensor Shape", "Bench Tensor Shape", "Cosine",
                                       "RMSE", "MAPE", "MaxAbsErr", "MaxRelativeErr", "NPU max", "NPU min", "NPU mean", "Bench max", "Bench min",
                                       "Bench mean", "Err_message"])
    expect("lines", len(lines), len(pairs))
    x, y = a.astype(float), b.astype(float)
    truth = (0.5 + 0.5 * x.dot(y) / numpy.linalg.norm(x) / numpy.linalg.norm(y), numpy.linalg.norm(x - y) / 10, numpy.mean(abs((x - y) / y)) * 100,
             abs(x - y).max(), abs((x - y) / y).max())
    for word, wanted in zip(("Cosine", "RMSE", "MAPE", "MaxAbsErr", "MaxRelativeErr"), truth):
        expect_true(f"{word}: {lines[0][word]} {wanted}", abs(number(lines[0][word]) - wanted) <= 6e-5 * (word == "MAPE") + 6e-7)
    expect("the same", [lines[1][word] for word in ("Cosine", "RMSE", "MAPE", "MaxAbsErr", "Err_message")], ["1.000000", "0.000000", "0.0000%", "0.000000", ""])
    expect("zeros", (lines[2]["Cosine"], lines[2]["MaxRelativeErr"]), ("1.000000", "NaN"))
    expect("zero in A", (lines[3]["Cosine"], "Zero in npu" in lines[3]["Err_message"], lines[3]["MAPE"]), ("NaN", True, "100.0000%"))
    expect("zero in B", (lines[4]["Cosine"], "Zero in Bench" in lines[4]["Err_message"], lines[4]["MaxRelativeErr"]), ("NaN", True, "inf"))
    expect("one", (lines[5]["Cosine"], lines[5]["Err_message"], lines[5]["MAPE"]), ("1.000000", "This tensor is scalar.", "50.0000%"))
    expect("shapes", {lines[6][word] for word in ("Cosine", "RMSE", "MAPE", "MaxAbsErr", "MaxRelativeErr")}, {"cannot be calculated"})
    for side, word in enumerate(("npu", "bench")):
        elements, = glob.glob(run.path(f"csv-ptdbg{side}", "step0", "rank0", "dump_*"))
        os.rename(elements, run.path(f"moved{side}"))
        paths[f"{word}_dump_data_dir"] = run.path(f"moved{side}")
    with open(ptdbg.compare(paths, run.path("out"), True, now=99999), encoding="utf-8") as stream:
        again = list(csv.DictReader(stream))
    expect("lines of the same shapes", again, lines[:-1])


# ---- files, and wrong usage ----

def check_files(run: Run, npy, pt):
    for dtype in sorted(set(NPY + PT)):
        size = 2 if dtype == "bfloat16" else numpy.dtype(dtype).itemsize
        for shape in SHAPES:
            count = int(numpy.prod(shape))
            raw = bytes(place % (2 if dtype == "bool" else 251) for place in range(count * size))
            npy.save(run.path("x.npy"), raw, dtype, shape)
            array = numpy.load(run.path("x.npy"))
            expect(f"{dtype} {shape}: NumPy", (array.shape, array.tobytes() == raw), (shape, dtype in NPY or not count))
            if dtype in PT:
                pt.save(run.path("x.pt"), raw, dtype, shape)
                tensor = torch.load(run.path("x.pt"))
                flat = tensor.reshape(-1)
                expect(f"{dtype} {shape}: torch", (tensor.dtype, tuple(tensor.shape)), (getattr(torch, dtype), shape))
                expect(f"{dtype} {shape}: elements", flat.view(torch.uint8).numpy().tobytes() if count else b"", raw)
            if dtype == "bfloat16":
                expect_true("bfloat16 as float32", numpy.array_equal(array, tensor.float().numpy(), equal_nan=True))


def check_usage(run: Run):
    run_it = ["-m", "hooktrace.precision.export"]
    wanted = [(["--help"], 0, ""), ([], 2, "required"), ([run.path("none"), "--format", "msprobe", "-o", run.path("e1")], 1, "cannot export .*none"),
              ([run.path("own"), "--format", "numpy", "-o", run.path("e1")], 2, "invalid choice"),
              ([run.path("own"), "--format", "ptdbg", "-o", run.path("e1"), "--dump-step", "0"], 2, "not from 1 to 100"),
              ([run.path("own"), "--format", "msprobe", "-o", run.path("own")], 1, "cannot write .*not empty")]
    for words, code, says in wanted:
        done = python(run, *run_it, *words, check=False)
        expect(f"{words}: exit {done.stderr}", done.returncode, code)
        expect_true(f"{words}: {done.stderr!r}", re.search(says, done.stderr) and "Traceback" not in done.stderr)
    check_no_room(run)


def check_no_room(run: Run):
    """A file system that takes no more: said, and what is there is no dump."""
    limited = ("import resource, runpy; resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024));"
               " runpy.run_module('hooktrace.precision.export', run_name='__main__')")
    for form in ("msprobe", "ptdbg"):
        done = python(run, "-c", limited, run.path("own"), "--format", form, "-o", run.path(f"full-{form}"), check=False)
        expect(f"{form}: exit", done.returncode, 1)
        expect_true(f"{form}: {done.stderr!r}", re.search(r"cannot write .*File too large \(what is in .* is not whole", done.stderr))
        expect(f"{form}: dump.json", glob.glob(run.path(f"full-{form}", "*", "*", "dump.json")), [])


def test(run: Run):
    npy, pt, ptdbg, reading = load_package(run)
    check_msprobe(run)
    check_by_hand(run)
    check_ptdbg(run, reading)
    check_records(run, ptdbg)
    check_modes(run, ptdbg, reading)
    check_ptdbg_csv(run, ptdbg)
    check_files(run, npy, pt)
    check_usage(run)


main(test)
