"""Functions for profile(on_trace_ready=...)."""
import os
import socket
import time
from typing import TYPE_CHECKING, Callable, Optional

if TYPE_CHECKING:
    from .session import profile


def tensorboard_trace_handler(dir_name: str, worker_name: Optional[str] = None, use_gzip: bool = False) -> Callable[["profile"], None]:
    """A handler that writes the records of each cycle to DIR_NAME, for TensorBoard and HTA.

    The files are called WORKER_NAME.<milliseconds since 1970>.pt.trace.json, with .gz if USE_GZIP. WORKER_NAME must differ between ranks. It is
    <host>_<process> by default.
    Raises RuntimeError if DIR_NAME cannot be made, when the handler is called.
    """
    def write(prof: "profile") -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError(f"cannot create directory {dir_name}: {error.strerror}") from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{int(time.time() * 1000)}.pt.trace.json{'.gz' if use_gzip else ''}"
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return write
