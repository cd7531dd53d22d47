#!/usr/bin/python3
"""Differences of two tensors, all dtypes against all, compared with NumPy: sums in extended precision, ULP by tables of all numbers."""
import itertools

import numpy as np

from harness import expect, expect_true, main
from tensor_library import DTYPES, EIGHTHS, FLOATS, Library, array_of, values_of

DIGITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8, "float8_e4m3fn": 4, "float8_e5m2": 3}
SLACK = 1e-9
EXACT = ["count", "equal", "only_a", "only_b", "max_abs", "max_abs_at", "max_ulp", "median_ulp_bound"]
NEAR = ["cosine", "cosine_half", "rmse", "mape", "max_rel", "euclidean", "within_1000", "within_5000", "within_dtype"]
NAN = float("nan")


def table_of(dtype):
    """All finite numbers of a dtype of 8 or 16 bits from 0 on, then those that would follow."""
    if dtype in EIGHTHS:
        table = EIGHTHS[dtype][:128]
    else:
        codes = np.arange(1 << 15, dtype=np.uint16)
        table = values_of(codes.view(DTYPES[dtype][1]), dtype)
    table = table[np.isfinite(table)]
    return np.append(table, table[-1] + (table[-1] - table[-2]))


def numbers_by_table(x, dtype):
    """The nearest one's index, the even one's of two; with the sign of X."""
    table, size = table_of(dtype), np.abs(x)
    upper = np.searchsorted(table, size).clip(1, table.size - 1)
    below, above = size - table[upper - 1], table[upper] - size
    index = np.where((below < above) | ((below == above) & (upper % 2 == 1)), upper - 1, upper)
    return [int(i) if v >= 0 else -int(i) for i, v in zip(index, x)]


def numbers_of(x, dtype):
    if dtype not in FLOATS:
        return [int(v) for v in x]
    if dtype in ("float32", "float64"):
        kind, code = (np.float32, np.int32) if dtype == "float32" else (np.float64, np.int64)
        magnitude = np.abs(x).astype(kind).view(code)
        return [int(i) if v >= 0 else -int(i) for i, v in zip(magnitude, x)]
    return numbers_by_table(x, dtype)


def cosine_of(a, b, none):
    norms = np.sqrt((a * a).sum()), np.sqrt((b * b).sum())
    zero = [norm <= none for norm in norms]
    if all(zero):
        return 1.0
    return NAN if any(zero) else float((a * b).sum() / norms[0] / norms[1])


def ulp_truth(row, a, b, dtype_a, dtype_b, agree):
    narrower = min(dtype_a, dtype_b, key=lambda dtype: DIGITS.get(dtype, 64))
    distances = [abs(p - q) for p, q in zip(numbers_of(a, narrower), numbers_of(b, narrower))]
    explained = 1 if narrower in FLOATS and dtype_a == dtype_b else 0
    row["max_ulp"] = max(distances, default=0)
    ordered = sorted(distances + [0] * agree)
    middle = ordered[(len(ordered) - 1) // 2] if ordered else 0
    row["median_ulp_bound"] = 0 if middle == 0 else 1 << (middle - 1).bit_length()
    row["within_dtype"] = (sum(d <= explained for d in distances) + agree) / row["count"] if row["count"] else 1.0


def truth(x, y, dtype_a, dtype_b):
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    finite = np.isfinite(x) & np.isfinite(y)
    agree = int((same & ~finite).sum())
    a, b = x[finite].astype(np.longdouble), y[finite].astype(np.longdouble)
    apart, known = np.abs(x[finite] - y[finite]), y[finite] != 0
    relative = apart[known] / np.abs(y[finite][known])
    count = max(x.size, 1)
    row = {"count": x.size, "equal": int(same.sum()), "only_a": int((~np.isfinite(x) & ~same).sum()),
           "only_b": int((~np.isfinite(y) & ~same).sum()), "cosine": cosine_of(a, b, 0),
           "cosine_half": 1.0 if x.size == 1 else 0.5 + 0.5 * cosine_of(a, b, 2.0 ** -52),
           "euclidean": float(np.sqrt(((a - b) ** 2).sum())), "max_abs": apart.max(initial=0.0), "max_abs_at": 0,
           "mape": float(relative.mean() * 100) if relative.size else NAN, "max_rel": relative.max() if relative.size else NAN}
    row["rmse"] = row["euclidean"] / max(a.size, 1) ** 0.5
    if row["max_abs"] > 0:
        row["max_abs_at"] = int(np.flatnonzero(finite)[apart.argmax()])
    for bound in (1000, 5000):
        limit = 1 / 1000 if bound == 1000 else 5 / 1000
        near = (relative < limit).sum() + (apart[~known] == 0).sum() + agree
        row[f"within_{bound}"] = float(near / count) if x.size else 1.0
    ulp_truth(row, x[finite], y[finite], dtype_a, dtype_b, agree)
    return row


def check(library, what, a, dtype_a, b, dtype_b):
    got = library.difference(a, dtype_a, b, dtype_b)
    expect(f"{what}, {dtype_a} and {dtype_b}, by plain C", str(library.difference(a, dtype_a, b, dtype_b, plain=True)), str(got))
    with np.errstate(all="ignore"):
        want = truth(values_of(a, dtype_a), values_of(b, dtype_b), dtype_a, dtype_b)
    for name in EXACT + NEAR:
        value, wanted = getattr(got, name), want[name]
        near = value == wanted or (value != value and wanted != wanted)
        if name in NEAR:
            near = near or abs(value - wanted) <= SLACK * abs(wanted) + (1e-12 if "cosine" in name else 0)
        expect_true(f"{what}, {dtype_a} and {dtype_b}: {name} {value!r}, NumPy {wanted!r}", near)


def pair(random, dtype_a, dtype_b, size):
    """Numbers that both dtypes have room for, the second ones a little off."""
    x = random.normal(size=size) * 20
    y = np.where(random.random(size) < 0.3, x, x * (1 + random.normal(size=size) * 0.01))
    x, y = (np.abs(v) if "uint" in dtype_a + dtype_b or "bool" in (dtype_a, dtype_b) else v for v in (x, y))
    return array_of(x, dtype_a), array_of(y, dtype_b)


def check_dtypes(library, random):
    for dtype_a, dtype_b in itertools.product(DTYPES, DTYPES):
        a, b = pair(random, dtype_a, dtype_b, 700)
        if "bool" in (dtype_a, dtype_b):
            a, b = (v if d != "bool" else (v > 3).astype(np.uint8) for v, d in ((a, dtype_a), (b, dtype_b)))
        check(library, "about equal", a, dtype_a, b, dtype_b)


def check_special(library, random):
    special = [0.0, -0.0, 1.0, np.nan, np.inf, -np.inf, 1e-30, -2.0]
    both = np.array(list(itertools.product(special, special)))
    for dtype_a, dtype_b in itertools.product(FLOATS[:4], FLOATS[:4]):
        a, b = array_of(both[:, 0], dtype_a), array_of(both[:, 1], dtype_b)
        check(library, "special numbers", a, dtype_a, b, dtype_b)
        for size in (0, 1, 2, 3, 5, 511, 512, 513, 1025):
            a, b = pair(random, dtype_a, dtype_b, size)
            check(library, f"{size} elements", a, dtype_a, b, dtype_b)
        zero, one = array_of(np.zeros(9), dtype_a), array_of(np.ones(9), dtype_a)
        for p, q in ((zero, one), (zero, zero), (one, zero)):
            check(library, "zeros", p, dtype_a, q, dtype_a)


def check_random_bits(library, random):
    for dtype in FLOATS:
        kind = DTYPES[dtype][1]
        a, b = (random.integers(0, 256, 4000 * np.dtype(kind).itemsize, dtype=np.uint8).view(kind) for _ in range(2))
        if dtype not in ("float32", "float64"):
            check(library, "random bits", a, dtype, b, dtype)
            check(library, "random bits", a, dtype, values_of(b, dtype), "float64")
        near = (a.view(f"u{a.itemsize}") ^ random.integers(0, 4, a.size).astype(f"u{a.itemsize}")).view(kind)
        finite = np.abs(values_of(a, dtype)) < 1e150
        check(library, "last bits", a[finite], dtype, near[finite], dtype)
    rounded = array_of(random.normal(size=5000), "float32")
    expect("all explained", library.difference(rounded, "float32", array_of(rounded, "bfloat16"), "bfloat16").within_dtype, 1.0)


def check_magnitudes(library, random):
    """Numbers whose squares are beyond a double's range: NumPy's extended precision has room for them."""
    x = random.normal(size=1500)
    for scale in (1e300, 1e170, 1e-170, 1e-300, 1e-310):
        a, b = x * scale, x * (1 + random.normal(size=1500) * 0.01) * scale
        for special in ([], [np.nan, np.inf]):
            check(library, f"scale {scale}", np.append(a, special), "float64", np.append(b, special), "float64")
    check(library, "zeros and huge", np.zeros(5), "float64", np.full(5, 1e200), "float64")


def check_layouts(library, random):
    base = random.normal(size=(60, 70)).astype(np.float32)
    other = (base * 1.001).astype(np.float32)
    check(library, "transposed", base.T, "float32", other.T, "float32")
    check(library, "one transposed", base.T, "float32", np.ascontiguousarray(other.T), "float32")
    check(library, "steps", base[::-2, ::3], "float32", other[::2, ::-3], "float32")
    expect("other numbers of elements", library.difference(base, "float32", other[1:], "float32"), -22)


def test(run):
    library, random = Library(run.build), np.random.default_rng(29)
    check_dtypes(library, random)
    check_special(library, random)
    check_random_bits(library, random)
    check_magnitudes(library, random)
    check_layouts(library, random)


if __name__ == "__main__":
    main(test)
