#!/usr/bin/python3
"""Statistics and digests of tensors by each kind of loops that this machine runs, compared with NumPy in extended precision."""
import ctypes
import itertools
import mmap
import os
import tempfile

import numpy as np

from harness import expect, expect_true, main
from tensor_library import DTYPES, FLOATS, Library, Tensor, array_of, digest_of, tensor_of, values_of

EXACT = ["count", "nans", "positive_infs", "negative_infs", "zeros", "min", "max"]
RELATIVE = 1e-10
# Of the largest number, in doubles: what rounding of a sum may do to a mean and a deviation.
ROUNDING = 1e-15
FIELDS = EXACT + ["mean", "l2", "deviation", "digest"]
SIZES = [0, 1, 2, 7, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 1000, 4095, 4096, 4097, 8191, 8193, 16385, 40000]
NAN = float("nan")


def truth(x):
    """The statistics of the doubles X, without a digest."""
    finite = x[np.isfinite(x)].astype(np.longdouble)
    row = {"count": x.size, "nans": np.isnan(x).sum(), "positive_infs": np.isposinf(x).sum(), "negative_infs": np.isneginf(x).sum(),
           "zeros": (x == 0).sum(), "min": NAN, "max": NAN, "mean": NAN, "l2": 0.0, "deviation": NAN}
    if finite.size:
        mean = finite.mean()
        row.update(min=finite.min(), max=finite.max(), mean=mean, l2=np.sqrt((finite * finite).sum()),
                   deviation=np.sqrt(((finite - mean) ** 2).mean()))
    return {name: float(value) for name, value in row.items()}


def same(a, b):
    return a == b or (a != a and b != b)


def check_truth(what, got, x):
    want = truth(x)
    for name in EXACT:
        expect_true(f"{what}: {name} {getattr(got, name)}, NumPy {want[name]}", same(getattr(got, name), want[name]))
    finite = x[np.isfinite(x)]
    most = float(np.abs(finite).max()) if finite.size else 0
    for name in ("mean", "l2", "deviation"):
        value = getattr(got, name)
        slack = RELATIVE * abs(want[name]) + (0 if name == "l2" else ROUNDING * most)
        expect_true(f"{what}: {name} {value!r}, NumPy {want[name]!r}", same(value, want[name]) or abs(value - want[name]) <= slack)


def check(library, what, array, dtype):
    """All kinds of loops agree in every bit, and with NumPy."""
    tensor, first = tensor_of(array, dtype), None
    for kernels in library.kernels:
        got = library.statistics_of(tensor, kernels)
        first = first or got
        for name in FIELDS:
            a, b = getattr(first, name), getattr(got, name)
            expect_true(f"{what}: {name} {a!r} by {next(iter(library.kernels))}, {b!r} by {kernels}", same(a, b))
    with np.errstate(all="ignore"):
        check_truth(f"{what} of {dtype}", first, values_of(array, dtype))
    expect(f"digest of {what} of {dtype}", first.digest, digest_of(array, dtype))
    return first


def random_bits(random, dtype, size):
    kind = DTYPES[dtype][1]
    raw = random.integers(0, 256, size * np.dtype(kind).itemsize, dtype=np.uint8).view(kind)
    return raw & 1 if dtype == "bool" else raw


def check_sizes(library, random):
    for dtype, size in itertools.product(DTYPES, SIZES):
        check(library, f"random bits, {size}", random_bits(random, dtype, size), dtype)
    for dtype, size in itertools.product(FLOATS, SIZES):
        check(library, f"normal, {size}", array_of(random.normal(size=size), dtype), dtype)


def check_all_patterns(library):
    for dtype in ("float16", "bfloat16", "uint16", "int16"):
        patterns = np.arange(1 << 16).astype(np.uint16).view(DTYPES[dtype][1])
        check(library, "all patterns", patterns, dtype)
        for pattern in patterns[::97]:
            check(library, "one pattern", np.array([pattern]), dtype)
    for dtype in ("float8_e4m3fn", "float8_e5m2", "uint8", "int8"):
        for pattern in range(256):
            check(library, "one pattern", np.array([pattern], np.uint8).view(DTYPES[dtype][1]), dtype)


def check_special(library, random):
    """NaN, Inf and zeros at any place, alone and many."""
    for dtype in FLOATS[:4]:
        base = array_of(random.normal(size=5000), dtype)
        for value, at in itertools.product((np.nan, np.inf, -np.inf, 0.0, -0.0), (0, 1, 15, 16, 2047, 4095, 4096, 4999)):
            array = base.copy()
            array[at] = array_of([value], dtype)[0]
            check(library, f"{value} at {at}", array, dtype)
        for value in (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -3.0):
            check(library, f"only {value}", array_of(np.full(5000, value), dtype), dtype)
        mask = np.where(random.random(20000) < 0.5, -np.inf, 0.0)
        check(library, "a mask", array_of(mask, dtype), dtype)


def check_constant(library):
    """No rounding of sums is left where all elements are the same."""
    for dtype in ("float64", "float32", "uint64"):
        got = check(library, "a constant", array_of(np.full(50001, 0.1 if dtype != "uint64" else 2.0 ** 60), dtype), dtype)
        expect(f"a constant's figures in {dtype}", (got.mean, got.deviation), (got.min, 0.0))


def check_hard(library, random):
    """A mean that hides the deviation, magnitudes at the ends of the range, one large number among small ones."""
    normal = random.normal(size=20000)
    cases = {"far mean": 1e6 + normal, "farther mean": 1e9 + normal * 1e-3, "one large": np.where(np.arange(20000) == 777, 1e30, normal),
             "alternating": np.where(np.arange(20000) % 2, 1e8, -1e8) + normal, "two blocks": np.repeat([1.0, 1e7], 10000) + normal * 1e-3,
             "largest floats": np.full(20000, 3.4e38), "smallest floats": normal * 1e-44}
    for (what, values), dtype in itertools.product(cases.items(), ("float32", "float64")):
        check(library, what, array_of(values, dtype), dtype)
    for scale in (1e300, 1e308 / 5, 1e160, 1e-160, 1e-300, 1e-320):
        check(library, f"scale {scale}", normal * scale, "float64")
        check(library, f"scale {scale} with NaN", np.append(normal * scale, [np.nan, np.inf]), "float64")
    check(library, "tiny among large", np.append(np.full(5000, 1e-300), 1e300), "float64")
    big = np.array([2**63 - 1, -2**63, 2**53 + 1, -2**53 - 1] * 1000, np.int64)
    check(library, "beyond 2^53", big, "int64")
    check(library, "beyond 2^53", big.view(np.uint64), "uint64")


def check_layouts(library, random):
    for dtype in ("uint8", "bfloat16", "float32", "float64", "int64"):
        base = random_bits(random, dtype, 24 * 40 * 30).reshape(24, 40, 30)
        views = {
            "transposed": base.T, "permuted": base.transpose(1, 0, 2), "steps": base[::2, ::3, ::7], "backwards": base[::-1, :, ::-1],
            "repeated": np.broadcast_to(base[:, :1, :], (24, 40, 30)), "one repeated": np.broadcast_to(base[0, 0, 0], (300, 100)),
            "ones": base[:, None, :, None, :][:, :, 3:5], "a row": base[3, 4], "scalar": base[1, 2, 3:4].reshape(()),
            "empty": base[:0], "empty inside": base[:, :, :0], "column": base[:, 5, 5], "part": base[3:20, 1:39, 2:29],
            "joined backwards": base[::-1, ::-1, ::-1],
        }
        for what, view in views.items():
            got = check(library, what, view, dtype)
            expect(f"digest of {what} {dtype}", got.digest, library.statistics(np.ascontiguousarray(view), dtype).digest)
        for offset in (1, 2, 3, 5, 7):
            raw = np.empty(base.nbytes + 8, np.uint8)
            raw[offset:offset + base.nbytes] = base.reshape(-1).view(np.uint8)
            moved = np.frombuffer(raw.data, base.dtype, base.size, offset)
            expect(f"digest at an odd address of {dtype}", check(library, "unaligned", moved, dtype).digest,
                   library.statistics(base, dtype).digest)
    deep = random.normal(size=64)[:32].astype(np.float32).reshape((2,) + (1,) * 24 + (2,) * 4)
    check(library, "many dimensions", deep, "float32")


def check_tall(library, random):
    """Long runs whose elements are neighbours of those of the next runs: they are copied several at a time."""
    for dtype in ("uint8", "bfloat16", "float32", "float64"):
        base = random_bits(random, dtype, 3 * 600 * 75).reshape(3, 600, 75)
        views = [base[0].T, base.transpose(0, 2, 1), base.transpose(2, 0, 1), base.transpose(2, 1, 0), base[:, :, 3:70].transpose(0, 2, 1),
                 base[:, ::-1, :5].transpose(2, 0, 1), base[::2, 5:590, 11:12 + 16].transpose(0, 2, 1)]
        for at, view in enumerate(views):
            got = check(library, f"tall {at}", view, dtype)
            expect(f"digest of tall {at} {dtype}", got.digest, library.statistics(np.ascontiguousarray(view), dtype).digest)
    for rows, columns in ((70000, 5), (300000, 2), (600000, 2)):
        wide = random.integers(0, 256, (rows, columns), dtype=np.uint8)
        expect(f"digest of {rows} rows", library.statistics(wide.T, "uint8").digest,
               library.statistics(np.ascontiguousarray(wide.T), "uint8").digest)


def check_refused(library):
    one = np.zeros(1, np.float32)
    shape = (ctypes.c_uint64 * 70)(*[1] * 70)
    large = (ctypes.c_uint64 * 3)(1 << 31, 1 << 31, 1 << 31)
    cases = {"no dtype": Tensor(one.ctypes.data, 0, 1, shape, None), "unknown dtype": Tensor(one.ctypes.data, 16, 1, shape, None),
             "negative dtype": Tensor(one.ctypes.data, -1, 1, shape, None), "65 dimensions": Tensor(one.ctypes.data, 12, 65, shape, None),
             "too large": Tensor(one.ctypes.data, 12, 3, large, None)}
    for (what, tensor), kernels in itertools.product(cases.items(), library.kernels):
        expect(what, library.statistics_of(tensor, kernels), -22)


def check_mode(library, random):
    """Flushing of subnormal numbers, as torch.set_flush_denormal sets it, changes no figure."""
    libm = ctypes.CDLL("libm.so.6")
    array = (random.normal(size=3000) * 1e-39).astype(np.float32)
    before = library.statistics(array, "float32")
    environment = (ctypes.c_uint32 * 16)()
    libm.fegetenv(ctypes.byref(environment))
    usual = environment[7]
    environment[7] = usual | 0x8040
    libm.fesetenv(ctypes.byref(environment))
    flushed = library.statistics(array, "float32")
    libm.fegetenv(ctypes.byref(environment))
    kept = environment[7]
    environment[7] = usual
    libm.fesetenv(ctypes.byref(environment))
    expect("figures with flushing", str(flushed), str(before))
    expect("the caller's mode", kept, usual | 0x8040)


def check_huge(library):
    """More than 2^32 elements of a sparse file, with a few that are not zero."""
    count = (1 << 32) + 12345
    marks = {0: 3, (1 << 31) + 7: 200, 1 << 32: 255, count - 1: 9}
    with tempfile.TemporaryFile() as file:
        file.truncate(count)
        for at, value in marks.items():
            os.pwrite(file.fileno(), bytes([value]), at)
        with mmap.mmap(file.fileno(), count, prot=mmap.PROT_READ) as memory:
            array = np.frombuffer(memory, np.uint8)
            got = library.statistics(array, "uint8")
            del array
    total, squares = sum(marks.values()), sum(value * value for value in marks.values())
    expect("count", (got.count, got.zeros, got.min, got.max), (count, count - 4, 0, 255))
    expect_true(f"mean {got.mean}", abs(got.mean * count / total - 1) < RELATIVE)
    expect_true(f"l2 {got.l2}", abs(got.l2 ** 2 / squares - 1) < RELATIVE)
    deviation = (squares / count - (total / count) ** 2) ** 0.5
    expect_true(f"deviation {got.deviation}", abs(got.deviation / deviation - 1) < RELATIVE)


def test(run, only=None):
    library = Library(run.build)
    if only == "huge":
        check_huge(library)
        return
    random = np.random.default_rng(17)
    check_sizes(library, random)
    check_all_patterns(library)
    check_special(library, random)
    check_constant(library)
    check_hard(library, random)
    check_layouts(library, random)
    check_tall(library, random)
    check_refused(library)
    if os.uname().machine == "x86_64":
        check_mode(library, random)


if __name__ == "__main__":
    main(test)
