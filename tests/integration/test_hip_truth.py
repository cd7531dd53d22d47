#!/usr/bin/python3
"""Simulated HIP and RCCL under mpirun: calls, errors and bytes of every rank, memory by device and kind, communicators, arguments.

Streams finish late, memory has limits, calls fail; RCCL allocates through HIP, and that counts once.
"""
from device_truth import arguments_of, check_communicators, events_of, trace
from harness import expect, expect_true, main
from truth import rows_of

LONG = "a_kernel_with_a_name_that_is_longer_than_sixty_three_bytes_as_those_of_templates_are"


def check_arguments(run, program):
    found = arguments_of(run, program, ["hip"], ("hipLaunchKernel", "hipLaunchKernel_spt", "hipModuleLaunchKernel",
                                                 "hipModuleGetFunction"))
    for function in ("hipLaunchKernel", "hipLaunchKernel_spt"):
        expect(f"shapes of {function}", [(call["numBlocks"], call["dimBlocks"]) for call in found[function]], [("4,2,3", "5,6,7")])
    expect("shared bytes", [call["sharedMemBytes"] for call in found["hipLaunchKernel"]], [9])
    expect("names of kernels", [call["kname"] for call in found["hipModuleGetFunction"]], ["no such kernel", LONG])
    expect("hipModuleLaunchKernel", [call["gridDimX"] for call in found["hipModuleLaunchKernel"]], [1])


def test(run):
    program = run.workload("simdevices/hip_truth")
    report, job = trace(run, program, ["auto"], {"hip", "rccl"})
    # RCCL's own calls of HIP are seen, as its.
    inner = {function: row for (library, function), row in rows_of(report, domains={"hip"}).items() if library == "librccl.so.1"}
    expect("calls of HIP by RCCL", {function: row["calls"] for function, row in inner.items()}, {"hipMalloc": 2, "hipFree": 1})
    domains = {row["domain"] for row in report["calls"] if row["function"].startswith("nccl")}
    expect("domain of RCCL's functions", domains, {"rccl"})
    check_communicators(events_of(run, job), "ncclCommInitRank", "ncclCommSplit", "ncclAllReduce", (20, 1))
    check_arguments(run, program)
    summary = run.cli("report", job).stdout
    expect_true(f"HIP and RCCL have shares of their own: {summary}", "HIP" in summary and "RCCL" in summary)


if __name__ == "__main__":
    main(test)
