#!/usr/bin/python3
"""Four MPI ranks that know their calls: counts, errors and bytes of every rank, library and function, and times."""
from harness import RANKS, Run, expect, expect_true, main
from truth import expect_calls, expect_quantiles, expect_whole, load, rows_of, settle, times_apart, wanted_of


def check(run, form, report):
    expect_whole(report, RANKS)
    expect(f"{form}: world", report["job"]["world_size"], RANKS)
    expect_true(f"{form}: the job is closed", report["job"]["closed"])
    compared, apart = 0, {}
    for rank in range(RANKS):
        truth = load(run.path(f"truth-{rank}.json"))
        expect(f"{form}: rank {rank}'s pid", report["ranks"][rank]["pid"], truth["pid"])
        rows = rows_of(report, rank)
        expect_calls(f"{form}: rank {rank}", rows, wanted_of(truth))
        expect_quantiles(f"{form}: rank {rank}", rows)
        timed, short = times_apart(f"{form}: rank {rank}", rows, wanted_of(truth))
        compared, apart = compared + timed, apart | short
        wall_ns = report["ranks"][rank]["end_ns"] - report["ranks"][rank]["start_ns"]
        mpi_ns = sum(row["outermost_ns"] for row in rows.values())
        expect_true(f"{form}: rank {rank} spends {mpi_ns} ns of {wall_ns} in MPI", 0 < mpi_ns <= wall_ns)
    expect_true(f"{form}: only {compared} rows of 1 ms and more", compared >= 2 * RANKS)
    roles = sorted(row["role"] for row in report["processes"] if row["rank"] >= 0 and row["role"] != "launcher")
    expect(f"{form}: processes of ranks", roles, ["main"] * RANKS)
    return apart


def outside(run: Run, job):
    """hookcli run mpirun: the environment goes to the ranks."""
    run.trace("mpirun", "-n", RANKS, run.workload("mpi_truth"), run.directory, hooks=["mpi"], options=("--job", job))
    return check(run, "outside", run.report(run.path("store", job)))


def inside(run: Run, job):
    """mpirun hookcli run: one collector for the processes of a node."""
    done = run.command("mpirun", "-n", RANKS, run.binary("hookcli"), "run", "--store", run.path("store"), "--job", job,
                       "--hooks", "mpi", "--", run.workload("mpi_truth"), run.directory)
    expect("summaries on stderr", done.stderr.count("== hooktrace"), 1)
    return check(run, "inside", run.report(run.path("store", job)))


def check_reload(run):
    """What was found out about an MPI library that has gone is not used any more; handles of half a word are shown so."""
    done = run.trace(run.workload("mpi_reload"), *(run.workload(f"libmpi_reload_{size}.so") for size in (4, 8)), hooks=["mpi"],
                     level="record+args", options=("--job", "reload"))
    expect("reload: output", done.stdout, "4\n")
    report = run.report(run.path("store", "reload"))
    expect_whole(report, 1)
    rows = {function: (row["calls"], row["bytes"]) for (_, function), row in rows_of(report).items()}
    # Three elements at a time, of 4 bytes and of 8 in turn.
    expect("reload: calls and bytes", rows, {"MPI_Send": (4, 2 * 3 * (4 + 8)), "MPI_Comm_dup": (4, 0)})
    lines = run.cli("log", run.path("store", "reload"), "--filter", "function=MPI_Comm_dup").stdout.splitlines()
    expect("reload: communicators", [line.split("MPI_Comm_dup")[1].split(" <")[0] for line in lines],
           ["(comm=0x44000000, newcomm=0x44000001) = 0"] * 4)


def test(run):
    check_reload(run)
    settle(lambda number: outside(run, f"outside-{number}"))
    settle(lambda number: inside(run, f"inside-{number}"))


if __name__ == "__main__":
    main(test)
