#!/usr/bin/env bash
# Builds a release of ONNX from its sources on PyPI, then dfsim's importer and its tests against it,
# and runs them: newer systems than Debian 12 have newer releases. Exit code 77 where no package index
# can be reached. usage: scripts/try_onnx.sh [VERSION], by default that of Debian 13
set -eu -o pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
source "$root/packaging/launcher.sh"
version=${1:-1.17.0}
folder=$root/build/onnx-$version
log=$folder/build.log
mkdir -p "$folder"

if [[ ! -f $folder/prefix/lib/cmake/ONNX/ONNXConfig.cmake ]]; then
  python3 -m pip download --quiet --no-deps --no-binary onnx --dest "$folder" "onnx==$version" >"$log" 2>&1 ||
    { tail -n 3 "$log"; echo "no package index can be reached"; exit 77; }
  tar -xzf "$folder/onnx-$version.tar.gz" -C "$folder"
  say "building ONNX $version"
  logged cmake -S "$folder/onnx-$version" -B "$folder/onnx" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$folder/prefix" -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=ON \
    -DBUILD_ONNX_PYTHON=OFF -DONNX_ML=ON -DONNX_USE_PROTOBUF_SHARED_LIBS=ON
  logged cmake --build "$folder/onnx"
  logged cmake --install "$folder/onnx"
fi
say "building the importer against it"
logged cmake --preset release -S "$root" -B "$folder/dfsim" -DONNX_DIR="$folder/prefix/lib/cmake/ONNX"
logged cmake --build "$folder/dfsim" --target test_onnx
LD_LIBRARY_PATH=$folder/prefix/lib "$folder/dfsim/tests/onnx/test_onnx"
