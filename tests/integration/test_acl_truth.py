#!/usr/bin/python3
"""Simulated ACL, its operators and HCCL under mpirun: calls, errors and bytes of every rank, memory, communicators, arguments.

HCCL's data types have other numbers than NCCL's, and its root info is longer than a record; operators are undescribed.
"""
from device_truth import arguments_of, check_communicators, events_of, trace
from harness import expect, expect_true, main

LONG = "a_kernel_with_a_name_that_is_longer_than_sixty_three_bytes_as_those_of_templates_are"


def check_arguments(run, program):
    found = arguments_of(run, program, ["acl"], ("aclrtLaunchKernel", "aclrtBinaryGetFunction", "aclnnAdd"))
    expect("blocks", [call["numBlocks"] for call in found["aclrtLaunchKernel"]], [40, 40, 1])
    expect("names of kernels", [call["kernelName"] for call in found["aclrtBinaryGetFunction"]], ["no such kernel", LONG])
    expect("bytes of a workspace", [call["arg1"] for call in found["aclnnAdd"]], ["0x40"])


def test(run):
    program = run.workload("simdevices/acl_truth")
    report, job = trace(run, program, ["auto"], {"acl", "aclnn", "hccl"})
    domains = {row["function"]: row["domain"] for row in report["calls"]}
    expect("domains", [domains[name] for name in ("aclnnAdd", "aclrtMalloc", "HcclBarrier")], ["aclnn", "acl", "hccl"])
    check_communicators(events_of(run, job), "HcclCommInitRootInfo", "HcclCreateSubCommConfig", "HcclAllReduce", (20, 1))
    check_arguments(run, program)
    summary = run.cli("report", job).stdout
    expect_true(f"ACL and HCCL have shares of their own: {summary}", "ACL" in summary and "HCCL" in summary)


if __name__ == "__main__":
    main(test)
