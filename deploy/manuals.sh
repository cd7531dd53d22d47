#!/bin/bash
# Writes the manual pages of both programs and of every command into a directory: manuals.sh HOOKCLI HOOKCOLLECTOR DIR
set -euo pipefail

hookcli="$1" hookcollector="$2" directory="$3"
rm -rf "$directory"
mkdir -p "$directory"
"$hookcollector" --manual >"$directory/hookcollector.1"
"$hookcli" --manual >"$directory/hookcli.1"
for command in $("$hookcli" --help | awk '/^  [a-z]/ { print $1 }'); do
	"$hookcli" --manual "$command" >"$directory/hookcli-$command.1"
done
# -n: no time in it, so that the same pages make the same package.
gzip -9n "$directory"/*.1
