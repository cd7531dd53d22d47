#!/usr/bin/python3
"""Objects that a CUDA runtime is linked into are named, with what is seen of them; all others are not.

Programs and libraries made here have the texts that such a runtime has, so that this runs everywhere. Where there is a CUDA
toolkit, the truth is also what nvcc links, and the libraries that NVIDIA documents as having the static runtime.
"""
import glob
import json
import os
import shutil
import subprocess
import sys

from harness import Run, end_process, expect, expect_true, main, wait_for

CUDA = "/usr/local/cuda"
TEXTS = "libcuda.so.1", "cuGetExportTable", "cudaErrorMissingConfiguration"
SOURCE = """
#include <dlfcn.h>
#include <stdio.h>
int cudaGetDeviceCount(int *count);
const char *const texts[] = { %(texts)s };
int %(name)s(void) { return dlopen(texts[0], RTLD_NOW) != 0; }
"""
USER = "int cudaMalloc(void **, unsigned long); int use(void) { void *p; return cudaMalloc(&p, 1); }\n"
KERNEL = """
#include <cstdio>
__global__ void add(float *a) { a[threadIdx.x] += 1; }
int main() { int n; int status = cudaGetDeviceCount(&n); add<<<1, 32>>>(nullptr); return status; }
"""
NO_DRIVER = 35
INSIDE = ("cublas", "cublasLt", "cufft", "cusolver", "cusparse", "curand", "nccl", "cudnn_graph", "cudnn_ops")
WITHOUT = ("cudart", "nvrtc", "cupti", "nvJitLink")
LOADER = "import ctypes, sys\nfor name in sys.argv[1:]: ctypes.CDLL(name, ctypes.RTLD_GLOBAL)\nprint('ready', flush=True)\nsys.stdin.read()\n"


def compile_one(run, name, source, *options):
    path = run.path(name)
    with open(f"{path}.c", "w", encoding="ascii") as file:
        file.write(source)
    run.command("cc", "-w", "-o", path, f"{path}.c", *options)
    return path


def with_texts(texts, name="run"):
    return SOURCE % {"name": name, "texts": ", ".join(f'"{text}"' for text in texts)}


def runtimes(report):
    return sorted({row["library"] for row in report["static_runtimes"]})


def expect_program(run, path, inside, status=0, env=None):
    """What is said of a program that ends too soon for the kernel's list of its objects to be read."""
    name = os.path.basename(path)
    done = run.trace(path, hooks=["cuda"], options=("--job", name), check=False, env=env)
    expect(f"status of {name}", done.returncode, status)
    expect(f"runtimes in {name}", runtimes(run.report(run.path("store", name))), [path] if inside else [])
    line = f"CUDA runtime linked into {name}: its cuda* calls are not seen, and no CUDA driver was loaded"
    expect(f"the line of {name}: {done.stderr}", line in done.stderr.splitlines(), inside)
    doctor = run.cli("doctor", "--hooks", "cuda", "--", path, check=False, env=env).stdout
    expect(f"doctor on {name}: {doctor}", f"a CUDA runtime is linked into {name}" in doctor, inside)
    return done


def check_made(run):
    """All of the texts are needed, and a runtime in an object of its own is none."""
    begin = "int main(void) { return run(); }\n"
    expect_program(run, compile_one(run, "all", with_texts(TEXTS) + begin), True)
    for number in range(len(TEXTS)):
        part = TEXTS[:number] + TEXTS[number + 1:]
        expect_program(run, compile_one(run, f"without-{number}", with_texts(part) + begin), False)
    stub = compile_one(run, "libstub.so", "int cudaMalloc(void **p, unsigned long n) { return 0; }\n", "-shared", "-fPIC")
    path = compile_one(run, "user", with_texts(TEXTS) + USER + "int main(void) { return use(); }\n", stub, f"-Wl,-rpath,{run.directory}")
    expect_program(run, path, False)


def loaded_runtimes(run, python, libraries, wanted, env=None):
    """Runtimes in a process that has opened LIBRARIES and lives until all of WANTED were found, and the report after its end."""
    run.start_collector()
    with open(run.path("loader.py"), "w", encoding="ascii") as file:
        file.write(LOADER)
    environment = run.environment(LD_PRELOAD=run.agent(), HOOK_JOB="loaded", **(env or {}))
    process = subprocess.Popen([python, run.path("loader.py"), *libraries], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True)
    try:
        expect("the loader", process.stdout.readline(), "ready\n")

        def found():
            report = run.cli("report", "loaded", "--format", "json", check=False)
            return report.returncode == 0 and set(wanted) <= set(runtimes(json.loads(report.stdout)))
        wait_for(f"{wanted} to be found", found)
        process.stdin.close()
        process.wait()
    finally:
        end_process(process)
    wait_for("the job to close", lambda: run.report("loaded")["processes"][0]["exit"]["kind"] == "exited")
    return run.report("loaded")


def check_loaded(run):
    """A library that is opened while the process runs."""
    library = compile_one(run, "libinside.so", with_texts(TEXTS), "-shared", "-fPIC")
    other = compile_one(run, "libother.so", with_texts(TEXTS[:2]), "-shared", "-fPIC")
    report = loaded_runtimes(run, sys.executable, [library, other], [library])
    expect("runtimes", runtimes(report), [library])
    expect("driver", {row["driver"] for row in report["static_runtimes"]}, {False})
    notes = " ".join(row["notes"] for row in report["coverage"])
    expect_true(f"notes: {notes}", "a CUDA runtime is linked into libinside.so" in notes)


def check_toolkit(run):
    nvcc = os.path.join(CUDA, "bin", "nvcc")
    library = os.path.join(CUDA, "lib64")
    with open(run.path("kernel.cu"), "w", encoding="ascii") as file:
        file.write(KERNEL)
    for kind in ("static", "shared"):
        program = run.path(f"va_{kind}")
        run.command(nvcc, "-cudart", kind, "-o", program, run.path("kernel.cu"))
        if not glob.glob("/dev/nvidia*"):
            done = expect_program(run, program, kind == "static", NO_DRIVER, env={"LD_LIBRARY_PATH": library})
            expect(f"the failed question: {done.stderr}", "! cudaGetDeviceCount failed in 1 of 1 calls, first on rank 0 (35: no CUDA driver" in
                   done.stderr, kind == "shared")

    def path_of(name):
        return os.path.realpath(os.path.join(library, f"lib{name}.so"))
    inside = [path_of(name) for name in INSIDE if os.path.exists(path_of(name))]
    others = [path_of(name) for name in WITHOUT if os.path.exists(path_of(name))]
    report = loaded_runtimes(run, sys.executable, others + inside, inside, env={"LD_LIBRARY_PATH": library})
    found = set(runtimes(report))
    expect("libraries without a runtime", found & set(others), set())
    expect("libraries with one", set(inside) - found, set())
    print(f"{len(found)} libraries of the toolkit with a runtime, {len(others)} without")


def test(run: Run):
    check_made(run)
    check_loaded(run)
    if shutil.which(os.path.join(CUDA, "bin", "nvcc")):
        with Run(run.build) as other:
            check_toolkit(other)
    else:
        print(f"no CUDA toolkit in {CUDA}: only made programs and libraries were looked into")


if __name__ == "__main__":
    main(test)
