#!/usr/bin/python3
"""What tracing the heap of a Python program costs that makes about two million heap calls a second: bench_heap.py BUILD_DIR

The processor time is that of the whole command, the collector's and hookcli's included. Turns with and without; defaults but for
`--hooks libc`. Every call of the heap is to leave its record.
"""
import os
import resource
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from harness import expect, expect_true, main  # noqa: E402

PAIRS = 5
LIMIT = 0.20
OBJECTS = 200_000
# Each turn of the loop makes and frees some objects, each by malloc, and then adds numbers that are never allocated.
PROGRAM = """
numbers = [i % 16 for i in range(WORK)]
kept = []
for i in range(OBJECTS):
    total = 0
    for number in numbers:
        total = (total + number) & 63
    kept.append({"text": str(i) * 8, "list": [i] * 20})
    if len(kept) > 2000:
        kept = kept[1000:]
"""
WORK = 200


def processor_s(function):
    """(seconds of processor time of the children that FUNCTION waits for, what it returns)"""
    def spent():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    before = spent()
    result = function()
    return spent() - before, result


def test(run):
    script = run.path("heap.py")
    with open(script, "w", encoding="utf-8") as stream:
        stream.write(PROGRAM.replace("OBJECTS", str(OBJECTS)).replace("WORK", str(WORK)))
    environment = {"PYTHONMALLOC": "malloc", "HOOK_BUDGET": "2"}
    ratios, lost = [], 0
    for pair in range(PAIRS):
        alone, _ = processor_s(lambda: run.command(sys.executable, script, env=environment))
        job = f"heap{pair}"
        traced, _ = processor_s(lambda name=job: run.trace(sys.executable, script, hooks=["libc"], options=("-q", "--job", name),
                                                          env=environment))
        report = run.report(run.path("store", job))
        calls = sum(row["calls"] for row in report["calls"] if row["domain"] == "memory")
        lost += sum(row["lost_records"] for row in report["ranks"])
        ratios.append(traced / alone - 1)
        print(f"{calls / alone / 1e6:.2f} M heap calls a second of processor time, {alone:.2f} s alone, {traced:.2f} s traced: "
              f"+{ratios[-1] * 100:.1f} %, {lost} records lost so far", flush=True)
    added = statistics.median(ratios)
    print(f"median +{added * 100:.1f} %, limit {LIMIT * 100:.0f} %")
    expect("lost records", lost, 0)
    expect_true(f"heap tracing takes {added * 100:.1f} % more processor time", added <= LIMIT)


if __name__ == "__main__":
    main(test)
