"""overflow_flag: the flag that an Ascend device sets when a number overflows, and keeps until it is cleared. In saturation mode such a number
becomes the largest one of its dtype: results show no Inf, the flag does.

The ACL runtime that the program has loaded is asked. Without one nothing happens.
"""
import collections
import ctypes
import os
import sys
from typing import Any, Counter, Optional

from .session import aside

_LIBRARY = "libascendcl.so"
_BYTES = 64  # what aclrtGetOverflowStatus writes; its first word is not 0 if the flag is set
_TO_HOST = 2  # ACL_MEMCPY_DEVICE_TO_HOST
_INFNAN = 1  # ACL_RT_OVERFLOW_MODE_INFNAN


class _Unread(Exception):
    """Why the flag is not known."""


def _loaded() -> Optional[ctypes.CDLL]:
    """The runtime that is in this process already, or None. Nothing is loaded."""
    try:
        return ctypes.CDLL(_LIBRARY, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return None


def _call(runtime: ctypes.CDLL, name: str, *arguments: Any) -> None:
    function = getattr(runtime, name, None)
    if function is None:
        raise _Unread(f"the ACL runtime has no {name}")
    error = function(*arguments)
    if error:
        raise _Unread(f"{name} returned {error}")


def _makes_infinities(runtime: ctypes.CDLL) -> bool:
    """Whether the device makes Inf of what overflows. Runtimes and devices that do not answer saturate."""
    ask = getattr(runtime, "aclrtGetDeviceSatMode", None)
    mode = ctypes.c_int(-1)
    return ask is not None and ask(ctypes.byref(mode)) == 0 and mode.value == _INFNAN


def _framework_stream() -> Optional[int]:
    """torch_npu's stream, when all that torch_npu has queued is done; None if torch_npu does not use a device."""
    npu = getattr(sys.modules.get("torch"), "npu", None)
    try:
        with aside():
            if npu is None or not npu.is_initialized():
                return None
            if getattr(npu, "is_current_stream_capturing", lambda: False)():
                raise _Unread("the stream was being captured")
            npu.synchronize()
            return int(npu.current_stream().npu_stream)
    except _Unread:
        raise
    except Exception as error:  # what torch_npu raises, or lacks in its version
        raise _Unread(f"torch_npu gave no stream ({type(error).__name__})") from error


def _stream(runtime: ctypes.CDLL) -> ctypes.c_void_p:
    """The stream to ask on, when the work of all streams is done."""
    stream = _framework_stream()
    if stream is None:
        _call(runtime, "aclrtSynchronizeDevice")
    return ctypes.c_void_p(stream)


def _take(runtime: ctypes.CDLL, memory: ctypes.c_void_p, stream: ctypes.c_void_p) -> bool:
    """Reads the flag by MEMORY of the device, and clears it if it is set."""
    words = (ctypes.c_uint32 * (_BYTES // 4))()
    _call(runtime, "aclrtGetOverflowStatus", memory, ctypes.c_size_t(_BYTES), stream)
    _call(runtime, "aclrtSynchronizeStream", stream)
    _call(runtime, "aclrtMemcpy", words, ctypes.c_size_t(_BYTES), memory, ctypes.c_size_t(_BYTES), ctypes.c_int(_TO_HOST))
    if words[0]:
        _call(runtime, "aclrtResetOverflowStatus", stream)
        _call(runtime, "aclrtSynchronizeStream", stream)
    return words[0] != 0


def _read(runtime: ctypes.CDLL) -> bool:
    """Whether the flag of this thread's device was set; it is clear then. No memory is kept: a device may be reset between steps."""
    device, memory = ctypes.c_int(-1), ctypes.c_void_p()
    _call(runtime, "aclrtGetDevice", ctypes.byref(device))
    if _makes_infinities(runtime):
        raise _Unread("the device makes Inf of what overflows, which the data shows")
    stream = _stream(runtime)
    _call(runtime, "aclrtMalloc", ctypes.byref(memory), ctypes.c_size_t(_BYTES), ctypes.c_int(0))
    try:
        return _take(runtime, memory, stream)
    finally:
        _call(runtime, "aclrtFree", memory)


class OverflowFlag:
    """READ counts the steps whose flag is known, WERE_SET those in which it was set, UNREAD the others by reason."""

    def __init__(self) -> None:
        self._is_clear = False
        self.read = self.were_set = 0
        self.unread: Counter[str] = collections.Counter()

    def clear(self) -> None:
        """Steps begin: what the flag says of before is no matter."""
        runtime = _loaded()
        if runtime is None:
            return
        try:
            _read(runtime)
            self._is_clear = True
        except _Unread:
            self._is_clear = False

    def take(self) -> bool:
        """A step has ended. Returns whether the flag was set in it."""
        runtime = _loaded()
        if runtime is None:
            return False
        try:
            return self._take(runtime)
        except _Unread as reason:
            self.unread[str(reason)] += 1
            return False

    def _take(self, runtime: ctypes.CDLL) -> bool:
        was_clear, self._is_clear = self._is_clear, False
        was_set = _read(runtime)
        self._is_clear = True
        if not was_clear:
            raise _Unread("it was not known when the step began")
        self.read += 1
        self.were_set += was_set
        return was_set

    def summary(self) -> Optional[str]:
        """Which steps the flag is not known of, or None."""
        if not self.unread:
            return None
        reasons = ", ".join(f"{reason} ({number})" for reason, number in self.unread.items())
        return f"the device's overflow flag was not read in {sum(self.unread.values())} steps: {reasons}"
