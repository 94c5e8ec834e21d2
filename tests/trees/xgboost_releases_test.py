#!/usr/bin/env python3
"""Releases of XGBoost read dfsim's trees, and dfsim reads theirs: same predictions, bit by bit.

usage: xgboost_releases_test.py TREE_TOOL FOLDER
Each folder in FOLDER is a release, as `./test --setup` installs it: pip install --target
FOLDER/1.7.6 xgboost==1.7.6. Exits with 77 (skipped, for CTest) where there is none.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
# Some of the models that ship: small and large, few and many features.
SHIPPED_EVERY = 12

# Runs in a Python of its own, as one process can import one release.
RELEASE = r"""
import json, pathlib, sys
import numpy as np
import xgboost as xgb

folder = pathlib.Path(sys.argv[1])
rng = np.random.default_rng(5)

# Their own model: written in UBJ, with missing values.
rows = rng.normal(size=(2000, 7)).astype(np.float32)
rows[rng.random(rows.shape) < 0.1] = np.nan
labels = np.nan_to_num(rows[:, 0]) * 2 + np.isnan(rows[:, 1]) + np.sin(np.nan_to_num(rows[:, 2]))
params = {"max_depth": 6, "eta": 0.2, "tree_method": "hist", "nthread": 1, "base_score": 0.375,
          "objective": "reg:squarederror"}
theirs = xgb.train(params, xgb.DMatrix(rows, label=labels), 40)
theirs.save_model(str(folder / "theirs.ubj"))
tests = rows[:500].copy()
tests.tofile(folder / "theirs.rows")
theirs.predict(xgb.DMatrix(tests)).astype(np.float32).tofile(folder / "theirs.expected")

# Our models, as dfsim exports them.
for path in sorted(folder.glob("ours-*.ubj")):
    ours = xgb.Booster()
    ours.load_model(str(path))
    columns = ours.num_features()
    tests = rng.lognormal(2, 3, size=(200, columns)).astype(np.float32)
    tests[rng.random(tests.shape) < 0.1] = np.nan
    tests.tofile(path.with_suffix(".rows"))
    ours.predict(xgb.DMatrix(tests)).astype(np.float32).tofile(path.with_suffix(".expected"))
    # And once more after this release has written the model itself.
    ours.save_model(str(path.with_suffix(".again.ubj")))
print(xgb.__version__)
"""


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def same_predictions(tool, model, rows, expected):
    out = model.with_suffix(".found")
    subprocess.run([tool, "predict", model, rows, out], check=True)
    found, wanted = out.read_bytes(), expected.read_bytes()
    check(len(wanted) > 0 and found == wanted, f"{model.name}: predictions differ")


def check_release(tool, release, shipped):
    with tempfile.TemporaryDirectory(prefix="dfsim_xgboost_") as name:
        folder = pathlib.Path(name)
        for number, path in enumerate(shipped):
            subprocess.run([tool, "export", path, folder / f"ours-{number}.ubj"], check=True)
        done = subprocess.run([sys.executable, "-c", RELEASE, folder], capture_output=True,
                              text=True, env={**os.environ, "PYTHONPATH": str(release)})
        check(done.returncode == 0, f"{release.name}: {done.stderr[-1500:]}")
        version = done.stdout.strip()
        same_predictions(tool, folder / "theirs.ubj", folder / "theirs.rows",
                         folder / "theirs.expected")
        for number in range(len(shipped)):
            path = folder / f"ours-{number}.ubj"
            rows, expected = path.with_suffix(".rows"), path.with_suffix(".expected")
            same_predictions(tool, path, rows, expected)
            same_predictions(tool, path.with_suffix(".again.ubj"), rows, expected)
        print(f"XGBoost {version}: its model, and {len(shipped)} models of dfsim, predict the same "
              "bits in both")


def main():
    tool, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    releases = sorted(folder.iterdir()) if folder.is_dir() else []
    missing = [name for name in ("numpy", "scipy") if importlib.util.find_spec(name) is None]
    if missing or not releases:
        print(f"skipped: the Python package {missing[0]} is not installed" if missing else
              "skipped: no releases of XGBoost in build/test-xgboost")
        return SKIPPED
    shipped = sorted((ROOT / "opmodel" / "pretrained").glob("*/*.ubj"))[::SHIPPED_EVERY]
    check(len(shipped) > 5, "models that ship")
    for release in releases:
        check_release(tool, release.resolve(), shipped)
    return 0


if __name__ == "__main__":
    sys.exit(main())
