#!/usr/bin/env python3
"""How much measurements of the same runs differ: the mean and the median by device, in percent.

usage: compare_runs.py FIRST.csv AGAIN.csv      runs files, as `dfsim validate --runs` reads them
"""

import csv
import statistics
import sys

KEY = ("network", "batch", "dims", "shapes", "dtype", "device")


def times(path):
    with open(path, encoding="utf-8") as file:
        return {tuple(row[name] for name in KEY): float(row["time_ms"]) for row in csv.DictReader(file)}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    first, again = map(times, sys.argv[1:])
    changes = {}
    for run, time in again.items():
        if run in first:
            changes.setdefault(run[-1], []).append(100 * abs(time / first[run] - 1))
    if not changes:
        sys.exit(f"{sys.argv[2]}: found no run of {sys.argv[1]}, expected some; give two files of one device")
    for device, percent in sorted(changes.items()):
        print(f"{device}: {len(percent)} runs, mean {statistics.fmean(percent):.1f} %, "
              f"median {statistics.median(percent):.1f} %, largest {max(percent):.1f} %")


if __name__ == "__main__":
    main()
