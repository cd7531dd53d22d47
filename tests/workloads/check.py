#!/usr/bin/env python3
"""Runs one workload untraced and checks that what it says of itself is true: check.py calls|heap|mpi|mpi_fortran|cuda|nccl|devices BUILD_DIR.

The MPI programs run under the preloaded PMPI counter, which counts on its own; the others against numbers worked out here.
"""
import collections
import json
import os
import struct
import subprocess
import sys
import tempfile

RANKS = 4
HANGS_S = 1200
MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}


def load(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as stream:
        return json.load(stream)


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: {got}, expected {wanted}")


def mpirun(build, directory, *command, preload):
    environment = {**os.environ, **MPI_ENVIRONMENT, "PMPI_COUNTER_DIR": directory}
    line = ["mpirun", "-n", str(RANKS)]
    if preload:
        line += ["-x", "LD_PRELOAD=" + os.path.join(build, "libpmpi_counter.so")]
    subprocess.run([*line, os.path.join(build, command[0]), *command[1:]], env=environment, check=True, timeout=HANGS_S)


def check_mpi(build, directory):
    mpirun(build, directory, "mpi_truth", directory, "5", preload=True)
    for rank in range(RANKS):
        truth = load(directory, f"truth-{rank}.json")
        calls = collections.Counter()
        for rows in truth["calls"].values():
            for function, row in rows.items():
                calls[function] += row["calls"]
        counted = {name: row["calls"] for name, row in load(directory, f"pmpi-{rank}.json")["calls"].items()}
        expect(f"rank {rank}", dict(calls), counted)
        expect(f"rank {rank}'s libraries", len(truth["calls"]), 3)
    # By hand, 5 rounds over three communicators: the world, its copy, and a half in reverse order, where rank 0 is odd.
    own = load(directory, "truth-0.json")["calls"]["mpi_truth"]
    expect("bytes of MPI_Send", own["MPI_Send"]["bytes"], 2 * sum(400 * (i % 7) for i in range(5)))
    expect("bytes of MPI_Sendrecv", own["MPI_Sendrecv"]["bytes"], 3 * 5 * 24)
    expect("bytes of MPI_Scan", own["MPI_Scan"]["bytes"], 3 * 5 * 48)


def check_mpi_fortran(build, directory):
    mpirun(build, directory, "mpi_truth_fortran", directory, preload=False)
    for rank in range(RANKS):
        rows = load(directory, f"truth-{rank}.json")["calls"]["mpi_truth_fortran"]
        expect("mpi_send_", (rows["mpi_send_"]["calls"], rows["mpi_send_"]["bytes"]), (25, 4 * 25 * 26 // 2))
        expect("mpi_barrier_", rows["mpi_barrier_"]["calls"], 35)
        roots = sum(1 for i in range(1, 26) if i % RANKS == rank)
        expect("bytes of mpi_bcast_", rows["mpi_bcast_"]["bytes"], 48 * roots)
        expect("functions", len(rows), 33)


def check_heap(build, directory):
    out = os.path.join(directory, "heap.json")
    subprocess.run([os.path.join(build, "heap_truth"), out], check=True, timeout=HANGS_S)
    truth = load(out)
    heap = truth["memory"]["heap"]
    parts = [row for library, row in heap.items() if library != "*"]
    for key in ("allocs", "frees", "live_bytes"):
        expect(key, sum(row[key] for row in parts), heap["*"][key])
    called = collections.Counter()
    for rows in truth["calls"].values():
        for function, row in rows.items():
            called[function] += row["calls"]
    # 25 rounds of 4 threads free one empty block each; each realloc that grows is an allocation and a free.
    allocating = sum(n for name, n in called.items() if name not in ("free", "mmap", "munmap"))
    expect("allocations", allocating, heap["*"]["allocs"])
    expect("frees", called["free"] - 100 + 25 * 4 * 20, heap["*"]["frees"])
    expect("leaked blocks", heap["*"]["allocs"] - heap["*"]["frees"], 20)
    if not 0 < heap["*"]["live_bytes"] < heap["*"]["peak_bytes"]:
        sys.exit(f"live and peak: {heap['*']}")
    expect("mapped", truth["memory"]["mapped"]["*"], {"live_bytes": 3 * 4096, "peak_bytes": 8 * 4096})


def check_cuda_form(build, directory, program, ways):
    """Of WAYS to allocate, every thread takes each twice a round: 4 threads, 6 rounds."""
    out = os.path.join(directory, f"{program}.json")
    subprocess.run([os.path.join(build, "simcuda", program), out], check=True, timeout=HANGS_S)
    truth = load(out)
    for kind, rows in truth["memory"].items():
        parts = [row for library, row in rows.items() if library != "*"]
        for key in ("allocs", "frees", "live_bytes"):
            expect(f"{program}: {key} of {kind}", sum(row[key] for row in parts), rows["*"][key])
        if not 0 <= rows["*"]["live_bytes"] < rows["*"]["peak_bytes"] <= sum(row["peak_bytes"] for row in parts):
            sys.exit(f"{program}: live and peak of {kind}: {rows}")
    # Both halves try out one managed block; the last round leaks one block of each thread.
    allocs, frees = (sum(rows["*"][key] for rows in truth["memory"].values()) for key in ("allocs", "frees"))
    expect(f"{program}: allocations", allocs, 4 * 6 * 2 * ways + 2)
    expect(f"{program}: leaked blocks", allocs - frees, 4)
    expect(f"{program}: pinned", truth["memory"]["pinned -1"]["*"]["allocs"], 4 * 6 * 2 * 3)
    # A failed try beside those that worked.
    expect(f"{program}: cudaMalloc", truth["calls"][program]["cudaMalloc"], {"calls": 25, "errors": 1, "bytes": 0})
    expect(f"{program}: cudaMemcpy", truth["calls"][program]["cudaMemcpy"], {"calls": 2, "errors": 1, "bytes": 600})
    return truth["driver"]


def check_cuda(build, directory):
    # The driver is asked by the runtime, and directly by two of the ways.
    driver = check_cuda_form(build, directory, "cuda_truth", 11)
    expect("cuMemAlloc_v2", driver["cuMemAlloc_v2"], 48 + 1 + 48)
    expect("launches", [driver[name] for name in ("cuLaunchKernel", "cuLaunchKernel_ptsz", "cuLaunchKernelEx")], [6, 2, 2])
    driver = check_cuda_form(build, directory, "cuda_truth_static", 9)
    expect("cuMemAlloc_v2", driver["cuMemAlloc_v2"], 48 + 1)


def check_nccl(build, directory):
    mpirun(build, directory, "simcuda/nccl_truth", directory, preload=False)
    for rank in range(RANKS):
        rows = load(directory, f"truth-{rank}.json")["calls"]["nccl_truth"]
        total = 10 * 11 // 2
        # Two communicators, then 16 bytes on a half of the world and 8 on each of two.
        expect("ncclAllReduce", (rows["ncclAllReduce"]["calls"], rows["ncclAllReduce"]["bytes"]), (43, 2 * 6 * total + 32))
        expect("ncclReduceScatter", rows["ncclReduceScatter"]["bytes"], 2 * 8 * RANKS * total)
        expect("ncclBroadcast", rows["ncclBroadcast"]["bytes"], 2 * 8 * total if rank == 1 else 0)
        expect("ncclSend", tuple(rows["ncclSend"][key] for key in ("calls", "errors", "bytes")), (3, 1, 800))


def check_device(build, directory, program, ways, extra):
    """Five rounds of two threads, WAYS to allocate each; EXTRA blocks beside them, of which the second number stays."""
    mpirun(build, directory, f"simdevices/{program}", directory, preload=False)
    for rank in range(RANKS):
        memory = load(directory, f"truth-{rank}.json")["memory"].values()
        allocs, frees = (sum(row[key] for row in memory) for key in ("allocs", "frees"))
        expect(f"{program}: allocations", allocs, 5 * 2 * ways + extra[0])
        expect(f"{program}: blocks that stay", allocs - frees, 2 + extra[1])
        for row in memory:
            if not 0 <= row["live_bytes"] <= row["peak_bytes"]:
                sys.exit(f"{program}: live and peak: {row}")
    return [load(directory, f"truth-{rank}.json")["calls"][program] for rank in range(RANKS)]


def check_devices(build, directory):
    total = 10 * 11 // 2
    ranks = check_device(build, directory, "hip_truth", 6, (4, 1))
    for rank, rows in enumerate(ranks):
        # Four and two bytes on the world, then 16 on a half; each rank's counts for others are 10 * i + rank.
        expect("ncclAllReduce", (rows["ncclAllReduce"]["calls"], rows["ncclAllReduce"]["bytes"]), (21, 6 * total + 16))
        expect("ncclAllToAllv", rows["ncclAllToAllv"]["bytes"], 8 * (10 * (0 + 1 + 2 + 3) + 4 * rank))
        expect("hipMalloc", (rows["hipMalloc"]["calls"], rows["hipMalloc"]["errors"]), (10 + 2 + 1, 1))
    ranks = check_device(build, directory, "acl_truth", 7, (2, 0))
    for rank, rows in enumerate(ranks):
        expect("HcclAllReduce", (rows["HcclAllReduce"]["calls"], rows["HcclAllReduce"]["bytes"]), (21, 6 * total + 16))
        expect("HcclScatter", rows["HcclScatter"]["bytes"], RANKS * total if rank == 1 else 0)
        expect("aclrtMemcpyBatch", rows["aclrtMemcpyBatch"]["bytes"], 100)
    for rows in check_device(build, directory, "xpu_truth", 4, (2, 0)):
        expect("xpu_launch_async", (rows["xpu_launch_async"]["calls"], rows["xpu_launch_async"]["errors"]), (4, 1))
        expect("bkcl_all_reduce", (rows["bkcl_all_reduce"]["calls"], rows["bkcl_all_reduce"]["bytes"]), (10, 0))


def check_calls(build, directory):
    program = os.path.join(build, "calls_truth")
    out = os.path.join(directory, "calls.json")
    subprocess.run([program, "--count", out], check=True, timeout=HANGS_S)
    calls = load(out)["calls"]
    expect("write", (calls["calls_truth"]["write"]["calls"], calls["calls_truth"]["write"]["bytes"]), (500, 32000))
    read = calls["calls_truth"]["read"]
    expect("read", (read["calls"], read["errors"], read["bytes"]), (503, 3, 32000))
    expect("calls_recurse", calls["libcalls_truth_library.so"]["calls_recurse"]["calls"], 100)
    expect("nanosleep", calls["libcalls_truth_library.so"]["nanosleep"]["calls"], 40)

    progress = os.path.join(directory, "progress")
    subprocess.run([program, "--loop", progress, "100"], check=True, timeout=HANGS_S)
    with open(progress, "rb") as stream:
        rows = list(struct.iter_unpack("<32sQQQQ", stream.read()))
    expect("rows", len(rows), 8)
    for name, _, started, done, _ in rows:
        expect(name.rstrip(b"\0").decode(), (started, done), (100, 100))

    with subprocess.Popen([program, "--hang"], stdout=subprocess.PIPE) as hanging:
        expect("--hang says", hanging.stdout.readline(), b"ready\n")
        expect("--hang's state", hanging.poll(), None)
        hanging.kill()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        {"calls": check_calls, "heap": check_heap, "mpi": check_mpi, "mpi_fortran": check_mpi_fortran, "cuda": check_cuda,
         "nccl": check_nccl, "devices": check_devices}[sys.argv[1]](os.path.abspath(sys.argv[2]), scratch)
