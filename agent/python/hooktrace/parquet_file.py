"""One Parquet file that is replaced as a whole: its readers see all of the old one or all of the new one."""
import contextlib
import os
import re
import socket
import threading
from typing import Any, Iterable


def write(path: str, schema: Any, batches: Iterable[Any]) -> str:
    """Writes `batches` under another name, then renames; after an exception nothing is left. Returns `path`, whose directory is made."""
    from pyarrow import Codec, parquet
    directory, name = os.path.split(path)
    os.makedirs(directory, exist_ok=True)
    _remove_abandoned(directory, name)
    # Readers skip a name that begins with a dot, and one that does not end in .parquet.
    part = os.path.join(directory, f".{name}.{socket.gethostname()}-{os.getpid()}-{threading.get_ident()}")
    # Spark's snappy does not load where musl is installed beside glibc.
    compression = "zstd" if Codec.is_available("zstd") else "snappy"
    try:
        with parquet.ParquetWriter(part, schema, compression=compression) as writer:
            for batch in batches:
                writer.write_batch(batch)
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
    return path


def _remove_abandoned(directory: str, name: str) -> None:
    """Removes what processes of this machine left when they were killed."""
    pattern = re.compile(re.escape(f".{name}.{socket.gethostname()}-") + r"(\d+)-\d+")
    for entry in os.listdir(directory):
        found = pattern.fullmatch(entry)
        if found and not _lives(int(found[1])):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(directory, entry))


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
