#!/bin/bash
# Installs what is missing, builds the tree and runs every test through one CTest run, whose summary is the last thing printed.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
build="$root/build"
ctest_args=()
install_args=()

usage() {
	cat <<-END
		usage: tests/run.sh [--long] [--build DIR] [-k REGEX]
		  --long       also fuzzing (60 s per target), soak, benchmarks and PyTorch
		  --build DIR  build tree (default: build/)
		  -k REGEX     only tests whose name matches
	END
}

while [ $# -gt 0 ]; do
	case "$1" in
	--long)
		ctest_args+=(-C long)
		install_args+=(--long)
		shift
		;;
	--build | -k)
		if [ $# -lt 2 ]; then
			usage >&2
			exit 2
		fi
		if [ "$1" = -k ]; then
			ctest_args+=(-R "$2")
		else
			build="$2"
		fi
		shift 2
		;;
	-h | --help)
		usage
		exit 0
		;;
	*)
		usage >&2
		exit 2
		;;
	esac
done

# What the caller's shell has set for his own jobs must not steer the tests.
for name in "${!HOOK_@}" LD_PRELOAD; do
	unset "$name"
done
# shellcheck source=deploy/mpi-env.sh
. "$root/deploy/mpi-env.sh"

"$root/deploy/install.sh" "${install_args[@]}"
cmake -S "$root" -B "$build" -G Ninja -DHK_WERROR=ON
cmake --build "$build" -j "$(nproc)"
# Most tests wait more than they compute.
exec ctest --test-dir "$build" -j "$((2 * $(nproc)))" --output-on-failure --no-tests=error "${ctest_args[@]}"
