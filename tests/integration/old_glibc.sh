#!/bin/bash
# An older C library to build and run programs with: old_glibc.sh DIR [PACKAGE...] unpacks Debian 11's glibc 2.31 there, and PACKAGEs,
# by apt, from where this machine's own packages come. Nothing is installed. Exits with 77 if that is not available.
set -euo pipefail

directory="$1"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # it is apt that fills it in
from="$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 -E '/debian/?$')" || true
release=bullseye
packages=(libc6 libc6-dev libgcc-s1 "${@:2}")

echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${from:-http://deb.debian.org/debian} $release main" >"$work/sources.list"
mkdir -p "$work/lists/partial" "$work/cache" "$work/packages"
apt=(apt-get -qq -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
	-o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root)
if ! "${apt[@]}" update || ! (cd "$work/packages" && "${apt[@]}" download "${packages[@]/%//$release}"); then
	echo "no Debian 11 here"
	exit 77
fi
mkdir -p "$directory"
for package in "$work"/packages/*.deb; do
	dpkg-deb -x "$package" "$directory"
done
# Its one absolute link that a linker follows.
ln -sf ../lib/x86_64-linux-gnu/ld-2.31.so "$directory/lib64/ld-linux-x86-64.so.2"
