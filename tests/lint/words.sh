#!/bin/bash
# No unfinished-work marks, no trailing blanks, no file above 600 lines unless long-files.txt names it: "path reason".
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=tests/lint/files.sh
. "$here/files.sh"

bad=0
mapfile -d '' -t files < <(hk_files '*.[chS]' '*.sh' '*.py' '*.hooks' '*.proto' '*.md' '*.txt' '*.cmake' '*.map' '*.f90')
if [ ${#files[@]} -eq 0 ]; then
	echo "no files found" >&2
	exit 1
fi

# Written in two halves so that this file does not find itself.
marks="TO""DO|FIX""ME|XX""X|HA""CK"
if grep -nEw -- "$marks" "${files[@]}"; then
	bad=1
fi
if grep -nE '[[:blank:]]+$' -- "${files[@]}"; then
	echo "^ trailing blanks"
	bad=1
fi
for file in "${files[@]}"; do
	case "$file" in
	*.[chS] | *.sh | *.py) ;;
	*) continue ;;
	esac
	lines="$(wc -l <"$file")"
	if [ "$lines" -gt 600 ] && ! grep -qE "^${file#./} +[^ ]" "$here/long-files.txt"; then
		echo "${file#./}: $lines lines (at most 600)"
		bad=1
	fi
done
exit "$bad"
