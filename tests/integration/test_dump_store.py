#!/usr/bin/python3
"""Dumps of tensors, from the program that writes them to hooktrace.precision: elements, shapes and statistics are NumPy's, in every CPython;
a full disk that is freed, a killed process and a restarted one lose nothing but what is said."""
import json
import os
import signal
import subprocess
import sys

import numpy

import pythons
from harness import TIMEOUT, Run, expect, expect_true, main

DTYPES = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64")
SEED = 17

# Read by Pythons that have no NumPy: (rank, all of the row but what numbers the files, stack, hexadecimal elements).
READ = """
import json, sys
import hooktrace.precision
dump = hooktrace.precision.open(sys.argv[1])
out = []
for row in dump.rows():
    data = dump.elements(row).data if row.has_elements else b""
    out.append([list(row), dump.stack(row), bytes(data).hex()])
json.dump([dump.ranks, [dump.counts(rank) for rank in dump.ranks], [dump.about(rank) for rank in dump.ranks], out], sys.stdout)
"""


class Writer:
    """The program, and the lines that it was given."""

    def __init__(self, run, directory, rank=0, limit=0, prefix=()):
        self.run = run
        self.process = subprocess.Popen([*prefix, os.path.join(run.build, "tests/integration/dumps/dump_writer"), directory, str(rank), str(limit)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.files = 0

    def say(self, *words):
        print(*words, file=self.process.stdin, flush=True)

    def tensor(self, name, slot, array):
        """ARRAY may be a view of any stride; its base goes to a file."""
        base = array
        while isinstance(base.base, numpy.ndarray):
            base = base.base
        self.files += 1
        path = self.run.path(f"elements-{self.process.pid}-{self.files}")
        base.tofile(path)
        width = array.dtype.itemsize
        first = (array.__array_interface__["data"][0] - base.__array_interface__["data"][0]) // width
        self.say("tensor", name, slot, array.dtype.name, path, first, array.ndim, *array.shape, *(stride // width for stride in array.strides))

    def wait(self, rows):
        self.say("wait", rows)
        expect("wait", self.process.stdout.readline(), "written\n")

    def close(self):
        out, _ = self.process.communicate(timeout=TIMEOUT)
        expect("dump_writer's status", self.process.returncode, 0)
        return json.loads(out)


def make_arrays():
    """Arrays of each dtype, contiguous, transposed, reversed, with steps, broadcast, of no element and of no dimension."""
    random = numpy.random.default_rng(SEED)
    arrays = []
    for dtype in DTYPES:
        base = (random.standard_normal((6, 5, 4)) * 50).astype(dtype)
        arrays += [base, base.transpose(2, 0, 1), base[::-1, :, ::2], base[2, 3, 1:2].reshape(()), base[:0],
                   numpy.broadcast_to(base[0], (3, 5, 4)), (random.standard_normal(300_000) * 50).astype(dtype)]
    special = numpy.array([numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0, 1.5], dtype=numpy.float32)
    return arrays + [special, numpy.zeros((1000, 1000), numpy.float32)]


def check_row(dump, row, array):
    what = f"{row.name} ({array.dtype}, {array.shape})"
    expect(f"{what}: dtype and shape", (row.dtype, row.shape), (array.dtype.name, array.shape))
    numpy.testing.assert_array_equal(dump.numpy(row), array, what)
    values = array.astype(numpy.float64)
    finite = values[numpy.isfinite(values)]
    expect(f"{what}: counts", (row.count, row.nans, row.positive_infs, row.negative_infs, row.zeros),
           (values.size, numpy.isnan(values).sum(), numpy.isposinf(values).sum(), numpy.isneginf(values).sum(), (values == 0).sum()))
    if finite.size:
        expect(f"{what}: min and max", (row.min, row.max), (finite.min(), finite.max()))
        numpy.testing.assert_allclose([row.mean, row.l2, row.deviation], [finite.mean(), numpy.linalg.norm(finite.ravel()), finite.std()],
                                      rtol=1e-9, atol=1e-9, err_msg=what)


def precision(run):
    sys.path.insert(0, os.path.join(run.build, "python"))
    import hooktrace.precision  # pylint: disable=import-outside-toplevel

    return hooktrace.precision


def check_numpy(run: Run, reader):
    """Every array comes back equal. Returns the dump's directory."""
    directory, arrays = run.path("arrays"), make_arrays()
    writer = Writer(run, directory)
    writer.say("stack", "model.py:12:forward", "train.py:7:main")
    for number, array in enumerate(arrays):
        writer.tensor(f"array{number}", "0", array)
        if number % 10 == 9:
            writer.say("step", number // 10)
    writer.say("scalar", "f", "alpha", "0.5")
    counts = writer.close()
    expect("rows", (counts["rows"], counts["rows_left_out"], counts["result"]), (len(arrays) + 1, 0, 0))
    expect("payloads", counts["payloads"] + counts["duplicates"], len(arrays))
    dump = reader.open(directory)
    rows = list(dump.rows())
    for number, (row, array) in enumerate(zip(rows, arrays)):
        expect("name and step", (row.name, row.step), (f"array{number}", number // 10))
        expect("stack", dump.stack(row), ("model.py:12:forward", "train.py:7:main"))
        check_row(dump, row, array)
    expect("scalar", (rows[-1].scalar, rows[-1].slot, rows[-1].has_elements), ("0.5", "alpha", False))
    expect("rows of step 1", len(list(dump.rows(step=1))), 10)
    expect("about", dump.about(0), {"framework": "numpy", "world": 2})
    for name in ("rows", "payloads", "duplicates", "rows_left_out", "payloads_left_out"):
        expect(f"counts: {name}", dump.counts(0)[name], counts[name])
    expect("complete, damage", (dump.counts(0)["complete"], dump.counts(0)["damage"]), (True, None))
    return directory


def check_versions(run: Run, directory):
    """Each CPython reads the same."""
    shown = {}
    for version, path in pythons.found():
        done = run.command(path, "-c", READ, directory, env={"PYTHONPATH": os.path.join(run.build, "python")})
        shown[version] = done.stdout
    expect("texts that the versions print", len(set(shown.values())), 1)
    print(f"read alike by Python {', '.join(shown)}")
    pythons.say_left_out(shown)


def check_narrow(run: Run, reader):
    """bfloat16 and float8 are widened exactly: each code of 8 bits, and each upper half of a float32."""
    directory = run.path("narrow")
    writer = Writer(run, directory)
    for dtype, bits in (("bfloat16", numpy.arange(65536, dtype=numpy.uint16)), ("float8_e4m3fn", numpy.arange(256, dtype=numpy.uint8)),
                        ("float8_e5m2", numpy.arange(256, dtype=numpy.uint8))):
        path = run.path(dtype)
        bits.tofile(path)
        writer.say("tensor", dtype, "0", dtype, path, 0, 1, bits.size, 1)
    writer.close()
    dump = reader.open(directory)
    bfloat, e4m3, e5m2 = (dump.numpy(row) for row in dump.rows())
    numpy.testing.assert_array_equal(bfloat.view(numpy.uint32) >> 16, numpy.arange(65536))
    # float8_e5m2 is the upper half of a float16.
    numpy.testing.assert_array_equal(e5m2, (numpy.arange(256, dtype=numpy.uint16) << 8).view(numpy.float16).astype(numpy.float32))
    for code, value in ((0x00, 0.0), (0x01, 2.0 ** -9), (0x08, 2.0 ** -6), (0x38, 1.0), (0x7e, 448.0), (0xfe, -448.0), (0xb9, -1.125)):
        expect(f"float8_e4m3fn {code:#x}", float(e4m3[code]), value)
    expect_true("float8_e4m3fn: NaN", numpy.isnan(e4m3[[0x7f, 0xff]]).all() and numpy.isnan(e4m3).sum() == 2)


def check_killed(run: Run, reader):
    """A process that is killed, and another rank beside it: steps that were written are read."""
    directory = run.path("killed")
    arrays = make_arrays()[:8]
    for rank in (10, 2):
        writer = Writer(run, directory, rank=rank)
        for number, array in enumerate(arrays):
            writer.tensor(f"array{number}", "0", array)
        writer.say("step", 0)
        writer.wait(len(arrays))
        writer.tensor("lost", "0", arrays[0])
        writer.say("kill")
        expect("killed", writer.process.wait(timeout=TIMEOUT), -signal.SIGKILL)
        writer.process.stdin.close()
        writer.process.stdout.close()
    dump = reader.open(directory)
    expect("ranks", dump.ranks, [2, 10])
    for rank in dump.ranks:
        expect("complete", dump.counts(rank)["complete"], False)
        rows = list(dump.rows(rank))
        expect("rows", [row.name for row in rows], [f"array{number}" for number in range(len(arrays))])
        for row, array in zip(rows, arrays):
            check_row(dump, row, array)


def check_full(run: Run, reader):
    """A tmpfs of 2 MB of a namespace's own: what does not fit is counted; when it has room again, later steps are written."""
    directory = run.path("full")
    os.mkdir(directory)
    inside = ("unshare", "-rm", "sh", "-c", f'mount -t tmpfs -o size=2m none {directory} && exec "$@"', "sh")
    if subprocess.run([*inside, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        print("left out: no tmpfs can be mounted here")
        return
    writer = Writer(run, os.path.join(directory, "dump"), prefix=inside)
    seen = f"/proc/{writer.process.pid}/root{directory}"
    random = numpy.random.default_rng(SEED)
    arrays = [random.integers(1 << 62, size=20_000) for _ in range(60)]
    writer.wait(0)
    with open(f"{seen}/filler", "wb") as filler:
        filler.write(bytes(1 << 20))
    for step in range(3):
        if step == 2:
            os.unlink(f"{seen}/filler")
            writer.say("step", step)
        for number, array in enumerate(arrays[20 * step:20 * step + (20 if step < 2 else 5)]):
            writer.tensor(f"array{20 * step + number}", "0", array)
        writer.say("step", step)
        writer.wait([20, 40, 45][step])
    copy = run.path("copy")
    subprocess.run(["cp", "-r", f"{seen}/dump", copy], check=True)
    counts = writer.close()
    expect_true(f"elements are missing: {counts}", counts["payloads_left_out"] > 0 and counts["result"] < 0)
    expect("rows and payloads", (counts["rows"] + counts["rows_left_out"], counts["payloads"] + counts["payloads_left_out"]), (45, 45))
    dump = reader.open(copy)
    rows = list(dump.rows())
    expect("damage", dump.counts(0)["damage"], None)
    expect("rows of the last step", [row.name for row in rows[-5:]], [f"array{number}" for number in range(40, 45)])
    expect_true("elements of the last step", all(row.has_elements for row in rows[-5:]))
    for row in rows:
        if row.has_elements:
            check_row(dump, row, arrays[int(row.name[5:])])


def check_limit(run: Run, reader):
    """A limit leaves out elements first."""
    directory, limit = run.path("limit"), 300_000
    arrays = [numpy.random.default_rng(number).integers(1 << 62, size=2000) for number in range(40)]
    writer = Writer(run, directory, limit=limit)
    for number, array in enumerate(arrays):
        writer.tensor(f"array{number}", "0", array)
    counts = writer.close()
    dump = reader.open(directory)
    expect("rows", (counts["rows"], len(list(dump.rows()))), (len(arrays), len(arrays)))
    expect_true("some elements", 0 < counts["payloads"] < len(arrays))
    expect_true("the file's size", os.path.getsize(dump.files[0]) <= limit)
    expect("left out", dump.counts(0)["payloads_left_by"]["limit"], len(arrays) - counts["payloads"])
    expect("has_elements", sum(row.has_elements for row in dump.rows()), counts["payloads"])


def check_unreadable(run: Run, reader):
    directory = run.path("empty")
    os.mkdir(directory)
    for make, error in ((lambda: None, FileNotFoundError), (lambda: open(os.path.join(directory, "rank0-1.hkv"), "wb").close(), OSError)):
        make()
        try:
            reader.open(directory)
        except error as caught:
            expect_true(str(caught), "cannot read" in str(caught))
        else:
            expect_true("an empty dump is an error", False)


def test(run: Run, *_):
    reader = precision(run)
    check_versions(run, check_numpy(run, reader))
    check_narrow(run, reader)
    check_killed(run, reader)
    check_full(run, reader)
    check_limit(run, reader)
    check_unreadable(run, reader)


if __name__ == "__main__":
    main(test)
