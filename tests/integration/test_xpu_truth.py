#!/usr/bin/python3
"""Simulated XPU and BKCL under mpirun: calls, errors and bytes of every rank, memory by device and kind, arguments of launches.

BKCL's lines show no bytes and no communicators, because it has no public header; their counts are exact.
"""
from device_truth import arguments_of, events_of, trace
from harness import expect, expect_true, main

LONG = "a_kernel_with_a_name_that_is_longer_than_sixty_three_bytes_as_those_of_templates_are"


def check_arguments(run, program):
    found = arguments_of(run, program, ["xpu"], ("xpu_create_cl_func", "xpu_launch_config"))
    expect("clusters and cores", [(call["nclusters"], call["ncores"]) for call in found["xpu_launch_config"]],
           [(8, 64), (8, 64), (1, 1)])
    expect("names of kernels", [(call["name"], call["on_xpu"]) for call in found["xpu_create_cl_func"]], [(LONG, 0)])


def test(run):
    program = run.workload("simdevices/xpu_truth")
    _, job = trace(run, program, ["auto"], {"xpu", "bkcl"}, idle=("managed 0", "managed 1"))
    for events in events_of(run, job):
        elements = [arguments["count"] for name, arguments in events if name == "bkcl_all_reduce"]
        expect("elements of bkcl_all_reduce", elements, list(range(1, 11)))
        streams = [arguments["stream"] for name, arguments in events if name in ("xpu_launch_config", "bkcl_all_reduce")]
        expect("launches and collectives by stream", [streams.count(stream) for stream in dict.fromkeys(streams)], [12, 1])
    check_arguments(run, program)
    summary = run.cli("report", job).stdout
    expect_true(f"XPU and BKCL have shares of their own: {summary}", "XPU" in summary and "BKCL" in summary)


if __name__ == "__main__":
    main(test)
