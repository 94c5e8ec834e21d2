#!/usr/bin/env python3
"""Adds the operators of another day to a profile, at the speed and the profiler's overhead of the first day.

usage: merge_days.py PROFILE.csv.xz OVERHEADS.json RUNS.csv... --added DAY.csv.xz DAY_OVERHEADS.json DAY_RUNS.csv
                     [--only OP,...] [--device NAME] [--networks] [-o OUTPUT.csv.xz]

A virtual machine is slower on some days. Networks that both days measured show by how much: the median of their times'
ratios, per number of threads, at least three runs each. Rows of networks stay out, so that a network counts as on one
day, unless --networks adds those that the profile lacks at that batch size; so does every operator but those of --only
and every device but that of --device.
The output replaces the profile unless -o names another file.
"""

import argparse
import csv
import io
import json
import statistics
import sys

from export import read_text, write_text

KEY = ("network", "batch", "dims", "shapes", "dtype", "device")
DEFAULTS = {"shapes": "static"}  # of older files
LEAST_COMMON = 3
LEAST_SHARE = 0.1  # of a time, when the overhead is taken off


def read_runs(paths):
    times = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for row in csv.DictReader(file):
                times[tuple(row.get(name, DEFAULTS.get(name, "")) for name in KEY)] = float(row["time_ms"])
    return times


def read_profile(path):
    rows = list(csv.reader(io.StringIO(read_text(path))))
    return rows[0], rows[1:]


def speeds(first, other):
    """How much longer runs took on the other day, by device."""
    ratios = {}
    for run, time in other.items():
        if run in first:
            ratios.setdefault(run[-1], []).append(time / first[run])
    for device, values in ratios.items():
        if len(values) < LEAST_COMMON:
            sys.exit(f"{device}: found {len(values)} runs of both days, expected {LEAST_COMMON} at least; "
                     "measure known networks, too")
    return {device: statistics.median(values) for device, values in ratios.items()}


def moved(row, columns, speed, extra_ns):
    """The row as the first day would have measured it."""
    time, spread = columns.index("time_ns"), columns.index("spread_ns")
    net = float(row[time]) / speed
    row = list(row)
    row[time] = str(round(max(net - extra_ns, LEAST_SHARE * net)))
    row[spread] = str(round(float(row[spread]) / speed)) if row[spread] else ""
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("profile")
    parser.add_argument("overheads")
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--added", nargs=3, required=True, metavar=("PROFILE", "OVERHEADS", "RUNS"))
    parser.add_argument("--only", default="", help="types of operators to add, joined with commas; default: all")
    parser.add_argument("--device", help="the only device to add rows of, as the profile names it; default: all")
    parser.add_argument("--networks", action="store_true",
                        help="also add operators of networks that the profile lacks at that batch size")
    parser.add_argument("-o", "--output")
    options = parser.parse_args()
    columns, rows = read_profile(options.profile)
    added_columns, added = read_profile(options.added[0])
    if columns != added_columns:
        sys.exit(f"{options.added[0]}: has other columns than {options.profile}")
    speed = speeds(read_runs(options.runs), read_runs(options.added[2:]))
    with open(options.overheads, encoding="utf-8") as file:
        overheads = json.load(file)
    with open(options.added[1], encoding="utf-8") as file:
        added_overheads = json.load(file)
    only = set(filter(None, options.only.split(",")))
    device, network, batch, kind = (columns.index(name) for name in ("device", "network", "batch", "op_type"))
    known = {(row[network], row[batch]) for row in rows if row[network]}
    count = 0
    for row in added:
        of_network = row[network] and (not options.networks or (row[network], row[batch]) in known)
        if of_network or (only and row[kind] not in only) or options.device not in (None, row[device]):
            continue
        if row[device] not in speed or row[device] not in added_overheads:
            sys.exit(f"{row[device]}: found no run of both days, expected {LEAST_COMMON} at least")
        extra_ns = 1000 * (added_overheads[row[device]] - overheads[row[device]])
        rows.append(moved(row, columns, speed[row[device]], extra_ns))
        count += 1
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    write_text(options.output or options.profile, text.getvalue())
    for name, factor in sorted(speed.items()):
        print(f"{name}: the other day was {100 * (factor - 1):+.1f} % slower, its profiler "
              f"{added_overheads[name] - overheads[name]:+.2f} us longer")
    print(f"{count} rows added")


if __name__ == "__main__":
    main()
