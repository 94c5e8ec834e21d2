#!/usr/bin/env python3
"""Training steps of made-up networks, trained at two batch sizes and tested at a third.

usage: training_steps_test.py DFSIM
"""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command}: {done.stderr}")
    return done.stdout


def main():
    dfsim = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        steps = [sys.executable, HERE / "training_steps.py"]
        run(*steps, folder / "train", 16, 64, "--layers", 8)
        run(*steps, folder / "other", 32, "--layers", 8)
        run(dfsim, "train", folder / "train", "-o", folder / "model",
            "--rounds", 150, "--quiet")
        result = json.loads(run(dfsim, "evaluate", "--model", folder / "model", "--profiles",
                                folder / "other", "--group-by", "network", "--json"))
        rows = sum(len(path.read_text().splitlines()) - 1
                   for path in folder.glob("other/*/profiler/framework_raw_0.csv"))
        overall = result["overall"]
        print(rows, "rows:", overall["mape"], overall["median"], result["mean_network_error"])
        assert overall["n"] == rows, "an op was left out"
        assert overall["coverage"] == 1
        assert overall["median"] < 0.05
        assert overall["mape"] < 0.08
        assert overall["mape"] < overall["baseline"]["mape"] / 2
        assert len(result["networks"]) == 6
        assert result["mean_network_error"] < 0.08


if __name__ == "__main__":
    main()
