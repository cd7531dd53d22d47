#!/usr/bin/python3
"""Kineto's JSON of cuda_steps on 4 ranks: what its readers need, and what the report counts; the directory it is written to."""
import os

import kineto_check
from harness import RANKS, expect, expect_true, main

STEPS = 6
# What would move a terminal is a question mark from the collector on.
AWKWARD = ['say "x"', "line?break?tab", "</script><b>", "?[31mred", "back\\slash", "caf\ufffd"]
EXACT_NS, WHOLE_NS = 10, 1000  # by which a call may be off: nesting, and two ends rounded down


def export(run, job, directory, *options, **more):
    done = run.cli("export", run.path("store", job), "--format", "kineto", "-o", run.path(directory), *options, **more)
    files = {name: kineto_check.Kineto(run.path(directory, name)) for name in sorted(os.listdir(run.path(directory)))}
    return done, files


def check_rank(file, report):
    kernels = [row for row in file.device if row["cat"] == "kernel"]
    expect("kernels", len(kernels), STEPS * (3 + file.rank))
    expect("names of kernels", {row["name"] for row in kernels}, {"simulated kernel"})
    expect("copies", sum(row["cat"] == "gpu_memcpy" for row in file.device), STEPS)
    expect("sets", sum(row["cat"] == "gpu_memset" for row in file.device), STEPS)
    expect("bytes", {row["args"]["bytes"] for row in file.device if row["cat"] != "kernel"}, {65536})
    expect("device rows that a call asked for", file.linked, len(file.device))
    asked = {row["args"]["correlation"]: row["name"] for row in file.host if "correlation" in row["args"]}
    expect("who asked", {(row["cat"], asked[row["args"]["correlation"]]) for row in file.device},
           {("kernel", "cudaLaunchKernel"), ("gpu_memcpy", "cudaMemcpyAsync"), ("gpu_memset", "cudaMemset")})
    expect("devices", {row["args"]["device"] for row in file.device}, {file.rank % 2})
    expect("streams", {row["args"]["stream"] for row in file.device}, {7, 8})
    kineto_check.compare(file.totals(), kineto_check.expected(report, file.rank), WHOLE_NS if file.whole else EXACT_NS)
    check_annotations(file)


def check_annotations(file):
    steps = [file.steps()[f"ProfilerStep#{number}"] for number in range(STEPS)]
    for step, following in zip(steps, steps[1:]):
        expect("a step ends where the next begins", step["start"] + step["length"], following["start"])
    inside = [row for row in file.host if row["name"] == "cudaLaunchKernel"]
    last = steps[-1]["start"] + steps[-1]["length"]
    expect_true("launches lie in steps", all(steps[0]["start"] <= row["start"] <= last for row in inside))
    names = {row["name"] for row in file.host if row["cat"] == "user_annotation"}
    expect_true(f"awkward names: {sorted(names)}", set(AWKWARD) <= names)
    losses = [event["args"]["value"] for event in file.events if event["ph"] == "C"]
    expect("values of the counter", len(losses), STEPS)


def trace(run):
    run.trace("mpirun", "-n", RANKS, run.workload("simcuda/cuda_steps"), hooks=["mpi", "cuda"], level="record",
              options=("--job", "steps"))
    report = run.report(run.path("store", "steps"))
    expect("lost records", sum(row["lost_records"] for row in report["processes"]), 0)
    return report


def test_ranks(run, report):
    done, files = export(run, "steps", "whole")
    expect("files", list(files), [f"rank{rank}.json" for rank in range(RANKS)])
    expect("helpers are told of", "1 helper or launcher processes are not in it" in done.stderr, True)
    expect("devices were measured", "device times" in done.stderr, False)
    _, exact = export(run, "steps", "exact", "--exact")
    for rank, (file, other) in enumerate(zip(files.values(), exact.values())):
        expect("rank", (file.rank, other.rank), (rank, rank))
        expect("world", file.document["distributedInfo"]["world_size"], RANKS)
        expect("whole us", (file.whole, other.whole), (True, False))
        check_rank(file, report)
        check_rank(other, report)
    expect("one base", len({file.base_ns for file in [*files.values(), *exact.values()]}), 1)
    return files, exact


def test_choice(run, files, exact):
    """Some ranks, some of the time: the same rows, and nothing that an earlier export left."""
    _, some = export(run, "steps", "whole", "--ranks", "1,3-9")
    expect("files of some ranks", list(some), ["rank1.json", "rank3.json"])
    expect("they are the same", {name: file.document for name, file in some.items()},
           {name: files[name].document for name in some})
    _, packed = export(run, "steps", "whole", "--gzip")
    expect("packed files", list(packed), [f"rank{rank}.json.gz" for rank in range(RANKS)])
    expect("packed is the same", [file.document for file in packed.values()], [file.document for file in files.values()])
    # The report counts from the job's start, the files from that of its first process.
    shift = min(event["start"] for file in exact.values() for event in file.host)
    middle = sorted(event["start"] for event in exact["rank0.json"].host)[len(exact["rank0.json"].host) // 2]
    expect_true("a middle", middle > shift)
    report = run.report(run.path("store", "steps"))
    origin = exact["rank0.json"].base_ns - report["job"]["start_unix_ns"]
    _, late = export(run, "steps", "late", "--exact", "--from", f"{middle + origin}ns")
    _, early = export(run, "steps", "early", "--exact", "--to", f"{middle + origin}ns")
    for name, file in exact.items():
        calls = [row for row in file.host if not row["name"].startswith("ProfilerStep#")]
        wanted = (sum(row["start"] + row["length"] >= middle for row in calls), sum(row["start"] <= middle for row in calls))
        found = tuple(sum(calls for calls, _ in part[name].totals().values()) for part in (late, early))
        expect(f"{name}: calls from and to {middle}", found, wanted)


def refused(run, directory, why, *options):
    before = sorted(os.listdir(run.path(directory))) if os.path.isdir(run.path(directory)) else None
    done = run.cli("export", run.path("store", "steps"), "--format", "kineto", "-o", run.path(directory), *options, check=False)
    expect_true(f"{directory}: refused: {done.stderr}", done.returncode == 1 and why in done.stderr)
    if before is not None:
        expect(f"{directory} is as before", sorted(os.listdir(run.path(directory))), before)


def test_directory(run):
    done = run.cli("export", run.path("store", "steps"), "--format", "kineto", check=False)
    expect_true(f"no name: {done.stderr}", done.returncode == 2 and "-o DIR" in done.stderr)
    for name, text in (("notes", "mine"), ("rank7.json", '{"traceEvents": []}')):
        directory = f"with-{name}"
        os.mkdir(run.path(directory))
        with open(run.path(directory, name), "w", encoding="utf-8") as file:
            file.write(text)
        refused(run, directory, "new or an empty directory")
    refused(run, os.path.join("with-notes", "notes"), "is no directory")
    refused(run, os.path.join("absent", "deeper"), "No such file")
    os.mkdir(run.path("interrupted"))
    with open(run.path("interrupted", "rank9.json.part"), "w", encoding="utf-8") as file:
        file.write("half a")
    _, files = export(run, "steps", "interrupted", "--ranks", "2")
    expect("what was interrupted goes", list(files), ["rank2.json"])


def test_full(run):
    """What cannot be written whole changes nothing, and a directory made for it goes."""
    _, before = export(run, "steps", "kept", "--ranks", "0-1")
    for directory in ("kept", "new"):
        done = run.command("/bin/sh", "-c", 'ulimit -f 8; trap "" XFSZ; exec "$@"', "sh", run.binary("hookcli"), "export",
                           run.path("store", "steps"), "--format", "kineto", "-o", run.path(directory), check=False)
        expect_true(f"full: {done.stderr}", done.returncode == 1 and "export stopped" in done.stderr)
    expect("what was there", {name: file.document for name, file in before.items()},
           {name: kineto_check.Kineto(run.path("kept", name)).document for name in os.listdir(run.path("kept"))})
    expect("the new one", os.path.exists(run.path("new")), False)


def test_host_only(run):
    """Without device times there are the host's rows, and a line that says so; a rank without calls has no file."""
    run.trace("mpirun", "-n", 2, run.workload("simcuda/cuda_steps"), hooks=["mpi"], level=["off", "MPI_*=record"],
              options=("--job", "host"))
    done, files = export(run, "host", "host")
    expect("host files", list(files), ["rank0.json", "rank1.json"])
    expect_true(f"a line about devices: {done.stderr}", "need device times" in done.stderr)
    for file in files.values():
        expect("device rows", file.device, [])
        expect("host rows", {category for category, _ in file.totals()}, {"cpu_op"})
    done, files = export(run, "host", "none", "--to", "0ns")
    expect("no files", list(files), [])
    expect_true(f"a line about empty ranks: {done.stderr}", "2 ranks have no file" in done.stderr)


def test(run):
    report = trace(run)
    test_choice(run, *test_ranks(run, report))
    test_directory(run)
    test_full(run)
    test_host_only(run)


if __name__ == "__main__":
    main(test)
