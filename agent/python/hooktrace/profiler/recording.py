"""Windows of time in which this process writes records: switches them on and off, and marks where they begin and end.

A window has a number from 1. The counter COUNTER has it within the window, and 0 afterwards. So records show by themselves which are of a window.
"""
import ctypes
import os
import time
import warnings
from typing import Optional

import hooktrace

from .. import agent, tracing
from . import timing

COUNTER = "hooktrace.profile"
NO_STEP = 2**64 - 1  # HK_NO_STEP of hooktrace.h


class ProfilerError(RuntimeError):
    """There are no records to show; the text says why."""


class Window:
    """A time in which this process wrote records. Unix times in seconds."""

    def __init__(self, number: int, job: Optional[str]) -> None:
        self.number = number
        self.job = job  # as hookcli takes it; None: not traced
        self.process = os.getpid()
        self.began = time.time()
        self.ended = 0.0


def _job() -> Optional[str]:
    """The job of this process: a directory, or a name that its collector knows."""
    return tracing.job_directory() or os.environ.get("HOOK_JOB") or None


class Recorder:
    """Switches the records of this process. One exists at a time."""

    _newest = 0  # the number of the newest window of this process
    _active: Optional["Recorder"] = None
    _active_process = 0  # a forked child has none, whatever its parent had

    def __init__(self) -> None:
        """Starts tracing if it is off. If that fails, a RuntimeWarning has said why, and nothing below does anything."""
        loaded = agent.loaded()
        before = loaded is not None and agent.is_on(loaded)  # a preloaded agent traces without start()
        self.started_tracing = not hooktrace.is_on() and hooktrace.start() and not before
        self.traced = hooktrace.is_on()
        self._pause: Optional[ctypes._NamedFuncPointer] = None  # pylint: disable=protected-access
        if self.traced:
            self._pause = getattr(agent.load(), "hk_pause", None)
            if self._pause is None:
                warnings.warn("hooktrace: this agent is too old to pause: calls of all steps are recorded", RuntimeWarning, stacklevel=4)
        self._flush: Optional[ctypes._NamedFuncPointer] = getattr(agent.load(), "hk_flush", None) if self.traced else None  # pylint: disable=protected-access
        self.window: Optional[Window] = None
        self._job = _job() if self.traced else None

    @classmethod
    def take(cls) -> "Recorder":
        """Makes the recorder of this process, which is paused. Raises RuntimeError if it is in use."""
        if cls._active is not None and cls._active_process == os.getpid():
            raise RuntimeError("another profile of this process has not ended: stop() it first")
        recorder = cls()
        cls._active, cls._active_process = recorder, os.getpid()
        recorder.pause(True)
        return recorder

    def pause(self, paused: bool) -> None:
        """Lets calls be counted only, or recorded at their levels again."""
        if self._pause is not None:
            self._pause(ctypes.c_int(paused))

    def begin(self) -> None:
        """A window begins."""
        self.pause(False)
        Recorder._newest += 1
        self.window = Window(Recorder._newest, self._job)
        if self.traced:
            hooktrace.counter(COUNTER, float(self.window.number))

    def end(self) -> Window:
        """The window ends, and with it the step that was the last one in it."""
        window = self.window
        assert window is not None
        self._take_device_work()
        if self.traced:
            hooktrace.step(NO_STEP)
            hooktrace.counter(COUNTER, 0.0)
        self.pause(True)
        window.ended = time.time()
        self.window = None
        return window

    def _take_device_work(self) -> None:
        """Work of devices that the window asked for is recorded in it, if the job has device times."""
        if self._flush is not None and self._flush():
            timing.wait_for_device()
            self._flush()

    @staticmethod
    def step(number: int) -> None:
        """Step NUMBER begins."""
        hooktrace.step(number)

    def give_back(self) -> None:
        """The process is traced as before this recorder: at its levels, or not."""
        Recorder._active = None
        self.pause(False)
        if self.started_tracing:
            hooktrace.stop()
