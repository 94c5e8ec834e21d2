#!/usr/bin/env bash
# Builds dfsim and packs it: a .deb and a tarball of the same files in build/packages.
# usage: packaging/make_packages.sh [FOLDER]     FOLDER: where the packages go
#   DFSIM_NO_INSTALL=1    never install packages
set -eu -o pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
source "$root/packaging/launcher.sh"
out=${1:-$root/build/packages}
mkdir -p "$out"
out=$(cd -- "$out" && pwd -P)
log=$root/build/packages.log

build_dfsim "$root" || exit 1
# cpack determines the dependencies of the .deb with dpkg-shlibdeps.
command -v dpkg-shlibdeps >/dev/null || install_packages "$root" build dev || exit 1
tmp=$(mktemp -d)
trap 'rm -rf -- "$tmp"' EXIT
for generator in DEB TGZ; do
  say "packing $generator"
  (cd "$tmp" && cpack --config "$root/build/release/CPackConfig.cmake" -G "$generator" -B "$tmp/$generator") \
    >"$log" 2>&1 || { tail -n 20 "$log" >&2; say "packing failed; the whole log: $log"; exit 1; }
  for package in "$tmp/$generator"/*.deb "$tmp/$generator"/*.tar.gz; do
    [[ -f $package ]] || continue
    mv -- "$package" "$out/"
    printf '%s\n' "$out/${package##*/}"
  done
done
