"""hooktrace.profiler: records of chosen steps of a program, by the interface of torch.profiler, with or without torch.

    from hooktrace.profiler import profile, schedule, tensorboard_trace_handler

    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=tensorboard_trace_handler("log")) as prof:
        for batch in batches:
            train(batch)
            prof.step()

Each rank counts its own steps, so that steps of the same numbers are recorded on all ranks. Outside of them the process only counts its calls.
"""
from .averages import Averages, FunctionAverage
from .handlers import tensorboard_trace_handler
from .recording import ProfilerError
from .schedules import ProfilerAction, schedule
from .session import ProfilerActivity, profile
from .timing import Timing, device_time

__all__ = ["Averages", "FunctionAverage", "ProfilerAction", "ProfilerActivity", "ProfilerError", "Timing", "device_time", "profile", "schedule",
           "tensorboard_trace_handler"]
