"""The programs that compare with torch, one after the other: each prints one line."""
import os
import runpy
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
for name in ("schedules", "headings", "frames"):
    sys.argv = [f"{name}.py", "torch"]
    runpy.run_path(os.path.join(HERE, f"{name}.py"), run_name="__main__")
