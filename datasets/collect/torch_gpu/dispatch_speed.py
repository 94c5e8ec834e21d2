#!/usr/bin/env python3
"""The speed of a host relative to that of torch-eager's host times, from the launches of whole networks.

    dispatch_speed.py host.csv --dfsim build/release/dfsim --hw a100

Prints each network with four runs or more: the host time that dfsim predicts over the shortest one measured,
and the median of these ratios. Whatever else kept the host busy makes the measured times longer, so the
median is a lower limit of the speed, `dispatch_speed` of a hardware file. --hw must name a machine
whose host has speed 1.
"""

import argparse
import csv
import json
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import networks  # noqa: E402

LEAST_RUNS = 4


def shortest(path):
    """Host times in ms of networks whose graphs have the operators that PyTorch runs."""
    times = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            times.setdefault(row["network"], []).append(float(row["host_ms"]))
    return {n: min(t) for n, t in times.items() if len(t) >= LEAST_RUNS and n not in networks.entries()}


def predicted(options, network):
    folders = (networks.ROOT / "graphs" / "zoo", networks.NETWORKS)
    graph = next(p for folder in folders for p in (folder / f"{network}.onnx", folder / f"{network}.onnx.gz") if p.exists())
    answer = subprocess.run([options.dfsim, "predict", graph, "--hw", options.hw, "--batch", "1", "--precision", "fp16",
                             "--runtime", "torch-eager", "--json", "--allow-incomplete"],
                            capture_output=True, text=True, check=False)
    if answer.returncode:
        sys.exit(answer.stderr.strip())
    return json.loads(answer.stdout)["host_busy_ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("times", type=pathlib.Path, help="CSV of `collect.py export --host`")
    parser.add_argument("--dfsim", default="dfsim")
    parser.add_argument("--hw", default="a100")
    options = parser.parse_args()
    ratios = []
    for network, least in sorted(shortest(options.times).items()):
        ratios.append(predicted(options, network) / least)
        print(f"{network}: {ratios[-1]:.2f}")
    if not ratios:
        sys.exit(f"dispatch_speed.py: {options.times}: no network has {LEAST_RUNS} runs")
    print(f"median {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
