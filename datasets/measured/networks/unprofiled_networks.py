#!/usr/bin/env python3
"""How well a model of few profiled networks predicts networks that were never profiled.

usage: unprofiled_networks.py CPU NETWORKS [--draws N] [--dfsim PROGRAM]       CPU: epyc-genoa or epyc-milan

Draws that many of the networks in CPU's ops.csv.xz (single-threaded rows, no samples), trains a model on their
operators alone, and validates it on the runs of all other networks. Prints the errors of each draw and of all.
"""

import argparse
import csv
import json
import lzma
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
ONE_THREAD = ", 1 thread"


def read(path):
    open_text = lzma.open if path.suffix == ".xz" else open
    with open_text(path, "rt", encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["device"].endswith(ONE_THREAD)]


def write(path, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def dfsim(program, *arguments):
    answer = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
    if answer.returncode:
        sys.exit(answer.stderr.strip())
    return answer.stdout


def errors_of_draw(options, profiled, rows, runs, overheads, folder):
    write(folder / "ops.csv", [row for row in rows if row["network"] in profiled])
    write(folder / "runs.csv", [row for row in runs if row["network"] not in profiled])
    (folder / "overheads.json").write_text(json.dumps(overheads), encoding="utf-8")
    dfsim(options.dfsim, "train", folder / "ops.csv", "--overheads", folder / "overheads.json", "--seed", "1", "-o",
          folder / "model")
    answer = dfsim(options.dfsim, "validate", "--runs", folder / "runs.csv", "--model", folder / "model", "--json")
    return [(100 * abs(run["error"]), run["inside"]) for run in json.loads(answer)["runs"]]


def summary(errors):
    percent = [error for error, _ in errors]
    inside = 100 * statistics.fmean(held for _, held in errors)
    mean, middle = statistics.fmean(percent), statistics.median(percent)
    return (f"{len(errors)} runs, mean error {mean:.1f} %, median {middle:.1f} %, "
            f"worst {max(percent):.1f} %, {inside:.0f} % inside their interval")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cpu")
    parser.add_argument("networks", type=int)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--dfsim", default=str(ROOT / "build/release/dfsim"))
    options = parser.parse_args()
    data = ROOT / "datasets/measured" / options.cpu
    rows = [row for row in read(data / "ops.csv.xz") if row["network"]]
    runs = read(data / "known_runs.csv")
    overheads = {name: us for name, us in json.loads((data / "overheads.json").read_text(encoding="utf-8")).items()
                 if name.endswith(ONE_THREAD)}
    names = sorted({row["network"] for row in rows})
    if not 0 < options.networks < len(names):
        sys.exit(f"found {options.networks} networks, expected 1 to {len(names) - 1}")
    everything = []
    for draw in range(options.draws):
        profiled = set(random.Random(draw).sample(names, options.networks))
        with tempfile.TemporaryDirectory() as folder:
            errors = errors_of_draw(options, profiled, rows, runs, overheads, pathlib.Path(folder))
        print(f"draw {draw}: {summary(errors)}")
        everything += errors
    print(f"all: {summary(everything)}")


if __name__ == "__main__":
    main()
