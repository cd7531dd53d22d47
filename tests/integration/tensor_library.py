"""tensor_library: the module proto/tensor by ctypes, over NumPy arrays of any strides, and what its dtypes mean, by NumPy alone."""
import ctypes
import os

import numpy as np

DTYPES = {
    "bool": (1, np.uint8), "uint8": (2, np.uint8), "int8": (3, np.int8), "uint16": (4, np.uint16), "int16": (5, np.int16),
    "uint32": (6, np.uint32), "int32": (7, np.int32), "uint64": (8, np.uint64), "int64": (9, np.int64), "float16": (10, np.float16),
    "bfloat16": (11, np.uint16), "float32": (12, np.float32), "float64": (13, np.float64), "float8_e4m3fn": (14, np.uint8),
    "float8_e5m2": (15, np.uint8),
}
FLOATS = ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("dimensions", ctypes.c_uint32),
                ("shape", ctypes.POINTER(ctypes.c_uint64)), ("strides", ctypes.POINTER(ctypes.c_int64))]


class Fields(ctypes.Structure):
    def __repr__(self):
        return str({name: getattr(self, name) for name, _ in self._fields_})


class Statistics(Fields):
    _fields_ = [(name, ctypes.c_uint64) for name in ("count", "nans", "positive_infs", "negative_infs", "zeros")]
    _fields_ += [(name, ctypes.c_double) for name in ("min", "max", "mean", "l2", "deviation")] + [("digest", ctypes.c_uint64)]


class Difference(Fields):
    _fields_ = [(name, ctypes.c_uint64) for name in ("count", "equal", "only_a", "only_b")]
    _fields_ += [(name, ctypes.c_double) for name in ("cosine", "cosine_half", "rmse", "mape", "max_abs", "max_rel")]
    _fields_ += [("max_abs_at", ctypes.c_uint64)]
    _fields_ += [(name, ctypes.c_double) for name in ("euclidean", "within_1000", "within_5000")]
    _fields_ += [("max_ulp", ctypes.c_uint64), ("median_ulp_bound", ctypes.c_uint64), ("within_dtype", ctypes.c_double)]


def tensor_of(array, dtype):
    """A Tensor that reads ARRAY's memory; its elements are of DTYPE. The array must live as long."""
    size = array.itemsize
    shape = (ctypes.c_uint64 * array.ndim)(*array.shape)
    strides = (ctypes.c_int64 * array.ndim)(*(step // size for step in array.strides))
    return Tensor(array.ctypes.data, DTYPES[dtype][0], array.ndim, shape, strides)


class Library:
    def __init__(self, build):
        self.native = ctypes.CDLL(os.path.join(build, "tests", "integration", "tensor", "tensor_numbers.so"))
        for name in ("kernels", "best", "rule"):
            getattr(self.native, f"numbers_{name}").restype = ctypes.c_char_p
        self.kernels = {}
        index = 0
        while (name := self.native.numbers_kernels(index)) is not None:
            if name:
                self.kernels[name.decode()] = index
            index += 1

    def statistics_of(self, tensor, kernels=None):
        got = Statistics()
        index = self.kernels[kernels or self.native.numbers_best().decode()]
        error = self.native.numbers_statistics(index, ctypes.byref(tensor), ctypes.byref(got))
        return got if error == 0 else error

    def statistics(self, array, dtype, kernels=None):
        return self.statistics_of(tensor_of(array, dtype), kernels)

    def difference(self, a, dtype_a, b, dtype_b, plain=False):
        got = Difference()
        of_a, of_b = tensor_of(a, dtype_a), tensor_of(b, dtype_b)
        error = self.native.numbers_difference(ctypes.byref(of_a), ctypes.byref(of_b), ctypes.byref(got), int(plain))
        return got if error == 0 else error

    def rule(self):
        return self.native.numbers_rule().decode()

    def verdict(self, a, dtype_a, b, dtype_b, elements=True, least=None):
        """"agrees", "differs" or "not compared", and why."""
        reason = ctypes.create_string_buffer(192)
        of_a, of_b = tensor_of(a, dtype_a), tensor_of(b, dtype_b)
        got = self.native.numbers_verdict(ctypes.byref(of_a), ctypes.byref(of_b), DTYPES[least][0] if least else 0, int(elements), reason)
        return ("agrees", "differs", "not compared")[got], reason.value.decode()


def eighth_values(exponent_bits, bias, has_inf):
    """The 256 numbers of a float8, from the definition: sign, exponent, fraction."""
    code = np.arange(256)
    fraction_bits = 7 - exponent_bits
    exponent, fraction = (code & 0x7f) >> fraction_bits, code & ((1 << fraction_bits) - 1)
    normal = (1 + fraction / (1 << fraction_bits)) * np.exp2(exponent - float(bias))
    value = np.where(exponent == 0, fraction / (1 << fraction_bits) * 2.0 ** (1 - bias), normal)
    if has_inf:
        top = exponent == (1 << exponent_bits) - 1
        value = np.where(top, np.where(fraction == 0, np.inf, np.nan), value)
    else:
        value = np.where((code & 0x7f) == 0x7f, np.nan, value)
    return np.where(code & 0x80, -value, value)


EIGHTHS = {"float8_e4m3fn": eighth_values(4, 7, False), "float8_e5m2": eighth_values(5, 15, True)}


def values_of(array, dtype):
    """The elements in double, in logical order."""
    flat = np.ascontiguousarray(array).ravel()
    with np.errstate(invalid="ignore"):
        return doubles_of(flat, dtype)


def doubles_of(flat, dtype):
    if dtype == "bfloat16":
        return (flat.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype in EIGHTHS:
        return EIGHTHS[dtype][flat]
    if dtype == "bool":
        return (flat != 0).astype(np.float64)
    return flat.astype(np.float64)


def array_of(values, dtype):
    """VALUES rounded to DTYPE, ties to even, in the array type of DTYPES."""
    values = np.asarray(values, np.float64)
    if dtype == "bfloat16":
        bits = values.astype(np.float32).view(np.uint32)
        return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    if dtype in EIGHTHS:
        finite = np.flatnonzero(np.isfinite(EIGHTHS[dtype][:128]))
        table = EIGHTHS[dtype][finite]
        code = np.abs(np.abs(values)[..., None] - table).argmin(-1)
        return (code + np.where(np.signbit(values), 128, 0)).astype(np.uint8)
    return values.astype(DTYPES[dtype][1])


KEYS = np.array([0x1421c5c28f0eaebb, 0x1ae2488d69c497c3, 0x443d7270ceb6149d, 0x5b35482af9941353,
                 0xc75c520935d976cf, 0x140ffb78f150a765, 0xf4e7e155d282155f, 0xf21a454d82ec5d6b], np.uint64)
STEP, MIX_A, MIX_B, MIX_C = 0x362f5a9cac63a5b7, 0xee1a6c9402d67513, 0x1921b3c4e5d819f1, 0xd144895c3c49c1fb
WORD = (1 << 64) - 1


def mix(x):
    x = (x ^ x >> 32) * MIX_A & WORD
    x = (x ^ x >> 29) * MIX_B & WORD
    return x ^ x >> 31


def rotated(x, bits):
    return (x << bits | x >> (64 - bits)) & WORD


def block_number(block):
    """Of up to 16 KiB, as digest.h defines it."""
    words = np.frombuffer(block + bytes(-len(block) % 64), "<u8").reshape(-1, 8)
    stripes = np.arange(len(words), dtype=np.uint64)[:, None]
    x = words ^ (KEYS + stripes * np.uint64(STEP))
    product = ((x & np.uint64(0xffffffff)) * (x >> np.uint64(32))).sum(0, dtype=np.uint64)
    plain = words.sum(0, dtype=np.uint64)
    lanes = zip((int(v) for v in product), (int(v) for v in plain), (int(v) for v in KEYS))
    return sum(mix((p + key) & WORD) + mix(w ^ rotated(key, 23)) for p, w, key in lanes) & WORD


def digest_of(array, dtype):
    """The digest by its definition, by NumPy and Python's integers."""
    data, state = np.ascontiguousarray(array).tobytes(), MIX_C
    for at in range(0, len(data), 16384):
        state = mix((rotated(state, 27) * MIX_C + block_number(data[at:at + 16384])) & WORD)
    return mix((mix(state ^ (array.size * MIX_B & WORD)) + DTYPES[dtype][0] * MIX_C) & WORD)
