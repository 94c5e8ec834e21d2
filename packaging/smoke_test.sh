#!/usr/bin/env bash
# Installs a build and packs it, tries the program from elsewhere, and builds and runs the examples
# against what the .deb holds. usage: smoke_test.sh [BUILD-FOLDER]
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

# build_project SOURCES FOLDER: configures and builds a project against the package's files.
build_project() {
  { cmake -S "$1" -B "$2" -DCMAKE_PREFIX_PATH="$tmp/deb/usr" &&
    cmake --build "$2" -j "$(nproc)"; } >"$2.log" 2>&1 || { cat "$2.log"; exit 1; }
}

# same_output COMMAND... : two runs print the same, which is what is shown.
same_output() {
  local first second
  first=$("$@") && second=$("$@") && [[ -n $first && $first == "$second" ]] || {
    echo "two runs differ, or print nothing: $*"
    exit 1
  }
  printf '%s\n' "$first"
}

echo "-- cmake --install"
cmake --install "$build" --prefix "$tmp/prefix" --strip >"$tmp/install.log"
try "$tmp/prefix/bin/dfsim" version
# A built-in platform and its runtime, which only the installed data can answer.
try "$tmp/prefix/bin/dfsim" hardware a100 | grep -o 'prefix/share/dfsim/hardware/.*'
# A trained model, which only the installed data can hold.
try "$tmp/prefix/bin/dfsim" predict "$root/graphs/zoo/bert_base.onnx" --hw v100 | grep -o 'operator times: v100'

echo "-- cpack -G DEB"
(cd "$tmp" && cpack --config "$build/CPackConfig.cmake" -G DEB -B "$tmp/pack" >"$tmp/cpack.log" 2>&1) ||
  { cat "$tmp/cpack.log"; exit 1; }
dpkg-deb --field "$tmp"/pack/*.deb Package Version Depends
dpkg-deb -x "$tmp"/pack/*.deb "$tmp/deb"
(cd "$tmp/deb/usr" && find . -type f | sort) >"$tmp/packed.txt"
(cd "$tmp/prefix" && find . -type f | sort) >"$tmp/installed.txt"
# The package has what was installed, and the changelog and copyright that Debian wants.
comm -13 "$tmp/packed.txt" "$tmp/installed.txt" >"$tmp/left_out.txt"
[[ ! -s $tmp/left_out.txt ]] || { echo "not in the .deb:"; cat "$tmp/left_out.txt"; exit 1; }
# Documentation, man pages, completions, and the licences of what is embedded.
for file in doc/dfsim/{README.md,CHANGELOG.md,copyright,NOTICE,options.md,docs/README.md} \
  doc/dfsim/licences/{LICENSE.echarts,NOTICE.echarts} man/man1/{dfsim,dfsim-predict}.1 \
  bash-completion/completions/dfsim zsh/vendor-completions/_dfsim \
  fish/vendor_completions.d/dfsim.fish; do
  [[ -s $tmp/deb/usr/share/$file ]] || { echo "not in the .deb: $file"; exit 1; }
done
for library in ECharts zrender tslib; do
  grep -qi "$library" "$tmp"/deb/usr/share/doc/dfsim/licences/* ||
    { echo "no licence of $library in the .deb"; exit 1; }
done
try "$tmp/deb/usr/bin/dfsim" hardware a100 >"$tmp/a100.txt"

echo "-- find_package(dfsim), each public header on its own, and nothing else is installed"
mkdir "$tmp/consumer"
(cd "$tmp/deb/usr/include/dfsim" && find . -name '*.h' | sed 's|^\./||' | sort) >"$tmp/headers.txt"
while read -r header; do
  echo "#include \"$header\"" >"$tmp/consumer/${header//\//_}.cc"
done <"$tmp/headers.txt"
sed -n '/^set(DFSIM_PUBLIC_HEADERS/,/^)/s/^  \([a-z].*\.h\).*/\1/p' "$root/cmake/public_headers.cmake" |
  sort | diff - "$tmp/headers.txt"
cat >"$tmp/consumer/CMakeLists.txt" <<'EOT'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(dfsim REQUIRED)
file(GLOB sources *.cc)
add_library(consumer OBJECT ${sources})
target_link_libraries(consumer PRIVATE dfsim::headers)
target_compile_options(consumer PRIVATE -Wall -Wextra -Werror)
EOT
build_project "$tmp/consumer" "$tmp/consumer/build"
echo "$(wc -l <"$tmp/headers.txt") headers compile"

echo "-- examples/predict: the program and the library agree"
build_project "$root/examples/predict" "$tmp/predict"
model=$root/graphs/zoo/resnet50.onnx
export_data=(env "DFSIM_DATA_DIR=$tmp/deb/usr/share/dfsim")
same_output try "${export_data[@]}" "$tmp/predict/predict" "$model" a100 8 | tee "$tmp/predict.txt"
latency=$(sed -n 's/.*: \(.*\), 80 % interval.*/\1/p' "$tmp/predict.txt")
try "$tmp/deb/usr/bin/dfsim" predict "$model" --hw a100 --batch 8 >"$tmp/predicted.txt"
grep -F "$latency" "$tmp/predicted.txt" | head -n 1
try "${export_data[@]}" "$tmp/predict/predict" "$model" a100 8 2>&1 >"$tmp/again.txt" | grep importing >/dev/null

echo "-- examples/scheduler: a policy for --plugin, and a program that runs it"
build_project "$root/examples/scheduler" "$tmp/scheduler"
try "$tmp/deb/usr/bin/dfsim" generate --tasks 200 --devices 3 -o "$tmp/graph.json"
try "$tmp/deb/usr/bin/dfsim" compare "$tmp/graph.json" \
  --plugin "$tmp/scheduler/libshortest_queue.so" --policies shortest-queue,heft --gantt none |
  grep -E '^(shortest-queue|heft)'
same_output try "$tmp/scheduler/run_policy" "$root/examples/taskgraphs/heft_paper.json" |
  tee "$tmp/policies.txt"
# The makespan that HEFT's authors publish for their example.
grep -qE '^heft +80$' "$tmp/policies.txt"

echo "-- examples/reader: a trace that dfsim wrote"
build_project "$root/examples/reader" "$tmp/reader"
try "$tmp/deb/usr/bin/dfsim" predict "$model" --hw a100 --trace "$tmp/trace.json" >"$tmp/predicted.txt"
same_output try "$tmp/reader/device_time" "$tmp/trace.json" | tee "$tmp/kernels.txt"
grep -q 'Conv' "$tmp/kernels.txt"
echo "installed and packed programs, and programs that use the libraries, work"
