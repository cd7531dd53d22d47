#!/bin/bash
# Configures, builds and tests one more build tree: run.sh BUILD_DIR BUILD_TARGET CTEST_LABEL|none CTEST_CONFIG [cmake arguments...]
# CTest calls it (see CMakeLists.txt here). Every step must succeed, and a label that matches no test is a failure; `none`: no tests.
set -euo pipefail

build="$1" target="$2" label="$3" config="$4"
shift 4
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"

# ThreadSanitizer of this age cannot map its shadow under wide address randomisation.
fixed=()
if setarch -R true 2>/dev/null; then
	fixed=(setarch -R)
fi

cmake -S "$root" -B "$build" -G Ninja -DHK_NESTED=ON "$@"
cmake --build "$build" -j "$(nproc)" --target "$target"
if [ "$label" = none ]; then
	exit 0
fi
exec "${fixed[@]}" ctest --test-dir "$build" -C "$config" -L "^$label\$" -j "$(nproc)" \
	--output-on-failure --no-tests=error
