#!/usr/bin/python3
"""A call whose record finds no page costs less than one that finds a page, and its record is counted as lost.

No collector runs, and a small segment has no page left after some calls. The instructions of the functions that are called last are
compared with those of a run with a large one.
"""
import os
import shutil
import sys

import loop
from callgrind import calls_and_costs
from harness import Run, expect, expect_true, main, wait_for

COUNT = 30000
WARM = 200
FUNCTIONS = 16
SMALL, LARGE = 1 << 20, 1 << 26  # bytes of a segment: half of them hold records, here of one function or of all
# Of the last ones, by the trampoline alone, and by hk_call_leave_described with plain values and with kept ones.
LAST = ("plain_MPI_Allreduce", "MPI_Allreduce", "plain_MPI_Bcast", "cudaLaunchKernel", "plain_cudaLaunchKernel", "cudaMemcpyAsync",
        "plain_cudaMemcpyAsync")
# One thread looks for a page now and then. By the clock that is rare, but a program under valgrind makes few calls meanwhile.
LOOKS = "hk_append_record"


def costs(run, job, segment_bytes):
    counts = run.path(f"{job}.counts")
    environment = {**loop.agent_environment(run, job), "HOOK_HOOKS": "blas,mpi,cuda,*:__read_chk,*:plain_*", "HOOK_KEEP_SEGMENT": "1",
                   "HOOK_SEGMENT_BYTES": str(segment_bytes)}
    run.command("valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={counts}",
                os.path.join(run.build, "tests", "integration", "frame", "described"), COUNT, env=environment)
    return calls_and_costs(counts)


def test(run: Run):
    if not shutil.which("valgrind"):
        print("skipped: valgrind is not installed")
        sys.exit(77)
    kept = costs(run, "kept", LARGE)
    lost = costs(run, "lost", SMALL)
    run.start_collector()
    recorded = FUNCTIONS * (COUNT + WARM)

    def complete():
        rows = run.report("lost")["ranks"] if "lost" in os.listdir(run.path("store")) else []
        return rows and rows[0]["records"] + rows[0]["lost_records"] >= recorded and rows[0]
    row = wait_for("all records or their loss to be reported", complete)
    expect("records and lost ones", row["records"] + row["lost_records"], recorded)
    expect_true(f"{row['lost_records']} of {recorded} records were lost", row["lost_records"] > recorded * 3 / 4)
    saves = lost["hk_state_saved"][0]
    print(f"{saves} times the vector registers were saved for {row['lost_records']} lost records")
    expect_true("most lost records save no vector register", saves < row["lost_records"] / 2)
    with_page = sum(kept[f"run_{name}"][1] for name in LAST) / COUNT / len(LAST)
    without = (sum(lost[f"run_{name}"][1] for name in LAST) - lost[LOOKS][1] * len(LAST) / FUNCTIONS) / COUNT / len(LAST)
    print(f"{with_page:.1f} instructions a call with a page, {without:.1f} without")
    expect_true(f"a lost record's call takes {without:.1f} instructions, a kept one's {with_page:.1f}", without < with_page)


if __name__ == "__main__":
    main(test)
