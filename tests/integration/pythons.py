"""The CPythons of this machine: Debian's, and those of pyenv where there is one."""
import fcntl
import glob
import os
import subprocess
import sys

VERSIONS = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13"]


def version_of(path):
    done = subprocess.run([path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, check=False)
    return done.stdout.strip()


def found():
    """[(version, path)]: programs that start, of the versions that the agent knows."""
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    paths = ["/usr/bin/python3"] + sorted(glob.glob(os.path.join(root, "versions", "*", "bin", "python3")))
    return [(version, path) for path in paths if (version := version_of(path)) in VERSIONS]


def include_of(path):
    """The directory of its headers, or None if they are not installed."""
    done = subprocess.run([path, "-c", "import sysconfig; print(sysconfig.get_path('include'))"], stdout=subprocess.PIPE, text=True, check=True)
    directory = done.stdout.strip()
    return directory if os.path.exists(os.path.join(directory, "internal", "pycore_pystate.h")) else None


def say_left_out(versions):
    missing = [version for version in VERSIONS if version not in versions]
    if missing:
        print(f"left out, not on this machine: Python {', '.join(missing)}")


def with_packages(run, name, *packages):
    """A Python that has PACKAGES from PyPI, made once per build directory in tests/NAME; without them the test is skipped."""
    place = os.path.join(run.build, "tests", name)
    program, ready = os.path.join(place, "bin", "python"), os.path.join(place, "ready")
    os.makedirs(os.path.dirname(place), exist_ok=True)
    with open(f"{place}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(ready):
            done = run.command("/usr/bin/python3", "-m", "venv", "--clear", place, check=False)
            if done.returncode == 0:
                done = run.command(program, "-m", "pip", "install", "-q", *packages, check=False)
            if done.returncode != 0:
                print(f"{', '.join(packages)} cannot be installed here: {done.stderr.strip()[-300:]}")
                sys.exit(77)
            with open(ready, "w", encoding="utf-8"):
                pass
    return program


def arrow(run):
    """A Python with the libraries that read tables."""
    return with_packages(run, "arrow", "pyarrow", "pandas", "polars", "duckdb")
