"""torch_npu's files of traced Python functions, read and written: DIRECTORY/FRAMEWORK/torch.python_tracer_func and torch.python_tracer_hash.

The first has a record of 33 bytes for each event, little-endian: time in ns, thread, process, key (64 bits each), tag (8 bits). The second
has the name of each key as nested type-length-value: type 4, length, key, then type 1, length, UTF-8. torch_npu's own profiler reads what
write() writes, and read() reads what torch_npu wrote.

    hookcli export JOB --format chrome -o job.json
    >>> npu_files.write("profile", npu_files.calls_of_export("job.json"))
"""
import collections
import hashlib
import json
import os
import re
import struct
from typing import Any, Counter, Dict, Iterable, Iterator, List, NamedTuple, Tuple

FUNCTIONS, NAMES = "torch.python_tracer_func", "torch.python_tracer_hash"
_EVENT = struct.Struct("<4QB")
_HEAD = struct.Struct("<HI")
_KEY = struct.Struct("<Q")
_NAME_TYPE, _TEXT_TYPE = 4, 1
_PYTHON_CALL, _PYTHON_RETURN, _C_CALL, _C_RETURN = range(4)
_EXIT = "__torch_npu_profiler_python_tracer_exit"
_MODULE = re.compile(r"nn\.Module: (.+)_(\d+)")
_FUNCTION = re.compile(r"(.+) \((.+):(\d+)\)", re.DOTALL)
_ADDRESS = "######"


class Call(NamedTuple):
    """A call that took from `start_ns` to `end_ns`. `kind` is "python" or "c", of a function written in C. `name` is `file(line): function`
    or `nn.Module: Class_k`."""

    process: int
    thread: int
    start_ns: int
    end_ns: int
    name: str
    kind: str = "python"


# ---- writing ----


def _key_of(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogateescape"), digest_size=8).digest(), "little")


def _written_name(name: str) -> str:
    module = _MODULE.fullmatch(name)
    return f"{module.group(1)}{_ADDRESS}{module.group(2)}" if module else name


def _events(calls: Iterable[Call]) -> Iterator[Tuple[int, Call, bool]]:
    """(time, call, whether it begins), in the order in which a thread's calls nest."""
    threads: Dict[Tuple[int, int], List[Call]] = collections.defaultdict(list)
    for call in calls:
        threads[call.process, call.thread].append(call)
    for own in threads.values():
        # The outer one of two calls that begin at the same time ends later.
        own.sort(key=lambda call: (call.start_ns, -call.end_ns))
        open_calls: List[Call] = []
        for call in own:
            while open_calls and open_calls[-1].end_ns <= call.start_ns:
                yield open_calls[-1].end_ns, open_calls.pop(), False
            yield call.start_ns, call, True
            open_calls.append(call)
        while open_calls:
            yield open_calls[-1].end_ns, open_calls.pop(), False


def write(directory: str, calls: Iterable[Call]) -> None:
    """Writes CALLS, of any number of threads and in any order, to files below DIRECTORY, which is made. Calls of a thread nest: one that
    overlaps the end of another ends with it. Raises OSError, and ValueError for a call that ends before it starts."""
    calls = list(calls)
    for call in calls:
        if not 0 <= call.start_ns <= call.end_ns:
            raise ValueError(f"cannot write {call}: expected 0 <= start_ns <= end_ns")
    folder = os.path.join(directory, "FRAMEWORK")
    os.makedirs(folder, exist_ok=True)
    names = {_key_of(_EXIT): _EXIT}
    # Readers sort by time, so what nests must not tie in another order: sorting is stable, and within a thread order is kept.
    events = sorted(_events(calls), key=lambda event: event[0])
    with open(os.path.join(folder, FUNCTIONS), "wb") as file:
        for time_ns, call, begins in events:
            name = _written_name(call.name) if begins else _EXIT
            names[_key_of(name)] = name
            tag = (_C_CALL if call.kind == "c" else _PYTHON_CALL) + (not begins)
            file.write(_EVENT.pack(time_ns, call.thread, call.process, _key_of(name), tag))
    with open(os.path.join(folder, NAMES), "wb") as file:
        for key, name in names.items():
            text = name.encode("utf-8", "surrogateescape")
            value = _KEY.pack(key) + _HEAD.pack(_TEXT_TYPE, len(text)) + text
            file.write(_HEAD.pack(_NAME_TYPE, len(value)) + value)


# ---- reading ----


def _read_names(path: str) -> Dict[int, str]:
    names: Dict[int, str] = {}
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        if at + _HEAD.size > len(data):
            raise ValueError(f"cannot read {path}: it ends within an entry")
        kind, length = _HEAD.unpack_from(data, at)
        value = data[at + _HEAD.size:at + _HEAD.size + length]
        at += _HEAD.size + length
        if len(value) < length:
            raise ValueError(f"cannot read {path}: it ends within an entry")
        if kind != _NAME_TYPE:
            continue
        if length < _KEY.size + _HEAD.size:
            raise ValueError(f"cannot read {path}: an entry of {length} bytes is too short")
        text_type, text_length = _HEAD.unpack_from(value, _KEY.size)
        text = value[_KEY.size + _HEAD.size:]
        if text_type != _TEXT_TYPE or text_length != len(text):
            raise ValueError(f"cannot read {path}: an entry without a name")
        names[_KEY.unpack_from(value)[0]] = text.decode("utf-8", "surrogateescape")
    return names


def _read_events(path: str) -> List[Tuple[int, int, int, int, int]]:
    with open(path, "rb") as file:
        data = file.read()
    if len(data) % _EVENT.size:
        raise ValueError(f"cannot read {path}: {len(data)} bytes are no multiple of {_EVENT.size}")
    return sorted(_EVENT.iter_unpack(data), key=lambda event: event[0])


class _Modules:
    """Names of module instances: numbered by their first appearance in a thread, for each class."""

    def __init__(self) -> None:
        self.names: Dict[str, str] = {}
        self.counts: Counter[str] = collections.Counter()

    def name(self, written: str) -> str:
        kind, found, _ = written.partition(_ADDRESS)
        if not found:
            return written
        if written not in self.names:
            self.names[written] = f"nn.Module: {kind}_{self.counts[kind]}"
            self.counts[kind] += 1
        return self.names[written]


def read(directory: str) -> List[Call]:
    """Returns the calls in the files below DIRECTORY, in the order of their starts. Returns without a call are ignored; what is open at the
    end of its thread ends with the last event. Raises OSError, and ValueError for files of another format."""
    folder = os.path.join(directory, "FRAMEWORK")
    names = _read_names(os.path.join(folder, NAMES))
    events = _read_events(os.path.join(folder, FUNCTIONS))
    last_ns = events[-1][0] if events else 0
    stacks: Dict[Tuple[int, int], List[Call]] = collections.defaultdict(list)
    modules: Dict[Tuple[int, int], _Modules] = collections.defaultdict(_Modules)
    calls: List[Call] = []
    for time_ns, thread, process, key, tag in events:
        stack = stacks[process, thread]
        if tag in (_PYTHON_CALL, _C_CALL):
            name = modules[process, thread].name(names.get(key, f"{key:#018x}"))
            stack.append(Call(process, thread, time_ns, time_ns, name, "c" if tag == _C_CALL else "python"))
        elif tag not in (_PYTHON_RETURN, _C_RETURN):
            raise ValueError(f"cannot read {folder}: an event of unknown kind {tag}")
        elif stack:
            calls.append(stack.pop()._replace(end_ns=time_ns))
    calls += [call._replace(end_ns=last_ns) for stack in stacks.values() for call in stack]
    return sorted(calls, key=lambda call: (call.start_ns, -call.end_ns))


# ---- our own calls ----


def _foreign_name(name: str) -> str:
    function = _FUNCTION.fullmatch(name)
    return f"{function.group(2)}({function.group(3)}): {function.group(1)}" if function else name


def calls_of_export(path: str) -> List[Call]:
    """Returns the Python calls in the file at PATH, which `hookcli export --format chrome` wrote. Times count from the job's start; calls
    that began before it are left out; processes are numbered as in the export."""
    with open(path, encoding="utf-8") as file:
        events: List[Dict[str, Any]] = json.load(file)["traceEvents"]
    calls = []
    for event in events:
        if event["ph"] == "X" and event.get("cat") == "python" and event["ts"] >= 0:
            start_ns = round(event["ts"] * 1000)
            kind = "python" if _FUNCTION.fullmatch(event["name"]) or _MODULE.fullmatch(event["name"]) else "c"
            calls.append(Call(event["pid"], event["tid"], start_ns, start_ns + round(event["dur"] * 1000), _foreign_name(event["name"]), kind))
    return calls
