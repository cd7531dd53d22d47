"""A program of known calls under hooktrace.profiler: steps.py DIRECTORY STEPS KEY=VALUE... with the arguments of schedule().

In step N it calls getppid() N + 1 times within the range "step N", on this thread and on another one. It writes what the profile says to
DIRECTORY/<rank>.json.
"""
import json
import os
import sys
import threading

import hooktrace
from hooktrace.profiler import profile, schedule, tensorboard_trace_handler

SAID = []


def calls(number):
    for _ in range(number):
        os.getppid()


def step(number):
    with hooktrace.range(f"step {number}"):
        calls(number + 1)
    thread = threading.Thread(target=calls, args=(number + 1,))
    thread.start()
    thread.join()


def ready(prof):
    averages = prof.key_averages()
    top = [event for event in prof.events() if event.cpu_parent is None]
    within = [event.name for event in prof.events() if event.cpu_parent is not None and event.cpu_parent.name.startswith("step ")]
    SAID.append({"step_num": prof.step_num, "counts": {row.key: row.count for row in averages}, "within": within,
                 "table": averages.table(sort_by="self_cpu_time_total"), "self_us": averages.self_cpu_time_total,
                 "top_us": sum(event.cpu_time_total for event in top)})
    write(prof)
    prof.export_chrome_trace(os.path.join(directory, f"{rank}.{prof.step_num}.json"))


directory, steps = sys.argv[1], int(sys.argv[2])
rank = os.environ.get("OMPI_COMM_WORLD_RANK", "0")
hooktrace.start()
write = tensorboard_trace_handler(os.path.join(directory, "log"), worker_name=f"worker{rank}", use_gzip=True)
with profile(schedule=schedule(**{key: int(value) for key, value in (word.split("=") for word in sys.argv[3:])}), on_trace_ready=ready) as prof:
    for number in range(steps):
        step(number)
        prof.step()
step(steps)  # after the profile all is recorded again
with open(os.path.join(directory, f"{rank}.json"), "w", encoding="utf-8") as file:
    json.dump(SAID, file)
