#!/usr/bin/python3
"""Batches of copies count the sum of their sizes; pools are in the ledger, memory nodes of graphs are shown and are not."""
from device_truth import check_memory, events_of
from harness import expect, main
from truth import expect_calls, expect_whole, load, rows_of, wanted_of


def test(run):
    run.trace(run.workload("simcuda/cuda_batch"), run.directory, hooks=["auto"], options=("--job", "batch"))
    job = run.path("store", "batch")
    report = run.report(job)
    expect_whole(report, 1)
    truth = load(run.path("truth-0.json"))
    expect_calls("batch", {key: row for key, row in rows_of(report, domains={"cuda"}).items() if key[0] == "cuda_batch"}, wanted_of(truth))
    check_memory("batch", report, 0, truth["memory"], "cuda_batch")
    nodes = [(name, arguments.get("size"), arguments["pointer"]) for name, arguments in events_of(run, job)[0] if "GraphAddMem" in name]
    expect("memory nodes", nodes, [("cudaGraphAddMemAllocNode", 4096, "0x7000000000"), ("cudaGraphAddMemFreeNode", None, "0x7000000000")])


if __name__ == "__main__":
    main(test)
