#!/usr/bin/env bash
# Installs a build and packs it, and tries both from elsewhere. usage: smoke_test.sh [BUILD-FOLDER]
# Changes nothing outside a temporary folder.
set -eu -o pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
build=$(cd -- "${1:-$root/build/release}" && pwd -P)
tmp=$(mktemp -d)
trap 'rm -rf -- "$tmp"' EXIT

# try PROGRAM: runs it as a stranger would, in an empty folder, without the environment's help.
try() {
  mkdir -p "$tmp/elsewhere"
  (cd "$tmp/elsewhere" && env -i PATH=/usr/bin:/bin "$@")
}

echo "-- cmake --install"
cmake --install "$build" --prefix "$tmp/prefix" --strip >"$tmp/install.log"
try "$tmp/prefix/bin/dfsim" version
# A built-in platform and its runtime, which only the installed data can answer.
try "$tmp/prefix/bin/dfsim" hardware a100 | grep -o 'prefix/share/dfsim/hardware/.*'

# A trained model, which only the installed data can hold.
try "$tmp/prefix/bin/dfsim" predict "$root/graphs/zoo/bert_base.onnx" --hw v100 | grep -o 'operator times: v100'

echo "-- find_package(dfsim), every installed header on its own"
mkdir "$tmp/consumer"
(
  cd "$tmp/prefix/include/dfsim"
  find . -name '*.h' | sort | while read -r header; do
    name=${header#./}
    echo "#include \"$name\"" >"$tmp/consumer/${name//\//_}.cc"
  done
)
cat >"$tmp/consumer/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(dfsim REQUIRED)
file(GLOB sources *.cc)
add_library(consumer OBJECT ${sources})
target_link_libraries(consumer PRIVATE dfsim::headers)
EOF
cmake -S "$tmp/consumer" -B "$tmp/consumer/build" -DCMAKE_PREFIX_PATH="$tmp/prefix" >"$tmp/c.log" 2>&1 &&
  cmake --build "$tmp/consumer/build" -j "$(nproc)" >>"$tmp/c.log" 2>&1 ||
  { cat "$tmp/c.log"; exit 1; }
echo "$(find "$tmp/consumer" -maxdepth 1 -name '*.cc' | wc -l) headers compile"

echo "-- a scheduling policy of one's own, out of the tree, for --plugin"
cmake -S "$root/examples/scheduler" -B "$tmp/plugin" -DCMAKE_PREFIX_PATH="$tmp/prefix" >"$tmp/p.log" 2>&1 &&
  cmake --build "$tmp/plugin" >>"$tmp/p.log" 2>&1 || { cat "$tmp/p.log"; exit 1; }
try "$tmp/prefix/bin/dfsim" generate --tasks 200 --devices 3 -o "$tmp/graph.json"
try "$tmp/prefix/bin/dfsim" compare "$tmp/graph.json" --plugin "$tmp/plugin/libshortest_queue.so" \
  --policies shortest-queue,heft --gantt none | grep -E '^(shortest-queue|heft)'

echo "-- cpack -G DEB"
(cd "$tmp" && cpack --config "$build/CPackConfig.cmake" -G DEB -B "$tmp/pack" >"$tmp/cpack.log" 2>&1) ||
  { cat "$tmp/cpack.log"; exit 1; }
dpkg-deb --field "$tmp"/pack/*.deb Package Version Depends
dpkg-deb -x "$tmp"/pack/*.deb "$tmp/deb"
try "$tmp/deb/usr/bin/dfsim" hardware a100 >"$tmp/a100.txt"
echo "installed and packed programs work"
