#!/usr/bin/env python3
"""Compares convolutions in blocks of channels that add an image with equal ones that do not.

usage: sums.py PROFILE.csv.xz...

Prints the median ratio of their times with one thread, by the size of the result, and the quartiles.
"""

import argparse
import collections
import csv
import io
import math
import pathlib
import re
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from export import read_text  # noqa: E402

SIZES = (0, 2e5, 1e6, 4e6, math.inf)  # bytes of the result
CONV = "com.microsoft.nchwc.Conv"


def result_bytes(tensor):
    return 4 * math.prod(int(extent) for extent in re.findall(r"\d+", tensor.split("[")[1]))


def ratios(path):
    """Pairs (bytes of the result, time with a sum / time without)."""
    times = collections.defaultdict(lambda: ([], []))
    for row in csv.DictReader(io.StringIO(read_text(path))):
        if row["op_type"] == CONV and row["device"].endswith("1 thread"):
            operands = row["inputs"].split(";")
            key = (*operands[:2], row["outputs"], row["attributes"].replace("activation=Relu;", ""))
            times[key][len(operands) > 3].append(int(row["time_ns"]))
    return [(result_bytes(key[2]), statistics.median(summed) / statistics.median(plain))
            for key, (plain, summed) in times.items() if plain and summed]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("profiles", nargs="+")
    for path in parser.parse_args().profiles:
        pairs = ratios(path)
        for least, most in zip(SIZES, SIZES[1:]):
            found = sorted(ratio for size, ratio in pairs if least <= size < most)
            if len(found) > 1:
                low, middle, high = statistics.quantiles(found, n=4)
                print(f"{path}: results of {least / 1e6:.1f} to {most / 1e6:.1f} MB: {middle:.2f} times "
                      f"(quartiles {low:.2f} and {high:.2f}), {len(found)} pairs")


if __name__ == "__main__":
    main()
