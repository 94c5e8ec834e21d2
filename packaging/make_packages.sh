#!/usr/bin/env bash
# Builds dfsim and packs it in two ways, into build/packages or FOLDER:
#   dfsim_VERSION_ARCH.deb           for Debian 12; apt installs what it depends on
#   dfsim-VERSION-linux-ARCH.tar.gz  with everything in it: program, data, documentation, man pages,
#                                    completions, licences, and the shared libraries that the program
#                                    needs, except those of the C library; unpack it anywhere
# usage: packaging/make_packages.sh [FOLDER]
#   DFSIM_NO_INSTALL=1    never install packages
#   DFSIM_NO_BUILD=1      pack what is built
set -eu -o pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
source "$root/packaging/launcher.sh"
build=$root/build/release
out=${1:-$root/build/packages}
mkdir -p "$out"
out=$(cd -- "$out" && pwd -P)
log=$root/build/packages.log
tmp=$(mktemp -d)
trap 'rm -rf -- "$tmp"' EXIT

# package_of FILE: the Debian package that holds FILE; nothing when no package does. Some packages list
# their libraries below /lib, which Debian 12 links to /usr/lib, so both spellings are looked up.
package_of() {
  { dpkg-query -S "$1" || dpkg-query -S "${1#/usr}" || true; } 2>/dev/null | cut -d: -f1 | head -n 1
}

# bundle_libraries PREFIX: copies the shared libraries that PREFIX/bin/dfsim needs to PREFIX/lib/dfsim,
# and their licences to PREFIX/share/doc/dfsim/licences.
bundle_libraries() {
  local prefix=$1 library package
  mkdir -p "$prefix/lib/dfsim" "$prefix/share/doc/dfsim/licences"
  while read -r library; do
    case ${library##*/} in
      # The C library and its loader belong to the system that the program runs on.
      libc.so.* | libm.so.* | libpthread.so.* | libdl.so.* | librt.so.* | ld-linux*) continue ;;
    esac
    install -m 644 -- "$(readlink -f -- "$library")" "$prefix/lib/dfsim/${library##*/}"
    package=$(package_of "$(readlink -f -- "$library")")
    if [[ -n $package && -f /usr/share/doc/$package/copyright ]]; then
      install -m 644 -- "/usr/share/doc/$package/copyright" \
        "$prefix/share/doc/dfsim/licences/$package"
    fi
  done < <(ldd "$prefix/bin/dfsim" | sed -n 's/^.* => \(\/.*\) (0x.*$/\1/p')
}

[[ -n ${DFSIM_NO_BUILD:-} ]] || build_dfsim "$root"
# cpack determines the dependencies of the .deb with dpkg-shlibdeps, and file is what it asks.
command -v dpkg-shlibdeps >/dev/null && command -v file >/dev/null ||
  install_packages "$root" build dev

say "packing the .deb"
(cd "$tmp" && logged cpack --config "$build/CPackConfig.cmake" -G DEB -B "$tmp/deb")
deb=$(echo "$tmp"/deb/*.deb)
mv -- "$deb" "$out/"
printf '%s\n' "$out/${deb##*/}"

say "packing the tarball"
version=$(dpkg-deb --field "$out/${deb##*/}" Version)
name=dfsim-$version-linux-$(uname -m)
logged cmake --install "$build" --prefix "$tmp/$name" --strip
bundle_libraries "$tmp/$name"
# The same files give the same bytes.
tar --directory "$tmp" --sort=name --owner=0 --group=0 --numeric-owner \
  --mtime="@${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || date +%s)}" \
  -cf - "$name" | gzip -9n >"$out/$name.tar.gz"
printf '%s\n' "$out/$name.tar.gz"
