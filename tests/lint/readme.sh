#!/bin/bash
# Each folder of the programs, and each other directory down to the second level, has a README.md of at least three lines.
set -euo pipefail

bad=0
while IFS= read -r dir; do
	if ! [ -f "$dir/README.md" ] || [ "$(wc -l <"$dir/README.md")" -lt 3 ]; then
		echo "$dir/README.md: missing, or shorter than three lines"
		bad=1
	fi
done < <({
	find . -maxdepth 2 \( -name '.?*' -o -name 'build*' -o -name 'hook-*' -o -name __pycache__ \) -prune -o -type d ! -empty -printf '%P\n'
	find agent collector cli proto -type d ! -empty
} | grep . | sort -u)
exit "$bad"
