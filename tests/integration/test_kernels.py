#!/usr/bin/python3
"""Kernels by name: what a program launched, how often and with which grid and block, on the simulated CUDA runtime.

The program registers and launches as nvcc's code does: kernels_truth is that sequence written by hand, so that no nvcc is needed.
Where nvcc is there, programs that it compiles are traced too. The truth is what the program itself notes.
"""
import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys

from harness import Run, end_process, expect, expect_true, main, reader_of, wait_for
from nodes import root_and_leaves

LONG = 4600
UNTOLD = "__cudaRegisterFunction=off,__cudaGetKernel=off"
CHILD = [["_Z9vectorAddPKfS0_Pfi", "77x1x1 7x1x1 0", 1], ["_Z6legacyv", "78x1x1 8x1x1 0", 1]]


def sim(run: Run, *parts):
    return run.workload(os.path.join("simcuda", *parts))


def kernels_of(run, job, *options):
    return json.loads(run.cli("report", run.path("store", job), "--by", "kernel", "--format", "json", *options).stdout)


def shape_text(shape):
    grid, block = ("x".join(map(str, shape[key])) for key in ("grid", "block"))
    return f"{grid} {block} {shape['shared_bytes']}"


def seen_of(report):
    """{(symbol, shape): launches}"""
    seen = collections.Counter()
    for row in report["kernels"]:
        for shape in row["shapes"]:
            seen[row.get("symbol"), shape_text(shape)] += shape["launches"]
        if row["launches"]:
            expect(f"{row['symbol'][:40]}: sum over shapes", sum(shape["launches"] for shape in row["shapes"]), row["launches"])
    return seen


def truth_of(path):
    with open(path, encoding="ascii") as file:
        truth = json.load(file)
    expect_true("the second library took the first one's place, and a function its handle", truth["same_place"])
    return collections.Counter({(name, shape): count for name, shape, count in truth["launches"] + CHILD})


def trace(run, job, *options, level=None, env=None):
    run.trace(sim(run, "kernels_truth"), run.path(f"{job}.json"), os.path.dirname(sim(run, "kernels_truth")), hooks=["auto"],
              level=level, options=("--job", job, *options), env=env)
    return kernels_of(run, job), truth_of(run.path(f"{job}.json"))


def check(what, report, truth):
    seen = seen_of(report)
    expect(f"{what}: launches", {f"{name[:60]} {shape}": n for (name, shape), n in (seen - truth).items()}, {})
    expect(f"{what}: launches that are missing", {f"{name[:60]} {shape}": n for (name, shape), n in (truth - seen).items()}, {})
    expect(f"{what}: all", (report["launches"], report["unrecorded"]), (sum(truth.values()), 0))


def test_names(run: Run):
    report, truth = trace(run, "names")
    check("names", report, truth)
    long = sorted(row["symbol"] for row in report["kernels"] if len(row["symbol"]) == LONG)
    expect("two names that differ from byte 4,000 on", [name[3999:4001] for name in long], ["kk", "kz"])
    rows = {row["symbol"]: row for row in report["kernels"]}
    expect("demangled", rows["_Z9vectorAddPKfS0_Pfi"]["kernel"], "vectorAdd(float const*, float const*, float*, int)")
    expect("short", rows["_ZN4test5scaleIfEEvPT_S1_"]["short"], "scale<float>")
    # The device, which is simulated, says the same names. Launches of the graph run the captured kernel three times.
    plain = rows["_Z9vectorAddPKfS0_Pfi"]
    expect("runs on the device", plain["device_activities"], plain["launches"] - 1 + 3)
    expect_true(f"host and device time are apart: {plain}", plain["host_ns"] > 0 and plain["device_ns"] is not None)
    check_memory(run)


def check_memory(run):
    """Pools, managed and virtual memory, to the byte."""
    rows = {}
    for row in run.report(run.path("store", "names"))["memory"]:
        if row["kind"] in ("device", "managed") and os.path.basename(row["library"]) == "kernels_truth" and row["role"] == "main":
            rows[row["kind"], row["device"]] = tuple(row[key] for key in ("allocs", "frees", "live_bytes", "peak_bytes"))
    expect("memory", rows, {("device", 0): (1, 1, 0, 3000), ("managed", 0): (1, 1, 0, 5000), ("device", 1): (1, 1, 0, 2 << 20)})


def test_asked(run: Run):
    """Without the calls that give names, the runtime and the driver are asked."""
    quiet = "__cudaRegisterFunction=off,__cudaGetKernel=off,cuModuleGetFunction=off,cuLibraryGetKernel=off,cuKernelGetFunction=off"
    report, truth = trace(run, "asked", level=quiet)
    check("asked", report, truth)


def test_stubs(run: Run):
    """A runtime that does not tell names: the function of the host that launches the kernel has one."""
    check_stubs("stubs", *trace(run, "stubs", level=UNTOLD, env={"SIM_NO_NAMES": "1"}))


def check_stubs(what, report, truth):
    rows = {row["symbol"]: row["launches"] for row in report["kernels"]}
    wanted = sum(count for (name, _), count in truth.items() if name == "_Z6legacyv")
    by_handle = sum(count for (name, shape), count in truth.items() if name == "_Z6legacyv" and shape in ("5x6x7 8x9x10 1", "78x1x1 8x1x1 0"))
    expect(f"{what}: launched by the host's function", rows.get("stub_legacy"), wanted - by_handle)
    expect(f"{what}: launches", report["launches"], sum(truth.values()))


def test_unread(run: Run):
    """A reader of files that says nothing: kernels keep their addresses, and the report has the reason."""
    collector = run.start_collector()
    program = os.path.realpath(sim(run, "kernels_truth"))

    def launch(job):
        run.cli("run", "--hooks", "auto", "--job", job, "--level", UNTOLD, "--", program, run.path(f"{job}.json"), os.path.dirname(program),
                env={"SIM_NO_NAMES": "1"})
        return kernels_of(run, job)
    expect("read: unread", launch("read")["unread"], [])
    os.kill(wait_for("the reader of files", lambda: reader_of(collector)), signal.SIGSTOP)
    report = launch("unread")
    expect_true(f"unread: {report['unread']}", {"library": program, "reason": "it was not read in time"} in report["unread"])
    names = {row["symbol"] for row in report["kernels"]}
    expect_true(f"unread: {names}", "stub_legacy" not in names and any(re.fullmatch("0x[0-9a-f]+", name) for name in names))
    expect("unread: launches", report["launches"], sum(truth_of(run.path("unread.json")).values()))
    text = run.cli("report", run.path("store", "unread"), "--by", "kernel").stdout
    expect_true(f"unread: {text}", f"! functions of {program} are not named: it was not read in time\n" in text)
    end_process(collector)


def test_formats(run: Run):
    report, truth = trace(run, "stacks", level="*Launch*=record+stack")
    check("stacks", report, truth)
    row = next(row for row in report["kernels"] if row["symbol"] == "_ZN4test5scaleIfEEvPT_S1_")
    first, top = row["first_stack"], row["top_stack"]
    expect("first stack", [frame["function"] for frame in first["frames"][:2]], ["stub_template", "launch"])
    expect_true(f"first and top stack: {first['launches']}, {top['launches']}", first["launches"] == 1 and top["launches"] > 1)
    job = run.path("store", "stacks")
    text = run.cli("report", job, "--by", "kernel").stdout
    expect_true(f"text: {text[:400]}", re.search(r"^scale<float> +\d+ +0 .* ranks|^kernel +launches", text, re.MULTILINE))
    expect_true(f"text has the row: {text[:600]}", re.search(r"^scale<float> +201 +0 +\S+ +\S+ +1x1x1 +32x1x1 +2 +1$", text, re.MULTILINE))
    expect_true("text has the stack", re.search(r"^  first stack, 1 launches\n    #0   stub_template \(kernels_truth\.c:\d+\)$", text, re.MULTILINE))
    lines = run.cli("report", job, "--by", "kernel", "--format", "csv").stdout.splitlines()
    expect("csv: lines", len(lines), 1 + len(seen_of(report)) + sum(not row["shapes"] for row in report["kernels"]))
    log = run.cli("log", job, "--filter", "function=__cudaLaunchKernel").stdout
    expect_true(f"log: {log[:300]}", re.search(r"__cudaLaunchKernel\(kernel=scale<float>, ", log))


def test_log(run: Run):
    trace(run, "log")
    log = run.cli("log", run.path("store", "log"), "--filter", "function=__cudaLaunchKernel").stdout
    expect_true(f"log: {log[:300]}", re.search(r"\(kernel=scale<float>, grid=4x65535x3, block=32x4x2, shared=49152, stream=0x0\)", log))
    out = run.path("trace.json")
    run.cli("export", run.path("store", "log"), "--format", "chrome", "-o", out)
    with open(out, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    launches = [event["args"] for event in events if event.get("name") == "__cudaLaunchKernel"]
    expect("chrome", sum(args.get("kernel") == "scale<float>" and args["grid"] == "4x65535x3" for args in launches), 1)


def test_leaf(run: Run):
    """Names of kernels reach the root, also those that the leaf finds in files."""
    root, (leaf,) = root_and_leaves(run, ["leaf"])
    program = sim(run, "kernels_truth")
    for job, checks, options, env in (("far", check, (), {}), ("far_stubs", check_stubs, ("--level", UNTOLD), {"SIM_NO_NAMES": "1"})):
        leaf.cli("run", "--hooks", "auto", "--job", job, *options, "--", program, run.path(f"{job}.json"), os.path.dirname(program),
                 env={"HOOK_RUN_DIR": leaf.run_directory, **env})
        root.closed_report(job)
        report = json.loads(root.cli("report", job, "--by", "kernel", "--format", "json").stdout)
        checks(job, report, truth_of(run.path(f"{job}.json")))
    for node in (root, leaf):
        end_process(node.collector)


# ---- nvcc's own code, where it is there

PROGRAM = r"""
#include <cstdio>
__global__ void add(const float *a, const float *b, float *c, int n) { int i = threadIdx.x; if (i < n) { c[i] = a[i] + b[i]; } }
template <typename T> __global__ void scale(T *a, T factor) { a[threadIdx.x] *= factor; }
__device__ int counter;
extern "C" void sim_body__Z3addPKfS0_Pfi(void **arguments, const unsigned *shape)
{
	const float *a = *(const float **)arguments[0], *b = *(const float **)arguments[1];
	float *c = *(float **)arguments[2];
	for (int i = 0; i < *(int *)arguments[3]; i++) { c[i] = a[i] + b[i]; }
	(void)shape;
}
int main()
{
	float *memory;
	int value = 7;
	cudaStream_t stream;
	if (cudaMalloc((void **)&memory, 4096) != cudaSuccess) { return 1; }
	cudaMemset(memory, 0, 4096);
	cudaStreamCreate(&stream);
	for (int i = 0; i < 3; i++) { add<<<dim3(4096, 1, 1), 256>>>(memory, memory + 256, memory + 512, 256); }
	scale<float><<<dim3(4, 2, 3), dim3(32, 4), 1024, stream>>>(memory, 2.f);
	scale<double><<<7, 64>>>((double *)memory, 2.);
	cudaMemcpyToSymbol(counter, &value, sizeof(value));
	cudaStreamSynchronize(stream);
	cudaStreamDestroy(stream);
	cudaFree(memory);
	return cudaDeviceSynchronize() == cudaSuccess && cudaGetLastError() == cudaSuccess ? 0 : 1;
}
"""
LAUNCHES = {("_Z3addPKfS0_Pfi", "4096x1x1 256x1x1 0"): 3, ("_Z5scaleIfEvPT_S0_", "4x2x3 32x4x1 1024"): 1,
            ("_Z5scaleIdEvPT_S0_", "7x1x1 64x1x1 0"): 1}


def find_nvcc():
    return shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")


def test_nvcc(run: Run):
    nvcc = find_nvcc()
    if not nvcc:
        print("skipped: nvcc's own code: no nvcc", file=sys.stderr)
        return
    source = run.path("kernels.cu")
    with open(source, "w", encoding="ascii") as file:
        file.write(PROGRAM)
    for job, options in (("nvcc", ()), ("per_thread", ("-default-stream", "per-thread"))):
        program = run.path(job)
        subprocess.run([nvcc, "-cudart", "shared", "-Xlinker", "--export-dynamic", *options, "-o", program, source], check=True)
        run.trace(program, hooks=["auto"], options=("--job", f"job-{job}"), env={"LD_LIBRARY_PATH": os.path.dirname(sim(run, "libcuda.so.1"))})
        report = kernels_of(run, f"job-{job}")
        expect(f"{job}: launches", dict(seen_of(report)), LAUNCHES)
        rows = {row["symbol"]: row for row in report["kernels"]}
        expect(f"{job}: demangled", rows["_Z5scaleIfEvPT_S0_"]["kernel"], "void scale<float>(float*, float)")
        memory = [row for row in run.report(run.path("store", f"job-{job}"))["memory"] if row["kind"] == "device" and row["library"] == "*"]
        expect(f"{job}: memory", [(row["allocs"], row["live_bytes"], row["peak_bytes"]) for row in memory], [(1, 0, 4096)])


PARTS = (test_names, test_asked, test_stubs, test_unread, test_formats, test_log, test_leaf, test_nvcc)


def test(run, *only):
    for part in PARTS:
        if not only or part.__name__[5:] in only:
            part(run)


if __name__ == "__main__":
    main(test)
