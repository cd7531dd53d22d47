#!/usr/bin/python3
"""Which rank is late, if any: jobs of equal ranks and jobs with one that does a tenth more, on 2 and 4 ranks. What a step's work
takes is the program's own measure of its processor time in the steps that nothing disturbed: a busy machine is no error of the report.
Where noise hides the truth (no rank at LATE or above, but one above EQUAL) the report may name that rank or none. LAMMPS has a tenth
more to do where a rank's part of the box is a tenth wider; it says itself how many atoms that was. LAMMPS runs only where there is a
number of TIMES, and all jobs run that often."""
import os
import re
import statistics

from harness import Failure, expect, expect_true, main

STEPS = "600"
SLOW = 1
EQUAL, LATE = 0.03, 0.08  # the report draws its line at 0.05
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LAMMPS = os.path.join(TESTS, "workloads", "lammps_lj.in")


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


def cuts(ranks):
    """Where the box is cut along x so that SLOW has a tenth more of it than each of the others."""
    parts = [1.1 if rank == SLOW else 1 for rank in range(ranks)]
    return [round(sum(parts[:end]) / sum(parts), 4) for end in range(1, ranks)]


def lammps_input(run, ranks):
    """The model in slices along x, that of SLOW wider."""
    with open(LAMMPS, encoding="utf-8") as stream:
        text = stream.read()
    balance = f"balance 0.9 x {' '.join(map(str, cuts(ranks)))}"
    name = run.path(f"uneven-{ranks}.in")
    with open(name, "w", encoding="utf-8") as stream:
        stream.write(f"processors {ranks} 1 1\n" + text.replace("\nrun ", f"\n{balance}\nrun "))
    return name


def lammps(run, ranks, slow, number):
    name = f"lammps-{ranks}-{'slow' if slow else 'equal'}-{number}"
    model = lammps_input(run, ranks) if slow else LAMMPS
    done = run.trace("mpirun", "-n", ranks, "lmp", "-var", "STEPS", "300", "-log", "none", "-in", model, options=("--job", name))
    mean, most = map(float, re.search(r"^Nlocal: +([0-9.]+) ave +([0-9]+) max", done.stdout, re.MULTILINE).groups())
    more = most / ((mean * ranks - most) / (ranks - 1)) - 1
    late, text = late_of(run, name)
    print(f"{name}: a rank has {100 * more:.1f} % more atoms than the others; late: {late} {text}")
    expect_true(f"{name}: atoms of ranks", more >= LATE if slow else more <= EQUAL)
    expect(f"{name}: late rank", late, SLOW if slow else None)
    return late


def test(run, times=""):
    jobs = (pace, lammps) if times else (pace,)
    named, blamed, count = 0, 0, int(times or 1)
    for number in range(count):
        for ranks in (2, 4):
            for job in jobs:
                blamed += job(run, ranks, False, number) is not None
                named += job(run, ranks, True, number) == SLOW
    count *= 2 * len(jobs)
    print(f"of {count} jobs: rank {SLOW} named in {named} in which it does more; a rank blamed in {blamed} of equal ranks")


if __name__ == "__main__":
    main(test)
