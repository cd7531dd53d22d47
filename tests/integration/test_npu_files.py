#!/usr/bin/python3
"""torch_npu's files of Python functions: what is written is read again, also by a decoder that follows torch_npu's rules alone; files that
are damaged are refused; and a traced program's calls come through."""
import collections
import os
import random
import struct
import sys

import pythons
from harness import Run, expect, expect_true, main

WORKLOADS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "workloads")


def decode(directory):
    """[(time, thread, process, name, tag)] in the order of the file, as torch_npu's parser takes it apart."""
    names, events = {}, []
    with open(os.path.join(directory, "FRAMEWORK", "torch.python_tracer_hash"), "rb") as file:
        data = file.read()
    while data:
        kind, length = struct.unpack("<HI", data[:6])
        entry, data = data[6:6 + length], data[6 + length:]
        text_kind, text_length = struct.unpack("<HI", entry[8:14])
        expect("types", (kind, text_kind, len(entry)), (4, 1, 14 + text_length))
        names[struct.unpack("<Q", entry[:8])[0]] = entry[14:].decode()
    with open(os.path.join(directory, "FRAMEWORK", "torch.python_tracer_func"), "rb") as file:
        for record in iter(lambda: file.read(33), b""):
            time_ns, thread, process, key, tag = struct.unpack("<4QB", record)
            events.append((time_ns, thread, process, names[key], tag))
    return events


def nested(seed, npu_files):
    """Calls of three threads that nest, some of them at equal times."""
    dice, calls = random.Random(seed), []
    names = ["a.py(1): f", "dir/b.py(20): <lambda>", "nn.Module: Linear_0", "é.py(3): g"]

    def fill(thread, start, end, depth):
        while start < end and depth < 6 and dice.random() < 0.8:
            begin = dice.randint(start, end - 1)
            finish = dice.randint(begin + 1, end)
            kind = dice.choice(("python", "c"))
            calls.append(npu_files.Call(7, thread, begin, finish, "len" if kind == "c" else dice.choice(names), kind))
            fill(thread, begin, finish, depth + 1)
            start = finish

    for thread in (1, 2, 3):
        fill(thread, 0, 4000, 0)
    return calls


def check_round_trip(run: Run, npu_files):
    total = 0
    for seed in range(200):
        calls = nested(seed, npu_files)
        total += len(calls)
        npu_files.write(run.path(f"seed-{seed}"), calls)
        expect(f"seed {seed}", sorted(npu_files.read(run.path(f"seed-{seed}"))), sorted(calls))
        depth = collections.Counter()
        last = 0
        for time_ns, thread, _, name, tag in decode(run.path(f"seed-{seed}")):
            depth[thread] += 1 if tag in (0, 2) else -1
            expect_true(f"seed {seed}: order and depth", time_ns >= last and depth[thread] >= 0)
            expect(f"seed {seed}: a return's name", name == "__torch_npu_profiler_python_tracer_exit", tag in (1, 3))
            last = time_ns
        expect(f"seed {seed}: open at the end", set(depth.values()) <= {0}, True)
    expect_true(f"only {total} calls", total > 1000)


def check_foreign(run: Run, npu_files):
    """A file as torch_npu writes it: instances by address, a return without a call, a call without a return."""
    folder = run.path("foreign", "FRAMEWORK")
    os.makedirs(folder)
    with open(os.path.join(folder, "torch.python_tracer_hash"), "wb") as file:
        for key, name in ((1, "Linear######94000000000001"), (2, "Linear######94000000000002"), (3, "a.py(1): f")):
            text = name.encode()
            file.write(struct.pack("<HIQHI", 4, 14 + len(text), key, 1, len(text)) + text)
    with open(os.path.join(folder, "torch.python_tracer_func"), "wb") as file:
        for time_ns, key, tag in ((1, 9, 1), (2, 3, 0), (3, 2, 0), (4, 9, 1), (5, 1, 0), (6, 9, 1), (7, 2, 0), (8, 9, 1)):
            file.write(struct.pack("<4QB", time_ns, 5, 6, key, tag))
    wanted = [(2, 8, "a.py(1): f"), (3, 4, "nn.Module: Linear_0"), (5, 6, "nn.Module: Linear_1"), (7, 8, "nn.Module: Linear_0")]
    expect("foreign", [(call.start_ns, call.end_ns, call.name) for call in npu_files.read(run.path("foreign"))], wanted)


def check_damage(run: Run, npu_files):
    npu_files.write(run.path("whole"), nested(1, npu_files))
    for name, cuts in (("torch.python_tracer_func", (1, 32)), ("torch.python_tracer_hash", (1, 5, 20))):
        path = run.path("whole", "FRAMEWORK", name)
        with open(path, "rb") as file:
            whole = file.read()
        for cut in cuts:
            with open(path, "wb") as file:
                file.write(whole[:-cut])
            try:
                npu_files.read(run.path("whole"))
            except ValueError as error:
                expect_true(str(error), name in str(error))
            else:
                expect(f"{name} without {cut} bytes", "accepted", "refused")
        with open(path, "wb") as file:
            file.write(whole)
    try:
        npu_files.write(run.path("wrong"), [npu_files.Call(1, 1, 5, 4, "f")])
    except ValueError:
        return
    expect("a call that ends before it starts", "accepted", "refused")


def check_job(run: Run, npu_files, python):
    """Calls of a traced program, per function and process."""
    environment = {"PYTHONPATH": os.path.join(run.build, "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    run.trace(python, os.path.join(WORKLOADS, "python_traced.py"), run.path("truth"), "agent", level="record", options=("--job", "job"), env=environment)
    run.cli("export", run.path("store", "job"), "--format", "chrome", "-o", run.path("job.json"))
    npu_files.write(run.path("npu"), npu_files.calls_of_export(run.path("job.json")))
    found = collections.Counter(call.name for call in npu_files.read(run.path("npu")))
    report = run.report(run.path("store", "job"))
    wanted = {row["function"]: row["calls"] for row in report["calls"] if row["domain"] == "python" and "(python_calls.py:" in row["function"]}
    expect_true(f"{len(wanted)} functions", len(wanted) > 40)
    for function, calls in wanted.items():
        name, _, place = function.rpartition(" (python_calls.py:")
        expect(function, found[f"python_calls.py({place[:-1]}): {name}"], calls)


def test(run):
    # The package's modules that need no extension load without it.
    sys.path.insert(0, os.path.join(run.build, "python", "hooktrace"))
    import npu_files
    check_round_trip(run, npu_files)
    check_foreign(run, npu_files)
    check_damage(run, npu_files)
    check_job(run, npu_files, pythons.found()[0][1])


if __name__ == "__main__":
    main(test)
