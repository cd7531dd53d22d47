#!/usr/bin/python3
"""Checks both exports of a job against its report, with readers that are not ours.

    export_check.py REPORT.json TRACE.pftrace TRACE.json [--domains mpi,blas]

The Perfetto file is read by Google's protobuf runtime from a schema written here from Perfetto's field numbers, the Chrome
file by Python's json. Both must hold, per rank, role, function and calling library, exactly the calls that the report
counts (less those still open; at most as many where records were lost), begin and end must nest on every track, and ranks
must be in order. --domains limits the comparison to functions that were recorded: a level below `record` leaves no calls.
"""
import argparse
import collections
import decimal
import json
import re
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

DOUBLE, U64, I64, U32, I32, BOOL, STR, BYTES, FIXED64 = 1, 4, 3, 13, 5, 8, 9, 12, 6
SCHEMA = {
    "TracePacket": {"clock_snapshot": (6, "ClockSnapshot"), "timestamp": (8, U64), "sequence": (10, U32),
                    "track_event": (11, "TrackEvent"), "interned_data": (12, "InternedData"), "flags": (13, U32),
                    "clock": (58, U32), "defaults": (59, "Defaults"), "descriptor": (60, "TrackDescriptor")},
    "Defaults": {"track_event": (11, "EventDefaults"), "clock": (58, U32)},
    "EventDefaults": {"track_uuid": (11, U64)},
    "ClockSnapshot": {"clocks": (1, ["Clock"]), "primary": (2, U32)},
    "Clock": {"id": (1, U32), "timestamp": (2, U64)},
    "TrackDescriptor": {"uuid": (1, U64), "name": (2, STR), "process": (3, "Process"), "thread": (4, "Thread"),
                        "parent_uuid": (5, U64), "counter": (8, "Counter"), "order_rank": (12, I32), "process_ordering": (19, I32)},
    "Counter": {"unit": (3, I32), "share": (7, STR)},
    "Process": {"pid": (1, I32), "cmdline": (2, [STR]), "name": (6, STR)},
    "Thread": {"pid": (1, I32), "tid": (2, I32), "name": (5, STR)},
    "TrackEvent": {"category_iids": (3, [U64]), "annotations": (4, ["Annotation"]), "type": (9, I32),
                   "name_iid": (10, U64), "track_uuid": (11, U64), "categories": (22, [STR]), "name": (23, STR),
                   "double_counter_value": (44, DOUBLE), "counter_value": (30, I64), "flow_ids": (47, [FIXED64]),
                   "terminating_flow_ids": (48, [FIXED64])},
    "Annotation": {"name_iid": (1, U64), "bool_value": (2, BOOL), "uint_value": (3, U64), "int_value": (4, I64),
                   "double_value": (5, DOUBLE), "string_value": (6, STR), "pointer_value": (7, U64), "name": (10, STR),
                   "entries": (11, ["Annotation"]), "string_iid": (17, U64)},
    "InternedData": {"categories": (1, ["Name"]), "names": (2, ["Name"]), "annotation_names": (3, ["Name"]),
                     "strings": (29, ["Text"])},
    "Name": {"iid": (1, U64), "name": (2, STR)},
    "Text": {"iid": (1, U64), "str": (2, BYTES)},
}
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
CLEARED, NEEDS_STATE = 1, 2
BOOTTIME = 6
TITLE = re.compile(r"^(?:rank (\d+))?(?: ?(helper|launcher))? \((.*)\) pid (\d+)$")

problems = []


def problem(text):
    problems.append(text)
    if len(problems) > 20:
        finish()


def finish():
    for text in problems:
        print("export_check: " + text, file=sys.stderr)
    sys.exit(1 if problems else 0)


def message_class(schema, wanted, package="check"):
    """The class of message WANTED, made of SCHEMA by the protobuf runtime."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto2")
    for message, fields in schema.items():
        described = file.message_type.add(name=message)
        for name, (number, kind) in fields.items():
            repeated = isinstance(kind, list)
            kind = kind[0] if repeated else kind
            field = described.field.add(name=name, number=number, label=3 if repeated else 1)
            if isinstance(kind, str):
                field.type, field.type_name = 11, f".{package}.{kind}"
            else:
                field.type = kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = pool.FindMessageTypeByName(f"{package}.{wanted}")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(found)
    return message_factory.MessageFactory(pool).GetPrototype(found)


def packets(path):
    """Packets of a file one by one: field 1 of Trace, length-delimited."""
    make = message_class(SCHEMA, "TracePacket")
    with open(path, "rb") as file:
        while tag := file.read(1):
            if tag != b"\x0a":
                problem(f"{path}: byte {file.tell() - 1} starts no packet")
                return
            size = shift = 0
            while True:
                byte = file.read(1)[0]
                size |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    break
            body = file.read(size)
            if len(body) != size:
                problem(f"{path}: the last packet is cut off")
                return
            packet = make()
            packet.ParseFromString(body)
            yield packet


def who(title, path):
    """(rank, role) of a process by its title."""
    match = TITLE.match(title)
    if not match:
        problem(f"{path}: process title '{title}' is not understood")
        return (-1, "main")
    return (int(match[1]) if match[1] else -1, match[2] or "main")


class Sequence:
    def __init__(self):
        self.defaults = None
        self.tables = None

    def take(self, packet, path):
        if packet.flags & CLEARED:
            self.tables = {kind: {} for kind in ("categories", "names", "annotation_names", "strings")}
            self.defaults = packet.defaults if packet.HasField("defaults") else None
        if packet.flags & NEEDS_STATE and self.tables is None:
            problem(f"{path}: sequence {packet.sequence} uses state before it was set")
            self.tables = collections.defaultdict(dict)
        if packet.HasField("interned_data"):
            for kind, table in self.tables.items():
                for entry in getattr(packet.interned_data, kind):
                    if entry.iid == 0 or entry.iid in table:
                        problem(f"{path}: iid {entry.iid} of {kind} is 0 or given twice")
                    table[entry.iid] = entry.str.decode() if kind == "strings" else entry.name


class Flows:
    """Which calls arrows join: a call is (rank, function, how many of them were before, time)."""
    def __init__(self):
        self.numbers = collections.Counter()
        self.parts = collections.defaultdict(list)  # id: calls that carry it, in order of the file
        self.ends = {}  # id: call that ends it

    def name(self, call, time_ns):
        rank, function = call[0], call[3]
        self.numbers[rank, function] += 1
        return (rank, function, self.numbers[rank, function] - 1, time_ns)

    def end(self, ids, call, time_ns):
        for flow in ids:
            if flow in self.ends:
                problem(f"flow {flow} ends twice")
            self.ends[flow] = call[:3] + (time_ns,)

    def messages(self):
        """(call that sends, call that has the message) of all flows that end; those have one beginning, and before their end."""
        found = []
        for flow, end in self.ends.items():
            if len(self.parts[flow]) != 1 or self.parts[flow][0][3] > end[3]:
                problem(f"flow {flow} ends at {end} and begins at {self.parts[flow]}")
            else:
                found.append((self.parts[flow][0], end))
        return found

    def joined(self):
        """The calls that have a flow in common with others, by flow."""
        return [calls for flow, calls in self.parts.items() if flow not in self.ends and len(calls) > 1]


class Perfetto:
    def __init__(self, path):
        self.path = path
        self.processes, self.threads, self.streams = {}, {}, {}
        self.sequences = collections.defaultdict(Sequence)
        self.stacks, self.latest = collections.defaultdict(list), {}
        self.calls = collections.Counter()
        self.time = collections.Counter()
        self.lost = 0
        self.flows = Flows()
        self.root_ordering = None
        self.descriptors_ns = self.first_ns = None

    def read(self):
        for packet in packets(self.path):
            sequence = self.sequences[packet.sequence]
            sequence.take(packet, self.path)
            if packet.HasField("descriptor"):
                self.descriptor(packet)
            if packet.HasField("track_event"):
                self.event(packet, sequence)
        for track, stack in self.stacks.items():
            if stack:
                problem(f"{self.path}: track {track}: {len(stack)} calls never end")
        self.check_order()
        return self

    def descriptor(self, packet):
        told = packet.descriptor
        if told.uuid == 0:
            self.root_ordering = told.process_ordering
        elif told.HasField("process"):
            if told.uuid in self.processes:
                problem(f"{self.path}: process {told.uuid} is described twice")
            self.processes[told.uuid] = told
        elif told.HasField("thread"):
            if told.uuid in self.threads or told.parent_uuid not in self.processes:
                problem(f"{self.path}: thread '{told.name}' is there twice or without its process")
            self.threads[told.uuid] = told
        elif told.parent_uuid in self.processes and not told.HasField("counter"):
            if told.uuid in self.streams:
                problem(f"{self.path}: stream '{told.name}' is there twice")
            self.streams[told.uuid] = told
        if self.first_ns is not None and packet.timestamp > self.first_ns:
            problem(f"{self.path}: track '{told.name}' is described after the first event's time")

    def event(self, packet, sequence):
        event = packet.track_event
        defaults = sequence.defaults
        clock = packet.clock or (defaults.clock if defaults else 0)
        track = event.track_uuid or (defaults.track_event.track_uuid if defaults else 0)
        if clock != BOOTTIME:
            problem(f"{self.path}: an event's clock is {clock}")
        self.first_ns = min(self.first_ns or packet.timestamp, packet.timestamp)
        if event.type == COUNTER:
            return
        if event.type == INSTANT:
            if event.name == "lost records" and track in self.processes:
                self.lost += sum(note.uint_value for note in event.annotations if note.name == "lost")
            if event.terminating_flow_ids:
                self.flows.end(event.terminating_flow_ids, self.stacks[track][-1][2], packet.timestamp)
            return
        if track not in self.threads and track not in self.streams:
            problem(f"{self.path}: an event on track {track}, which nobody described")
            return
        if packet.timestamp < self.latest.get(track, 0):
            problem(f"{self.path}: track {track} goes back in time at {packet.timestamp}")
        self.latest[track] = packet.timestamp
        stack = self.stacks[track]
        if event.type == BEGIN:
            call = self.call(event, sequence, track)
            name = self.flows.name(call, packet.timestamp)
            for flow in event.flow_ids:
                self.flows.parts[flow].append(name)
            stack.append((call, packet.timestamp, name))
        elif event.type == END:
            if not stack:
                problem(f"{self.path}: track {track}: an end without a begin at {packet.timestamp}")
                return
            call, began, name = stack.pop()
            self.flows.end(event.terminating_flow_ids, name, packet.timestamp)
            self.calls[call] += 1
            self.time[call] += packet.timestamp - began
        else:
            problem(f"{self.path}: an event of type {event.type}")

    def call(self, event, sequence, track):
        tables = sequence.tables
        notes = {tables["annotation_names"][note.name_iid]: note for note in event.annotations}
        process = self.processes[(self.threads.get(track) or self.streams[track]).parent_uuid]
        return who(process.process.name, self.path) + (
            tables["categories"][event.category_iids[0]], tables["names"][event.name_iid],
            tables["strings"][notes["library"].string_iid])

    def check_order(self):
        if self.root_ordering != 1:
            problem(f"{self.path}: the trace does not ask for its processes' order")
        check_ranks(self.path, [(told.order_rank, told.process.name) for told in self.processes.values()])
        pids = [told.process.pid for told in self.processes.values()]
        tids = [told.thread.tid for told in self.threads.values()]
        if len(set(pids)) != len(pids) or len(set(tids)) != len(tids):
            problem(f"{self.path}: process or thread ids are not unique: a viewer would fuse them")


def check_ranks(path, ordered):
    if len({place for place, _ in ordered}) != len(ordered):
        problem(f"{path}: two processes have one place in the order")
    ranks = [who(title, path)[0] for _, title in sorted(ordered)]
    ranks = [rank if rank >= 0 else sys.maxsize for rank in ranks]
    if ranks != sorted(ranks):
        problem(f"{path}: ranks are not in order: {ranks}")


class Chrome:
    def __init__(self, path):
        self.path = path
        self.calls = collections.Counter()
        self.time = collections.Counter()
        self.lost = 0

    @staticmethod
    def nanoseconds(number):
        value = decimal.Decimal(number) * 1000
        if value != value.to_integral_value():
            problem(f"a time of {number} us is no whole number of nanoseconds")
        return int(value)

    def read(self):
        with open(self.path, encoding="utf-8") as file:
            trace = json.load(file, parse_float=decimal.Decimal)
        titles, places, tracks = {}, {}, collections.defaultdict(list)
        for event in trace["traceEvents"]:
            kind = event["ph"]
            if kind == "M" and event["name"] == "process_name":
                if event["pid"] in titles:
                    problem(f"{self.path}: process {event['pid']} is named twice")
                titles[event["pid"]] = event["args"]["name"]
            elif kind == "M" and event["name"] == "process_sort_index":
                places[event["pid"]] = event["args"]["sort_index"]
            elif kind == "X":
                start = self.nanoseconds(event["ts"])
                tracks[event["pid"], event["tid"]].append((start, -self.nanoseconds(event["dur"]), event))
            elif kind == "i":
                self.lost += event["args"]["lost"] if event["cat"] == "hooktrace" else 0
            elif kind not in "CMstf":
                problem(f"{self.path}: an event of kind {kind}")
        check_ranks(self.path, [(places[pid], title) for pid, title in titles.items()])
        for (pid, tid), events in tracks.items():
            if pid not in titles:
                problem(f"{self.path}: process {pid} has no name")
                continue
            self.track(tid, who(titles[pid], self.path), sorted(events, key=lambda entry: entry[:2]))
        return self

    def track(self, tid, owner, events):
        ends = []
        for start, minus_duration, event in events:
            end = start - minus_duration
            while ends and ends[-1] <= start:
                ends.pop()
            if ends and end > ends[-1]:
                problem(f"{self.path}: thread {tid}: {event['name']} at {start} ns sticks out of its caller")
            ends.append(end)
            call = owner + (event["cat"], event["name"], event["args"]["library"])
            self.calls[call] += 1
            self.time[call] -= minus_duration


def expected(report, domains):
    """Calls and time per (rank, role, domain, function, library) that an export must hold."""
    calls, time = collections.Counter(), {}
    for row in report["calls"]:
        if not domains or row["domain"] in domains:
            key = (row["rank"], row["role"], row["domain"], row["function"], row["library"])
            calls[key] += row["calls"]
            time[key] = row["total_ns"]
    for row in report["open_calls"]:
        for key in calls:
            if key[1] == "main" and (key[0], key[3], key[4]) == (row["rank"], row["function"], row["library"]):
                calls[key] -= 1
                time[key] = None
    return +calls, time


def compare(trace, calls, time, lost, domains):
    found = {key: count for key, count in trace.calls.items() if not domains or key[2] in domains}
    for key in sorted(set(found) | set(calls)):
        held, counted = found.get(key, 0), calls.get(key, 0)
        if held > counted or (held < counted and not lost):
            problem(f"{trace.path}: {key}: {held} calls exported, {counted} in the report")
        elif not lost and time.get(key) is not None:
            # Clocks of report and export agree to 1 %; each call's time may be cut by rounding to nest.
            if abs(trace.time[key] - time[key]) > time[key] // 50 + 10 * counted:
                problem(f"{trace.path}: {key}: {trace.time[key]} ns exported, {time[key]} in the report")
    if bool(trace.lost) != bool(lost):
        problem(f"{trace.path}: marks {trace.lost} lost records, the report {lost}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("report")
    parser.add_argument("perfetto")
    parser.add_argument("chrome")
    parser.add_argument("--domains", default="")
    arguments = parser.parse_args()
    domains = set(filter(None, arguments.domains.split(",")))
    with open(arguments.report, encoding="utf-8") as file:
        report = json.load(file)
    calls, time = expected(report, domains)
    lost = sum(rank["lost_records"] for rank in report["ranks"])
    if not calls:
        problem("the report counts no calls: nothing to compare")
    for trace in (Perfetto(arguments.perfetto).read(), Chrome(arguments.chrome).read()):
        compare(trace, calls, time, lost, domains)
    if not problems:
        print(f"{sum(calls.values())} calls of {len(calls)} kinds agree in report, Perfetto and Chrome exports")
    finish()


if __name__ == "__main__":
    main()
