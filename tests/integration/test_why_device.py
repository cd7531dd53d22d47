#!/usr/bin/python3
"""Why a device is idle, said by `hookcli why`, on a simulated device whose kernels take a known time.

Each way of feeding the device has one true reason. The shares that `why` names are compared with those of the program's own counts.
"""
import json
import os
import re

from harness import expect, expect_true, main

KINDS = ("device-idle", "launch-bound", "synchronous-copies")


def feed(run, way, *options):
    """(kernels, copies, device us) of the program, and its job."""
    here = os.path.join(run.build, "tests", "workloads", "simcuda")
    job = f"{way}{len(options)}"
    done = run.trace(os.path.join(here, "device_feed"), way, hooks=["cuda"], options=("-q", "--job", job, *options),
                     env={"LD_LIBRARY_PATH": here})
    return tuple(map(int, done.stdout.split()[-3:])), run.path("store", job)


def told(run, job):
    """The findings about devices, the most expensive first."""
    findings = json.loads(run.cli("why", job, "--json").stdout)["findings"]
    return [finding for finding in findings if finding["kind"] in KINDS]


def kinds(findings):
    return [finding["kind"] for finding in findings]


def check_idle(run, way, kind, words):
    (kernels, copies, device_us), job = feed(run, way, "--device-time")
    findings = told(run, job)
    expect(f"{way}: the first finding", kinds(findings)[:1], [kind])
    text = f"{findings[0]['evidence']}; {findings[0]['advice']}"
    expect_true(f"{way}: {words!r} in {text!r}", words in text)
    said = int(re.search(r"busy (\d+) % of the time", text).group(1))
    # The program feeds the device for two seconds or longer.
    expect_true(f"{way}: busy {said} %, at most {device_us / 2e4:.1f} %", said <= device_us / 2e4 + copies / 1e3 + 1)
    works = re.search(r"devices: (\d+) kernels", findings[0]["details"][0])
    expect(f"{way}: pieces of work", int(works.group(1)), kernels + copies)
    return findings


def check_path(run, job):
    """The critical path of JOB, whose copies wait for kernels, goes through the kernels."""
    path = json.loads(run.cli("report", job, "--by", "path", "--format", "json").stdout)
    whole = sum(row["ns"] for row in path["path"])
    expect_true(f"the path adds up: {whole} of {path['path_ns']}", abs(whole - path["path_ns"]) <= len(path["path"]))
    expect("what is on the path most", (path["path"][0]["function"], path["path"][0]["class"]), ("feed_kernel", "devices"))
    share = path["path_classes"]["devices"] / path["path_ns"]
    expect_true(f"devices have {share} of the path", share >= 0.5)


def test(run):
    check_idle(run, "own", "device-idle", "the host works by itself")
    check_idle(run, "waits", "device-idle", "the host waits for each piece of work")
    check_idle(run, "launches", "launch-bound", "launch less often")
    copies = check_idle(run, "copies", "device-idle", "the host copies")
    expect("copies: all findings", sorted(kinds(copies)), ["device-idle", "synchronous-copies"])
    expect("copies: the function", next(f["function"] for f in copies if f["kind"] == "synchronous-copies"), "cudaMemcpy")
    busy = feed(run, "busy", "--device-time")[1]
    expect("a busy device", kinds(told(run, busy)), [])
    check_path(run, busy)
    # Without device time the host's side alone is not enough to say that the device is idle.
    expect("own work, no device time", kinds(told(run, feed(run, "own")[1])), [])


if __name__ == "__main__":
    main(test)
