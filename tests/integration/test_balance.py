#!/usr/bin/python3
"""Which rank is late, if any: jobs of equal ranks and jobs with one that does a tenth more, on 2 and 4 ranks. What a step's work
takes is the program's own measure of its processor time in the steps that nothing disturbed: a busy machine is no error of the report.
Where noise hides the truth (no rank at LATE or above, but one above EQUAL) the report may name that rank or none, and the job is run
again. So it is where ranks share a processor and the late one was not named, but for the last attempt. With a number of TIMES there
is no such patience, LAMMPS runs too, and all jobs run that often."""
import itertools
import os
import re
import statistics

from harness import Failure, expect, expect_true, main

STEPS = "600"
SLOW = 1
ATTEMPTS = 3  # at a job of which the truth can be known
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
    found = re.findall(r"^rank ([0-9]+): ([0-9.]+) s$", stdout, re.MULTILINE)
    seconds = [float(value) for _, value in sorted(found, key=lambda line: int(line[0]))]
    return [own / statistics.median(seconds[:rank] + seconds[rank + 1:]) - 1 for rank, own in enumerate(seconds)]


def judge(run, name, ranks, slow, done, patient):
    """Fails where the report of DONE is wrong. False: noise hides the truth, or a PATIENT judge saw that no rank was named."""
    truth = excesses(done.stdout)
    expect(f"{name}: ranks", len(truth), ranks)
    late, text = late_of(run, name)
    print(f"{name}: a step takes more than the others' {', '.join(f'{100 * each:.1f} %' for each in truth)}; late: {late} {text}")
    worst = max(range(ranks), key=lambda rank: truth[rank])
    if truth[worst] <= EQUAL:
        expect(f"{name}: late rank", late, None)
    elif truth[worst] >= LATE and patient and late is None:
        return False
    elif truth[worst] >= LATE:
        expect(f"{name}: late rank", late, worst)
    elif late not in (None, worst):
        raise Failure(f"{name}: rank {late} is said to be late, and not {worst}")
    return worst == SLOW and truth[worst] >= LATE if slow else truth[worst] <= EQUAL


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


def test(run, times=""):
    known, jobs = 0, 0
    for number in range(int(times or 1)):
        for program in (pace, lammps) if times else (pace,):
            for ranks, slow in itertools.product((2, 4), (False, True)):
                kind = f"{program.__name__}-{ranks}-{'slow' if slow else 'equal'}"
                known += any(attempt(run, program, f"{kind}-{number}-{turn}", ranks, slow, not times and turn + 1 < ATTEMPTS)
                             for turn in range(ATTEMPTS))
                jobs += 1
    print(f"the truth could be known of {known} in {jobs} jobs; the report was right in all of them")


if __name__ == "__main__":
    main(test)
