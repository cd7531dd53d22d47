#!/bin/bash
# The check of the agent's symbols finds what it is there for: symbols_selftest.sh CC
set -euo pipefail
export LC_ALL=C

compiler="$1"
check="$(dirname "$0")/symbols.sh"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
bad=0

# expect WORDS FLAGS...: a library of the program on standard input, linked with FLAGS, is refused with WORDS, or passes if
# there are none.
expect() {
	local words="$1" said status=0
	shift
	"$compiler" -shared -fPIC -x c - -o "$work/x.so" -Wl,--version-script="$work/x.map" "$@"
	said="$("$check" "$work/x.so" "$work/x.map")" || status=$?
	if [ -z "$words" ] && [ "$status" -ne 0 ]; then
		echo "a good library is refused: $said"
		bad=1
	elif [ -n "$words" ] && { [ "$status" -eq 0 ] || ! grep -qF "$words" <<<"$said"; }; then
		echo "no '$words' in: $said"
		bad=1
	fi
}

printf '%s\n' '{' 'global:' 'f;' 'local:' '*;' '};' >"$work/x.map"
expect '' <<<'int f(void) { return 1; }'
# The same since 2002.
expect '' <<<'#include <unistd.h>
int f(void) { return getpid(); }'
expect GLIBC_2.34 <<<'#include <pthread.h>
pthread_mutexattr_t room;
int f(void) { return pthread_mutexattr_init(&room); }'
expect 'exported symbols differ' <<<'int g(void) { return 1; }'
expect 'needs more than libc' -Wl,--no-as-needed -lm <<<'int f(void) { return 1; }'
expect 'static TLS is' <<<'__thread char room[65]; int f(void) { return room[1]; }'
expect 'addresses to relocate' <<<'static char room; static void *table[951] = {[0 ... 950] = &room};
int f(void) { return *(volatile int *)table[1]; }'
if "$compiler" -shared -x c /dev/null -o "$work/relr.so" -Wl,-z,pack-relative-relocs 2>"$work/said" && ! [ -s "$work/said" ]; then
	expect GLIBC_ABI_DT_RELR -Wl,-z,pack-relative-relocs <<<'#include <unistd.h>
static void *table[2] = {table, table};
int f(void) { return getpid() + !table[1]; }'
fi
exit "$bad"
