"""How far an export is, on stderr: one line a second, on a terminal always the same one."""
import sys
import time
from typing import Optional, TextIO


class Progress:
    """TOTAL steps. Nothing is said before a second has passed."""

    def __init__(self, total: int, stream: Optional[TextIO] = None) -> None:
        self._total, self._done = total, 0
        self._stream = stream or sys.stderr
        self._next = time.monotonic() + 1.0
        self._said = False

    def advance(self, count: int) -> None:
        self._done += count
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + 1.0
        self._said = True
        terminal = self._stream.isatty()
        text = f"{self._done:,} of {self._total:,} rows, {100 * self._done // max(self._total, 1)} %"
        self._stream.write(f"\r{text}" if terminal else f"{text}\n")
        self._stream.flush()

    def end(self) -> None:
        """The line is ended, if there is one."""
        if self._said and self._stream.isatty():
            self._stream.write("\n")
