#!/usr/bin/python3
"""hookcli compare of 121 rows with 19 MB of elements beside NumPy's figures of the same arrays: bench_compare.py BUILD_DIR [ROWS BYTES]."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import numpy  # pylint: disable=wrong-import-position
from dumps import Rank, Tensor  # pylint: disable=wrong-import-position
from harness import Failure, Run, main  # pylint: disable=wrong-import-position

ROWS, BYTES, ROUNDS, LIMIT = 121, 19_000_000, 5, 2.0


def figures(x, y):
    """What hookcli compare has for each row, by NumPy in double."""
    x, y = x.astype(float), y.astype(float)
    apart = x - y
    relative = abs(apart) / abs(y)
    return [x.max(), x.min(), x.mean(), numpy.linalg.norm(x), x.std(), y.max(), y.min(), y.mean(), numpy.linalg.norm(y), y.std(),
            (x * y).sum(), (apart ** 2).mean(), abs(apart).max(), abs(apart).argmax(), relative.max(), relative.mean(),
            (relative < 1e-3).mean(), (relative < 5e-3).mean()]


def seconds(work):
    """CPU time of this process and its children: a busy machine does not change it."""
    times = []
    for _ in range(ROUNDS):
        begun = os.times()
        work()
        times.append(sum(os.times()[:4]) - sum(begun[:4]))
    return min(times)


def test(run: Run, rows=ROWS, size=BYTES):
    random = numpy.random.default_rng(1)
    pairs = []
    for _ in range(int(rows)):
        x = random.normal(size=int(size) // int(rows) // 4).astype(numpy.float32)
        pairs.append((x, x * (1 + numpy.float32(1e-6) * random.normal(size=x.size).astype(numpy.float32))))
    for side, name in enumerate("ab"):
        dump = Rank(0)
        for number, pair in enumerate(pairs):
            dump.row(number, 0, "torch.relu", Tensor(pair[side]), number=number)
        dump.write(run, run.path(name))
    ours = seconds(lambda: run.cli("compare", run.path("a"), run.path("b")))
    theirs = seconds(lambda: [figures(x, y) for x, y in pairs])
    print(f"{rows} rows: hookcli compare {ours * 1e3:.0f} ms of CPU, with its start, reading and judging; NumPy's figures alone {theirs * 1e3:.0f} ms; "
          f"ratio {ours / theirs:.2f}, limit {LIMIT}")
    if ours > LIMIT * theirs:
        raise Failure("the limit is missed")


main(test)
