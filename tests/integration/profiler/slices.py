"""What hooktrace.profiler takes of a file of a job's rank that this script makes up: slices.py DIRECTORY prints `done`.

It is also the program that stands for hookcli, which writes that file.
"""
import json
import os
import stat
import sys
import warnings

PROCESS, OTHER, NUMBER = 100, 200, 7


def row(name, begin_us, time_us, process=PROCESS, thread=1, cat="cpu_op", **arguments):
    return {"ph": "X", "cat": cat, "name": name, "pid": process, "tid": thread, "ts": begin_us, "dur": time_us, "args": arguments}


def counter(at_us, value, process=PROCESS):
    return {"ph": "C", "cat": "user_annotation", "name": "hooktrace.profile", "pid": process, "tid": 1, "ts": at_us, "args": {"value": value}}


def flow(kind, number, process, at_us):
    return {"ph": kind, "cat": "ac2g", "name": "ac2g", "pid": process, "tid": 1, "ts": at_us, "id": number}


def lost(at_us, count):
    return {"ph": "i", "cat": "hooktrace", "name": "lost records", "pid": PROCESS, "tid": PROCESS, "ts": at_us, "s": "p", "args": {"lost": count}}


HEAD = {"schemaVersion": 1, "generator": "hooktrace", "distributedInfo": {"rank": 3}, "displayTimeUnit": "ms", "baseTimeNanoseconds": 10**18}
ROWS = [
    {"ph": "M", "name": "process_name", "pid": PROCESS, "tid": 0, "ts": 0.0, "args": {"name": "rank 3"}},
    counter(10.0, NUMBER - 1), row("window before", 12.0, 1.0), counter(20.0, 0.0), lost(25.0, 5),
    # Open when the window begins; of another process; the window of another process.
    row("around", 5.0, 200.0), row("other", 120.0, 10.0, OTHER), counter(90.0, NUMBER, OTHER), counter(300.0, 0, OTHER),
    counter(100.0, NUMBER),
    row("inner", 111.0004, 2.0), row("inner", 114.0, 0.0), row("launch", 116.0, 4.0, correlation=1, domain="cuda"),
    row("outer", 111.0, 9.0), row("thread", 110.0, 80.0, thread=2), row("launch", 150.5, 1.25, correlation=2, domain="cuda"),
    row("ProfilerStep#4", 101.0, 50.0, cat="user_annotation", step=4), row("ProfilerStep#5", 151.0, 40.0, cat="user_annotation", step=5),
    counter(200.0, 0), row("after", 201.0, 1.0),
    # Work of the device: within, after the window, of another window's launch.
    row("kernel", 130.0, 30.0, 0, 7, "kernel", correlation=1), flow("s", 1, PROCESS, 116.0), flow("f", 1, 0, 130.0),
    row("kernel", 250.0, 10.0, 0, 7, "kernel", correlation=2), flow("s", 2, PROCESS, 150.5), flow("f", 2, 0, 250.0),
    row("kernel", 400.0, 10.0, 0, 7, "kernel", correlation=9), flow("s", 9, PROCESS, 350.0),
    counter(500.0, NUMBER + 1),
]


def write_export(to):
    text = json.dumps(HEAD)[:-1] + ',\n"traceEvents":[\n' + ",\n".join(json.dumps(row, separators=(",", ":")) for row in ROWS) + "\n]}\n"
    with open(os.path.join(to, "rank3.json"), "w", encoding="utf-8") as file:
        file.write(text)


def need(what, got, wanted):
    if got != wanted:
        sys.exit(f"FAILED: {what}: {got}, expected {wanted}")


def slice_of(directory):
    """The records of the window by a hookcli that notes its words and writes the file."""
    from hooktrace import hookcli
    from hooktrace.profiler import records, recording

    cli = os.path.join(directory, "hookcli")
    with open(cli, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\necho "$*" >>{directory}/words\n[ -e {directory}/tried ] || {{ touch {directory}/tried; exit 4; }}\n'
                   f'exec {sys.executable} {os.path.abspath(__file__)} write "$@"\n')
    os.chmod(cli, stat.S_IRWXU)
    hookcli.find = lambda: cli
    window = recording.Window(NUMBER, "job 1")
    window.process, window.ended = PROCESS, window.began
    os.environ["RANK"] = "3"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = records.Records(window)
    need("warnings", ["5 records of these steps were lost" in str(one.message) for one in caught], [True])
    return found


def check(directory):
    from hooktrace.profiler import averages

    found = slice_of(directory)
    with open(os.path.join(directory, "words"), encoding="utf-8") as file:
        words = [line.split(" -o ") for line in file]
    need("a job that is not known yet is asked for again", [line[0] for line in words], ["export job 1 --format kineto --exact"] * 2)
    need("its own rank only", [line[1].split(" ", 1)[1].strip() for line in words], ["--ranks 3"] * 2)
    events = found.events()
    need("calls", [event.name for event in events],
         ["ProfilerStep#4", "thread", "outer", "inner", "inner", "launch", "kernel", "launch", "ProfilerStep#5", "kernel"])
    need("parents", [event.cpu_parent and event.cpu_parent.name for event in events],
         [None, None, "ProfilerStep#4", "outer", "outer", "outer", None, None, None, None])
    table = {row.key: row for row in averages.Averages.of(events)}
    need("counts", {key: row.count for key, row in table.items()},
         {"ProfilerStep*": 2, "thread": 1, "outer": 1, "inner": 2, "launch": 2, "kernel": 2})
    need("self times", {key: round(row.self_cpu_time_total, 3) for key, row in table.items()},
         {"ProfilerStep*": 81, "thread": 80, "outer": 3, "inner": 2, "launch": 5.25, "kernel": 0})
    need("times of the device", {key: row.device_time_total for key, row in table.items()},
         {"ProfilerStep*": 30, "thread": 0, "outer": 30, "inner": 0, "launch": 40, "kernel": 40})
    need("of the device by itself", {key: row.self_device_time_total for key, row in table.items() if row.self_device_time_total},
         {"launch": 40, "kernel": 40})
    path = os.path.join(directory, "slice.json")
    found.write(path, {"more": "text"})
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    need("head", {key: value for key, value in document.items() if key != "traceEvents"}, {**HEAD, "more": "text"})
    rows = document["traceEvents"]
    need("rows", sorted(row["name"] for row in rows if row["ph"] != "X"), ["ac2g"] * 4 + ["lost records", "process_name"])
    need("whole microseconds", [(row["ts"], row["dur"]) for row in rows if row["ph"] == "X" and row["name"] in ("inner", "launch")],
         [(111, 2), (114, 0), (116, 4), (150, 1)])


if sys.argv[1] == "write":
    write_export(sys.argv[sys.argv.index("-o") + 1])
else:
    check(sys.argv[1])
    print("done")
