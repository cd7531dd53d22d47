"""msprobe's dumps, written from a dump of hooktrace:

    DIRECTORY/step<N>/rank<R>/dump.json             the calls with their values (proc<pid> for a job of one process)
                              stack.json            where each was made
                              construct.json        the module that made it
                              dump_tensor_data/     elements, one .pt file each

`msprobe compare` and `hookcli compare` read them. What msprobe has no place for is counted: states of optimizers, broadcasts, and parameters at
a step's end (msprobe has them as a module's forward call reads them).
"""
import json
import math
import os
import re
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from . import names, numbers, pt
from .progress import Progress

_INDENT = 1  # of JSON, as msprobe's
_ROW_BYTES, _FILE_BYTES = 600, 1500  # about what a row takes in dump.json, and a .pt file beyond its elements
_LISTS = {("forward", "input"): "input_args", ("forward", "keyword"): "input_kwargs", ("forward", "output"): "output",
          ("backward", "output"): "input", ("backward", "input"): "output"}
_WORDS = {("forward", "input"): "input", ("forward", "keyword"): "input", ("forward", "output"): "output", ("backward", "output"): "input",
          ("backward", "input"): "output"}
_INTEGER = re.compile(r"-?\d+")
_ITEM = re.compile(r"\s*('[^']*'|[^,]*)\s*(?:,|$)")


class Written(NamedTuple):
    """What an export wrote."""
    rows: int
    left_out: int
    files: int
    bytes: int


class Part(NamedTuple):
    """One process in one step."""
    step: int
    rank: int
    file: int


def scalar(text: str) -> Any:
    """A row's scalar as msprobe has it: null, a list, or {"type", "value"}."""
    if text == "None":
        return None
    if text.startswith("(") and text.endswith(")"):
        return [scalar(item) for item in _ITEM.findall(text[1:-1]) if item]
    if text in ("True", "False"):
        return {"type": "bool", "value": text == "True"}
    if _INTEGER.fullmatch(text):
        return {"type": "int", "value": int(text)}
    if len(text) > 1 and text[0] == text[-1] == "'":
        return {"type": "str", "value": text[1:-1]}
    try:
        return {"type": "float", "value": float(text)}
    except ValueError:
        return {"type": "torch.dtype" if text.startswith("torch.") else "str", "value": text}


def statistics(row: Any) -> Dict[str, Any]:
    """Max, Min, Mean and Norm; of bool, and of integers with dimensions, msprobe has no mean and no norm."""
    figures = numbers.figures(row)
    values: List[Any] = list(figures)
    if row.dtype == "bool":
        values = [None if value is None else bool(value) for value in values]
    elif "int" in row.dtype:
        values = [None if value is None else int(value) for value in values]
    if row.dtype == "bool" or (row.shape and "int" in row.dtype):
        values[2:] = [None, None]
    return dict(zip(("Max", "Min", "Mean", "Norm"), values))


def place(tree: Dict[str, Any], slot: str, value: Any) -> None:
    """Puts VALUE into TREE, dictionaries within dictionaries, at "1.0"."""
    *path, last = slot.split(".")
    for part in path:
        inner = tree.setdefault(part, {})
        tree = inner if isinstance(inner, dict) and "type" not in inner else {}
    tree[last] = value


def listed(tree: Any) -> Any:
    """TREE with lists where all keys are positions; null stands where nothing was."""
    if not isinstance(tree, dict) or "type" in tree:
        return tree
    inner = {key: listed(value) for key, value in tree.items()}
    if not inner or not all(key.isdigit() and int(key) < 4096 for key in inner):
        return inner
    return [inner.get(str(index)) for index in range(max(map(int, inner)) + 1)]


class _Names:
    """The names of one part's calls. A module's class and a backward call's number are those of its forward call."""

    def __init__(self) -> None:
        self._numbers: Dict[int, int] = {}
        self._classes: Dict[str, str] = {}
        self._calls: Dict[str, int] = {}

    def call(self, row: Any) -> str:
        number = row.number
        if row.phase == "forward":
            self._numbers[row.sequence] = number
        else:
            number = self._numbers.get(row.forward_sequence, number)
        if row.kind == "module":
            self._classes[row.name] = row.of
            if row.phase == "forward":
                self._calls[row.name] = number
            return f"Module.{row.name}.{row.of}.{row.phase}.{number}"
        kind, operation = names.split(row.name)
        return f"{kind}.{operation}.{number}.{row.phase}"

    def gradients(self, path: str) -> str:
        return f"Module.{path}.{self._classes.get(path, 'Module')}.parameters_grad.0"

    def parent(self, row: Any) -> Optional[str]:
        """The latest call of the module that made the call of ROW."""
        if row.kind != "api" or row.of not in self._classes:
            return None
        return f"Module.{row.of}.{self._classes[row.of]}.{row.phase}.{self._calls.get(row.of, 0)}"


class _Writer:
    """Writes one part."""

    def __init__(self, dump: Any, directory: str, progress: Progress) -> None:
        self._dump = dump
        self._directory = directory
        self._data = os.path.join(directory, "dump_tensor_data")
        self._progress = progress
        self._names = _Names()
        self._calls: Dict[str, Dict[str, Any]] = {}
        self._stacks: Dict[Tuple[str, ...], List[str]] = {}
        self._parents: Dict[str, Optional[str]] = {}
        self._rows: List[Tuple[str, Any]] = []  # calls whose parents are not known yet
        self.left_out = self.files = self.bytes = 0

    def _elements(self, row: Any, name: str, value: Dict[str, Any]) -> None:
        try:
            data, dtype, shape = self._dump.elements(row)
        except LookupError:
            return
        file_name = name.replace("/", "_") + ".pt"
        os.makedirs(self._data, exist_ok=True)
        path = os.path.join(self._data, file_name)
        pt.save(path, data, dtype, shape)
        value["data_name"] = file_name
        self.files += 1
        self.bytes += os.path.getsize(path)

    def _value(self, row: Any, name: str) -> Any:
        if row.scalar is not None:
            return scalar(row.scalar)
        framework = row.name.split(".")[0] if row.kind == "api" and row.name.startswith(("mindspore", "paddle")) else "torch"
        value = {"type": f"{framework}.Tensor", "dtype": f"{framework}.{row.dtype}", "shape": list(row.shape), **statistics(row),
                 "requires_grad": "requires_grad" in row.flags}
        if row.has_elements:
            self._elements(row, name, value)
        return value

    def _call(self, row: Any) -> None:
        name = self._names.call(row)
        if name not in self._calls:
            self._calls[name] = {key: {} for phase, role in _LISTS if phase == row.phase for key in (_LISTS[phase, role],)}
            self._stacks.setdefault(self._dump.stack(row), []).append(name)
            self._rows.append((name, row))
        full = f"{name}.{_WORDS[row.phase, row.role]}.{row.slot}"
        place(self._calls[name][_LISTS[row.phase, row.role]], row.slot, self._value(row, full))

    def _gradient(self, row: Any) -> None:
        path, _, parameter = row.name.rpartition(".")
        name = self._names.gradients(path)
        self._calls.setdefault(name, {})[parameter] = [self._value(row, f"{name}.{parameter}")]

    def add(self, row: Any) -> None:
        if row.kind != "state" and (row.phase, row.role) in _LISTS:
            self._call(row)
        elif row.phase == "gradient":
            self._gradient(row)
        else:
            self.left_out += 1
        self._progress.advance(1)

    def _save(self, name: str, content: Any) -> None:
        path = os.path.join(self._directory, name)
        with open(path + ".part", "w", encoding="utf-8") as stream:
            json.dump(content, stream, indent=_INDENT)
        os.replace(path + ".part", path)
        self.files += 1
        self.bytes += os.path.getsize(path)

    def finish(self, about: Dict[str, Any]) -> None:
        """Writes the JSON files, dump.json last: a directory without it is not whole."""
        for name, row in self._rows:
            self._parents[name] = self._names.parent(row)
        stacks = {str(number): [calls, [_frame(text) for text in stack]] for number, (stack, calls) in enumerate(self._stacks.items()) if stack}
        data = {name: {key: _argument(key, tree) for key, tree in call.items()} for name, call in self._calls.items()}
        with_data = os.path.isdir(self._data)
        self._save("stack.json", stacks)
        self._save("construct.json", self._parents)
        level = {"api": "L1", "module": "L0", "mix": "mix"}.get(about.get("level", ""), "L1")
        framework = {"torch": "pytorch"}.get(about.get("framework", "torch"), about.get("framework", "pytorch"))
        self._save("dump.json", {"task": "tensor" if with_data else "statistics", "level": level, "framework": framework,
                                 "dump_data_dir": os.path.abspath(self._data) if with_data else None, "data": data})


def _argument(key: str, tree: Any) -> Any:
    """Arguments by position are a list, also without any; those by keyword a dictionary."""
    if key in ("input_args", "input", "output"):
        whole = listed(tree)
        return whole if isinstance(whole, list) else list(whole.values())
    if key == "input_kwargs":
        return {name: listed(value) for name, value in tree.items()}
    return tree


def _frame(text: str) -> str:
    path, line, function = names.frame(text)
    return f"File {path}, line {line}, in {function}, \n {names.code(path, line)}" if line else text


def parts(dump: Any) -> Iterator[Tuple[Part, List[Any]]]:
    """The rows of each process and step, in the order of the dump."""
    rows: Dict[Part, List[Any]] = {}
    for row in dump.rows():
        rows.setdefault(Part(row.step, row.rank, row.file), []).append(row)
    yield from rows.items()


def _directory(dump: Any, part: Part, taken: Dict[str, Part]) -> str:
    """step<N>/rank<R>; proc<pid> for the only rank of a job, and for a second process of a rank."""
    found = re.search(r"-(\d+)\.\w+$", dump.files[part.file])
    pid = found.group(1) if found else "0"
    distributed = len(dump.ranks) > 1 or int(dump.about(part.rank).get("world", 1) or 1) > 1
    name = f"rank{part.rank}" if distributed else f"proc{pid}"
    if taken.setdefault(f"{part.step}/{name}", part) != part:
        name = f"proc{pid}"
    return os.path.join(f"step{part.step}", name)


def estimate(dump: Any) -> Tuple[int, int]:
    """Rows, and about how many bytes export() writes for them."""
    rows = size = 0
    for row in dump.rows():
        rows += 1
        size += _ROW_BYTES
        if row.has_elements:
            size += _FILE_BYTES + pt.element_bytes(row.dtype) * math.prod(row.shape) + len(row.shape) * 16
    return rows, size


def export_msprobe(dump: Any, path: str, progress: Optional[Progress] = None) -> Written:
    """Writes DUMP, what hooktrace.precision.open() gives, to the directory PATH, which must be empty or absent. Raises OSError."""
    progress = progress or Progress(estimate(dump)[0])
    os.makedirs(path, exist_ok=True)
    if os.listdir(path):
        raise FileExistsError(f"cannot write {path}: the directory is not empty (give another one)")
    taken: Dict[str, Part] = {}
    total = Written(0, 0, 0, 0)
    for part, rows in parts(dump):
        directory = os.path.join(path, _directory(dump, part, taken))
        os.makedirs(directory, exist_ok=True)
        writer = _Writer(dump, directory, progress)
        for row in rows:
            writer.add(row)
        writer.finish(dump.about(part.rank))
        total = Written(total.rows + len(rows) - writer.left_out, total.left_out + writer.left_out, total.files + writer.files,
                        total.bytes + writer.bytes)
    progress.end()
    return total
