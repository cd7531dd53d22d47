#!/usr/bin/python3
"""Which rank is late, if any: jobs of equal ranks and jobs with one that does a tenth more, on 2 and 4 ranks. What a step's work
takes is the program's own measure of its processor time in the steps that nothing disturbed: a busy machine is no error of the report."""
import os
import re
import statistics

from harness import Failure, expect, expect_true, main

STEPS = "600"
SLOW = 1
EQUAL, LATE = 0.03, 0.08  # the report draws its line at 0.05
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LAMMPS = ("lmp", "-var", "STEPS", "300", "-in", os.path.join(TESTS, "workloads", "lammps_lj.in"))


def late_of(run, name):
    with open(run.path("store", name, "summary.txt"), encoding="utf-8") as stream:
        text = stream.read()
    found = re.findall(r"^! rank ([0-9]+) is late: (.*)$", text, re.MULTILINE)
    expect_true(f"{name}: several late ranks in {found}", len(found) < 2)
    return (int(found[0][0]), found[0][1]) if found else (None, "")


def excesses(stdout):
    """By how much each rank's processor time is above the median of the others."""
    seconds = [float(value) for value in re.findall(r"^rank [0-9]+: ([0-9.]+) s$", stdout, re.MULTILINE)]
    return [own / statistics.median(seconds[:rank] + seconds[rank + 1:]) - 1 for rank, own in enumerate(seconds)]


def pace(run, ranks, slow, number):
    name = f"pace-{ranks}-{'slow' if slow else 'equal'}-{number}"
    program = [run.workload("mpi_pace"), STEPS] + ([str(SLOW)] if slow else [])
    done = run.trace("mpirun", "-n", ranks, *program, options=("--job", name))
    truth = excesses(done.stdout)
    expect(f"{name}: ranks", len(truth), ranks)
    late, text = late_of(run, name)
    print(f"{name}: a step takes more than the others' {', '.join(f'{100 * each:.1f} %' for each in truth)}; late: {late} {text}")
    worst = max(range(ranks), key=lambda rank: truth[rank])
    if truth[worst] <= EQUAL:
        expect(f"{name}: late rank", late, None)
    elif truth[worst] >= LATE:
        expect(f"{name}: late rank", late, worst)
    elif late not in (None, worst):
        raise Failure(f"{name}: rank {late} is said to be late, and not {worst}")
    return late


def lammps(run, ranks, number):
    name = f"lammps-{ranks}-{number}"
    run.trace("mpirun", "-n", ranks, *LAMMPS, options=("--job", name))
    late, text = late_of(run, name)
    print(f"{name}: late: {late} {text}")
    return late


def test(run, times="1"):
    named, blamed = 0, 0
    for number in range(int(times)):
        for ranks in (2, 4):
            blamed += pace(run, ranks, False, number) is not None
            named += pace(run, ranks, True, number) == SLOW
            if times != "1":
                blamed += lammps(run, ranks, number) is not None
    print(f"rank {SLOW} named in {named} of {2 * int(times)} jobs in which it does more; blamed in {blamed} of equal ranks")


if __name__ == "__main__":
    main(test)
