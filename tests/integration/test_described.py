#!/usr/bin/python3
"""A described function costs about what an undescribed one does: its values need neither the vector registers saved nor much else.

The program runs under callgrind, which counts instructions and calls: neither depends on how busy the machine is. One function is
called by a name that the shipped hooks describe, and by one that a bare pattern hooks.
"""
import os
import shutil
import sys

from callgrind import calls_and_costs
from harness import expect, expect_true, main
from truth import rows_of

COUNT = 3000
WARM = 200
# Instructions are no time: the clock reads are two of each, and cost the most.
PLAIN = {name: 1.3 for name in ("ddot_", "cudaLaunchKernel", "cudaMemcpyAsync", "__read_chk")}
# Up to four values of kept answers, and whether work has lasted long.
KEPT = {name: 1.45 for name in ("MPI_Ssend", "MPI_Recv", "MPI_Allreduce", "MPI_Bcast")}
LIMITS = PLAIN | KEPT
# What is made once for a function, with the vector registers saved: cells, octaves, pages.
SAVES_PER_FUNCTION = 50


def test(run):
    if not shutil.which("valgrind"):
        print("skipped: valgrind is not installed")
        sys.exit(77)
    program = os.path.join(run.build, "tests", "integration", "frame", "described")
    alone = run.command(program, COUNT)
    counts = run.path("counts")
    traced = run.trace("valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={counts}", program, COUNT,
                       hooks=["blas", "mpi", "cuda", "libc", "*:plain_*"], level=[f"*:{name}=record" for name in ("plain_*", *LIMITS)],
                       options=("-q", "--job", "described"))
    expect("output", traced.stdout, alone.stdout)
    rows = {function: row for (_, function), row in rows_of(run.report(run.path("store", "described"))).items()}
    for name in LIMITS:
        expect(f"calls of {name}", rows[name]["calls"], COUNT + WARM)
        expect(f"calls of plain_{name}", rows[f"plain_{name}"]["calls"], COUNT + WARM)
    sent = COUNT + WARM
    expect("bytes", [rows[name]["bytes"] for name in ("MPI_Ssend", "MPI_Allreduce", "MPI_Bcast", "cudaMemcpyAsync", "__read_chk")],
           [4 * sent, 4 * sent, 4 * sent, 8 * sent, 8 * sent])

    found = calls_and_costs(counts)
    saves = sum(calls for name, (calls, _) in found.items() if name.startswith("hk_state_saved"))
    print(f"{saves} times the vector registers were saved")
    expect_true(f"{saves} times the vector registers were saved for {2 * len(LIMITS)} functions",
                0 < saves <= SAVES_PER_FUNCTION * 2 * len(LIMITS))
    over = []
    for name, limit in LIMITS.items():
        described, plain = (found[f"run_{which}{name}"][1] / COUNT for which in ("", "plain_"))
        print(f"{name}: {described:.0f} instructions described, {plain:.0f} undescribed: {described / plain:.2f}, limit {limit}")
        if described > limit * plain:
            over.append(name)
    expect("described functions that cost too much", over, [])


if __name__ == "__main__":
    main(test)
