#!/bin/bash
# Installs the packages of deploy/packages that are missing: those before the line "# long tests only", with --quick those before
# "# tests only", with --long all of them.
# Needs root or sudo only when something is missing, and the network only then.
set -euo pipefail

list="$(dirname "${BASH_SOURCE[0]}")/packages"
end="# long tests only"
case "${1:-}" in
--quick) end="# tests only" ;;
--long) end="" ;;
esac

mapfile -t wanted < <(awk -v end="$end" '
	end && index($0, end) == 1 { exit }
	{ sub(/#.*/, "") }
	NF { print $1 }' "$list")

missing=()
for package in "${wanted[@]}"; do
	state="$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)"
	if [ "$state" != installed ]; then
		missing+=("$package")
	fi
done
if [ ${#missing[@]} -eq 0 ]; then
	exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "install.sh: not root and no sudo; as root, run: apt-get install ${missing[*]}" >&2
		exit 1
	fi
	as_root=(sudo)
fi
install_missing() {
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
		--no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}" >"$1" 2>&1
}

log="$(mktemp)"
trap 'rm -f "$log"' EXIT
echo "installing ${#missing[@]} packages: ${missing[*]}" >&2
# The package lists may be absent or stale: a failed first try is followed by an update and a second one.
if ! install_missing "$log"; then
	"${as_root[@]}" apt-get update -q >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
	install_missing "$log" || { cat "$log" >&2; exit 1; }
fi
