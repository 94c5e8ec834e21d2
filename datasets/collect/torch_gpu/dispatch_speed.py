#!/usr/bin/env python3
"""The speed of a host relative to that of a runtime's host times, from the launches of whole networks.

    dispatch_speed.py host.csv --dfsim build/release/dfsim --hw a100

Prints each network with enough runs: the host time that dfsim predicts over the shortest one measured,
and the median of these ratios. Whatever else kept the host busy makes the measured times longer, so the
median is a lower limit of the speed, `dispatch_speed` of a hardware file. --hw must name a machine
whose host has speed 1. The host times of torch-compile are chosen so that the same host has the
same speed with --runtime torch-compile. The shortest of few runs is longer, so compare equal numbers of
runs (--runs).
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

LEAST_RUNS = {"torch-eager": 4, "torch-compile": 2}


def shortest(path, runtime, runs, least):
    """Host times in ms of networks whose graphs have the operators that PyTorch runs."""
    times = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["runtime"] == runtime:
                times.setdefault(row["network"], []).append(float(row["host_ms"]))
    return {n: min(t[:runs]) for n, t in times.items() if len(t) >= least and n not in networks.entries()}


def predicted(options, network):
    folders = (networks.ROOT / "graphs" / "zoo", networks.NETWORKS)
    graph = next(p for folder in folders for p in (folder / f"{network}.onnx", folder / f"{network}.onnx.gz") if p.exists())
    answer = subprocess.run([options.dfsim, "predict", graph, "--hw", options.hw, "--batch", "1", "--precision", "fp16",
                             "--runtime", options.runtime, "--json", "--allow-incomplete"],
                            capture_output=True, text=True, check=False)
    if answer.returncode:
        sys.exit(answer.stderr.strip())
    return json.loads(answer.stdout)["host_busy_ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("times", type=pathlib.Path, help="CSV of `collect.py export --host`")
    parser.add_argument("--dfsim", default="dfsim")
    parser.add_argument("--hw", default="a100")
    parser.add_argument("--runtime", choices=list(LEAST_RUNS), default="torch-eager")
    parser.add_argument("--runs", type=int, help="the first runs of each network alone; default: all")
    parser.add_argument("--least-runs", type=int, help="networks with fewer are left out; default: 4, of torch-compile 2; "
                                                       "times of an idle host (`collect.py run --kind host`) need 1")
    options = parser.parse_args()
    at_least = options.least_runs or LEAST_RUNS[options.runtime]
    ratios = []
    for network, least in sorted(shortest(options.times, options.runtime, options.runs, at_least).items()):
        ratios.append(predicted(options, network) / least)
        print(f"{network}: {ratios[-1]:.2f}")
    if not ratios:
        sys.exit(f"dispatch_speed.py: {options.times}: no network has {at_least} runs")
    print(f"median {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
