#!/usr/bin/python3
"""The agent under a C library that is older than the one it was built with.

`test_old_glibc.py BUILD stand-in`: the loader of this machine finds all that the agent asks of a libc.so.6 without any version
above GLIBC_2.17. That one is simulated: it has names and versions, and no code, so that nothing runs.
`test_old_glibc.py BUILD real`: programs run under glibc 2.31, which still has libpthread and libdl apart, and every call counts
as it does under this machine's. Skipped (77) where Debian 11 is not available.
"""
import os
import subprocess
import sys

import test_fibers
import test_life
import test_locked
from harness import Run, expect, expect_true, main

SKIPPED = 77
HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARIES = "lib/x86_64-linux-gnu"
NEWEST = (2, 17)
# What needs a newer glibc: it has no _Fork before 2.34, and before 2.32 a child does not know that its parent had one thread, so
# that its look-ups wait until it has loaded something.
NEWER = {"_Fork", "fork-look-up"}
STORMS = {"fork-storm", "fork-crowd", "crowd", "late-ends"}  # nothing in them is the library's


def version_of(text):
    """GLIBC_2.2.5 as numbers; None: GLIBC_PRIVATE and the like."""
    numbers = text.removeprefix("GLIBC_").split(".")
    return tuple(map(int, numbers)) if all(part.isdigit() for part in numbers) else None


def old_symbols(run, library):
    """(name, version) of what LIBRARY has had since NEWEST. What got a new version later was another library's, or another function."""
    symbols = []
    for line in run.command("nm", "-D", "--defined-only", "--with-symbol-versions", library).stdout.splitlines():
        name, separator, version = line.split()[-1].partition("@@")
        number = version_of(version) if separator else None
        if number and number[:2] <= NEWEST:
            symbols.append((name, version))
    return symbols


def build_stand_in(run, directory, symbols):
    os.mkdir(directory)
    source, script = run.path("stand-in.S"), run.path("stand-in.map")
    versions = sorted({version for _, version in symbols}, key=version_of)
    with open(source, "w", encoding="ascii") as file:
        for index, (name, version) in enumerate(symbols):
            file.write(f".globl s{index}\n.type s{index}, @function\ns{index}: .skip 16\n.symver s{index}, {name}@@{version}\n")
        file.write('.section .note.GNU-stack, "", %progbits\n')
    with open(script, "w", encoding="ascii") as file:
        file.write("".join(f"{version} {{}};\n" for version in versions[:-1]) + f"{versions[-1]} {{ local: s*; }};\n")
    run.command("cc", "-shared", "-nostdlib", "-Wl,-soname,libc.so.6", f"-Wl,--version-script={script}", "-o",
                os.path.join(directory, "libc.so.6"), source)


def missing(run, loader, directory, library):
    """What the loader says that LIBRARY lacks, its functions all looked up."""
    done = run.command(loader, "--library-path", directory, library, check=False,
                       env={"LD_TRACE_LOADED_OBJECTS": "1", "LD_WARN": "1", "LD_BIND_NOW": "1"})
    expect_true(f"the stand-in is loaded: {done.stdout}{done.stderr}", f"{directory}/libc.so.6" in done.stdout)
    return [line for line in (done.stdout + done.stderr).splitlines() if "not found" in line or "undefined" in line]


def check_stand_in(run):
    words = run.command("ldd", run.agent()).stdout.split()
    library = next(word for word in words if word.startswith("/") and os.path.basename(word) == "libc.so.6")
    loader = next(word for word in words if os.path.basename(word).startswith("ld-linux"))
    directory = run.path("stand-in")
    build_stand_in(run, directory, old_symbols(run, library))
    expect("what the agent lacks", missing(run, loader, directory, run.agent()), [])
    # The same question of a library that needs what came later finds it.
    source, newer = run.path("newer.c"), run.path("newer.so")
    with open(source, "w", encoding="ascii") as file:
        file.write("#include <dlfcn.h>\nvoid *look(void *handle) { return dlsym(handle, \"x\"); }\n")
    run.command("cc", "-shared", "-fPIC", "-o", newer, source)
    expect_true("a library that needs GLIBC_2.34 is refused", missing(run, loader, directory, newer))


def compile_old(run, old, output, *words):
    libraries = os.path.join(old, LIBRARIES)
    development = os.path.join(old, "usr", LIBRARIES)
    run.command("cc", f"--sysroot={old}", f"-B{development}", "-isystem", f"{old}/usr/include/x86_64-linux-gnu", "-isystem",
                f"{old}/usr/include", "-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu", "-std=gnu17",
                "-D_GNU_SOURCE", "-O1", "-g", "-fwrapv", "-fno-optimize-sibling-calls", "-o", output, *words, f"-L{development}",
                f"-L{libraries}", f"-L{os.path.dirname(output)}", f"-Wl,--dynamic-linker={libraries}/ld-2.31.so",
                f"-Wl,--disable-new-dtags,-rpath,{libraries}:{os.path.dirname(output)}", "-Wl,--no-as-needed")


def build_old(run, old):
    """A build tree of its own: traced programs are built there, the tracer is the existing one."""
    tree = run.path("tree")
    parts = [f"{old}/{LIBRARIES}/{name}" for name in ("libpthread.so.0", "libdl.so.2", "librt.so.1")]
    for name in "life", "frame", "unload":
        os.makedirs(os.path.join(tree, "tests", "integration", name))
    for name in "cli", "collector", "agent":
        os.symlink(os.path.join(run.build, name), os.path.join(tree, name))

    def source(directory, *names):
        return [os.path.join(HERE, directory, name) for name in names]
    life, fibers, unload = (os.path.join(tree, "tests", "integration", name) for name in ("life", "frame", "unload"))
    compile_old(run, old, f"{life}/liblife_library.so", "-shared", "-fPIC", *source("life", "life_library.c"))
    compile_old(run, old, f"{life}/life", "-D_Fork=fork",
                *source("life", *(f"{name}.c" for name in ("life", "life_processes", "life_images", "life_threads", "life_sandboxes"))),
                "-Wl,--no-as-needed", f"{life}/liblife_library.so", *parts)
    compile_old(run, old, f"{fibers}/libfibers_library.so", "-shared", "-fPIC", *source("frame", "fibers_library.c"))
    compile_old(run, old, f"{fibers}/fibers", *source("frame", "fibers.c", "fibers_switch.S"), f"{fibers}/libfibers_library.so", *parts)
    compile_old(run, old, f"{unload}/locked", *source("unload", "locked.c"), *parts)
    compile_old(run, old, f"{unload}/liblocked_other.so", "-shared", "-fPIC", "-nostartfiles", *source("unload", "other.c"))
    return tree


def check_real(run):
    old = os.path.join(run.build, "old-glibc")
    if not os.path.exists(os.path.join(old, LIBRARIES, "libc.so.6")):
        fetched = subprocess.run([os.path.join(HERE, "old_glibc.sh"), old], check=False)
        if fetched.returncode == SKIPPED:
            sys.exit(SKIPPED)
        expect("old_glibc.sh", fetched.returncode, 0)
    with Run(build_old(run, old)) as other:
        version = other.command(os.path.join(old, LIBRARIES, "ld-2.31.so"), "--library-path", os.path.join(old, LIBRARIES),
                                os.path.join(old, LIBRARIES, "libc.so.6")).stdout
        expect_true(f"glibc 2.31 runs: {version[:80]}", "release version 2.31" in version)
        for case in test_life.CASES:
            if case.words.split()[0] not in NEWER | STORMS:
                test_life.check(other, case)
        test_fibers.test(other)
        # The loader keeps its lock elsewhere, and takes it by functions of libpthread's.
        test_locked.check_calls(other, test_locked.ROUNDS)


def test(run, which):
    if os.uname().machine != "x86_64":
        sys.exit(SKIPPED)
    {"stand-in": check_stand_in, "real": check_real}[which](run)


if __name__ == "__main__":
    main(test)
