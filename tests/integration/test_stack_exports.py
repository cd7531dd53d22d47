#!/usr/bin/python3
"""Callers' stacks in every export are those of the report, as often and with the same time; read by readers that are not ours: Google's
protobuf runtime with the formats' field numbers, Python's json, and the rules of the folded format."""
import collections
import gzip
import json
import os
import subprocess

import export_check
from harness import Run, expect, expect_true, main

HOOKS = """int stacks_described(int value) bytes=value
int stacks_failed(int value) error=nonzero
libstacks_truth_library.so:stacks_plain
libc.so.6:qsort
"""
# Field numbers of proto/profile.proto in github.com/google/pprof, and kinds as in descriptor.proto.
U64, I64, STR, BOOL = 4, 3, 9, 8
PPROF = {
    "Profile": {"sample_type": (1, ["ValueType"]), "sample": (2, ["Sample"]), "mapping": (3, ["Mapping"]), "location": (4, ["Location"]),
                "function": (5, ["Function"]), "string_table": (6, [STR]), "drop_frames": (7, I64), "keep_frames": (8, I64),
                "time_nanos": (9, I64), "duration_nanos": (10, I64), "period_type": (11, "ValueType"), "period": (12, I64),
                "comment": (13, [I64]), "default_sample_type": (14, I64)},
    "ValueType": {"type": (1, I64), "unit": (2, I64)},
    "Sample": {"location_id": (1, [U64]), "value": (2, [I64]), "label": (3, ["Label"])},
    "Label": {"key": (1, I64), "str": (2, I64), "num": (3, I64), "num_unit": (4, I64)},
    "Mapping": {"id": (1, U64), "memory_start": (2, U64), "memory_limit": (3, U64), "file_offset": (4, U64), "filename": (5, I64),
                "build_id": (6, I64), "has_functions": (7, BOOL), "has_filenames": (8, BOOL), "has_line_numbers": (9, BOOL),
                "has_inline_frames": (10, BOOL)},
    "Location": {"id": (1, U64), "mapping_id": (2, U64), "address": (3, U64), "line": (4, ["Line"]), "is_folded": (5, BOOL)},
    "Line": {"function_id": (1, U64), "line": (2, I64)},
    "Function": {"id": (1, U64), "name": (2, I64), "system_name": (3, I64), "filename": (4, I64), "start_line": (5, I64)},
}


def text_of(frame):
    """A frame of the report as one text, as the report's tables have it."""
    if "end" in frame:
        return frame["end"]
    if frame["function"]:
        return frame["function"]
    return f"{os.path.basename(frame['library'])}+{frame['address']:#x}" if frame["library"] else f"[{frame['address']:#x}]"


class Truth:
    """The report's stacks, innermost first: (function, frames) -> calls, and time."""

    def __init__(self, run, job):
        report = json.loads(run.cli("report", job, "--by", "stack", "--format", "json").stdout)
        self.calls, self.time = collections.Counter(), collections.Counter()
        for row in report["stacks"]:
            key = (row["function"], tuple(text_of(frame) for frame in row["frames"]))
            self.calls[key] += row["calls"]
            self.time[key] += row["total_ns"]
        expect_true("truth: both a deep and a generated stack", any(len(frames) > 8 for _, frames in self.calls))
        self.qsorts = sum(row["calls"] for row in run.report(job)["calls"] if row["function"] == "qsort")  # without stacks


class Chrome:
    """Calls with and without stacks; own time by the nesting of a thread's events."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            trace = json.load(file, parse_float=str)
        self.frames = trace["stackFrames"]
        self.calls, self.time, self.own = collections.Counter(), collections.Counter(), collections.Counter()
        tracks = collections.defaultdict(list)
        for event in trace["traceEvents"]:
            if event["ph"] == "X":
                start, length = (self.nanoseconds(event[key]) for key in ("ts", "dur"))
                tracks[event["pid"], event["tid"]].append((start, -length, event))
        for events in tracks.values():
            self.track(sorted(events, key=lambda entry: entry[:2]))
        self.used = {frame["parent"] for frame in self.frames.values() if "parent" in frame}

    @staticmethod
    def nanoseconds(text):
        whole, _, fraction = str(text).partition(".")
        return int(whole) * 1000 + int(fraction.ljust(3, "0") or 0)

    def stack(self, event):
        found, frame = [], event.get("sf")
        while frame:
            found.append(self.frames[frame]["name"])
            frame = self.frames[frame].get("parent")
        return tuple(found)

    def track(self, events):
        """A call without a stack lies behind the call around it."""
        around = []
        for start, minus, event in events:
            while around and around[-1][0] <= start:
                around.pop()
            frames = self.stack(event)
            name = (event["name"],)
            path = name + frames if frames else name + (around[-1][1] if around else ())
            if frames:
                self.calls[event["name"], frames] += 1
                self.time[event["name"], frames] -= minus
            self.own[path] -= minus
            if around:
                self.own[around[-1][1]] += minus
            around.append((start - minus, path))


def check_chrome(run, job, truth):
    path = run.path("trace.json")
    run.cli("export", job, "--format", "chrome", "-o", path)
    chrome = Chrome(path)
    expect("chrome: calls by stack", chrome.calls, truth.calls)
    # A timeline converts starts and ends apart, so a call may be a nanosecond longer or shorter than its record says.
    far = {key: ns - truth.time[key] for key, ns in chrome.time.items() if abs(ns - truth.time[key]) > truth.calls[key]}
    expect("chrome: time by stack", far, {})
    expect("chrome: frames without a definition", sorted(chrome.used - set(chrome.frames)), [])
    return chrome


def check_perfetto(run, job, truth):
    path = run.path("trace.pftrace")
    run.cli("export", job, "--format", "perfetto", "-o", path)
    sequences, calls = collections.defaultdict(export_check.Sequence), collections.Counter()
    for packet in export_check.packets(path):
        sequence = sequences[packet.sequence]
        sequence.take(packet, path)
        if packet.HasField("track_event") and packet.track_event.type == export_check.BEGIN:
            tables = sequence.tables
            notes = {note.name or tables["annotation_names"][note.name_iid]: note for note in packet.track_event.annotations}
            if "stack" in notes:
                frames = tables["strings"][notes["stack"].string_iid].split("\n")
                calls[tables["names"][packet.track_event.name_iid], tuple(frames)] += 1
    expect("perfetto: calls by stack", calls, truth.calls)
    expect("perfetto: problems", export_check.problems, [])


def check_kineto(run, job, truth):
    """Kineto has the rank's own process, which makes half of the calls, and the one of generated code."""
    directory = run.path("kineto")
    run.cli("export", job, "--format", "kineto", "-o", directory)
    with open(os.path.join(directory, "rank0.json"), encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    calls = collections.Counter((event["name"], tuple(event["args"]["Call stack"].split(";"))) for event in events
                                if "Call stack" in event.get("args", ()))
    expect_true("kineto: more than half", sum(truth.calls.values()) // 2 <= sum(calls.values()) < sum(truth.calls.values()))
    expect("kineto: stacks that the report has not", [key for key, count in calls.items() if count > truth.calls[key]], [])


def clean(text):
    return text.replace(";", ":").replace(" ", "_")


def check_folded(run, job, truth, chrome):
    def folded(*options):
        found = collections.Counter()
        for line in run.cli("export", job, "--format", "folded", *options).stdout.splitlines():
            stack, weight = line.rsplit(" ", 1)
            names = stack.split(";")
            found[tuple(reversed(names[1:] if names[0] == "[helper]" else names))] += int(weight)
        return found
    own = collections.Counter()
    for path, ns in chrome.own.items():
        own[tuple(map(clean, path))] += ns
    expect("folded: own time by stack", folded(), +own)
    calls = collections.Counter()
    for (function, frames), count in truth.calls.items():
        calls[tuple(map(clean, (function, *frames)))] += count
    calls.update({("qsort",): truth.qsorts})
    expect("folded: calls by stack", folded("--weight", "calls"), calls)
    for line in run.cli("export", job, "--format", "folded", "--split", "thread").stdout.splitlines():
        names = line.rsplit(" ", 1)[0].split(";")
        expect("folded: rank and thread below the frames", names[1 if names[0] == "[helper]" else 0], "rank_0")


class Profile:
    def __init__(self, path):
        with gzip.open(path, "rb") as file:
            self.profile = export_check.message_class(PPROF, "Profile", "pprof")()
            self.profile.ParseFromString(file.read())
        self.texts = self.profile.string_table
        expect("pprof: the first text", self.texts[0], "")
        self.types = [(self.texts[one.type], self.texts[one.unit]) for one in self.profile.sample_type]
        self.functions = {one.id: self.texts[one.name] for one in self.profile.function}
        self.mappings = {one.id: one for one in self.profile.mapping}
        self.locations = {one.id: one for one in self.profile.location}
        for table, list_ in (("functions", self.profile.function), ("mappings", self.profile.mapping), ("locations", self.profile.location)):
            expect(f"pprof: numbers of {table}", sorted(one.id for one in list_), list(range(1, len(list_) + 1)))

    def name(self, number):
        location = self.locations[number]
        if location.line:
            return self.functions[location.line[0].function_id]
        if location.mapping_id:
            return f"{os.path.basename(self.texts[self.mappings[location.mapping_id].filename])}+{location.address:#x}"
        return f"[{location.address:#x}]"

    def labels(self, sample):
        return {self.texts[label.key]: self.texts[label.str] for label in sample.label}


def build_id_of(path):
    lines = subprocess.run(["readelf", "-n", path], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    return next(line.split()[-1] for line in lines if "Build ID:" in line)


def check_mappings(profile):
    """Objects by name and build id, as binutils reads it; every address lies in its mapping."""
    for mapping in profile.mappings.values():
        path = profile.texts[mapping.filename]
        expect(f"pprof: build id of {path}", profile.texts[mapping.build_id], build_id_of(path))
    expect_true("pprof: the program is a mapping", any(profile.texts[one.filename].endswith("stacks_truth") for one in profile.mappings.values()))
    for location in profile.locations.values():
        if location.mapping_id:
            mapping = profile.mappings[location.mapping_id]
            expect_true(f"pprof: {location.address} in its mapping", mapping.memory_start <= location.address < mapping.memory_limit)
            expect_true("pprof: nameless frames leave a mapping without functions", location.line or not mapping.has_functions)


def check_pprof(run, job, truth, chrome):
    path = run.path("profile.pb.gz")
    run.cli("export", job, "--format", "pprof", "-o", path)
    profile = Profile(path)
    expect("pprof: sample types", profile.types, [("calls", "count"), ("time", "nanoseconds"), ("bytes", "bytes")])
    expect("pprof: shown first", profile.texts[profile.profile.default_sample_type], "time")
    calls, time, moved, roles = (collections.Counter() for _ in range(4))
    for sample in profile.profile.sample:
        stack, labels = tuple(profile.name(number) for number in sample.location_id), profile.labels(sample)
        expect("pprof: labels", (labels["function"], labels["domain"], labels["rank"]), (stack[0], "user", "rank0"))
        calls[stack] += sample.value[0]
        time[stack] += sample.value[1]
        moved[stack[0]] += sample.value[2]
        roles[labels.get("role")] += sample.value[0]
    wanted = collections.Counter({(function, *frames): count for (function, frames), count in truth.calls.items()})
    wanted.update({("qsort",): truth.qsorts})
    expect("pprof: calls by stack", calls, wanted)
    expect("pprof: own time by stack", +time, +chrome.own)
    report = run.report(job)
    for row in report["calls"]:
        moved[row["function"]] -= row["bytes"]
    expect("pprof: bytes beyond the report's", {name: count for name, count in moved.items() if count}, {})
    by_role = collections.Counter()
    for row in report["calls"]:
        by_role[None if row["role"] == "main" else row["role"]] += row["calls"]
    expect("pprof: calls by role", roles, by_role)
    total, stacks = sum(wanted.values()), sum(truth.calls.values())
    expect("pprof: comment", [profile.texts[one] for one in profile.profile.comment], [f"hooktrace job {os.path.basename(job)}: stacks of "
                                                                                       f"{stacks} of {total} calls"])
    check_mappings(profile)
    run.cli("export", job, "--format", "pprof", "--split", "thread", "-o", path)
    threads = Profile(path)
    expect("pprof: threads", len({threads.labels(sample)["thread"] for sample in threads.profile.sample}), 4)
    expect("pprof: calls of all threads", sum(sample.value[0] for sample in threads.profile.sample), total)


def check_without(run):
    """A job without stacks: no exporter speaks of them."""
    run.trace(run.workload("stacks_truth"), run.path("noted-none"), hooks=["*:stacks_plain"], level="record", options=("--job", "none"))
    job = run.path("store", "none")
    path = run.path("none.json")
    run.cli("export", job, "--format", "chrome", "-o", path)
    with open(path, encoding="utf-8") as file:
        expect_true("none: stackFrames", "stackFrames" not in json.load(file))
    calls = sum(row["calls"] for row in run.report(job)["calls"])
    run.cli("export", job, "--format", "pprof", "-o", path)
    profile = Profile(path)
    expect("none: samples", sorted((profile.name(one.location_id[0]), len(one.location_id)) for one in profile.profile.sample),
           [("stacks_plain", 1)] * 2)
    expect("none: types", profile.types, [("calls", "count"), ("time", "nanoseconds")])
    expect("none: calls", sum(one.value[0] for one in profile.profile.sample), calls)


def test(run: Run):
    hooks = run.path("stacks.hooks")
    with open(hooks, "w", encoding="utf-8") as out:
        out.write(HOOKS)
    run.trace(run.workload("stacks_truth"), run.path("noted"), hooks=[hooks], level=["record+stack", "qsort=record"],
              options=("--job", "stacks"))
    job = run.path("store", "stacks")
    truth = Truth(run, job)
    chrome = check_chrome(run, job, truth)
    check_perfetto(run, job, truth)
    check_kineto(run, job, truth)
    check_folded(run, job, truth, chrome)
    check_pprof(run, job, truth, chrome)
    check_without(run)


if __name__ == "__main__":
    main(test)
