#!/usr/bin/python3
"""Which rank is late, if any: jobs of equal ranks and jobs with one that does a tenth more, on 2 and 4 ranks.

The truth is the program's own measure: the processor time of the steps that nothing disturbed, for each quarter of the run. It is
known where all quarters agree that one rank takes longer by LATE or more, or that none does by more than EQUAL. Elsewhere the
machine was not the same for all ranks. The report may then name the slowest rank or none, and the job runs again.

Without TIMES every kind of job has to be judged once, and a job of ranks that share a processor may run again where the late one
was not named. With TIMES LAMMPS runs too, every kind of job is judged so often, and there is no such patience."""
import os
import re
import statistics

from harness import expect, expect_true, main

STEPS = "600"
SLOW = 1
ATTEMPTS = 3  # at a job of which the truth can be known, on average
QUARTERS = 4
EQUAL, LATE = 0.03, 0.07  # the report draws its line at 0.05
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LAMMPS = os.path.join(TESTS, "workloads", "lammps_lj.in")


def late_of(run, name):
    with open(run.path("store", name, "summary.txt"), encoding="utf-8") as stream:
        text = stream.read()
    found = re.findall(r"^! rank ([0-9]+) is late: (.*)$", text, re.MULTILINE)
    expect_true(f"{name}: several late ranks in {found}", len(found) < 2)
    return (int(found[0][0]), found[0][1]) if found else (None, "")


def excesses(seconds):
    """By how much the processor time of each rank is above the median of the others."""
    return [own / statistics.median(seconds[:rank] + seconds[rank + 1:]) - 1 for rank, own in enumerate(seconds)]


def truth_of(stdout, ranks):
    """The slowest rank over the whole run and whether it is late: True, False, or None where the quarters of the run disagree."""
    found = re.findall(r"^rank ([0-9]+): ([0-9. ]+) s$", stdout, re.MULTILINE)
    seconds = [[float(value) for value in values.split()] for _, values in sorted(found, key=lambda line: int(line[0]))]
    expect("quarters of ranks", [len(quarters) for quarters in seconds], [QUARTERS] * ranks)
    whole = excesses([sum(quarters) for quarters in seconds])
    slowest = max(range(ranks), key=whole.__getitem__)
    parts = [excesses([quarters[i] for quarters in seconds]) for i in range(QUARTERS)]
    if all(max(part) <= EQUAL for part in parts):
        return whole, slowest, False
    return whole, slowest, True if all(part[slowest] >= LATE for part in parts) else None


def judge(run, name, ranks, slow, done, patient):
    """Fails where the report of DONE is wrong. False: the truth is not known, or a PATIENT judge saw that no rank was named."""
    whole, slowest, truth = truth_of(done.stdout, ranks)
    late, text = late_of(run, name)
    known = {True: f"rank {slowest} is late", False: "equal", None: "not known"}[truth]
    print(f"{name}: more than the others {', '.join(f'{100 * each:.1f} %' for each in whole)}: {known}; named: {late} {text}")
    if truth and late is None and patient:
        return False
    if truth is None:
        expect_true(f"{name}: rank {late} is said to be late, and not {slowest}", late in (None, slowest))
        return False
    expect(f"{name}: late rank", late, slowest if truth else None)
    return truth == slow


def pace(run, name, ranks, slow):
    program = [run.workload("mpi_pace"), STEPS] + ([str(SLOW)] if slow else [])
    return run.trace("mpirun", "-n", ranks, *program, options=("--job", name))


def lammps(run, name, ranks, slow):
    more = {"LAMMPS_PACE_SLOW": str(SLOW)} if slow else {}
    return run.trace("mpirun", "-n", ranks, "lmp", "-var", "STEPS", "300", "-log", "none", "-in", LAMMPS, options=("--job", name),
                     env={"LD_PRELOAD": run.workload("liblammps_pace.so"), **more})


def attempt(run, program, name, ranks, slow, patient):
    # Ranks that share a processor disturb each other: what the report cannot tell from that it leaves out.
    shared = ranks > len(os.sched_getaffinity(0))
    return judge(run, name, ranks, slow, program(run, name, ranks, slow), patient and shared)


def judged(run, program, ranks, slow, times):
    """How often a job of one kind was judged."""
    kind = f"{program.__name__}-{ranks}-{'slow' if slow else 'equal'}"
    wanted, known = times or 1, 0
    for turn in range(ATTEMPTS * wanted):
        known += attempt(run, program, f"{kind}-{turn}", ranks, slow, not times and turn + 1 < ATTEMPTS)
        if known == wanted:
            break
    print(f"{kind}: the report was right in {known} of {known} jobs of which the truth is known")
    return known


def test(run, times=""):
    times = int(times or 0)
    kinds = [(program, ranks, slow) for program in ((pace, lammps) if times else (pace,)) for ranks in (2, 4) for slow in (False, True)]
    counts = [judged(run, *kind, times) for kind in kinds]
    if times:
        expect("jobs of which the truth is known, of each kind", counts, [times] * len(kinds))


if __name__ == "__main__":
    main(test)
