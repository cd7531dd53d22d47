"""A program written for ptdbg_ascend, and what it finds in its files. `done` is printed at the end; it runs in a directory of its own."""
import csv
import glob
import json
import os
import random

import numpy
import torch
import torch.nn.functional as F
from torch_program import Cnn

from hooktrace.compat.ptdbg_ascend import (CompareException, acc_cmp_dump, compare, overflow_check, parse, register_hook, seed_all, set_dump_path,
                                           set_dump_switch)

torch.set_num_threads(1)


def same(what, got, wanted):
    assert got == wanted, f"{what}: {got}, expected {wanted}"


def refused(code, work):
    try:
        work()
    except CompareException as error:
        same("code", error.code, code)
    else:
        raise AssertionError("not refused")


X, Y = torch.ones(16, 3, 32, 32), torch.zeros(16, dtype=torch.long)


def step(model):
    F.cross_entropy(model(X), Y).backward()


def records(path):
    with open(path, encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def everything(model):
    step(model)  # the switch is off
    set_dump_switch("ON")
    step(model)
    set_dump_switch("OFF")
    step(model)
    found = records("npu_dump.pkl")
    names = [record[0] for record in found]
    same("the first call", names[:4], ["0_Functional_conv2d_forward_input.0", "0_Functional_conv2d_forward_input.1", "0_Functional_conv2d_forward_input.2",
                                       "0_Functional_conv2d_forward_output"])
    assert any("_backward_" in name for name in names) and not any("stack_info" in name for name in names), names
    directory, = glob.glob("npu_dump_*")
    for name, dump_step, _, dtype, shape, (most, least, mean) in found:
        values = numpy.load(os.path.join(directory, name + ".npy"))
        count = int(numpy.prod(shape))
        same(f"elements of {name}", (dump_step, len(values), dtype), (2, count if count <= 512 else 512 + -(-(count - 512) // 2), "torch.float32"))
        if count <= 512:
            assert (values.max(), values.min()) == (most, least) and abs(values.mean() - mean) < 1e-6, name
    same("what is left beside", sorted(os.listdir(".")), sorted(["npu_dump.pkl", directory]))


def scopes(model):
    set_dump_path("listed.pkl")
    set_dump_switch("ON", mode=2, scope=["0_Functional_conv2d", "2_Functional_relu"])
    step(model)
    set_dump_switch("OFF")
    found = records("listed.pkl")
    assert found[0][0] == "0_Functional_conv2d_forward_stack_info" and "torch_program" in str(found[0][1]), found[0]
    assert all(record[0].startswith("0_Functional_conv2d") for record in found), [record[0] for record in found]
    set_dump_path("range.pkl")
    set_dump_switch("ON", mode=3, scope=[1, 2])
    step(model)
    set_dump_switch("OFF")
    same("numbers of the range", {record[0].split("_")[0] for record in records("range.pkl")}, {"1", "2"})
    set_dump_path("stacks.pkl")
    set_dump_switch("ON", mode=4)
    step(model)
    set_dump_switch("OFF")
    assert all(record[0].endswith("stack_info") for record in records("stacks.pkl"))
    parse("listed.pkl", "0_Functional_conv2d")


def compared():
    """The rows of two dumps that differ by a shift of 1e-3, with the metrics of their files' elements."""
    sides = {}
    for side, shift in (("npu", 1e-3), ("bench", 0)):
        set_dump_path(f"{side}.pkl")
        set_dump_switch("ON")
        F.relu(X[0, 0] + shift)
        set_dump_switch("OFF")
        sides[f"{side}_pkl_path"] = f"{side}.pkl"
        sides[f"{side}_dump_data_dir"], = glob.glob(f"{side}_2*")
    refused(1, lambda: compare(sides, "no-such-directory"))
    os.mkdir("out")
    with open(compare(sides, "out"), encoding="utf-8") as stream:
        rows = {row["NPU Name"]: row for row in csv.DictReader(stream)}
    for name, row in rows.items():
        a, b = (numpy.load(os.path.join(sides[f"{side}_dump_data_dir"], name + ".npy")).astype(float) for side in ("npu", "bench"))
        same(f"cosine of {name}", row["Cosine"], f"{0.5 + 0.5 * a @ b / numpy.linalg.norm(a) / numpy.linalg.norm(b):.6f}")
        same(f"RMSE of {name}", row["RMSE"], f"{numpy.linalg.norm(a - b) / len(a) ** 0.5:.6f}")
        same(f"MaxAbsErr of {name}", row["MaxAbsErr"], f"{abs(a - b).max():.6f}")
    same("an operator", rows["1_Functional_relu_forward_output"]["RMSE"], "0.001000")


def overflows(model):
    register_hook(model, overflow_check, overflow_nums=2)
    try:
        torch.ones(2) / torch.zeros(2) * 2
    except ValueError as error:
        file, = glob.glob("Overflow_info_*.pkl")
        same("the error", str(error), f"[overflow 2 times]: dump file is saved in '{os.path.abspath(file)}'.")
    else:
        raise AssertionError("the training went on")
    names = [record[0] for record in records(file)]
    assert names[0].endswith("Tensor___truediv___forward_stack_info") and len(names) >= 5, names
    torch.ones(2) / torch.zeros(2)


def main():
    same("seeded at import", (random.random(), os.environ["PYTHONHASHSEED"]), (random.Random(1234).random(), "1234"))
    seed_all(5)
    same("seeded", random.random(), random.Random(5).random())
    model = Cnn()
    refused(12, lambda: register_hook(model, acc_cmp_dump, dump_step=101))
    refused(1, lambda: set_dump_path("."))
    register_hook(model, acc_cmp_dump, dump_step=2)
    set_dump_path("npu_dump.pkl")
    everything(model)
    scopes(model)
    compared()
    overflows(model)
    print("done")


if __name__ == "__main__":
    main()
