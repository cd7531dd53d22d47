#!/usr/bin/python3
"""ms that a dump of its values adds to a training step, beside msprobe in turns of the same run.

    bench_precision.py BUILD_DIR

A CNN (two convolutions, a batch norm, a linear layer; 16 x 3 x 32 x 32; forward, backward, SGD). The least of many steps, the step alone
subtracted. Exits with 1 if statistics add more than 2 ms, or more than a fifth of msprobe's, or if tensors add more than a fifth of
msprobe's. Python is TORCH_PYTHON, or Debian's; without mindstudio-probe in it there is nothing beside.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

STEPS, ROUNDS = 60, 3
LIMIT_MS, TIMES = 2.0, 5.0


def training():
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
    torch.set_num_threads(1)
    torch.manual_seed(0)

    class Cnn(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm, self.second = nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.Conv2d(16, 32, 3, padding=1)
            self.last = nn.Linear(32 * 8 * 8, 10)

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.norm(self.first(x))), 2)
            return self.last(torch.flatten(F.max_pool2d(F.relu(self.second(x)), 2), 1))
    model = Cnn()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model, step


def least(step, after=lambda: None):
    """ms of the shortest step, the first two left out."""
    times = []
    for _ in range(STEPS):
        begin = time.perf_counter()
        step()
        after()
        times.append(time.perf_counter() - begin)
    return 1000 * min(times[2:])


def ours(task, directory, model, step):
    from hooktrace import precision
    dumper = precision.Dumper(os.path.join(directory, "ours"), task=task, model=model, quiet=True)
    with dumper:
        found = least(step, dumper.step)
    return found, dumper.counts


def theirs(task, directory, model, step):
    import json
    from msprobe.pytorch import PrecisionDebugger
    file = os.path.join(directory, "config.json")
    with open(file, "w", encoding="utf-8") as stream:
        json.dump({"task": task, "dump_path": os.path.join(directory, "theirs"), "rank": [], "step": [], "level": "L1",
                   task: {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": "statistics"}}, stream)
    debugger = PrecisionDebugger(config_path=file)
    times = []
    for _ in range(STEPS):
        begin = time.perf_counter()
        debugger.start(model=model)
        step()
        debugger.stop()
        debugger.step()
        times.append(time.perf_counter() - begin)
    return 1000 * min(times[2:]), {}


def measure(who, task):
    """In a process of its own: prints the step alone, the step with a dump, and rows and calls of a step."""
    model, step = training()
    directory = tempfile.mkdtemp()
    try:
        alone = least(step)
        with_dump, counts = {"ours": ours, "theirs": theirs}[who](task, directory, model, step)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    print("RESULT", alone, with_dump, counts.get("rows", 0) / STEPS, counts.get("calls", 0) / STEPS)


def run(python, build, who, task):
    done = subprocess.run([python, __file__, build, who, task], env={**os.environ, "PYTHONPATH": os.path.join(build, "python")}, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False)
    lines = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("RESULT")]
    return [float(word) for word in lines[0]] if lines else None


def added(python, build, task):
    """{who: ms a step}: the least of ROUNDS in turns."""
    found = {}
    for _ in range(ROUNDS):
        for who in ("ours", "theirs"):
            numbers = run(python, build, who, task)
            if numbers:
                found.setdefault(who, []).append(numbers)
    return {who: min(dump for _, dump, _, _ in rows) - min(alone for alone, _, _, _ in rows) for who, rows in found.items()}, found


def main(build):
    python = os.environ.get("TORCH_PYTHON", "/usr/bin/python3")
    if subprocess.run([python, "-c", "import torch"], stderr=subprocess.DEVNULL, check=False).returncode:
        print(f"skipped: {python} has no torch")
        return 77
    failed = False
    for task in ("statistics", "tensor"):
        ms, rows = added(python, build, task)
        if "ours" not in ms:
            print(f"no dump of {task}")
            return 1
        alone, _, many, calls = min(rows["ours"])
        print(f"{task}: the step alone {alone:.2f} ms; a dump of {many:.0f} rows of {calls:.0f} calls adds {ms['ours']:.2f} ms", end="")
        print(f"; msprobe adds {ms['theirs']:.2f} ms, {ms['theirs'] / ms['ours']:.1f} times as much" if "theirs" in ms else "; no msprobe here")
        failed |= task == "statistics" and ms["ours"] > LIMIT_MS
        failed |= "theirs" in ms and ms["theirs"] < TIMES * ms["ours"]
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else measure(*sys.argv[2:]))
