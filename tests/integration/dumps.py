"""dumps: dumps of tensors whose every row a test knows, written through the built writer (dumps/dump_rows.c).

Elements are NumPy arrays. NumPy has no bfloat16: its elements are float32 arrays whose values bfloat16 has, with the dtype named.
"""
import itertools
import json
import os
import subprocess
import tempfile

import numpy

API, MODULE, STATE = 0, 1, 2
FORWARD, BACKWARD, PARAMETER, GRADIENT = 0, 1, 2, 3
INPUT, KEYWORD, OUTPUT = 0, 1, 2
_storages = itertools.count(0x1000, 0x40)


def bfloat16(values):
    """VALUES rounded to the nearest bfloat16, ties to even, as float32."""
    bits = numpy.ascontiguousarray(values, dtype=numpy.float32).view(numpy.uint32)
    rounded = (bits + numpy.uint32(0x7FFF) + ((bits >> numpy.uint32(16)) & numpy.uint32(1))) & numpy.uint32(0xFFFF0000)
    return numpy.where(numpy.isnan(values), numpy.float32("nan"), rounded.view(numpy.float32)).astype(numpy.float32)


class Tensor:
    """A value with a dtype and an identity of its memory. A view has the storage of its base."""

    def __init__(self, value, dtype="float32", base=None):
        value = numpy.asarray(value)
        self.dtype = dtype
        self.value = bfloat16(value) if dtype == "bfloat16" else numpy.ascontiguousarray(value, dtype=dtype)
        self.storage = base.storage if base is not None else next(_storages)
        self.version = base.version if base is not None else 0
        self.offset = base.offset if base is not None else 0

    def bytes(self):
        if self.dtype == "bfloat16":
            return (self.value.view(numpy.uint32) >> 16).astype(numpy.uint16).tobytes()
        return self.value.tobytes()

    def change(self, value):
        """Changes the elements in place, as an operator of the framework does."""
        self.value = bfloat16(value) if self.dtype == "bfloat16" else numpy.ascontiguousarray(value, dtype=self.dtype)
        self.version += 1


class Rank:
    """The rows of one process, in the order of calls."""

    def __init__(self, rank, store=True, about=None):
        self.rank, self.store = rank, store
        self.about = about or {"framework": "toy", "version": "1"}
        self.lines, self.elements, self.places, self.size = [], [], {}, 0
        self.sequence, self.numbers, self.stacks = 0, {}, {}

    def call(self):
        """The sequence number of a new call."""
        self.sequence += 1
        return self.sequence - 1

    def number(self, step, phase, name):
        """The number of this call of NAME in the step and phase."""
        key = (step, phase, name)
        self.numbers[key] = self.numbers.get(key, -1) + 1
        return self.numbers[key]

    def stack(self, frames):
        if frames not in self.stacks:
            self.stacks[frames] = len(self.stacks)
            self.lines.insert(len(self.stacks) - 1, "\t".join(("stack",) + frames))
        return self.stacks[frames]

    def row(self, sequence, step, name, value, *, role=INPUT, slot="0", kind=API, phase=FORWARD, number=0, of="", forward=None, stack=None,
            device="cpu", flags=0):
        scalar = "" if isinstance(value, Tensor) else str(value)
        fields = [sequence, sequence if forward is None else forward, step, kind, phase, role, name, of, number, slot, device, scalar, flags]
        if scalar:
            fields += ["", "", 0, 0, 0, "" if stack is None else stack, 0]
        else:
            fields += [value.dtype, ",".join(map(str, value.value.shape)), value.storage, value.version, value.offset,
                       "" if stack is None else stack, self._place(value.bytes()), "store" if self.store else "statistics"]
        self.lines.append("\t".join(map(str, ["row"] + fields)))

    def _place(self, content):
        if content not in self.places:
            self.places[content] = self.size
            self.elements.append(content)
            self.size += len(content)
        return self.places[content]

    def write(self, run, directory):
        with tempfile.NamedTemporaryFile(dir=run.directory) as file:
            file.write(b"".join(self.elements))
            file.flush()
            subprocess.run([os.path.join(run.build, "tests/integration/dumps/dump_rows"), directory, str(self.rank), json.dumps(self.about), file.name],
                           input="\n".join(self.lines) + "\n", text=True, check=True)
