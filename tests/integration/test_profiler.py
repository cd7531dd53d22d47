#!/usr/bin/python3
"""hooktrace.profiler: schedules as torch's, the same steps recorded on all ranks, exact counts of calls, and tables and files as torch has them."""
import collections
import concurrent.futures
import gzip
import json
import os
import re
import subprocess

import kineto_check
import pythons
from harness import RANKS, calls_of, expect, expect_true, main

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "profiler")
DEBIAN = "/usr/bin/python3"
HEADINGS = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls"]
DEVICE_HEADINGS = ["Self CUDA", "Self CUDA %", "CUDA total", "CUDA time avg"]


def program(name):
    return os.path.join(HERE, name)


def chosen_pythons():
    """The oldest and the newest version, or Debian's where these are not installed."""
    found = dict(pythons.found())
    return [(version, found[version]) for version in ("3.8", "3.13") if version in found] or [("3.11", DEBIAN)]


def environment(run, **more):
    return {"PYTHONPATH": os.path.join(run.build, "python"), "TMPDIR": run.path("tmp"), **more}


def hooks(run):
    return [run.path("getppid.hooks")]


def has_torch():
    return subprocess.run([DEBIAN, "-c", "import torch.profiler"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


# ---- schedules ----

def check_schedules(run):
    done = run.trace(DEBIAN, program("schedules.py"), hooks=hooks(run), level="record", store="schedules", env=environment(run))
    expect("combinations", done.stdout, "243\n")


def check_torch(run):
    """Schedules, headings and APIs beside Debian's torch, which is slow to import."""
    done = run.trace(DEBIAN, program("with_torch.py"), hooks=hooks(run), level="record", store="torch", env=environment(run))
    combinations, headings, counts = done.stdout.splitlines()
    expect("combinations with torch", combinations, "243")
    check_headings(json.loads(headings))
    check_functions("torch", json.loads(counts), 5)


# ---- counts ----

def check_window(what, said, steps, marks):
    """SAID of a window of STEPS. Each calls getppid() of its number + 1 times on two threads. MARKS are all that began in it."""
    counts = {key: said["counts"].get(key, 0) for key in ("getppid", "ProfilerStep*")}
    expect(f"{what}: calls", counts, {"getppid": sum(2 * (step + 1) for step in steps), "ProfilerStep*": len(marks)})
    expect(f"{what}: ranges", sorted(key for key in said["counts"] if key.startswith("step ")), sorted(f"step {step}" for step in steps))
    expect(f"{what}: nested", said["within"], ["getppid"] * sum(step + 1 for step in steps))
    same = abs(said["self_us"] - said["top_us"]) < 0.01
    expect_true(f"{what}: times without calls within are all time: {said['self_us']} of {said['top_us']}", same)
    heading = next(line for line in said["table"].splitlines() if "Self CPU %" in line)
    expect(f"{what}: headings", re.split(r"\s{2,}", heading.strip()), HEADINGS)
    expect_true(f"{what}: footer", re.search(r"\nSelf CPU time total: [\d.]+(us|ms|s)\n$", said["table"]))


def check_trace(path, rank, steps, marks, process):
    kineto = kineto_check.Kineto(path)
    expect(f"{path}: rank", kineto.rank, rank)
    rows = [event for event in kineto.events if event["ph"] == "X"]
    names = [event["name"] for event in rows if event["name"].startswith("ProfilerStep#")]
    expect(f"{path}: steps", names, [f"ProfilerStep#{step}" for step in marks])
    expect(f"{path}: calls", sum(event["name"] == "getppid" for event in rows), sum(2 * (step + 1) for step in steps))
    expect(f"{path}: of one process", {event["pid"] for event in rows}, {process})
    expect_true(f"{path}: whole microseconds", kineto.whole)


def recorded(run, job):
    """{(rank, name): records} of the whole job."""
    run.cli("export", job, "--format", "chrome", "-o", f"{job}.json")
    with open(f"{job}.json", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    return collections.Counter((event["pid"], event["name"]) for event in events if event["ph"] == "X")


def check_whole(run, job, ranks, windows):
    """In the files of the whole job, the last step of a window ends with it, and not with the next step that is recorded."""
    run.cli("export", job, "--format", "kineto", "-o", f"{job}.kineto")
    for rank in range(ranks):
        rows = [event for event in kineto_check.Kineto(os.path.join(f"{job}.kineto", f"rank{rank}.json")).events if event["ph"] == "X"]
        steps = {event["name"]: event for event in rows if event["name"].startswith("ProfilerStep#")}
        expect(f"{job}: rank {rank}: steps", sorted(steps), sorted(f"ProfilerStep#{step}" for marks in windows.values() for step in marks))
        for marks, following in zip(list(windows.values()), list(windows.values())[1:]):
            last, then = steps[f"ProfilerStep#{marks[-1]}"], steps[f"ProfilerStep#{following[0]}"]
            expect_true(f"{job}: rank {rank}: {last['name']} ends before {then['name']}", last["ts"] + last["dur"] < then["ts"])


def check_job(run, name, ranks, python, windows, steps, words):
    """A job of RANKS processes of PYTHON with STEPS steps, whose handlers are called for WINDOWS, {step_num: numbers of their steps}.

    The program ends when step number STEPS has begun. It calls nothing.
    """
    directory = run.path(f"said-{name}")
    os.makedirs(directory)
    command = (*(("mpirun", "-n", ranks) if ranks > 1 else ()), python, program("steps.py"), directory, str(steps), *words)
    run.trace(*command, hooks=hooks(run), level="record", store=name, options=("--job", name), env=environment(run))
    report = run.report(run.path(name, name))
    rows = calls_of(report)
    records = recorded(run, run.path(name, name))
    check_whole(run, run.path(name, name), ranks, windows)
    all_steps = [step for marks in windows.values() for step in marks if step < steps] + [steps]
    for rank in range(ranks):
        process = next(row["pid"] for row in report["ranks"] if row["rank"] == rank)
        with open(os.path.join(directory, f"{rank}.json"), encoding="utf-8") as file:
            said = json.load(file)
        expect(f"{name}: rank {rank}: the handler", [one["step_num"] for one in said], list(windows))
        for one in said:
            marks = windows[one["step_num"]]
            chosen = [step for step in marks if step < steps]
            check_window(f"{name}: rank {rank}: {one['step_num']}", one, chosen, marks)
            check_trace(os.path.join(directory, f"{rank}.{one['step_num']}.json"), rank, chosen, marks, process)
        calls = sum(row["calls"] for key, row in rows.items() if key[0] == rank and key[2] == "getppid")
        expect(f"{name}: rank {rank}: all calls are counted", calls, sum(2 * (step + 1) for step in range(steps + 1)))
        got = {step for step in range(steps + 1) if records[rank, f"step {step}"]}
        expect(f"{name}: rank {rank}: steps on the timeline", got, set(all_steps))
        expect(f"{name}: rank {rank}: calls on the timeline", records[rank, "getppid"], sum(2 * (step + 1) for step in all_steps))
    files = sorted(os.listdir(os.path.join(directory, "log")))
    expect(f"{name}: files", [re.sub(r"\.\d{13}\.", ".<ms>.", name) for name in files],
           [f"worker{rank}.<ms>.pt.trace.json.gz" for rank in range(ranks) for _ in windows])
    with gzip.open(os.path.join(directory, "log", files[0]), "rt", encoding="utf-8") as file:
        expect(f"{name}: {files[0]}: rank", json.load(file)["distributedInfo"]["rank"], 0)


def check_counts(run):
    check_job(run, "ranks", RANKS, DEBIAN, {4: [2, 3], 8: [6, 7]}, 10, ["wait=1", "warmup=1", "active=2", "repeat=2"])
    for version, python in chosen_pythons():
        # The second cycle is open when the steps end.
        check_job(run, f"python{version}", 1, python, {3: [1, 2], 5: [4, 5]}, 5, ["wait=0", "warmup=1", "active=2"])


# ---- tracers, and a process that is not preloaded ----

def check_functions(what, said, of_torch):
    """SAID, the calls of the steps 2 and 3 of frames.py by name. OF_TORCH: those of torch.add()."""
    calls = 2 + 3  # of outer()
    wanted = {"outer": calls, "inner": 4 * calls, "generator": 3 * calls}
    counts = {key.split()[0]: count for key, count in said.items()}
    expect(f"{what}: Python functions", {key: counts.get(key) for key in wanted}, wanted)
    expect(f"{what}: the profiler's own", [key for key in said if "session.py" in key or "recording.py" in key], [])
    expect(f"{what}: APIs of torch", counts.get("torch.add", 0), of_torch)


def check_frames(run):
    for version, python in chosen_pythons():
        done = run.trace(python, program("frames.py"), hooks=hooks(run), level="record", store=f"frames-{version}",
                         options=("--job", "frames"), env=environment(run))
        check_functions(version, json.loads(done.stdout), 0)
        rows = calls_of(run.report(run.path(f"frames-{version}", "frames")))
        expect(f"{version}: a preloaded process is traced after the profile", [row["calls"] for key, row in rows.items() if key[2] == "getppid"], [3])


def check_late(run):
    """A process starts its own tracing, in a collector that runs, or its profile does."""
    run.start_collector()
    (version, python) = chosen_pythons()[-1]
    directory = run.path("said-late")
    os.makedirs(directory)
    words = ["wait=1", "warmup=1", "active=2", "repeat=1"]
    more = {"HOOK_HOOKS": hooks(run)[0], "HOOK_LEVEL": "record"}
    run.command(python, program("steps.py"), directory, "5", *words, env=environment(run, **more))
    with open(os.path.join(directory, "0.json"), encoding="utf-8") as file:
        (said,) = json.load(file)
    check_window(f"{version} without preload", said, [2, 3], [2, 3])
    done = run.command(python, program("frames.py"), env=environment(run, **more))
    check_functions(f"{version} without start()", json.loads(done.stdout), 0)


# ---- the rest ----

def check_edges(run):
    for version, python in chosen_pythons():
        directory = run.path(f"edges-{version}")
        os.makedirs(directory)
        done = run.trace(python, program("edges.py"), directory, hooks=hooks(run), level="record", store=f"edges-store-{version}",
                         env=environment(run))
        expect(f"{version}: edges", done.stdout, "done\n")
        with open(os.path.join(directory, "metadata.json"), encoding="utf-8") as file:
            document = json.load(file)
        expect(f"{version}: metadata", [document["run"], document["shape"]], ['the "first"', [1, 2]])
    done = run.command(DEBIAN, program("edges.py"), run.directory, "untraced", env=environment(run, HOOK_AGENT="/nonexistent"))
    expect("untraced", done.stdout, "done\n")


def check_slices(run):
    for version, python in chosen_pythons():
        directory = run.path(f"slices-{version}")
        os.makedirs(directory)
        expect(f"{version}: slices", run.command(python, program("slices.py"), directory, env=environment(run)).stdout, "done\n")


def columns(lines):
    return re.split(r"\s{2,}", next(line for line in lines if "Self CPU %" in line).strip())


def check_headings(said):
    expect("headings as torch has them", columns(said["ours"]), columns(said["torch"]))
    expect("headings with a device's time", columns(said["work"]), HEADINGS[:-1] + DEVICE_HEADINGS + HEADINGS[-1:])
    expect("times", [pair[1] for pair in said["times"]], [pair[0] for pair in said["times"]])
    expect("shares", [pair[1] for pair in said["shares"]], [pair[0] for pair in said["shares"]])
    expect("the header", said["ours"][1], said["torch"][1])
    expect("rules", [set(said["ours"][line]) for line in (0, 2, 4)], [set(said["torch"][line]) for line in (0, 2, 4)])
    expect("long names are cut", said["ours"][5].split()[0], "f" * 52 + "...")
    expect("the sums of devices", said["work"][-1], "Self CUDA time total: 2.000us")


def test(run):
    os.makedirs(run.path("tmp"))
    with open(hooks(run)[0], "w", encoding="ascii") as file:
        file.write("int getppid()\n")
    torch = has_torch()
    if not torch:
        print("left out, not on this machine: torch for /usr/bin/python3")
    check_slices(run)
    check_late(run)
    # They wait for their collectors most of the time.
    with concurrent.futures.ThreadPoolExecutor() as pool:
        checks = [pool.submit(check, run) for check in (check_counts, check_frames, check_edges, check_torch if torch else check_schedules)]
    for check in checks:
        check.result()


if __name__ == "__main__":
    main(test)
