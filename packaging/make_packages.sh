#!/usr/bin/env bash
# Builds dfsim and packs it in two ways, into build/packages or FOLDER:
#   dfsim_VERSION_ARCH.deb           for Debian 12; apt installs what it depends on
#   dfsim-VERSION-linux-ARCH.tar.gz  with everything in it: program, data, documentation, man pages,
#                                    completions, licences, and the shared libraries that the program
#                                    needs, the C library and its loader included, so that it runs on
#                                    any Linux of this architecture; unpack it anywhere
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

# bundle FILE PREFIX FOLDER: copies a library to FOLDER below PREFIX, and the licence of its package.
bundle() {
  local file package
  file=$(readlink -f -- "$1")
  install -D -m 644 -- "$file" "$2/$3/${1##*/}"
  package=$(package_of "$file")
  if [[ -n $package && -f /usr/share/doc/$package/copyright ]]; then
    install -D -m 644 -- "/usr/share/doc/$package/copyright" "$2/share/doc/dfsim/licences/$package"
  fi
}

# bundle_libraries PREFIX: puts the shared libraries that PREFIX/bin/dfsim needs into
# PREFIX/lib/dfsim, with their licences.
#
# The C library is among them. A program that was built with a newer one does not start on an older
# system, whose loader knows only its own library; so the tarball brings the loader too, the program
# moves to libexec, and bin/dfsim is a script that starts it with that loader. The loader lies next to
# the program because dfsim looks for its data from where /proc/self/exe points, which is the loader.
bundle_libraries() {
  local prefix=$1 library loader plugin
  loader=$(ldd "$prefix/bin/dfsim" | sed -n 's/^[[:space:]]*\(\/[^ ]*ld-linux[^ ]*\) (0x.*$/\1/p')
  [[ -n $loader ]] || { say "$prefix/bin/dfsim: found no loader in the output of ldd"; return 1; }
  while read -r library; do
    bundle "$library" "$prefix" lib/dfsim
  done < <(ldd "$prefix/bin/dfsim" | sed -n 's/^.* => \(\/.*\) (0x.*$/\1/p')
  # libbabeltrace2 loads its readers of CTF at run time.
  for plugin in ctf utils; do
    bundle "$(sed -n 's/^Babeltrace2_PLUGIN_DIR:PATH=//p' "$build/CMakeCache.txt")/babeltrace-plugin-$plugin.so" \
      "$prefix" share/dfsim/babeltrace2
  done
  bundle "$loader" "$prefix" libexec
  chmod 755 -- "$prefix/libexec/${loader##*/}"
  mv -- "$prefix/bin/dfsim" "$prefix/libexec/dfsim"
  cat >"$prefix/bin/dfsim" <<EOT
#!/bin/sh
# Starts dfsim with the C library and the libraries that came with it.
here=\$(dirname -- "\$(readlink -f -- "\$0")")/..
exec "\$here/libexec/${loader##*/}" --argv0 "\$0" --library-path "\$here/lib/dfsim" \\
  "\$here/libexec/dfsim" "\$@"
EOT
  chmod 755 -- "$prefix/bin/dfsim"
}

[[ -n ${DFSIM_NO_BUILD:-} ]] || build_dfsim "$root"
# cpack determines the dependencies of the .deb with dpkg-shlibdeps, and file is what it asks.
command -v dpkg-shlibdeps >/dev/null && command -v file >/dev/null ||
  install_packages "$root" build pack

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
