"""NNG's request and reply sockets, from the libnng that is installed: of the system, or the one that the package hooktrace-tools carries."""
import ctypes
import ctypes.util
import glob
import os
import sysconfig
from typing import Iterator, Optional

_ALLOCATED = 1  # NNG_FLAG_ALLOC
_TIMED_OUT = 5  # NNG_ETIMEDOUT
NEVER_MS = -1


class NngError(RuntimeError):
    """What the library says, or why there is none."""


class TimedOut(NngError):
    """The other side did not answer in time."""


class _Socket(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint32)]


class _Listener(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint32)]


_library: Optional[ctypes.CDLL] = None


def _candidates() -> Iterator[str]:
    yield "libnng.so.1"
    found = ctypes.util.find_library("nng")
    if found:
        yield found
    for place in {sysconfig.get_path("platlib"), sysconfig.get_path("purelib")} - {None}:
        yield from glob.glob(os.path.join(glob.escape(str(place)), "hooktrace*.libs", "libnng*.so*"))


def library() -> ctypes.CDLL:
    """The library. Raises NngError if there is none."""
    global _library
    if _library is not None:
        return _library
    for name in _candidates():
        try:
            loaded = ctypes.CDLL(name)
        except OSError:
            continue
        loaded.nng_strerror.restype = ctypes.c_char_p
        loaded.nng_listen.argtypes = [_Socket, ctypes.c_char_p, ctypes.POINTER(_Listener), ctypes.c_int]
        loaded.nng_dial.argtypes = [_Socket, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int]
        loaded.nng_send.argtypes = [_Socket, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        loaded.nng_recv.argtypes = [_Socket, ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t), ctypes.c_int]
        loaded.nng_free.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        loaded.nng_close.argtypes = [_Socket]
        loaded.nng_socket_set_ms.argtypes = [_Socket, ctypes.c_char_p, ctypes.c_int32]
        loaded.nng_socket_set_size.argtypes = [_Socket, ctypes.c_char_p, ctypes.c_size_t]
        loaded.nng_listener_get_int.argtypes = [_Listener, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int)]
        _library = loaded
        return loaded
    raise NngError("cannot load libnng.so.1: it is not installed (apt install libnng1, or pip install hooktrace-tools)")


class Socket:
    """A socket that asks ("req0") or answers ("rep0"). Messages beyond MOST_BYTES close the connection that they come by. One thread at a time."""

    def __init__(self, kind: str, most_bytes: int) -> None:
        self._nng = library()
        self._socket = _Socket(0)
        self._open = False
        self._check(getattr(self._nng, f"nng_{kind}_open")(ctypes.byref(self._socket)), "open a socket")
        self._open = True
        self._check(self._nng.nng_socket_set_size(self._socket, b"recv-size-max", most_bytes), "limit messages")
        if kind == "req0":
            # A question is asked once: an operator that takes long is not to be computed again and again.
            self._check(self._nng.nng_socket_set_ms(self._socket, b"req:resend-time", NEVER_MS), "set the time to repeat")

    def _check(self, status: int, verb: str) -> None:
        if status == _TIMED_OUT:
            raise TimedOut(f"cannot {verb}: nothing came in time")
        if status != 0:
            raise NngError(f"cannot {verb}: {self._nng.nng_strerror(status).decode(errors='replace')}")

    def listen(self, url: str) -> str:
        """Answers at URL. Returns it with the port that it got, if it asked for port 0."""
        listener = _Listener(0)
        self._check(self._nng.nng_listen(self._socket, url.encode(), ctypes.byref(listener), 0), f"listen at {url}")
        port = ctypes.c_int(0)
        if url.startswith("tcp://") and url.endswith(":0"):
            self._check(self._nng.nng_listener_get_int(listener, b"tcp-bound-port", ctypes.byref(port)), f"get the port of {url}")
            return f"{url[:-1]}{port.value}"
        return url

    def dial(self, url: str) -> None:
        """Connects to URL, and again in the background whenever the connection breaks. Raises NngError if there is no listener."""
        self._check(self._nng.nng_dial(self._socket, url.encode(), None, 0), f"connect to {url}")

    def patience(self, seconds: float) -> None:
        """How long send() and receive() wait."""
        milliseconds = max(1, int(seconds * 1000))
        for option in (b"recv-timeout", b"send-timeout"):
            self._check(self._nng.nng_socket_set_ms(self._socket, option, milliseconds), "set a time limit")

    def send(self, message: bytearray) -> None:
        memory = (ctypes.c_char * len(message)).from_buffer(message)
        self._check(self._nng.nng_send(self._socket, ctypes.addressof(memory), len(message), 0), "send")

    def receive(self) -> bytearray:
        at, size = ctypes.c_void_p(), ctypes.c_size_t(0)
        self._check(self._nng.nng_recv(self._socket, ctypes.byref(at), ctypes.byref(size), _ALLOCATED), "receive")
        if not at.value or not size.value:
            return bytearray()
        try:
            return bytearray((ctypes.c_char * size.value).from_address(at.value))
        finally:
            self._nng.nng_free(at, size)

    def close(self) -> None:
        if self._open:
            self._open = False
            self._nng.nng_close(self._socket)
