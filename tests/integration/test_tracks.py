#!/usr/bin/python3
"""Tracks besides those of threads: memory over time has the report's peak, streams have the calls that name them, devices what was told."""
import collections
import json

import export_check
from harness import RANKS, expect, expect_true, main

SHARED = "hooktrace memory"


class Tracks(export_check.Perfetto):
    """What is on other tracks than threads': (process's title, track): its events."""
    def __init__(self, path):
        super().__init__(path)
        self.others, self.points = {}, collections.defaultdict(list)
        self.marks = collections.defaultdict(list)

    def descriptor(self, packet):
        told = packet.descriptor
        if told.uuid and not told.HasField("process") and not told.HasField("thread"):
            self.others[told.uuid] = told
        super().descriptor(packet)

    def event(self, packet, sequence):
        event = packet.track_event
        if event.track_uuid in self.others:
            if event.type == export_check.COUNTER:
                self.points[event.track_uuid].append((packet.timestamp, event.counter_value))
            else:
                name = sequence.tables["names"][event.name_iid] if event.name_iid else event.name
                self.marks[event.track_uuid].append((packet.timestamp, event.type, name))
            return
        super().event(packet, sequence)

    def of(self, kept):
        """Tracks whose name KEPT accepts, each with the rank of its process."""
        return [(export_check.who(self.processes[told.parent_uuid].process.name, self.path)[0], told)
                for told in self.others.values() if told.parent_uuid in self.processes and kept(told.name)]


def read(run, job):
    path = run.path(f"{job}.pftrace")
    run.cli("export", run.path("store", job), "-o", path)
    tracks = Tracks(path).read()
    expect(f"{job}: problems of the file", export_check.problems, [])
    return tracks


def check_memory(run, job):
    tracks = read(run, job)
    wanted = {(row["rank"], row["kind"], row["device"]): row["peak_bytes"] for row in run.report(run.path("store", job))["memory"]
              if row["library"] == "*" and row["role"] == "main"}
    found = collections.Counter()
    for rank, told in tracks.of(lambda name: name.startswith("live ")):
        words = told.name.split()
        points = tracks.points[told.uuid]
        expect(f"{told.name}: scale", (told.counter.share, told.counter.unit), (SHARED, 3))
        expect_true(f"{told.name}: points in order", points == sorted(points))
        key = (rank, words[1], int(words[2]) if len(words) > 2 else -1)
        found[key] = max(found[key], max(value for _, value in points)) # a rank's shell has a curve as well
    expect(f"{job}: highest points", {key: found[key] for key in wanted}, wanted)
    expect_true(f"{job}: {len(wanted)} curves", len(wanted) >= RANKS)


def check_chrome(run, job):
    path = run.path(f"{job}.json")
    run.cli("export", run.path("store", job), "--format", "chrome", "-o", path)
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    found = collections.defaultdict(int)
    for event in events:
        if event["ph"] == "C" and event["name"].startswith("live "):
            found[event["pid"], event["name"].split()[1]] = max(found[event["pid"], event["name"].split()[1]], event["args"]["bytes"])
    wanted = {(row["rank"], row["kind"]): row["peak_bytes"] for row in run.report(run.path("store", job))["memory"]
              if row["library"] == "*" and row["device"] < 0 and row["role"] == "main"}
    expect(f"{job}: highest points in Chrome's file", {key: found[key] for key in wanted}, wanted)


def check_streams(run, job):
    tracks = read(run, job)
    calls = tracks.of(lambda name: name.startswith("stream "))
    devices = tracks.of(lambda name: name.startswith("device "))
    expect_true(f"{len(calls)} streams, {len(devices)} of devices", calls and devices)
    for _, told in calls:
        expect_true(f"{told.name}: instants only: the device's times are not known",
                    {kind for _, kind, _ in tracks.marks[told.uuid]} == {export_check.INSTANT})
    launches = collections.Counter()
    for rank, told in calls:
        launches[rank] += sum(name == "cudaLaunchKernel" for _, _, name in tracks.marks[told.uuid])
    wanted = {row["rank"]: row["calls"] for row in run.report(run.path("store", job))["calls"] if row["function"] == "cudaLaunchKernel"}
    expect("launches on the tracks of streams", dict(launches), wanted)
    for _, told in devices:
        marks = tracks.marks[told.uuid]
        expect_true(f"{told.name}: begins and ends in turn",
                    [kind for _, kind, _ in marks] == [export_check.BEGIN, export_check.END] * (len(marks) // 2))
        expect_true(f"{told.name}: in order", all(begin[0] <= end[0] for begin, end in zip(marks[::2], marks[1::2])))


def test(run):
    command = f"exec {run.workload('heap_truth')} {run.path('rank-')}$OMPI_COMM_WORLD_RANK.json"
    run.trace("mpirun", "-n", RANKS, "/bin/sh", "-c", command, hooks=["libc"], level="record", options=("--job", "heap"))
    check_memory(run, "heap")
    check_chrome(run, "heap")
    run.trace("mpirun", "-n", 2, run.workload("simcuda/cuda_steps"), hooks=["mpi", "cuda"], level="record", options=("--job", "steps"))
    check_streams(run, "steps")


if __name__ == "__main__":
    main(test)
