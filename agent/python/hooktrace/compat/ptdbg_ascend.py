"""ptdbg_ascend's names, on hooktrace.precision: `from hooktrace.compat.ptdbg_ascend import *` in place of `from ptdbg_ascend import *`.

    seed_all()
    register_hook(model, acc_cmp_dump, dump_step=1)
    set_dump_path("./npu_dump.pkl")
    set_dump_switch("ON")
    train_one_step()
    set_dump_switch("OFF")

Random numbers are seeded when this module is imported, as ptdbg_ascend does. The files are written when the switch goes OFF, or the program
ends; until then the values are in PATH.values. Calls are those of hooktrace.apis, named as ptdbg_ascend names them.
"""
import atexit
import os
import shutil
import sys
import time
from typing import Any, Callable, Dict, Optional, Sequence, Union

from .. import precision
from ..precision.dumper import Dumper
from ..precision.formats import ptdbg
from ..precision.seeds import seed_all
from ..precision.watching import Find, Watch

__all__ = ["CompareException", "acc_cmp_dump", "compare", "overflow_check", "parse", "register_hook", "seed_all", "set_dump_path", "set_dump_switch"]


class CompareException(Exception):
    """What ptdbg_ascend raises: `code` is one of its numbers."""
    INVALID_PATH_ERROR = 1
    INVALID_DUMP_MODE = 8
    INVALID_DUMP_RATIO = 12

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.error_info = text


class _Dump:
    """What register_hook() and set_dump_path() said, and the dump that is on."""

    def __init__(self) -> None:
        self.pid = 0
        self.model: Any = None
        self.dump_step = 1
        self.path: Optional[str] = None
        self.on: Optional[Dumper] = None
        self.writer: Optional[ptdbg.Writer] = None
        self.watch: Optional[Watch] = None


_dump = _Dump()


def _warn(text: str) -> None:
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')}({os.getpid()})-[WARNING]{text}", file=sys.stderr, flush=True)


def acc_cmp_dump(*_: Any) -> None:
    """For register_hook(): the values of calls are dumped while the switch is ON."""


def overflow_check(*_: Any) -> None:
    """For register_hook(): calls that make NaN, Inf, or the largest number of their dtype are found."""


def register_hook(model: Any, hook: Callable[..., None], **options: Any) -> None:
    """acc_cmp_dump, with dump_step (1 to 100): the model whose steps are dumped. overflow_check, with overflow_nums: watches from now on,
    and stops the training at that many finds. Only this process dumps, not those that it forks."""
    if not hasattr(model, "named_modules"):
        raise TypeError(f"invalid model {type(model).__name__}: expected an object with named_modules()")
    if hook is acc_cmp_dump:
        step = options.get("dump_step", 1)
        if isinstance(step, bool) or not isinstance(step, int) or not 1 <= step <= ptdbg.STEP_MAX:
            raise CompareException(CompareException.INVALID_DUMP_RATIO, f"invalid dump_step {step!r}: expected an integer from 1 to {ptdbg.STEP_MAX}")
        _dump.model, _dump.dump_step, _dump.pid = model, step, os.getpid()
    elif hook is overflow_check:
        _Overflows(model, options.get("overflow_nums", 1))
    else:
        raise ValueError(f"invalid hook {hook!r}: expected acc_cmp_dump or overflow_check")


def set_dump_path(fpath: str) -> None:
    """The file of records; one that is there is deleted. CompareException: FPATH is a directory, or in one that is not there."""
    path = os.path.abspath(fpath)
    if os.path.isdir(path) or not os.path.isdir(os.path.dirname(path)):
        raise CompareException(CompareException.INVALID_PATH_ERROR, f"invalid dump path {fpath!r}: expected a file in a directory that exists")
    if os.path.exists(path):
        os.remove(path)
    _dump.path = path


def _path_of(mode: int, scope: Sequence[Union[int, str]]) -> str:
    if _dump.path is not None:
        return _dump.path
    if mode == ptdbg.ALL:
        return os.path.abspath("npu_dump.pkl")
    first = f"{scope[0]}_" if scope else ""
    return os.path.abspath(f"scope_dump_{mode}_{first}{time.strftime('%Y%m%d_%H%M%S', time.gmtime())}.pkl")


def set_dump_switch(switch: str, mode: int = ptdbg.ALL, scope: Sequence[Union[int, str]] = ()) -> None:
    """"ON": numbering begins at 0, in a new directory. MODE 1: all calls; 2: those whose names begin with one of SCOPE; 3: those whose
    numbers are from SCOPE[0] to SCOPE[1]; 4: stacks alone. "OFF": the files are written. ValueError: an argument is invalid."""
    if switch not in ("ON", "OFF"):
        raise ValueError(f"invalid switch {switch!r}: expected \"ON\" or \"OFF\"")
    _finish()
    if switch == "OFF" or (_dump.pid and _dump.pid != os.getpid()):
        return
    if _dump.model is None:
        raise RuntimeError("cannot dump: register_hook(model, acc_cmp_dump) was not called")
    path = _path_of(mode, scope)
    _dump.writer = ptdbg.Writer(path, _dump.dump_step, mode, scope)
    shutil.rmtree(path + ".values", ignore_errors=True)
    _dump.on = Dumper(path + ".values", task="statistics" if mode == ptdbg.STACK else "tensor", model=_dump.model, scalars=False, quiet=True)
    _dump.on.start()


def _finish() -> None:
    """Ends the dump that is on, and writes its files."""
    on, writer, _dump.on, _dump.writer = _dump.on, _dump.writer, None, None
    if on is None or writer is None or _dump.pid != os.getpid():
        return
    on.stop()
    _write(writer, on.path)


def _write(writer: ptdbg.Writer, path: Optional[str]) -> None:
    dump = precision.open(str(path))
    with writer:
        writer.add(dump, dump.rows())
    shutil.rmtree(str(path), ignore_errors=True)


class _Overflows:
    """A watch that says each find, and ends the training at the last."""

    def __init__(self, model: Any, most: int) -> None:
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            raise ValueError(f"invalid overflow_nums {most!r}: expected 1 or more")
        self._most = most
        self._pid = os.getpid()
        self.path = os.path.abspath(f"Overflow_info_{time.strftime('%Y%m%d_%H%M%S', time.gmtime())}.pkl")
        self._watch = Watch(most, self._found, path=self.path + ".values", model=model, inherited=True)
        self._watch.start()
        atexit.register(self._end)

    def _found(self, find: Find) -> None:
        if find.phase == "device":
            _warn(f"[overflow {find.number} times]: the device's overflow flag was set in step {find.step}.")
            return
        kind, operation = ptdbg.names.split(find.api)
        _warn(f"[overflow {find.number} times]: module name :'{kind}_{operation}_{find.call}' is overflow and dump file is saved in '{self.path}'.")
        if find.inherited:
            _warn(f"module name :'{kind}_{operation}_{find.call}' had inputs that overflowed already: {', '.join(find.inputs)}")
        if find.number >= self._most:
            self._end()
            raise ValueError(f"[overflow {find.number} times]: dump file is saved in '{self.path}'.")

    def _end(self) -> None:
        """Writes what was found, with full tensors and stacks."""
        atexit.unregister(self._end)
        if self._pid != os.getpid():
            return
        self._watch.stop()
        if any(find.path for find in self._watch.finds):
            _write(ptdbg.Writer(self.path, 1, ptdbg.LIST, [""]), self._watch.path)


def compare(paths: Dict[str, str], output: str, shape_flag: bool = True) -> str:
    """Compares the dumps of {"npu_pkl_path", "bench_pkl_path", "npu_dump_data_dir", "bench_dump_data_dir"} into OUTPUT, a directory, and
    returns the path of compare_result_<time>.csv. CompareException: OUTPUT is not there."""
    try:
        return ptdbg.compare(paths, output, shape_flag)
    except NotADirectoryError as error:
        raise CompareException(CompareException.INVALID_PATH_ERROR, str(error)) from error


def parse(pkl_file: str, module_name_prefix: str) -> None:
    """Prints the stack and the statistics of the records whose names begin with the prefix, "21_Torch_norm"."""
    ptdbg.parse(pkl_file, module_name_prefix)


seed_all()
atexit.register(_finish)
