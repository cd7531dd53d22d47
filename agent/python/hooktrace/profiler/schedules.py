"""schedule(): what a profile does in each step."""
import enum
import warnings
from typing import Any, Callable


class ProfilerAction(enum.Enum):
    """What a profile does in a step."""

    NONE = 0  # calls are only counted
    WARMUP = 1  # the same, but tracers that were asked for run already
    RECORD = 2
    RECORD_AND_SAVE = 3  # the last step of a cycle: its end is when on_trace_ready is called


Schedule = Callable[[int], ProfilerAction]


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0) -> Schedule:
    """A function of a step's number, from 0, for profile(schedule=...). All arguments are numbers of steps.

    After SKIP_FIRST steps come cycles of WAIT steps without records, WARMUP steps without records, and ACTIVE steps with records. There are REPEAT
    cycles, or cycles to the end if it is 0. SKIP_FIRST_WAIT other than 0: the first cycle is without its WAIT.
    Raises ValueError for negative numbers, and for ACTIVE of 0. Warns if WARMUP is 0.
    """
    if min(wait, warmup, repeat, skip_first, skip_first_wait) < 0 or active < 1:
        raise ValueError("invalid schedule: expected wait, warmup, repeat, skip_first and skip_first_wait of 0 or more, and active of 1 or more")
    if warmup == 0:
        warnings.warn("a schedule with warmup=0 records what a program does only the first time", stacklevel=2)
    cycle = wait + warmup + active

    def action_of(step: int) -> ProfilerAction:
        if step < 0:
            raise ValueError(f"invalid step {step}: expected 0 or more")
        if step < skip_first:
            return ProfilerAction.NONE
        at = step - skip_first + (wait if skip_first_wait else 0)
        if repeat and at >= repeat * cycle:
            return ProfilerAction.NONE
        place = at % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if place == cycle - 1 else ProfilerAction.RECORD

    return action_of


def record_all(step: int) -> ProfilerAction:
    """The schedule of a profile without one."""
    del step
    return ProfilerAction.RECORD


def action(given: Any) -> ProfilerAction:
    """GIVEN, which a schedule returned, as a ProfilerAction. Also takes torch.profiler's. Raises TypeError for others."""
    if isinstance(given, ProfilerAction):
        return given
    name = getattr(given, "name", None)
    if name in ProfilerAction.__members__:
        return ProfilerAction[name]
    raise TypeError(f"a schedule returns a ProfilerAction, not {given!r}")
