"""The collector of this user: whether one runs, and starting one for this process by `hookcli env --start`."""
import fcntl
import os
import shlex
import struct
import subprocess
from typing import Dict, List, Optional, Tuple

LOCK = "collector.lock"
JOB_LINE = "# the job is "
ERROR = "hookcli: error: "
START_SECONDS = 60
# struct flock: type, whence, start, length, process
FLOCK = "hhqqi4x"


class CollectorError(RuntimeError):
    """There is no collector and none can be started; the text says why and what to do."""


def _run_directories() -> List[str]:
    chosen = os.environ.get("HOOK_RUN_DIR")
    user = os.getuid()
    return [chosen] if chosen else [f"/dev/shm/hooktrace-{user}", f"/run/user/{user}/hooktrace"]


def running() -> Optional[str]:
    """The run directory of this user's collector, or None if none runs."""
    for directory in _run_directories():
        try:
            lock = os.open(os.path.join(directory, LOCK), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            asked = fcntl.fcntl(lock, fcntl.F_GETLK, struct.pack(FLOCK, fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0))
            if struct.unpack(FLOCK, asked)[0] != fcntl.F_UNLCK:
                return directory
        except OSError:
            continue
        finally:
            os.close(lock)
    return None


def parse(text: str) -> Tuple[Dict[str, str], Optional[str]]:
    """What `hookcli env --start` printed: the variables of the job's processes, and the job's directory as it was shown, or None."""
    variables, directory = {}, None
    for line in text.splitlines():
        if line.startswith(JOB_LINE):
            directory = line[len(JOB_LINE):]
        elif line.startswith("export "):
            name, _, value = line[len("export "):].partition("=")
            variables[name] = "".join(shlex.split(value))
    return variables, directory


def start(cli: str, agent: str, settings: Dict[str, str]) -> Tuple[Dict[str, str], Optional[str]]:
    """Opens a job of this process with SETTINGS, {"HOOK_X": value}, in the collector of this user, which CLI starts if none runs.

    Returns what parse() does. Raises CollectorError with the reason that CLI gives.
    """
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    environment.update(settings, HOOK_AGENT=agent)
    try:
        done = subprocess.run([cli, "env", "--start", str(os.getpid())], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, timeout=START_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CollectorError(f"cannot run {cli}: {error}") from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise CollectorError(lines[-1].replace(ERROR, "", 1) if lines else f"{cli} env --start ended with status {done.returncode}")
    return parse(done.stdout)
