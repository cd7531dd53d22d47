#!/bin/bash
# No C function is longer than 70 lines, unless long-functions.txt names it: "path function reason".
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=tests/lint/files.sh
. "$here/files.sh"

hk_files '*.c' '*.h' | xargs -0 ctags -x --c-kinds=f --_xformat='%F %N %n %e' |
	awk -v exceptions="$here/long-functions.txt" '
		BEGIN {
			while ((getline line < exceptions) > 0) {
				if (split(line, word, " ") >= 3 && line !~ /^#/) {
					excused[word[1] " " word[2]] = 1
				}
			}
		}
		{
			seen++
			sub(/^\.\//, "", $1)
			length_lines = $4 - $3 + 1
			if (length_lines > 70 && !(($1 " " $2) in excused)) {
				print $1 ":" $3 ": " $2 " has " length_lines " lines (at most 70)"
				bad = 1
			}
		}
		END { exit bad || seen == 0 }'
