#!/usr/bin/env python3
"""hooktrace on a real NVIDIA GPU: counts, bytes, device times and cost, against what programs know of themselves, events and PyTorch's profiler.

    check.py --bundle DIR --programs DIR [--torch] [CASE]...

DIR of --bundle is an unpacked bundle (deploy/bundle.sh), that of --programs what build.sh made. --torch also runs what needs PyTorch and the
Python package. Reports and traces are left in ./results. Exits with 77 if there is no GPU, with 1 if a case fails. No test runs this: it needs
hardware.
"""
import argparse
import collections
import glob
import json
import os
import re
import statistics
import subprocess
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.abspath("results")
DEVICE_SHARE = 0.02  # by which device times may be off
PROFILED_ROUNDS, STEPS, PAIRS, SPINS = 20, 300, 3, 200000


class Failed(Exception):
    """What a case finds wrong."""


def expect(what, got, wanted):
    if got != wanted:
        raise Failed(f"{what}: {got}, expected {wanted}")


def expect_near(what, got, wanted, share=DEVICE_SHARE):
    print(f"  {what}: {got:.0f} beside {wanted:.0f} ({got / wanted - 1:+.2%})")
    if abs(got - wanted) > share * wanted:
        raise Failed(f"{what}: {got}, expected {wanted} within {share:.0%}")


class Tools:
    """The programs of a bundle, and jobs that they trace."""

    def __init__(self, bundle, programs):
        self.hookcli = os.path.join(os.path.abspath(bundle), "bin", "hookcli")
        self.programs = os.path.abspath(programs)
        self.environment = dict(os.environ)
        self.environment.setdefault("HOOK_CUPTI", found_cupti())

    def program(self, name):
        return os.path.join(self.programs, name)

    def bare(self, *command):
        done = subprocess.run(command, stdout=subprocess.PIPE, env=self.environment, cwd=RESULTS, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"{command} ends with {done.returncode}: {done.stdout}")
        return done.stdout

    def trace(self, job, *command, options=("--device-time",)):
        """The output of COMMAND, traced as JOB."""
        return self.bare(self.hookcli, "run", "-q", "--store", RESULTS, "--job", job, *options, "--", *command)

    def report(self, job, *options):
        text = self.bare(self.hookcli, "report", os.path.join(RESULTS, job), "--format", "json", *options)
        with open(os.path.join(RESULTS, f"{job}{'-'.join(options)}.json"), "w", encoding="utf-8") as file:
            file.write(text)
        return json.loads(text)

    def kernels(self, job):
        """Rows of kernels by their short names; rows of one name are added up."""
        rows = collections.defaultdict(lambda: collections.Counter(shapes=[]))
        for row in self.report(job, "--by", "kernel")["kernels"]:
            to = rows[row["short"]]
            for key in ("launches", "device_activities", "device_ns"):
                to[key] += row[key] or 0
            to["shapes"] += row["shapes"]
        return rows


def found_cupti():
    """libcupti of a Python package or of a toolkit; the empty string leaves the search to the agent."""
    places = [os.path.join(path, "nvidia", "*", "lib", "libcupti.so.1[0-9]") for path in sys.path] + ["/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.1[0-9]"]
    return next((path for place in places for path in sorted(glob.glob(place))), "")


def calls_of(report):
    calls = collections.Counter()
    for row in report["calls"]:
        calls[row["function"]] += row["calls"]
    return calls


def named(rows, pattern):
    """The one row whose name has PATTERN."""
    found = [row for name, row in rows.items() if re.search(pattern, name)]
    expect(f"kernels named {pattern} of {sorted(rows)}", len(found), 1)
    return found[0]


def check_device(report):
    expect("where device times come from", [row["device_time"] for row in report["processes"] if row.get("device_time")], [])
    expect("lost records", sum(row["lost_records"] for row in report["processes"]), 0)


def vectors(tools, name="vectors"):
    truth = json.loads(tools.trace(name, tools.program(name)))
    report, rows = tools.report(name), tools.kernels(name)
    print("  device time:", [row.get("device_time") for row in report["processes"]])
    for pattern, key in (("^add", "add"), ("scale.*double", "scale_double")):
        row, wanted = named(rows, pattern), truth[key]
        expect(f"{key}: launches, activities", (row["launches"], row["device_activities"]), (wanted["launches"],) * 2)
        expect(f"{key}: shapes", [(shape["grid"], shape["block"]) for shape in row["shapes"]], [(wanted["grid"], wanted["block"])])
    add = truth["add"]
    expect_near("additions, ns", named(rows, "^add")["device_ns"] * add["timed"] / add["launches"], add["event_ns"])
    expect("kernels of the graph", named(rows, "scale.*float")["device_activities"], truth["scale_float"]["graph_kernels"])
    memory = [row for row in report["memory"] if row["kind"] == "device" and row["library"] == "*"]
    expect("memory", [(row["allocs"], row["frees"], row["live_bytes"], row["peak_bytes"]) for row in memory],
           [(truth["allocations"], truth["allocations"], 0, truth["peak_bytes"])])
    copies = sum(row["bytes"] or 0 for row in report["calls"] if row["function"] == "cudaMemcpy")
    if name == "vectors":
        expect("copied bytes", copies, truth["copied_bytes"])
        expect("graph launches", calls_of(report)["cudaGraphLaunch"], truth["graph_launches"])


def vectors_static(tools):
    vectors(tools, "vectors_static")


def products(tools):
    truth = json.loads(tools.trace("products", tools.program("products")))
    report, rows = tools.report("products"), tools.kernels("products")
    expect("calls of cublasSgemm_v2", calls_of(report)["cublasSgemm_v2"], truth["products"])
    busy = sum(row["device_ns"] for row in rows.values())
    print("  kernels:", {name: (row["launches"], row["device_activities"]) for name, row in rows.items()})
    expect_near("products, ns", busy * truth["timed"] / truth["products"], truth["event_ns"])


def reductions(tools):
    truth = json.loads(tools.trace("reductions", tools.program("reductions")))
    report = tools.report("reductions")
    for function, wanted in truth.items():
        row = [row for row in report["calls"] if row["function"] == function]
        expect(f"{function}: calls, bytes", (sum(r["calls"] for r in row), sum(r["bytes"] or 0 for r in row)), (wanted["calls"], wanted["bytes"]))
    print("  kernels:", {name: (row["launches"], row["device_activities"]) for name, row in tools.kernels("reductions").items()})


def torch_profiled(tools):
    """The profiler of PyTorch and hooktrace in one process: the same kernels, as often, as long; and those after it."""
    trace = os.path.join(RESULTS, "kineto.json")
    output = tools.trace("profiled", sys.executable, os.path.join(HERE, "torch_profiled.py"), str(PROFILED_ROUNDS), trace)
    theirs = collections.defaultdict(lambda: [0, 0.0])
    with open(trace, encoding="utf-8") as file:
        for event in json.load(file)["traceEvents"]:
            if event.get("cat") == "kernel":
                row = theirs[re.sub(r"\s", "", event["name"])]
                row[0] += 1
                row[1] += event["dur"] * 1000
    ours = collections.defaultdict(lambda: [0, 0.0])
    for row in tools.report("profiled", "--by", "kernel")["kernels"]:
        to = ours[re.sub(r"\s", "", row["kernel"] or "")]
        to[0] += row["device_activities"]
        to[1] += row["device_ns"] or 0
    after = {name: row for name, row in ours.items() if "cos_kernel" in name}
    expect("kernels after the profiler", sum(count for count, _ in after.values()), PROFILED_ROUNDS)
    different = {name: (row[0], ours[name][0] if name in ours else 0) for name, row in theirs.items()
                 if name not in ours or ours[name][0] != row[0]}
    only = sorted(name[:80] for name in set(ours) - set(theirs) - set(after))
    print(f"  {len(theirs)} kernels, {sum(row[0] for row in theirs.values())} launches in the profiler's trace; only ours: {only}")
    print("  peak of torch:", output.split()[-1], "ours:", [row["peak_bytes"] for row in tools.report("profiled")["memory"]
                                                            if row["kind"] == "device" and row["library"] == "*"])
    expect("kernels whose counts differ (theirs, ours)", {name[:100]: counts for name, counts in different.items()}, {})
    expect_near("device time of all kernels, ns", sum(ours[name][1] for name in theirs), sum(row[1] for row in theirs.values()))
    worst = max(theirs, key=lambda name: abs(ours[name][1] / theirs[name][1] - 1))
    expect_near(f"that of the most different kernel ({worst[:60]})", ours[worst][1], theirs[worst][1])


def alternating(tools, forms, rounds=PAIRS):
    """Prints, for each of FORMS, {name: function of a round}, the median of what it returns; the forms take turns."""
    values = collections.defaultdict(list)
    for number in range(rounds):
        for name, form in forms.items():
            values[name].append(float(form(number).split()[-1]))
    first = statistics.median(values[next(iter(forms))])
    for name, numbers in values.items():
        print(f"  {name}: median {statistics.median(numbers):.1f} of {numbers} ({statistics.median(numbers) / first - 1:+.1%})")


def launch_cost(tools):
    command = (tools.program("vectors"), "spin", str(SPINS))
    alternating(tools, {
        "bare, ns a launch": lambda i: tools.bare(*command),
        "count": lambda i: tools.trace(f"spin-count-{i}", *command, options=("--level", "count", "--budget", "off")),
        "default, record": lambda i: tools.trace(f"spin-{i}", *command, options=("--budget", "off")),
        "record+stack": lambda i: tools.trace(f"spin-stack-{i}", *command, options=("--level", "cudaLaunchKernel=record+stack", "--budget", "off")),
        "CUPTI alone": lambda i: tools.bare(*command, tools.environment["HOOK_CUPTI"]),
        "device time": lambda i: tools.trace(f"spin-device-{i}", *command, options=("--device-time", "--budget", "off")),
    })


def torch_cost(tools):
    command = (sys.executable, os.path.join(HERE, "torch_steps.py"), str(STEPS))
    alternating(tools, {
        "bare, us a step": lambda i: tools.bare(*command),
        "default": lambda i: tools.trace(f"steps-{i}", *command, options=()),
        "profiler of PyTorch": lambda i: tools.bare(*command, "profiler"),
        "device time": lambda i: tools.trace(f"steps-device-{i}", *command),
        "stacks of launches": lambda i: tools.trace(f"steps-stack-{i}", *command, options=("--level", "cudaLaunchKernel=record+stack")),
    })


def package(tools):
    print(tools.bare(sys.executable, os.path.join(HERE, "package.py"), RESULTS))


def doctor(tools):
    print(tools.bare(tools.hookcli, "doctor", "--", tools.program("vectors_static")))


CASES = (doctor, vectors, vectors_static, products, reductions, launch_cost)
TORCH_CASES = (torch_profiled, package, torch_cost)


def attempt(case, tools):
    """Whether CASE passes."""
    began = time.monotonic()
    print(f"{case.__name__}:", flush=True)
    try:
        case(tools)
    except Failed as failure:
        print(f"  FAILED: {failure}")
        return False
    except (LookupError, ValueError, TypeError):
        print(f"  FAILED: {traceback.format_exc()}")
        return False
    print(f"  passed in {time.monotonic() - began:.1f} s", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    if not os.path.exists("/dev/nvidiactl"):
        print("no GPU: /dev/nvidiactl does not exist")
        sys.exit(77)
    os.makedirs(RESULTS, exist_ok=True)
    tools = Tools(options.bundle, options.programs)
    cases = [case for case in CASES + TORCH_CASES if (case.__name__ in options.cases if options.cases else options.torch or case in CASES)]
    failed = [case.__name__ for case in cases if not attempt(case, tools)]
    print(f"{len(cases) - len(failed)} of {len(cases)} cases passed" + (f"; failed: {', '.join(failed)}" if failed else ""))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
