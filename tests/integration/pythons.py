"""The CPythons of this machine: Debian's, and those of pyenv where there is one."""
import glob
import os
import subprocess

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
