#!/usr/bin/python3
"""Stacks of programs that people use. The stack of every call of malloc, calloc and read is the one that glibc's unwinder sees in the
called function (stack_noter). Of torch it is that of calloc, posix_memalign and read. Glibc ends at code without unwind information, where
hooktrace may know more. Argument "long": more programs. TORCH_PYTHON names a Python with another torch than this one's."""
import collections
import json
import os
import sys

from harness import Run, expect, expect_true, main

FUNCTIONS = ("malloc", "calloc", "read")
OF_TORCH = ("calloc", "posix_memalign", "read")  # its calls of malloc are millions
DEEP = 256  # frames that a stack may have
LEAST = 10_000
NODE = """const zlib = require('zlib'), fs = require('fs'); let text = fs.readFileSync(process.argv[1], 'utf8');
for (let i = 0; i < 20; i++) { JSON.parse(JSON.stringify(text.split(/[ ,;]+/))); zlib.gunzipSync(zlib.gzipSync(text)); }
console.log(require('crypto').createHash('sha256').update(text).digest('hex'), new Intl.NumberFormat('de').format(1234567.5));"""
PYTHON = """import decimal, json, sqlite3, xml.dom.minidom, zlib, ctypes
for number in range(50):
    text = json.dumps([{"a": i, "b": str(decimal.Decimal(i) ** 3)} for i in range(100)])
    zlib.decompress(zlib.compress(text.encode())); sorted(json.loads(text), key=lambda row: row["b"])
    base = sqlite3.connect(":memory:"); base.execute("create table t (x)"); base.executemany("insert into t values (?)", [(i,) for i in range(50)])
xml.dom.minidom.parseString("<a>" + "<b c='d'>e</b>" * 100 + "</a>").toxml()"""
TORCH = """import torch
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
optimizer = torch.optim.Adam(model.parameters())
for _ in range(30):
    loss = model(torch.rand(16, 32)).square().mean(); optimizer.zero_grad(); loss.backward(); optimizer.step()"""


def programs(run, kind):
    hookcli, here = run.binary("hookcli"), os.path.abspath(__file__)
    every = {
        "git": ["git", "diff", "--no-index", "--stat", "-p", "/usr/include/linux", "/usr/include/asm-generic"],
        "gdb": ["gdb", "-nx", "-batch", "-ex", "info functions stack", "-ex", "info types hk_", "-ex", "disassemble main", hookcli],
        "node": ["node", "-e", NODE, here],
        "python": [sys.executable, "-c", PYTHON],
    }
    if kind == "long":
        every["torch"] = [os.environ.get("TORCH_PYTHON", sys.executable), "-c", TORCH]
    return every


def noted(run, name):
    """{(function, frames): calls} of the one process that noted any; frames are (object, address behind the call), innermost first."""
    truth = collections.Counter()
    for path in (run.path(file) for file in os.listdir(run.directory) if file.startswith(f"{name}.notes.")):
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                calls, function, *frames = line.split()
                pairs = tuple((a, int(b, 16)) for a, _, b in (frame.rpartition("+") if frame != "?" else ("?", "", "0") for frame in frames))
                truth[function, pairs] += int(calls)
    return truth


def object_of(frame, program):
    name = os.path.basename(frame.get("library") or "")
    return "program" if name == program else name or "?"


def seen(run, name, program):
    """{(function, native frames, has Python frames, why it ends): calls} of the report."""
    report = json.loads(run.cli("report", run.path("store", name), "--by", "stack", "--format", "json").stdout)
    expect(f"{name}: calls without a stack", (report["refused"], report["calls_without"]), (0, 0))
    stacks = collections.Counter()
    for row in report["stacks"]:
        native = tuple((object_of(frame, program), frame["address"]) for frame in row["frames"]
                       if "end" not in frame and not frame["inlined"] and frame.get("language") != "python")
        python = any(frame.get("language") == "python" for frame in row["frames"])
        end = next((frame["end"] for frame in row["frames"] if "end" in frame), None)
        stacks[row["function"], native, python, end] += row["calls"]
    return stacks


def is_same(own, other):
    """Addresses of hooktrace lie in the instruction under way; glibc's lie behind it."""
    return own[0] == other[0] and (other[0] == "?" or other[1] - own[1] in (0, 1))


def starts(own, frames):
    """OWN begins with FRAMES."""
    return len(own) >= len(frames) and all(map(is_same, own, frames))


def lies_in(own, frames):
    """OWN are FRAMES without some of them: Python frames stand for those of the interpreter."""
    rest = iter(frames)
    return all(any(is_same(one, other) for other in rest) for one in own)


def verdict(own, frames, calls):
    """How the stacks of the report that begin at the same place relate to FRAMES, which glibc saw CALLS times."""
    equal = [(found, count) for (found, python, _), count in own if not python and len(found) == len(frames) and starts(found, frames)]
    if equal:
        return "equal" if len(equal) == 1 and equal[0][1] == calls else "other counts"
    if any(python and lies_in(found, frames) for (found, python, _), _ in own):
        return "with Python"
    if any(len(found) > len(frames) and starts(found, frames) for (found, _, _), _ in own):
        return "further"
    if len(frames) > DEEP and any(end and "deeper" in end and starts(frames, [(a, b + 1) for a, b in found]) for (found, _, end), _ in own):
        return "deep"
    return "missing"


def check(run, name, command):
    env = {"LD_PRELOAD": run.workload("libstack_noter.so"), "STACK_NOTES": run.path(f"{name}.notes")}
    hooks = [f"*:{function}" for function in (OF_TORCH if name == "torch" else FUNCTIONS)]
    run.trace(*command, hooks=hooks, level="record+stack", options=("--job", name), env=env, check=False)
    begins = collections.defaultdict(list)
    for (function, native, python, end), calls in seen(run, name, os.path.basename(command[0])).items():
        begins[function, native[0]].append(((native, python, end), calls))
    verdicts, missing = collections.Counter(), []
    for (function, frames), calls in noted(run, name).items():
        (library, address) = frames[0]
        # The agent itself reads while the loader runs it.
        found = "loader" if library.startswith("ld-") else verdict(
            begins[function, (library, address)] + begins[function, (library, address - 1)], frames, calls)
        verdicts[found] += 1
        missing += [frames] if found in ("missing", "other counts") else []
    print(f"{name}: stacks {dict(verdicts)}", flush=True)
    expect(f"{name}: stacks that differ, the first {missing[:1]}", len(missing), 0)
    return verdicts


def test(run: Run, kind="short"):
    verdicts = {name: check(run, name, command) for name, command in programs(run, kind).items()}
    equal = sum(found["equal"] for found in verdicts.values())
    expect_true(f"{equal} different stacks are equal", equal >= LEAST)


if __name__ == "__main__":
    main(test)
