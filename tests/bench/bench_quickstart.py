#!/usr/bin/python3
"""How long deploy/quickstart.sh takes from a source tree without a build to the report, the packages being there."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMIT_S = 180


def main():
    with tempfile.TemporaryDirectory(prefix="hk-bench-") as scratch:
        tree = os.path.join(scratch, "hooktrace")
        shutil.copytree(SOURCE, tree, ignore=shutil.ignore_patterns("build", ".git", "__pycache__"), symlinks=True)
        done = subprocess.run([os.path.join(tree, "deploy", "quickstart.sh")], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)
    took = re.search(r"^done in (\d+) s$", done.stdout, re.MULTILINE)
    if done.returncode != 0 or not took:
        sys.exit(f"quickstart: exit {done.returncode}\n{done.stdout[-1000:]}\n{done.stderr[-1000:]}")
    print(f"quickstart: {took[1]} s, at most {LIMIT_S}")
    sys.exit(int(took[1]) >= LIMIT_S)


if __name__ == "__main__":
    main()
