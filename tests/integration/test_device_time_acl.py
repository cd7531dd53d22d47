#!/usr/bin/python3
"""Device time by MSPTI's activity records, on a simulated Ascend device: the same reader as for CUPTI, with another layout.

Kernels are joined with their launches. Copies have no correlation number in MSPTI, so their calls are not known, and the report says so.
"""
import json

from harness import expect, expect_true, main

THREADS, ROUNDS, BLOCK_NS = 3, 40, 2000
EACH = THREADS * ROUNDS


def check(run, scene, times):
    name = scene or "plain"
    done = run.trace(run.workload("simdevices/mspti_truth"), *filter(None, [scene]), hooks=["acl"], store=name,
                     options=("-q", "--device-time", "--job", name))
    report = json.loads(run.cli("report", run.path(name, name), "--format", "json").stdout)
    source = report["processes"][0]["device_time"]
    expect(f"{name}: source", (source["state"], source["library"], source["yields"]), ("on", "MSPTI", int(times > 1)))
    expect(f"{name}: activities", (source["activities"], source["unlinked"]), (3 * EACH * times, EACH * times))
    rows = {row["function"]: row for row in report["calls"] if row["device_ns"] is not None}
    wanted = {"MatMul_a": 2, "Add_b": 1, "Memcpy": 1}
    for function, blocks in wanted.items():
        expect(f"{name}: {function}", (rows[function]["domain"], rows[function]["calls"], rows[function]["device_ns"]),
               ("device", EACH * times, EACH * times * blocks * BLOCK_NS))
    expect(f"{name}: launches", (rows["aclrtLaunchKernel"]["calls"], rows["aclrtLaunchKernel"]["device_ns"]),
           (2 * EACH * times, 3 * EACH * times * BLOCK_NS))
    expect(f"{name}: rows with device time", set(rows), {*wanted, "aclrtLaunchKernel"})
    notes = " ".join(row["notes"] for row in report["coverage"])
    expect_true(f"{name}: notes are {notes}", f"{EACH * times} activities without the call" in notes)
    return json.loads(done.stdout)


def test(run):
    check(run, None, 1)
    other = check(run, "tool", 3)
    expect("the other tool", other, {"kernels": 2 * EACH, "calls": 3 * EACH, "copies": EACH})


if __name__ == "__main__":
    main(test)
