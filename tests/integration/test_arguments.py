#!/usr/bin/python3
"""At level record+args both exports hold every argument and result, as arguments.c passes them; the program does not notice."""
import json
import os

import export_check
from harness import expect, expect_true, main

LONG = "a text that is longer than what a record keeps of one, which is "
WHOLE = "63 bytes: a text of just so many is whole, and not marked as c."
# Function, arguments, result; in order. Bytes past a text's end, and pointers of this run, are checked by their form.
ADDRESS = object()
CALLS = [
    ("arguments_mixed", {"a": -3, "b": 1.5, "c": 2.25, "d": 'hello "w"\n', "e": -99999999999, "f": 42, "g": -0.5,
                         "h": "0xdead0", "i": 9, "j": 1e30, "k": -7.5, "l": 4294967295}, -6.75),
    ("arguments_half", {"value": 5.0}, 2.5),
    ("arguments_wide", {"a": "{...}", "b": "{...}", "c": "{...}", "x": 2.5, "y": 4.0}, 133.0),
    ("arguments_name", {"number": 3}, "three"),
    ("arguments_name", {"number": 4}, "0x0"),
    ("arguments_text", {"text": LONG[:63] + "..."}, None),
    ("arguments_text", {"text": ""}, None),
    ("arguments_text", {"text": "0x0"}, None),
    ("arguments_text", {"text": WHOLE}, None),
    ("arguments_text", {"text": "edge"}, None),
    ("arguments_text", {"text": "beyon..."}, None),
    ("arguments_text", {"text": ADDRESS}, None),
    *(("arguments_follow", {"count": count, "out": out, "fields": out}, int(count == 7)) for count, out in
      ((7, ADDRESS), ("0x0", "0x0"), ("0x3", "0x3"), (hex(2**64 - 1), hex(2**64 - 1)), (ADDRESS, ADDRESS))),
    ("arguments_follow", {"count": ADDRESS, "out": ADDRESS, "fields": ADDRESS}, 1),
    ("arguments_pointee", {"odd": ADDRESS, "nothing": "0x0", "neither": "0x0"}, 1),
    ("arguments_unknown", {"arg0": "0x5", "arg1": "0xfffffffffffffffa", "arg2": ADDRESS, "arg3": ADDRESS, "arg4": ADDRESS,
                           "arg5": ADDRESS}, "0xffffffffffffffe2"),
    ("arguments_shapes", {"first": "0x0", "a": "1,2,3", "b": "4,5,6", "c": "7,8,9", "left": -1, "d": "4294967295,11,12"}, 1),
    ("arguments_long", {"text": LONG + "sixty-three bytes", "number": 1}, None),
    ("arguments_long", {"text": 222 * "n" + "...", "number": 2}, None),
    ("arguments_long", {"text": "", "number": 3}, None),
    ("arguments_long", {"text": "0x0", "number": 4}, None),
    *(("arguments_sums", {"sizes": where, "boxes": where, "count": count}, int(count == 3 and where != "0x0"))
      for where, count in ((ADDRESS, 3), (ADDRESS, 0), ("0x0", 3), ("0x3", 3), (ADDRESS, 2**32 - 1), (ADDRESS, 2**20))),
]


def value_of(note):
    """A Perfetto annotation as Chrome's JSON shows it."""
    for name in ("int_value", "uint_value", "double_value", "string_value"):
        if note.HasField(name):
            return getattr(note, name)
    return hex(note.pointer_value)


def chrome(path):
    with open(path, encoding="utf-8") as stream:
        events = json.load(stream)["traceEvents"]
    return [(event["name"], event["args"].get("arguments", {}), event["args"].get("result"), event["args"])
            for event in sorted((event for event in events if event["ph"] == "X"), key=lambda event: event["ts"])]


def perfetto(path):
    calls, sequences = [], {}
    for packet in export_check.packets(path):
        sequence = sequences.setdefault(packet.sequence, export_check.Sequence())
        sequence.take(packet, path)
        event = packet.track_event
        if event.type != export_check.BEGIN:
            continue
        arguments, rest = {}, {}
        for note in event.annotations:
            name = note.name or sequence.tables["annotation_names"][note.name_iid]
            if name == "arguments":
                arguments = {entry.name: value_of(entry) for entry in note.entries}
            else:
                rest[name] = value_of(note)
        calls.append((sequence.tables["names"][event.name_iid], arguments, rest.get("result"), rest))
    return calls


def same(got, wanted):
    return isinstance(got, str) and got.startswith("0x") if wanted is ADDRESS else got == wanted


def check(form, calls):
    expect(f"{form}: functions", [call[0] for call in calls], [call[0] for call in CALLS] + ["arguments_words"])
    for (name, arguments, result, _), (_, truth, wanted) in zip(calls, CALLS):
        expect(f"{form}: names of {name}", list(arguments), list(truth))
        for argument, value in truth.items():
            expect_true(f"{form}: {name}: {argument} is {arguments[argument]!r}, expected {value!r}",
                        same(arguments[argument], value))
        expect(f"{form}: result of {name}", result, wanted)
    expect(f"{form}: the named value stays", calls[0][3]["count"], 2**64 - 3)
    # What a line of the user's calls an address is followed only where there is something.
    followed = [[call[3][name] for name in ("count", "pointer", "size", "peer")] for call in calls if call[0] == "arguments_follow"]
    half = int.from_bytes(b"eyon", "little")
    expect(f"{form}: values behind addresses", followed, [[7, "0x8", 9, 8]] + 4 * [[0, "0x0", 0, 0]] + [[0, "0x0", 0, half]])
    # Each array is read as far as it is there.
    sums = [(call[3]["bytes"], call[3]["size"]) for call in calls if call[0] == "arguments_sums"]
    expect(f"{form}: sums", sums, [(321, 2 * 3 * 4 + 5 * 6 * 7 + 1)] + 5 * [(0, 0)])
    # More text than a record has words for: what comes last is cut, and nothing left out.
    texts = list(calls[-1][1].values())
    expect(f"{form}: the first four texts", texts[:4], ["one", "two", "three", "four"])
    expect_true(f"{form}: texts {texts}", len(texts) == 8 and texts[6].endswith(" it") and texts[7].endswith(" less ..."))


def test(run):
    here = os.path.dirname(os.path.abspath(__file__))
    program = os.path.join(run.build, "tests", "integration", "frame", "arguments")
    alone = run.command(program)
    traced = run.trace(program, hooks=[os.path.join(here, "frame", "arguments.hooks")], level="record+args",
                       options=("--job", "args"))
    expect("output", traced.stdout, alone.stdout)
    expect("lost records", [row["lost_records"] for row in run.report(run.path("store", "args"))["processes"]], [0])
    for form, read in (("chrome", chrome), ("perfetto", perfetto)):
        path = run.path(form)
        run.cli("export", run.path("store", "args"), "--format", form, "-o", path)
        check(form, read(path))
    expect("problems of the Perfetto file", export_check.problems, [])


if __name__ == "__main__":
    main(test)
