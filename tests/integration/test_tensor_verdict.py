#!/usr/bin/python3
"""Verdicts: a healthy computation in two precisions agrees, by elements and by statistics; a fault in one tensor of it differs.

The computations are networks of NumPy, whose results are rounded to a dtype after each operation, and, where torch is installed, a
transformer with its gradients.
"""
import numpy as np

from harness import expect, expect_true, main
from tensor_library import FLOATS, Library, array_of, values_of

LAYERS, WIDTH, BATCH = 12, 96, 64


def layers_of(dtype, seed):
    """The results of each layer of a network with residual connections: (values, dtype) by name."""
    random = np.random.default_rng(seed)

    def rounded(x):
        return values_of(array_of(x.ravel(), dtype), dtype).reshape(x.shape)

    rows, x = {}, rounded(random.normal(size=(BATCH, WIDTH)))
    for layer in range(LAYERS):
        weight = rounded(random.normal(size=(WIDTH, WIDTH)) / WIDTH ** 0.5)
        kind = np.float64 if dtype == "float64" else np.float32
        y = rounded((x.astype(kind) @ weight.astype(kind)).astype(np.float64))
        rows[f"{layer}.linear"] = y
        x = rounded(x + rounded(np.maximum(y, 0)))
        x = rounded(x / np.sqrt((x * x).mean(axis=1, keepdims=True)))
        rows[f"{layer}.norm"] = x
        rows[f"{layer}.weight"] = weight
    return {name: array_of(value.ravel(), dtype).reshape(value.shape) for name, value in rows.items()}


def check_healthy(library):
    wide = {dtype: layers_of(dtype, 1) for dtype in ("float64", "float32")}
    for dtype, reference in (("float32", "float64"), ("bfloat16", "float32"), ("float16", "float32"), ("bfloat16", "float64")):
        rows = layers_of(dtype, 1)
        for name, row in rows.items():
            for elements in (True, False):
                got, why = library.verdict(row, dtype, wide[reference][name], reference, elements)
                expect_true(f"{name} in {dtype} beside {reference}: {got}, {why}", got == "agrees")


def flip(array, at, bit):
    changed = array.copy()
    changed.view(f"u{array.itemsize}").ravel()[at] ^= np.array(1 << bit, f"u{array.itemsize}")
    return changed


def faults_of(array, dtype):
    """What goes wrong, with whether statistics without digests that can be compared show it."""
    spoiled = array.copy()
    spoiled.ravel()[77] = array_of([np.nan], dtype)[0]
    infinite = array.copy()
    infinite.ravel()[5] = array_of([-np.inf], dtype)[0]
    top = {"float32": 30, "bfloat16": 14, "float16": 14}[dtype]
    small = int(np.abs(values_of(array, dtype)).argmin())
    yield "NaN", spoiled, True
    yield "Inf", infinite, True
    yield "exponent's bit", flip(array, small, top), True
    yield "zeros", np.zeros_like(array), True
    yield "transposed", np.ascontiguousarray(array.T), False
    yield "rolled", np.roll(array, 1), False
    yield "doubled", array_of(values_of(array, dtype).reshape(array.shape) * 2, dtype), True


def check_faults(library):
    golden = layers_of("float32", 1)
    for dtype in ("float32", "bfloat16", "float16"):
        rows = layers_of(dtype, 1)
        for fault, broken, in_statistics in faults_of(rows["3.weight"], dtype):
            what = f"{fault} in {dtype}"
            expect(what, library.verdict(broken, dtype, golden["3.weight"], "float32")[0], "differs")
            expect(f"{what} beside its own", library.verdict(broken, dtype, rows["3.weight"], dtype)[0], "differs")
            expect(f"{what}, statistics", library.verdict(broken, dtype, rows["3.weight"], dtype, elements=False)[0], "differs")
            if in_statistics:
                got = library.verdict(broken, dtype, golden["3.weight"], "float32", elements=False)
                expect(f"{what}, statistics beside float32", got[0], "differs")


def check_reasons(library):
    a = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    cases = {
        "equal": (a, "float32", a, "float32", "agrees", "equal bit by bit"),
        "zeros' signs": (np.zeros(3, np.float32), "float32", -np.zeros(3, np.float32), "float32", "agrees", "all elements are equal"),
        "shapes": (a, "float32", a.T, "float32", "not compared", "as many elements in A as in B, but other shapes"),
        "ones": (a, "float32", a[:, None, :, None], "float32", "agrees", "equal bit by bit"),
        "counts": (a, "float32", a[:2], "float32", "not compared", "12 elements in A, 8 in B"),
        "empty": (a[:0], "float32", a[:0], "float32", "agrees", "both are empty"),
        "integers": (np.array([1, 2, 3]), "int64", np.array([1, 5, 3]), "int64", "differs", "1 of 3 integers differ"),
        "wider integers": (np.array([1, 2, 3]), "int64", np.array([1, 2, 3], np.int32), "int32", "agrees", "0 of 3 integers differ"),
        "large integers": (np.array([2**60 + 1]), "int64", np.array([2**60]), "int64", "differs", "integers differ: other digests"),
        "NaN": (np.array([1, np.nan]), "float64", np.array([1.0, 2.0]), "float64", "differs", "1 NaN, 0 +Inf, 0 -Inf; in B 0 NaN, 0 +Inf, 0 -Inf"),
        "other NaN": (np.array([1, np.nan]), "float64", np.array([np.nan, 1]), "float64", "differs",
                      "NaN or Inf at other elements: 1 in A, 1 in B"),
    }
    for what, (x, dtype_x, y, dtype_y, verdict, reason) in cases.items():
        expect(what, library.verdict(x, dtype_x, y, dtype_y), (verdict, reason))
    got = library.verdict(np.append(a, a) * np.float32(1.01), "float32", np.append(a, a), "float32")
    expect("all beyond", got, ("differs", "100 % beyond 1/1000; float32 explains 0 %; relative difference 0.01, allowed 6.34e-05"))
    lonely = np.ones(1 << 16, np.float32)
    lonely[1234] = 1.01
    expect("one", library.verdict(lonely, "float32", np.ones(1 << 16, np.float32), "float32"),
           ("differs", "element 1234 is 0.01 apart, float32 allows 0.000254"))
    transposed = library.verdict(np.ascontiguousarray(a.reshape(4, 3).T), "float32", a, "float32", elements=False)
    expect("another order", transposed, ("differs", "the same numbers in another order: other digests, same statistics"))
    zeros = np.array([0.0, 1.5, 0.0, 2.5], np.float32)
    expect("signs of zeros", library.verdict(zeros * np.float32([-1, 1, 1, 1]), "float32", zeros, "float32", elements=False)[0], "agrees")
    # What was computed in bfloat16 and stored in float32.
    x = np.random.default_rng(3).normal(size=1000)
    stored = values_of(array_of(x, "bfloat16"), "bfloat16").astype(np.float32)
    expect("stored wider", library.verdict(stored, "float32", x.astype(np.float32), "float32")[0], "differs")
    expect("said so", library.verdict(stored, "float32", x.astype(np.float32), "float32", least="bfloat16")[0], "agrees")


def check_one_rounding(library):
    """A last bit of one element of many is no other order."""
    random = np.random.default_rng(5)
    for dtype in FLOATS[:3]:
        x = array_of(random.normal(size=1 << 18), dtype)
        for elements in (True, False):
            got = library.verdict(flip(x, 4711, 0), dtype, x, dtype, elements)
            expect_true(f"a last bit of {dtype}: {got}", got[0] == "agrees")


def transformer_rows(torch, dtype):
    torch.manual_seed(4)
    layers = [torch.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True) for _ in range(4)]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(64, 10)).to(dtype)
    rows = {}
    for name, module in model.named_modules():
        if not list(module.children()):
            module.register_forward_hook(lambda _, __, out, name=name: rows.update({name: out.detach()}))
    model(torch.randn(8, 32, 64).to(dtype)).mean(1).float().pow(2).sum().backward()
    rows.update({f"gradient of {name}": parameter.grad for name, parameter in model.named_parameters()})
    return {name: row.contiguous() for name, row in rows.items()}


def check_torch(library):
    try:
        import torch  # pylint: disable=import-outside-toplevel
    except ImportError:
        print("no torch: no transformer")
        return
    rows = {dtype: transformer_rows(torch, getattr(torch, dtype)) for dtype in ("float64", "float32", "bfloat16")}
    arrays = {dtype: {name: row.view(torch.int16).numpy().view(np.uint16) if dtype == "bfloat16" else row.numpy()
                      for name, row in rows[dtype].items()} for dtype in rows}
    for dtype, reference in (("float32", "float64"), ("bfloat16", "float32")):
        for name, row in arrays[dtype].items():
            for elements in (True, False):
                got, why = library.verdict(row, dtype, arrays[reference][name], reference, elements)
                expect_true(f"{name} in {dtype} beside {reference}: {got}, {why}", got == "agrees")


def test(run):
    library = Library(run.build)
    check_reasons(library)
    check_healthy(library)
    check_faults(library)
    check_one_rounding(library)
    check_torch(library)
    rule = library.rule()
    expect_true(f"rule: {rule}", rule.startswith("rule: ") and "T = 40 u + 1024 s" in rule)


if __name__ == "__main__":
    main(test)
