#!/usr/bin/env bash
# Installs a wheel in a clean environment and tries it there, in an empty folder and without the
# environment's help. usage: wheel_smoke_test.sh WHEEL [PYTHON]
set -eu -o pipefail
wheel=$(readlink -f -- "$1")
python=${2:-python3}
tmp=$(mktemp -d)
trap 'rm -rf -- "$tmp"' EXIT
"$python" -m venv "$tmp/venv"
"$tmp/venv/bin/pip" install --quiet "$wheel"
mkdir "$tmp/empty"
cd -- "$tmp/empty"
env -i "$tmp/venv/bin/python" - 2>"$tmp/said" <<'EOT' || { cat -- "$tmp/said" >&2; exit 1; }
import glob
import json
import os

import dfsim

package = os.path.dirname(dfsim.__file__)
models = sorted(glob.glob(os.path.join(package, "share/dfsim/graphs/zoo/*.onnx")))
assert models, "the wheel has no networks"
result = dfsim.load(models[0]).predict("a100", batch=2)
assert json.loads(result.to_json())["latency_ms"] == result.latency_ms > 0
assert set(result.ops["source"]) != {"bound-only"}, "the wheel has no cost models"
assert "<iframe" in result._repr_html_()
assert len(dfsim.sweep(models[:2], ["a100", "t4"], batch="1:4:x2")) == 12
try:
    dfsim.Hardware("a1000")
except dfsim.NotFoundError as error:
    assert "did you mean" in str(error), error
else:
    raise SystemExit("an unknown machine was found")
assert os.path.exists(os.path.join(package, "py.typed"))
assert os.path.exists(os.path.join(package, "_native/_dfsim.pyi"))
print(f"dfsim {dfsim.__version__}: {result}")
EOT
[[ ! -s $tmp/said ]] || { cat -- "$tmp/said" >&2; echo "the package wrote to stderr" >&2; exit 1; }
