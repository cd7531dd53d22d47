#!/usr/bin/python3
"""Threads on two simulated devices: calls per library, and memory per device, kind and library to the byte.

The runtime is a shared library or linked statically into the program and its library; it reaches the driver by dlopen, dlsym and
cuGetProcAddress alone, as the real one. Whether the agent sees the runtime, the driver or both, an allocation counts once.
"""
import os

from harness import expect, expect_true, main
from truth import expect_calls, expect_whole, load, rows_of, wanted_of

KEYS = ("allocs", "frees", "live_bytes", "peak_bytes")


def sim(run, *parts):
    return run.workload(os.path.join("simcuda", *parts))


def memory_of(report):
    """{"device 0": {library: row}, ...}"""
    memory = {}
    for row in report["memory"]:
        if row["kind"] not in ("heap", "map"):
            rows = memory.setdefault(f"{row['kind']} {row['device']}", {})
            library = os.path.basename(row["library"])
            expect_true(f"two rows for {row['kind']} of {library}", library not in rows)
            rows[library] = row
    return memory


def check_memory(what, report, truth, libraries=True):
    memory = memory_of(report)
    expect(f"{what}: kinds of memory", sorted(memory), sorted(truth["memory"]))
    for kind, wanted in truth["memory"].items():
        rows = memory[kind]
        for library, numbers in wanted.items():
            if libraries or library == "*":
                expect(f"{what}: {kind} of {library}", {key: rows[library][key] for key in KEYS}, numbers)
        if libraries:
            expect(f"{what}: libraries with {kind}", sorted(rows), sorted(wanted))
        # Traced from the start and nothing lost: the peak is a number, not a range.
        expect(f"{what}: range of {kind}", (rows["*"]["peak_low"], rows["*"]["peak_high"]), (rows["*"]["peak_bytes"],) * 2)


def check_driver(what, report, truth):
    """Every call of the driver was seen, from every caller."""
    seen = {}
    for (_, function), row in rows_of(report, domains={"cuda"}).items():
        if function in truth["driver"]:
            seen[function] = seen.get(function, 0) + row["calls"]
    expect(f"{what}: calls of the driver", seen, truth["driver"])


def check_calls(what, report, truth):
    """What the program and its library called; what the runtime calls is the driver's to tell."""
    wanted = wanted_of(truth)
    libraries = {library for library, _ in wanted}
    rows = {key: row for key, row in rows_of(report, domains={"cuda"}).items() if key[0] in libraries}
    expect_calls(what, rows, wanted)


def trace(run, job, program, **more):
    out = run.path(f"{job}.json")
    run.trace(program, out, options=("--job", job), **more)
    report = run.report(run.path("store", job))
    expect_whole(report, 1)
    return report, load(out)


def test_shared(run):
    report, truth = trace(run, "shared", sim(run, "cuda_truth"), hooks=["auto"])
    check_calls("shared", report, truth)
    check_memory("shared", report, truth)
    check_driver("shared", report, truth)
    # Time that a call of the runtime spends in the driver is not counted again.
    rows = rows_of(report, domains={"cuda"})
    inner = rows["libcudart.so.13", "cuMemAlloc_v2"]
    expect("outermost time within the runtime", inner["outermost_ns"], 0)
    expect_true(f"time within the runtime: {inner}", inner["total_ns"] > 0)
    summary = run.cli("report", run.path("store", "shared")).stdout
    expect_true(f"the summary tells of device memory: {summary}", "device peak" in summary)


def test_static(run):
    report, truth = trace(run, "static", sim(run, "cuda_truth_static"), hooks=["cuda"])
    check_driver("static", report, truth)
    check_memory("static", report, truth)


def test_driver_only(run):
    """With the runtime's own functions left out, what it asks of the driver counts instead."""
    report, truth = trace(run, "driver", sim(run, "cuda_truth"), hooks=["cuda"], level="cuda*=off")
    check_memory("driver", report, truth, libraries=False)


def test(run, *only):
    for part in (test_shared, test_static, test_driver_only):
        if not only or part.__name__[5:] in only:
            part(run)


if __name__ == "__main__":
    main(test)
