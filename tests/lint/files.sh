# Sourced: hk_files PATTERN... prints the project's own files whose names match, NUL-separated, build trees left out.
# shellcheck shell=bash
hk_files() {
	local expression=()
	local pattern
	for pattern in "$@"; do
		expression+=(-o -name "$pattern")
	done
	find . -mindepth 1 \( -name .git -o -path './build*' -o -path './hook-*' -o -name __pycache__ \
		-o -path './tests/fuzz/seeds' \) -prune -o -type f \( "${expression[@]:1}" \) -print0 | sort -z
}
