#!/usr/bin/python3
"""The same network with the same weights in torch, Paddle and MindSpore, and in narrower dtypes: all rows agree, for a reason that is
said, and a weight that one of them has transposed is named. From PyPI, as test_apis_frameworks.py; TORCH_PYTHON, PADDLE_PYTHON and
MINDSPORE_PYTHON name Pythons that have them."""
import json
import os

import numpy

from harness import Run, expect, expect_true, main
from test_apis import HERE, package_path
from test_apis_frameworks import install

PROGRAM = os.path.join(HERE, "..", "precision", "framework_program.py")
MAPPING = "mindspore.ops.dense = torch.nn.functional.linear\n"
OPERATORS = {"conv2d", "relu", "max_pool2d", "linear", "softmax"}


def weights(run, transposed):
    """Files of the same weights; in the second one the last convolution's is transposed."""
    choose = numpy.random.default_rng(1)
    shapes = {"images": ((4, 3, 16, 16), 1), "first": ((8, 3, 3, 3), 5), "first_bias": ((8,), 5), "second": ((8, 8, 3, 3), 8),
              "second_bias": ((8,), 5), "out": ((10, 512), 20), "out_bias": ((10,), 5)}
    arrays = {name: (choose.standard_normal(shape) / by).astype(numpy.float32) for name, (shape, by) in shapes.items()}
    if transposed:
        arrays["second"] = arrays["second"].transpose(1, 0, 2, 3).copy()
    path = run.path("transposed.npz" if transposed else "weights.npz")
    numpy.savez(path, **arrays)
    return path


def dump(run, python, framework, dtype, file):
    store = run.path("-".join((framework, dtype, os.path.basename(file))))
    environment = {"PYTHONPATH": package_path(run), "PYTHONDONTWRITEBYTECODE": "1"}
    done = run.command(python, PROGRAM, framework, file, store, dtype, env=environment)
    return store, json.loads(done.stdout.splitlines()[-1])


def compared(run, a, b):
    with open(run.path("names.map"), "w") as file:
        file.write(MAPPING)
    done = run.cli("compare", a, b, "--format", "json", "--all", "--map", run.path("names.map"), check=False)
    expect_true(f"compare {a} {b}: {done.stderr}", done.returncode in (0, 1))
    return json.loads(done.stdout)


def check_alike(run, what, a, b):
    """All operators of both dumps have rows, all rows agree, each with its reason."""
    result = compared(run, a, b)
    outputs = [row for row in result["rows"] if row["role"] == "output" and row["verdict"] in ("yes", "equal", "follows")]
    seen = {name for name in OPERATORS for row in outputs if name in row["api"] or (name == "linear" and "dense" in row["api"])}
    expect(f"{what}: operators with an output that agrees", seen, OPERATORS)
    expect(f"{what}: first divergence", result["first"] and result["first"]["text"], None)
    expect(f"{what}: rows that differ", [row["name"] for row in result["rows"] if row["verdict"] == "no"], [])
    expect(f"{what}: rows without a reason", [row["name"] for row in result["rows"] if row["verdict"] != "equal" and not row["reason"]], [])
    print(what, {word: sum(row["verdict"] == word for row in result["rows"]) for word in ("equal", "yes", "follows", "unmatched")}, flush=True)


def test(run: Run):
    torch = os.environ.get("TORCH_PYTHON", "/usr/bin/python3")
    file, transposed = weights(run, False), weights(run, True)
    right, answer = dump(run, torch, "torch", "float32", file)
    pairs = [(torch, "torch", "bfloat16")]
    pairs += [(install(run, "paddle"), "paddle", "float32"), (mindspore := install(run, "mindspore"), "mindspore", "float32"),
              (mindspore, "mindspore", "float16")]
    for python, framework, dtype in pairs:
        store, same = dump(run, python, framework, dtype, file)
        expect(f"{framework} {dtype}: the network's answer", same, answer)
        check_alike(run, f"{framework} {dtype} against torch float32", store, right)
        wrong, _ = dump(run, python, framework, dtype, transposed)
        first = compared(run, wrong, right)["first"]
        expect_true(f"{framework} {dtype}: the transposed weight is named: {first and first['text']}",
                    first and "conv2d" in first["api"] and first["number"] == 1)
        print(first["text"][:200], flush=True)


if __name__ == "__main__":
    main(test)
