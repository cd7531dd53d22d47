#!/usr/bin/python3
"""kineto_check: a Kineto file by the rules that its readers have, and by Python's json.

A reader finds the rank by a pattern on a line, drops rows without `dur` or `cat`, takes rows with args.stream >= 0 and
args.correlation >= 0 for a device's, joins these with the host's by correlation, and ranks by one clock.
"""
import collections
import decimal
import gzip
import json
import re

RANK = re.compile(r'"rank":\s+(\d+)')
HOST = {"cuda_runtime", "cuda_driver", "cpu_op", "user_annotation"}
DEVICE = {"kernel", "gpu_memcpy", "gpu_memset"}


class Problem(Exception):
    """What a reader would stumble over."""


def need(what, holds):
    if not holds:
        raise Problem(what)


def lines(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        yield from file


class Kineto:
    """One file; times in ns since its base."""

    def __init__(self, path):
        self.path = path
        text = "".join(lines(path))
        self.document = json.loads(text, parse_float=decimal.Decimal)
        self.events = self.document["traceEvents"]
        self.rank = self._rank()
        self.base_ns = self.document["baseTimeNanoseconds"]
        self.whole = all(isinstance(event["ts"], int) for event in self.events)
        self.host, self.device, self.flows = [], [], collections.defaultdict(dict)
        for event in self.events:
            self._take(event)
        self._check_devices()
        self._check_nesting()

    def _rank(self):
        keys = list(self.document)
        need("rank after the events", keys.index("distributedInfo") < keys.index("traceEvents"))
        need("schema", self.document["schemaVersion"] == 1)
        first = next(match for match in map(RANK.search, lines(self.path)) if match)
        rank = self.document["distributedInfo"]["rank"]
        need(f"the pattern finds rank {first[1]} of {rank}", int(first[1]) == rank)
        return rank

    @staticmethod
    def nanoseconds(number):
        value = decimal.Decimal(number) * 1000
        need(f"{number} us is no whole number of ns", value == value.to_integral_value())
        return int(value)

    def _take(self, event):
        kind = event["ph"]
        need(f"a row without a time: {event}", "ts" in event and event["ts"] >= 0)
        need(f"a row without numbers: {event}", isinstance(event["pid"], int) and isinstance(event["tid"], int))
        if kind in ("s", "f"):
            need(f"a flow by another name: {event}", (event["cat"], event["name"]) == ("ac2g", "ac2g"))
            need(f"a flow's end of its own kind: {event}", kind == "s" or event["bp"] == "e")
            self.flows[event["id"], kind].setdefault("rows", []).append(event)
        elif kind == "X":
            event["start"] = self.nanoseconds(event["ts"])
            event["length"] = self.nanoseconds(event["dur"])
            need(f"less than no time: {event}", event["length"] >= 0)
            is_device = event["args"].get("stream", -1) >= 0 and event["args"].get("correlation", -1) >= 0
            need(f"category: {event}", event["cat"] in (DEVICE if is_device else HOST))
            need(f"a host's row with a stream or device: {event}",
                 is_device or not {"stream", "device"} & set(event["args"]))
            (self.device if is_device else self.host).append(event)
        else:
            need(f"a row of kind {kind}", kind in ("M", "i", "C"))

    def _check_devices(self):
        """Each activity lies behind the start of the one call that asked for it, and an arrow leads there."""
        calls = {}
        for event in self.host:
            number = event["args"].get("correlation")
            if number is not None:
                need(f"two calls of correlation {number}", number not in calls)
                calls[number] = event
        self.linked = 0
        for event in self.device:
            args = event["args"]
            need(f"process and thread are device and stream: {event}", (event["pid"], event["tid"]) == (args["device"], args["stream"]))
            call = calls.get(args["correlation"])
            if call is None:
                continue
            self.linked += 1
            need(f"before it was asked for: {event} by {call}", event["start"] >= call["start"])
            start, end = (self.flows[args["correlation"], kind].get("rows", []) for kind in "sf")
            need(f"an arrow from the call: {call}", all((row["pid"], row["tid"], row["ts"]) == (call["pid"], call["tid"], call["ts"])
                                                        for row in start) and start)
            need(f"an arrow to it: {event}", any((row["pid"], row["tid"], row["ts"]) == (event["pid"], event["tid"], event["ts"])
                                                  for row in end))

    def _check_nesting(self):
        threads = collections.defaultdict(list)
        for event in self.host:
            if not event["name"].startswith("ProfilerStep#"):
                threads[event["pid"], event["tid"]].append((event["start"], -event["length"], event["name"]))
        for thread, events in threads.items():
            ends = []
            for start, minus, name in sorted(events):
                while ends and ends[-1] <= start:
                    ends.pop()
                need(f"{self.path}: thread {thread}: {name} at {start} sticks out", not ends or start - minus <= ends[-1])
                ends.append(start - minus)

    def totals(self):
        """{(category, name): [calls, ns]} of the host's rows, without the steps."""
        totals = collections.defaultdict(lambda: [0, 0])
        for event in self.host:
            if not event["name"].startswith("ProfilerStep#"):
                total = totals[event["cat"], event["name"]]
                total[0] += 1
                total[1] += event["length"]
        return dict(totals)

    def steps(self):
        return {event["name"]: event for event in self.host if event["name"].startswith("ProfilerStep#")}


CATEGORIES = {"user": "user_annotation", "mpi": "cpu_op"}


def expected(report, rank):
    """{(category, name): [calls, ns]} that a rank's file must hold, of a job whose calls all returned."""
    totals = collections.defaultdict(lambda: [0, 0])
    for row in report["calls"]:
        if row["rank"] == rank and row["role"] == "main" and row["total_ns"] is not None:
            runtime = row["function"].lstrip("_").startswith("cuda")
            category = CATEGORIES.get(row["domain"]) or ("cuda_runtime" if runtime else "cuda_driver")
            total = totals[category, row["function"]]
            total[0] += row["calls"]
            total[1] += row["total_ns"]
    return dict(totals)


def compare(found, wanted, per_call_ns):
    """Counts are equal; times but for PER_CALL_NS, and the 2 % to which clocks of report and export agree."""
    need(f"functions: {sorted(set(found) ^ set(wanted))}", set(found) == set(wanted))
    for key, (calls, ns) in wanted.items():
        need(f"{key}: {found[key][0]} calls, the report counts {calls}", found[key][0] == calls)
        need(f"{key}: {found[key][1]} ns, the report has {ns}", abs(found[key][1] - ns) <= ns // 50 + per_call_ns * calls)
