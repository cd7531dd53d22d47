#!/bin/bash
# Commit subjects: "area: what it does", at most 72 characters. Older ones are left as they are.
set -euo pipefail

begin=c6d0479 # the rule is checked for what came after this commit
if ! git rev-parse --quiet --verify "$begin^{commit}" >/dev/null 2>&1; then
	begin="HEAD~1" # a shallow clone, or a tree without history
	git rev-parse --quiet --verify "$begin^{commit}" >/dev/null 2>&1 || exit 0
fi
git log --format='%h %s' "$begin..HEAD" | awk '
	{
		hash = $1
		subject = substr($0, length(hash) + 2)
		lengths[NR] = length(subject)
		if (length(subject) > 72) {
			print hash ": " length(subject) " characters (at most 72): " subject
			bad = 1
		}
		if (subject !~ /^[a-z0-9_.\/, -]+: [^ ]/) {
			print hash ": no area before the subject: " subject
			bad = 1
		}
	}
	END { exit bad }'
