"""apitimewrapper's names: `from hooktrace.compat.apitimewrapper import start_hook_torch_net, print, start_analysis, end_analysis`.

Each outermost API call prints `torch.add cost_time:0.000012` on the screen and in performance.log of the working directory. No
function is replaced, all threads are timed, a nested call ends nothing but itself, and a machine without a device needs no setting.
"""
import builtins
import logging
import os
import threading
import time
import types
from typing import Any, Callable, Dict, List, Optional

from .. import apis

__all__ = ["end_analysis", "ms_gp", "performance_cmp", "print", "start_analysis", "start_hook_net", "start_hook_torch_net", "torch_gp"]

LOG = "performance.log"

# True: the lines of that framework are kept from the screen, not from the log.
ms_gp = types.SimpleNamespace(g_stop_ms_print=False)
torch_gp = types.SimpleNamespace(g_stop_torch_print=False)

# (as hooktrace names them, as apitimewrapper does), the longest first
_PREFIXES = (("torch.nn.functional.", "torch.nn.function."), ("mindspore.Tensor.", "Tensor."), ("mindspore.ops.", "ops."), ("mindspore.nn.", "nn."))

_lock = threading.RLock()
_logger: Optional[logging.Logger] = None
_frameworks: List[str] = []
_block: Optional[Dict[str, List[float]]] = None  # {op: [calls, total, min, max]}, seconds


def _child() -> None:
    """Another thread may have held the lock when the process was forked."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_child)


def _log() -> logging.Logger:
    """A logger of its own: the program's stay as they are. The file begins with the first line."""
    global _logger
    with _lock:
        if _logger is None:
            handler = logging.FileHandler(LOG, mode="w", encoding="utf-8")
            handler.setFormatter(logging.Formatter("%(asctime)s - %(levelname)s: %(message)s"))
            _logger = logging.Logger("hooktrace.compat.apitimewrapper", logging.INFO)
            _logger.addHandler(handler)
        return _logger


def _print(silent: bool, *values: Any, **options: Any) -> None:
    separator = options.get("sep")
    _log().info("%s", (" " if separator is None else separator).join(map(str, values)))
    if not silent:
        builtins.print(*values, **options)


def print(*values: Any, **options: Any) -> None:  # pylint: disable=redefined-builtin
    """As the built-in print, with a line in performance.log."""
    _print(ms_gp.g_stop_ms_print, *values, **options)


def _op(name: str) -> str:
    for ours, theirs in _PREFIXES:
        if name.startswith(ours):
            return theirs + name[len(ours):]
    return name


def _report(name: str, seconds: float) -> None:
    op = _op(name)
    with _lock:
        if _block is not None:
            row = _block.setdefault(op, [0, 0.0, seconds, seconds])
            row[0] += 1
            row[1] += seconds
            row[2] = min(row[2], seconds)
            row[3] = max(row[3], seconds)
        _print(torch_gp.g_stop_torch_print if name.startswith("torch.") else ms_gp.g_stop_ms_print, f"{op} cost_time:{seconds}")


def _start(framework: str, hook_inside: bool, parall_execute: bool) -> None:
    if framework not in _frameworks:
        _frameworks.append(framework)
    apis.start(_frameworks, hook_inside, parall_execute, report=_report, inside_classes=False)


def start_hook_net(hook_inside: bool = False, parall_execute: bool = False) -> None:
    """Prints each call of MindSpore's APIs from now on, in seconds.

    HOOK_INSIDE: also those that other APIs' implementations make, layers excepted; the time of an outer call contains them.
    PARALL_EXECUTE=False: each call waits for its device, where there is one.
    """
    _start("mindspore", hook_inside, parall_execute)


def start_hook_torch_net(hook_inside: bool = False, parall_execute: bool = False) -> None:
    """The same for torch's APIs. Where both were started, the settings of the later call count."""
    _start("torch", hook_inside, parall_execute)


def start_analysis() -> None:
    """end_analysis() shows the calls that end after this line; a later start_analysis() begins again."""
    global _block
    with _lock:
        print("start_analysis")
        _block = {}


def end_analysis() -> None:
    """Prints a line for each API that was called since start_analysis(). RuntimeError: there was none."""
    with _lock:
        if _block is None:
            raise RuntimeError("cannot end an analysis: start_analysis() was not called")
        print("end_analysis")
        for op, (calls, total, least, most) in _block.items():
            builtins.print(f"{op}共执行了{calls}次,总耗时{total}秒,平均耗时{total / calls}秒,最低耗时{least},最高耗时{most}.")


def _mean_time(function: Callable[..., Any], run_time: int, args: List[Any], kwargs: Dict[str, Any]) -> float:
    function(*args, **kwargs)
    start = time.perf_counter()
    for _ in range(run_time):
        function(*args, **kwargs)
    return (time.perf_counter() - start) / run_time


def _tensors(args: Any, tensor: Callable[[Any], Any]) -> List[Any]:
    return [tensor(one) if type(one).__name__ == "ndarray" else one for one in args]


def performance_cmp(ms_func_name: Callable[..., Any], torch_func_name: Callable[..., Any], run_time: int, performance_multiple: float,
                    *args: Any, **kwargs: Any) -> float:
    """Prints the mean seconds of RUN_TIME calls of both functions after one call of each, and their ratio, which is returned. Arrays
    of numpy become tensors. PERFORMANCE_MULTIPLE is accepted and has no effect."""
    import mindspore  # type: ignore[import-not-found]
    import torch  # type: ignore[import-not-found]
    del performance_multiple
    ms_time = _mean_time(ms_func_name, run_time, _tensors(args, mindspore.Tensor), kwargs)
    print(f"mindspore {ms_func_name.__name__} run {run_time} times cost time: {ms_time}.")
    torch_time = _mean_time(torch_func_name, run_time, _tensors(args, torch.tensor), kwargs)
    print(f"torch {torch_func_name.__name__} run {run_time} times cost time: {torch_time}.")
    print(ms_time / torch_time)
    return ms_time / torch_time
