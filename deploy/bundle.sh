#!/bin/bash
# Makes one relocatable archive: static hookcli and hookcollector, the agent, hooks files, terminal entries, manual and licences.
#   deploy/bundle.sh [DIR]    writes hooktrace-VERSION-linux-MACHINE.tar.gz and its .sha256 into DIR, by default build/bundle.
# The build tree is $BUNDLE_BUILD, by default build/bundle/tree. Times of files are SOURCE_DATE_EPOCH, else the last commit's: the same
# source and the same Debian packages make the same archive.
set -euo pipefail

source="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
out="${1:-$source/build/bundle}"
mkdir -p "$out"
out="$(cd "$out" && pwd)"
tree="${BUNDLE_BUILD:-$source/build/bundle/tree}"
epoch="${SOURCE_DATE_EPOCH:-$(git -C "$source" log -1 --format=%ct 2>/dev/null || echo 0)}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# Debug information is stripped, but build ids are made of it: no path of this machine may be in there.
map="-ffile-prefix-map=$source=/hooktrace -ffile-prefix-map=$tree=/build"
cmake -S "$source" -B "$tree" -G Ninja -DHK_STATIC=ON -DHK_TESTS=OFF -DCMAKE_INSTALL_LIBDIR=lib \
	-DCMAKE_C_FLAGS="$map" -DCMAKE_ASM_FLAGS="$map" >"$work/log" || { cat "$work/log" >&2; exit 1; }
ninja -C "$tree" -j "$(nproc)" >"$work/log" || { cat "$work/log" >&2; exit 1; }
# glibc's warning about getaddrinfo does not apply: proto/base/name_service.h.

version="$(sed -n 's/^CMAKE_PROJECT_VERSION:[^=]*=//p' "$tree/CMakeCache.txt")"
name="hooktrace-$version-linux-$(uname -m)"
root="$work/$name"
cmake --install "$tree" --prefix "$root" --strip >/dev/null

mkdir -p "$root/share/hooktrace/hooks" "$root/share/terminfo" "$root/share/doc/hooktrace/licences"
cp "$source"/agent/hooks/*.hooks "$root/share/hooktrace/hooks/"
cp -rL /lib/terminfo/. "$root/share/terminfo/"

# The licence of every package that something in here comes from: archives of which the linker took a member, start files, and what
# is compiled in as a header or a file.
packages() {
	sed -n -E 's:^(/[^ (]+\.a)\(.*:\1:p; s:^LOAD (/[^ ]+\.o)$:\1:p' "$tree/hookcli.map" "$tree/hookcollector.map" | sort -u |
		while read -r file; do
			file="$(realpath "$file")"
			case "$file" in
			"$tree"/*) ;;
			*) dpkg-query -S "$file" 2>/dev/null || dpkg-query -S "${file#/usr}" ;;
			esac
		done | cut -d: -f1
	printf '%s\n' libjs-dygraphs libnats-dev ncurses-base uthash-dev
}
packages >"$work/packages"
sort -u "$work/packages" | while read -r package; do
	cp -L "/usr/share/doc/$package/copyright" "$root/share/doc/hooktrace/licences/$package"
done
cp "$source/LICENSE" "$root/LICENSE"
cp "$source/deploy/docs/bundle.md" "$root/README.md"

(cd "$root" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum) >"$work/sums"
mv "$work/sums" "$root/SHA256SUMS"
chmod -R u=rwX,go=rX "$root"
archive="$out/$name.tar.gz"
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" --format=gnu -cf - "$name" | gzip -9n >"$archive.new"
mv "$archive.new" "$archive"
(cd "$out" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
echo "$archive"
