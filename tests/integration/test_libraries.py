#!/usr/bin/python3
"""Programs that know their calls of real libraries: calls, errors and bytes of every rank. test_libraries.py BUILD_DIR NAME.

A library that is not installed has no program, and its test is skipped.
"""
import os
import sys

from harness import RANKS, expect, expect_true, main
from truth import expect_calls, expect_whole, load, rows_of, wanted_of

# Of each NAME: programs with their ranks, the hooks file, the title of the domain's share, and what the log has of some calls.
LIBRARIES = {
    "fftw": ({"fftw_truth": 1, "fftw_mpi_truth": RANKS}, "fftw", "FFTW",
             ("fftw_plan_dft_1d(n=64, ", "fftw_plan_dft_r2c_2d(n0=16, n1=32, ", "dfftw_plan_dft_1d_(")),
    "hdf5": ({"hdf5_truth": 1}, "hdf5", "HDF5", ("H5Dopen2(", 'name="missing"')),
    "netcdf": ({"netcdf_truth": 1}, "netcdf", "netCDF", ("nc_open(", 'name="units"')),
    "mpi_io": ({"mpi_io_truth": RANKS}, "mpi", None, ("MPI_File_write_at_all(", "target_rank=1, ")),
    "scalapack": ({"scalapack_truth": RANKS}, "scalapack", "ScaLAPACK", ("pdgemm_(", "Cdgesd2d(")),
    "openmp": ({"openmp_gnu_truth": 1, "openmp_llvm_truth": 1}, "openmp", None, ("GOMP_parallel(", "__kmpc_critical(")),
    "ucx": ({"ucx_truth": 1}, "ucx", None, ("ucp_tag_send_nbx(", "tag=7, ")),
    "libfabric": ({"libfabric_truth": 1}, "libfabric", None, ("fi_getinfo(",)),
    "onednn": ({"onednn_truth": 1}, "onednn", "oneDNN", ("dnnl_sgemm(", "m=16, n=16, k=16, ")),
}
# Hooks files of which --hooks auto takes nothing: their domains.
LEFT_OUT = {"openmp": {"openmp", "region"}}


def trace(run, program, ranks, hooks, job, level=None):
    launcher = ["mpirun", "-n", ranks] if ranks > 1 else []
    run.trace(*launcher, run.workload(f"libraries/{program}"), run.directory, hooks=[hooks], level=level, options=("--job", job))
    return run.report(run.path("store", job))


def check(run, program, ranks, hooks, title):
    report = trace(run, program, ranks, hooks, program)
    expect_whole(report, ranks)
    for rank in range(ranks):
        # Libraries call their own functions, and each other's.
        rows = {key: row for key, row in rows_of(report, rank).items() if key[0] == program}
        expect_calls(f"{program}: rank {rank}", rows, wanted_of(load(run.path(f"truth-{rank}.json"))))
    summary = run.cli("report", run.path("store", program)).stdout
    expect_true(f"{program}: the summary has a share of {title}: {summary}", title is None or f"{title} " in summary)


def test(run, name):
    programs, hooks, title, logged = LIBRARIES[name]
    programs = {program: ranks for program, ranks in programs.items() if os.path.exists(run.workload(f"libraries/{program}"))}
    if not programs:
        print(f"{name} is not installed")
        sys.exit(77)
    for program, ranks in programs.items():
        check(run, program, ranks, hooks, title)
    for program, ranks in programs.items() if name in LEFT_OUT else ():
        calls = trace(run, program, ranks, "auto", f"{program}-auto")["calls"]
        expect(f"{program}: calls under auto", [row["function"] for row in calls if row["domain"] in LEFT_OUT[name]], [])
    log = ""
    for program, ranks in programs.items():
        job = f"{program}-log"
        trace(run, program, ranks, hooks, job, "record+args")
        log += run.cli("log", run.path("store", job)).stdout
    for text in logged:
        expect_true(f"{name}: the log has no {text}", text in log)


if __name__ == "__main__":
    main(test)
