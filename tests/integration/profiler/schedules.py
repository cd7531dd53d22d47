"""Schedules of hooktrace.profiler beside torch's and beside a model, for all combinations of small numbers: actions, and calls of the handler.

schedules.py [torch]: prints how many combinations agree; with `torch` also with torch.profiler.
"""
import itertools
import sys
import warnings

from hooktrace import profiler

STEPS = 20
KEYS = ("wait", "warmup", "active", "repeat", "skip_first")
COMBINATIONS = [dict(zip(KEYS, values)) for values in itertools.product(range(3), range(3), (1, 2, 3), range(3), (0, 1, 3))]


def model(wait, warmup, active, repeat, skip_first, steps=STEPS):
    """Names of actions, written out cycle by cycle."""
    cycle = ["NONE"] * wait + ["WARMUP"] * warmup + ["RECORD"] * (active - 1) + ["RECORD_AND_SAVE"]
    names = ["NONE"] * skip_first
    for number in itertools.count():
        if len(names) > steps:
            return names[:steps + 1]
        names += cycle if not repeat or number < repeat else ["NONE"]


def model_handled(names):
    """step_num at each call of the handler: behind the end of each cycle, and once more at the end if one is open then."""
    handled = [number + 1 for number, name in enumerate(names[:-1]) if name == "RECORD_AND_SAVE"]
    return handled + ([len(names) - 1] if names[-1].startswith("RECORD") else [])


def run(module, combination, **more):
    """The names of actions, and step_num at each call of the handler."""
    handled = []
    chosen = module.schedule(**combination)
    with module.profile(schedule=chosen, on_trace_ready=lambda prof: handled.append(prof.step_num), **more) as prof:
        for _ in range(STEPS):
            prof.step()
    return [chosen(step).name for step in range(STEPS + 1)], handled


def check(combination, got, wanted, of):
    if got != wanted:
        sys.exit(f"{combination}: {got}, expected {wanted} as {of}")


def skipping():
    """skip_first_wait, which torch 1.13 does not have: the first cycle is without its wait."""
    for combination in COMBINATIONS:
        usual = model(**{**combination, "skip_first": 0, "repeat": 0}, steps=2 * STEPS)
        chosen = profiler.schedule(**{**combination, "repeat": 0}, skip_first_wait=1)
        wanted = ["NONE"] * combination["skip_first"] + usual[combination["wait"]:]
        got = [chosen(step).name for step in range(STEPS)]
        check(combination, got, wanted[:STEPS], "the model without the first wait")


warnings.simplefilter("ignore")
torch_profiler = None
if sys.argv[1:] == ["torch"]:
    import torch.profiler as torch_profiler
for one in COMBINATIONS:
    names = model(**one)
    check(one, run(profiler, one), (names, model_handled(names)), "the model")
    if torch_profiler:
        # Its profile is slow to start and stop. All schedules are compared, so a part of the profiles is enough.
        its = torch_profiler.schedule(**one)
        check(one, [its(step).name for step in range(STEPS + 1)], names, "torch.profiler.schedule")
        if max(one["wait"], one["warmup"], one["skip_first"], one["active"] - 1) < 2:
            check(one, run(torch_profiler, one, activities=[torch_profiler.ProfilerActivity.CPU])[1], model_handled(names), "torch.profiler.profile")
            mixed = []
            with profiler.profile(schedule=its, on_trace_ready=lambda prof, to=mixed: to.append(prof.step_num)) as prof:
                for _ in range(STEPS):
                    prof.step()
            check(one, mixed, model_handled(names), "with torch's schedule")
skipping()
print(len(COMBINATIONS))
