"""profile: a context manager that records the steps that a schedule chooses."""
import enum
import json
import os
import warnings
from types import TracebackType
from typing import Any, Callable, Dict, Iterable, List, Optional, Type

from .averages import Averages, Event
from .records import Records
from .recording import ProfilerError, Recorder, Window
from .schedules import ProfilerAction, Schedule, action, record_all
from .tracers import Tracers

_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class ProfilerActivity(enum.Enum):
    """For programs written for torch.profiler. What is traced depends on the hooks of the job, not on these."""

    CPU = 0
    CUDA = 1
    XPU = 2
    NPU = 3


class profile:  # pylint: disable=invalid-name
    """Records the steps of a program that SCHEDULE chooses, as torch.profiler.profile does, for any program.

    schedule: a function of a step's number (see schedule()); without it all is recorded from start() to stop().
    on_trace_ready: called with this object after the last step of each cycle, and by stop() if a cycle is not finished. Its errors are the program's,
    but for ProfilerError, which becomes a RuntimeWarning.
    with_stack: also Python functions, by hooktrace.tracer. with_modules: the same, with calls of torch modules named by their class and number.
    apis: also the APIs of torch, Paddle and MindSpore, by hooktrace.apis. A tracer that cannot start is left out after a RuntimeWarning.
    record_shapes, profile_memory, with_flops and the arguments after apis are torch.profiler's: they are left out after a RuntimeWarning.

    Starts tracing if it is off, and stops it again at the end. Outside of the chosen steps the process counts its calls and records nothing.
    key_averages(), events() and export_chrome_trace() are of the last window that ended. They wait until its records are stored, a second or two.
    """

    def __init__(self, *, activities: Optional[Iterable[Any]] = None, schedule: Optional[Callable[[int], Any]] = None,
                 on_trace_ready: Optional[Callable[["profile"], Any]] = None, record_shapes: bool = False, profile_memory: bool = False,
                 with_stack: bool = False, with_flops: bool = False, with_modules: bool = False, apis: bool = False,
                 experimental_config: Any = None, execution_trace_observer: Any = None, acc_events: bool = False,
                 use_cuda: Optional[bool] = None, custom_trace_id_callback: Any = None) -> None:
        self.activities = None if activities is None else set(activities)
        self.schedule: Schedule = schedule or record_all
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = action(self.schedule(0))
        self._marks_steps = schedule is not None
        self._tracers = Tracers(with_stack or with_modules, with_modules, apis)
        self._recorder: Optional[Recorder] = None
        self._window: Optional[Window] = None
        self._records: Optional[Records] = None
        self._metadata: Dict[str, Any] = {}
        _say_left_out(record_shapes=record_shapes, profile_memory=profile_memory, with_flops=with_flops,
                      experimental_config=experimental_config, execution_trace_observer=execution_trace_observer, acc_events=acc_events,
                      use_cuda=use_cuda, custom_trace_id_callback=custom_trace_id_callback)

    # ---- the steps ----

    def __enter__(self) -> "profile":
        self.start()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], traceback: Optional[TracebackType]) -> None:
        self.stop()

    def start(self) -> None:
        """Step step_num begins, 0 at first. Raises RuntimeError if a profile of this process has not ended."""
        if self._recorder is not None:
            raise RuntimeError("this profile has begun already")
        self._recorder = Recorder.take()
        try:
            self._change(ProfilerAction.NONE, self.current_action)
            if self._marks_steps:
                self._recorder.step(self.step_num)
        except BaseException:
            self._give_back()
            raise

    def stop(self) -> None:
        """The last step ends. A cycle that is not finished ends too, and on_trace_ready is called for it."""
        if self._recorder is None:
            return
        try:
            if self.current_action in _RECORDING:
                self._finish(ready=True)
        finally:
            self._give_back()

    def step(self) -> None:
        """The next step begins."""
        if self._recorder is None:
            warnings.warn("hooktrace.profiler: a step before start() or after stop() is no step of the profile", RuntimeWarning, stacklevel=2)
            return
        before = self.current_action
        self.step_num += 1
        self.current_action = action(self.schedule(self.step_num))
        try:
            self._change(before, self.current_action)
        finally:
            self._recorder.step(self.step_num)

    def _change(self, before: ProfilerAction, after: ProfilerAction) -> None:
        """From action BEFORE of a step to AFTER of the next one."""
        assert self._recorder is not None
        goes_on = before == ProfilerAction.RECORD and after in _RECORDING
        try:
            if before in _RECORDING and not goes_on:
                if before == ProfilerAction.RECORD:
                    warnings.warn(f"incorrect schedule: {before.name} followed by {after.name}", stacklevel=3)
                self._finish(ready=before == ProfilerAction.RECORD_AND_SAVE)
            elif before == ProfilerAction.WARMUP and after == ProfilerAction.NONE:
                warnings.warn("incorrect schedule: WARMUP followed by NONE", stacklevel=3)
        finally:
            if after == ProfilerAction.NONE:
                self._tracers.stop()  # of a warmup
            else:
                self._tracers.start()
            if after in _RECORDING and not goes_on:
                self._recorder.begin()

    def _finish(self, ready: bool) -> None:
        """The window ends, and tracers with it, before the program's handler is called. READY: its records are handed on."""
        assert self._recorder is not None
        self._window, self._records = self._recorder.end(), None
        self._tracers.stop()
        if ready and self.on_trace_ready is not None:
            try:
                self.on_trace_ready(self)
            except ProfilerError as error:
                # The program does not depend on its records.
                warnings.warn(f"hooktrace.profiler: on_trace_ready ended early: {error}", RuntimeWarning, stacklevel=4)

    def _give_back(self) -> None:
        recorder, self._recorder = self._recorder, None
        self._tracers.stop()
        if recorder is not None:
            recorder.give_back()

    # ---- the records ----

    def _of_window(self) -> Records:
        if self._recorder is not None and self._recorder.window is not None:
            raise ProfilerError("the steps that are recorded have not ended: ask in on_trace_ready, or after stop()")
        if self._window is None:
            raise ProfilerError("no step was recorded")
        if self._records is None:
            self._records = Records(self._window)
        return self._records

    def events(self) -> List[Event]:
        """The calls of this process in the last window, in order of their beginning. Raises ProfilerError if there are no records."""
        return self._of_window().events()

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> Averages:
        """The calls of this process in the last window, together by name. Raises ProfilerError if there are no records.

        Groups by shapes or stacks are not made: the arguments are there for programs written for torch.profiler.
        """
        _say_left_out(group_by_input_shape=group_by_input_shape, group_by_stack_n=group_by_stack_n)
        return Averages.of(self.events())

    def export_chrome_trace(self, path: str) -> None:
        """Writes the last window of this process to PATH as JSON of Kineto, for chrome://tracing, Perfetto, TensorBoard and HTA; compressed if PATH
        ends with .gz. Times are whole microseconds. Raises ProfilerError if there are no records."""
        self._of_window().write(os.fspath(path), self._metadata)

    def add_metadata(self, key: str, value: str) -> None:
        """Adds the text VALUE to later exported files."""
        self._metadata[key] = str(value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """Adds VALUE, which is JSON, to later exported files. Raises ValueError if it is none."""
        self._metadata[key] = json.loads(value)


def _say_left_out(**arguments: Any) -> None:
    names = [name for name, value in arguments.items() if value]
    if names:
        warnings.warn(f"hooktrace.profiler leaves out {', '.join(names)}", RuntimeWarning, stacklevel=3)
