#!/bin/bash
# The preloaded agent asks little of its host: symbols.sh LIBHOOKAGENT AGENT_MAP
#  - no versioned symbol newer than GLIBC_2.17 (a missing version kills the host at start)
#  - it exports what agent.map lists and nothing else
#  - it needs libc alone
#  - at most 64 bytes of static TLS
#  - at most 950 addresses for the loader to relocate, in every process that it is loaded into
set -euo pipefail
export LC_ALL=C

agent="$1" map="$2"
objdump="${OBJDUMP:-objdump}" # another machine's, for a library of that machine
bad=0
complain() {
	echo "$agent: $*"
	bad=1
}

if ! [ -f "$agent" ] || ! [ -f "$map" ]; then
	echo "missing: $agent or $map"
	exit 1
fi

# What the loader looks at before it starts the host: versions that no symbol shows among them (GLIBC_ABI_DT_RELR).
newer="$("$objdump" -p "$agent" | grep -oE '\bGLIBC_[A-Z0-9_.]+$' | sort -u |
	awk -F'[_.]' '$2 !~ /^[0-9]+$/ || $2 > 2 || ($2 == 2 && $3 > 17)' || true)"
if [ -n "$newer" ]; then
	complain "needs versions newer than GLIBC_2.17:" "$newer"
	"$objdump" -T "$agent" | grep -F '*UND*' | grep -F "$newer" || true
fi

exported="$("$objdump" -T "$agent" | awk '!/\*UND\*/ && $2 ~ /^[gwu]/ && !/\*ABS\*/ { print $NF }' | sort -u)"
# agent.map is a linker version script: the names before "local:", one per line or not, ended by semicolons.
listed="$(sed -e 's,/\*.*\*/,,' -e 's/#.*//' "$map" | awk '/local:/ { exit } { print }' | tr '{' '\n' |
	grep -oE '[A-Za-z_][A-Za-z0-9_]*;' | tr -d ';' | sort -u)"
if [ "$exported" != "$listed" ]; then
	complain "exported symbols differ from $map:"
	diff <(echo "$listed") <(echo "$exported") || true
fi

needed="$("$objdump" -p "$agent" | awk '$1 == "NEEDED" && $2 !~ /^(libc\.so\.6|ld-linux.*)$/ { print $2 }')"
if [ -n "$needed" ]; then
	complain "needs more than libc: $needed"
fi

tls="$(readelf -lW "$agent" | awk '$1 == "TLS" { print $6 }')"
if [ $((${tls:-0})) -gt 64 ]; then
	complain "static TLS is $((tls)) bytes (at most 64)"
fi
relocations="$("$objdump" -R "$agent" | grep -c _RELATIVE || true)"
if [ "$relocations" -gt 950 ]; then
	complain "$relocations addresses to relocate (at most 950)"
fi
exit "$bad"
