#!/usr/bin/python3
"""Memory of an export of many records: bench_export.py BUILD_DIR [PROCESSES RECORDS].

A job of 64 processes with a million records each, as `load/records` writes it, goes to Perfetto's format. What hookcli keeps in memory
must not grow with the records.
"""
import os
import resource
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

from harness import Failure, Run, main  # pylint: disable=wrong-import-position

PROCESSES, RECORDS, MEMORY_MIB = 64, 1000000, 256


def test(run: Run, processes=PROCESSES, records=RECORDS):
    job = run.path("job")
    os.mkdir(job)
    run.command(run.build + "/tests/load/records", job, processes, records, timeout=600)
    begun, before = time.monotonic(), os.times()
    run.cli("export", job, "--format", "perfetto", "-o", "/dev/null", timeout=3000)
    took, after = time.monotonic() - begun, os.times()
    busy = after.children_user + after.children_system - before.children_user - before.children_system
    # Of all children so far; the one that wrote the records needs a few MiB.
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    million = int(processes) * int(records) / 1e6
    print(f"export of {million:.1f} M records: {memory:.0f} MiB, limit {MEMORY_MIB}; "
          f"{million / took:.2f} M records/s, {million / busy:.2f} M per second of processor time")
    if memory > MEMORY_MIB:
        raise Failure("the limit is missed")


main(test)
