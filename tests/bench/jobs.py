"""jobs: the whole jobs that benches run, four ranks each."""
import collections
import os
import sys

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(TESTS, "integration"))

from harness import RANKS  # pylint: disable=wrong-import-position

LAMMPS_INPUT = os.path.join(TESTS, "workloads", "lammps_lj.in")
DDP, DDP_RANKS = (os.path.join(TESTS, "integration", "hosts", name) for name in ("ddp.py", "ranks.py"))

# launcher + program + steps is the command; rank: what a rank's command line contains; needs: what is there when it is installed.
# steps: a job of a few seconds, as short as real ones are, so that what happens once weighs no less than it does there.
Job = collections.namedtuple("Job", "name launcher program steps rank needs")

JOBS = (
    Job("lammps", ("mpirun", "-n", RANKS), ("lmp", "-log", "none", "-in", LAMMPS_INPUT, "-var", "STEPS"), 300, "lmp ",
        "/usr/bin/lmp"),
    Job("torch-ddp", ("/usr/bin/python3", DDP_RANKS, RANKS), (DDP,), 100, f"python3 {DDP}", "/usr/lib/python3/dist-packages/torch"),
)

# The harness switches the governor off; a user's default is this.
DEFAULTS = {"HOOK_BUDGET": "2"}


def installed(job):
    if not os.path.exists(job.needs):
        print(f"{job.name}: skipped, {job.needs} is missing; deploy/install.sh --long installs it")
        return False
    return True
