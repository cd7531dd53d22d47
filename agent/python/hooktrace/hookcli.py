"""The program hookcli: where it is, and its answers as JSON."""
import json
import os
import shutil
import subprocess
from typing import Any, List, Optional, Tuple

ABSENT = 3  # its exit status if there is no such job or collector
FAILED = 1  # what could be read is shown, the rest is damaged


def find() -> Optional[str]:
    """The path of hookcli: of the package hooktrace_tools, of the build tree that this package is in, or in PATH. None if it is nowhere."""
    here = os.path.dirname(os.path.realpath(os.path.dirname(__file__)))
    beside = (os.path.join(here, "hooktrace_tools", "bin", "hookcli"), os.path.join(os.path.dirname(here), "cli", "hookcli"))
    return next((path for path in beside if os.access(path, os.X_OK)), None) or shutil.which("hookcli")


def ask(*arguments: str) -> Tuple[int, Any, List[str]]:
    """Runs hookcli with `arguments`; returns its exit status, its output read as JSON (None without any), and its messages.

    FileNotFoundError if there is no hookcli on this machine.
    """
    path = find()
    if path is None:
        raise FileNotFoundError("hooktrace: no hookcli: install the package hooktrace-tools, or add its directory to PATH")
    # This process may be traced; what it asks about a job is no part of a job.
    environment = {**os.environ, "HOOK_DISABLE": "1"}
    for name in ("HOOK_FORMAT", "HOOK_BY", "HOOK_OUTPUT"):
        environment.pop(name, None)
    done = subprocess.run([path, *arguments], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    messages = done.stderr.decode("utf-8", "replace").splitlines()
    try:
        return done.returncode, json.loads(done.stdout.decode("utf-8", "replace")), messages
    except ValueError:
        return done.returncode, None, messages
