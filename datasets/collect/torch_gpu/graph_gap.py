#!/usr/bin/env python3
"""The time between two kernels of a captured CUDA graph, `gap_us` of a runtime file, from runs files.

    graph_gap.py RUNS.csv...

Takes networks whose kernels run for less than 1 ms: in longer ones the noise of the run hides the gaps. Prints
the median of (run - kernels) / operators.
"""

import argparse
import csv
import pathlib
import statistics
import sys

MOST_MS = 1


def gaps_us(path):
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if float(row["ops_ms"]) < MOST_MS:
                yield (float(row["time_ms"]) - float(row["ops_ms"])) / int(row["ops"]) * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("runs", type=pathlib.Path, nargs="+", help="runs files of `collect.py export`")
    found = [gap for path in parser.parse_args().runs for gap in gaps_us(path)]
    if not found:
        sys.exit(f"graph_gap.py: no network's kernels run for less than {MOST_MS} ms")
    print(f"{len(found)} networks, median {statistics.median(found):.2f} us")


if __name__ == "__main__":
    main()
