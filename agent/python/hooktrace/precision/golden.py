"""python -m hooktrace.precision.golden: runs operators that another process sends, with tensors widened to double, and answers their results.

It prints its URL, and ends at SIGINT or SIGTERM. Peers may have the operators of torch that take tensors run, and the functions that --module names;
nothing that they send is executed or unpickled.
"""
import argparse
import importlib.util
import os
import signal
import stat
import sys
import tempfile
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import exchange, nng, operators

ERROR_MOST = 4096  # characters of an answered error
WAKE_SECONDS = 0.5
DTYPES = ("float64", "float32", "keep")


def default_url() -> str:
    """ipc:// in a directory that no other user may enter."""
    base = os.environ.get("XDG_RUNTIME_DIR") or os.path.join(tempfile.gettempdir(), f"hooktrace-{os.getuid()}")
    os.makedirs(base, mode=0o700, exist_ok=True)
    status = os.lstat(base)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        base = tempfile.mkdtemp(prefix="hooktrace-golden-")
    return f"ipc://{base}/golden-{os.getpid()}"


def is_local(url: str) -> bool:
    """Whether only this machine reaches URL."""
    host = url[len("tcp://"):].rsplit(":", 1)[0] if url.startswith("tcp://") else None
    return url.startswith(("ipc://", "inproc://", "abstract://")) or host in ("127.0.0.1", "localhost", "[::1]")


def read_token(path: Optional[str]) -> Optional[str]:
    """The first token of the file at PATH, as collectors read it, or None without a path."""
    if path is None:
        return None
    with open(path, encoding="utf-8") as stream:
        lines = [line.strip() for line in stream]
    words = [line.split() for line in lines if line and not line.startswith("#")]
    if not words:
        raise ValueError(f"cannot read a token from {path}: it has none")
    return words[0][-1]


def load_functions(specs: List[str]) -> Dict[str, Callable[..., Any]]:
    """The functions of FILE.py:FUNCTION, by name."""
    found = {}
    for spec in specs:
        path, _, name = spec.rpartition(":")
        module_spec = importlib.util.spec_from_file_location(f"hooktrace_golden_{len(found)}", path) if path else None
        if module_spec is None or module_spec.loader is None:
            raise ValueError(f"invalid --module '{spec}': expected FILE.py:FUNCTION")
        module = importlib.util.module_from_spec(module_spec)
        module_spec.loader.exec_module(module)
        if not callable(getattr(module, name, None)):
            raise ValueError(f"invalid --module '{spec}': {path} has no function {name}")
        found[name] = getattr(module, name)
    return found


class Golden:
    """Answers messages. DTYPE: what floating tensors become."""

    def __init__(self, dtype: str, device: str, functions: Dict[str, Callable[..., Any]], key: bytes) -> None:
        import torch  # pylint: disable=import-outside-toplevel
        self.torch, self.device, self.key = torch, device, key
        self.wide = None if dtype == "keep" else getattr(torch, dtype)
        self.functions = {**operators.by_name(), **functions}
        self.own = frozenset(functions)

    def _run(self, message: exchange.Message, wide: Any) -> Any:
        """The result of the call in MESSAGE. Raises Refused, or what the function raises."""
        fields = message.fields
        name = fields.get("name")
        function = self.functions.get(name) if isinstance(name, str) else None
        if function is None:
            raise exchange.Refused(f"no operator {str(name)[:200]!r} is known (--module FILE.py:FUNCTION adds functions)")
        unpacker = exchange.Unpacker(message, self.device, wide)
        arguments = unpacker.unpack(fields.get("arguments"))
        keywords = unpacker.unpack(fields.get("keywords"))
        if not isinstance(arguments, tuple) or not (keywords is None or isinstance(keywords, dict)):
            raise exchange.Refused("the call's arguments are no tuple and dict")
        if fields.get("random") is not None:
            self.torch.set_rng_state(exchange.Unpacker(message, first=unpacker.at).unpack(fields["random"]))
        if name in self.own:
            return function(*arguments, **(keywords or {}))
        with self.torch.no_grad():
            return function(*arguments, **(keywords or {}))

    def _spreads(self, message: exchange.Message, wide: List[Any]) -> List[Optional[Tuple[float, int]]]:
        """For each output, how far the same call in the sender's dtypes is from it: largest difference, unequal elements. None: unknown."""
        torch = self.torch
        try:
            narrow = exchange.tensors_of(self._run(message, None))
        except Exception:  # pylint: disable=broad-except
            return [None] * len(wide)
        found: List[Optional[Tuple[float, int]]] = []
        for one, other in zip(wide, narrow + [None] * len(wide)):
            if other is None or one.shape != other.shape:
                found.append(None)
                continue
            one, other = one.detach(), other.detach()
            unequal = int((one != other.to(one.dtype)).sum())
            apart = (one - other.to(one.dtype)).abs() if one.dtype != torch.bool else torch.zeros(())
            apart = apart[torch.isfinite(apart)] if apart.is_floating_point() else apart
            found.append((float(apart.max()) if apart.numel() else 0.0, unequal))
        return found

    def _call(self, message: exchange.Message) -> bytearray:
        result = self._run(message, self.wide)
        outputs = exchange.tensors_of(result)
        spreads = self._spreads(message, outputs) if self.wide is not None and message.fields.get("spread") else [None] * len(outputs)
        packer = exchange.Packer()
        packed = [packer.pack(output) for output in outputs]
        fields = {"number": message.fields.get("number"), "outputs": packed, "spreads": spreads, "widened": self.wide is not None}
        return exchange.encode(exchange.ANSWER, fields, packer.memories, self.key)

    def answer(self, received: bytearray) -> bytearray:
        """The answer to any bytes. Raises nothing but KeyboardInterrupt and the like."""
        number = None
        try:
            message = exchange.decode(received, self.key)
            number = message.fields.get("number")
            if message.kind != exchange.CALL:
                raise exchange.Refused(f"no message of kind {message.kind} is answered")
            return self._call(message)
        except exchange.Refused as error:
            text = f"refused: {error}"
        except (Exception, RecursionError) as error:  # pylint: disable=broad-except
            text = f"{type(error).__name__}: {error}"
        return exchange.encode(exchange.FAILED, {"number": number if isinstance(number, int) else None, "error": text[:ERROR_MOST]}, [], self.key)


def serve(golden: Golden, socket: nng.Socket, is_over: Callable[[], bool]) -> None:
    """Answers until IS_OVER."""
    socket.patience(WAKE_SECONDS)
    while not is_over():
        try:
            received = socket.receive()
        except nng.TimedOut:
            continue
        try:
            socket.send(golden.answer(received))
        except nng.NngError as error:
            print(f"hooktrace: an answer was not sent: {error}", file=sys.stderr)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m hooktrace.precision.golden", description="Run operators for a process that validates its own.")
    made.add_argument("--listen", metavar="URL", help="answer at URL, ipc:// or tcp:// (default: an ipc:// of this user)")
    made.add_argument("--dtype", choices=DTYPES, default="float64", help="what floating tensors become (default: float64)")
    made.add_argument("--device", default="cpu", help="compute on DEVICE (default: cpu)")
    made.add_argument("--module", action="append", default=[], metavar="FILE.py:FUNCTION", help="answer calls of this function too; may repeat")
    made.add_argument("--token-file", default=os.environ.get("HOOK_TOKEN_FILE"), metavar="FILE", help="accept messages made with FILE's token only")
    made.add_argument("--max-bytes", type=int, default=1 << 30, metavar="N", help="refuse larger messages (default: 1 GiB)")
    return made


def main(words: Optional[List[str]] = None) -> int:
    options = parser().parse_args(words)
    url = options.listen or default_url()
    if not is_local(url) and not options.token_file:
        print(f"hooktrace: error: cannot listen at {url}: other machines reach it (--token-file FILE)", file=sys.stderr)
        return 2
    over: List[int] = []
    try:
        golden = Golden(options.dtype, options.device, load_functions(options.module), exchange.key_of(read_token(options.token_file)))
        socket = nng.Socket("rep0", options.max_bytes)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda which, _: over.append(which))
        print(socket.listen(url), flush=True)
    except (OSError, ValueError, ImportError, nng.NngError) as error:
        print(f"hooktrace: error: {error}", file=sys.stderr)
        return 1
    try:
        serve(golden, socket, lambda: bool(over))
    finally:
        socket.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
