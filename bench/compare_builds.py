#!/usr/bin/env python3
"""Compares the benchmarks of two builds on one machine.

usage: bench/compare_builds.py BEFORE AFTER [--filter REGEX] [--rounds N] [--min-time SECONDS]

BEFORE and AFTER are two dfsim_bench programs. They run one after the other, N times each, and the
table shows each benchmark's least CPU time: other work on the machine can only add to it. Counters
such as bytes/task come from the same run. Times below 3 % apart are noise on most machines.
"""

import argparse
import json
import os
import subprocess
import sys

NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def run(program, arguments):
    """The benchmarks of one run: name -> (CPU nanoseconds, bytes per task or None)."""
    command = [
        program,
        f"--benchmark_filter={arguments.filter}",
        f"--benchmark_min_time={arguments.min_time}",
        "--benchmark_format=json",
    ]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"compare_builds: {program} ended with {done.returncode}; run it alone to see why")
    results = {}
    for entry in json.loads(done.stdout)["benchmarks"]:
        if not entry.get("error_occurred"):
            results[entry["name"]] = (entry["cpu_time"] * NS[entry["time_unit"]], entry.get("bytes/task"))
    return results


def least(runs):
    """For each benchmark the run with the least time."""
    best = {}
    for results in runs:
        for name, result in results.items():
            if name not in best or result[0] < best[name][0]:
                best[name] = result
    return best


def main():
    parser = argparse.ArgumentParser(description="Compares the benchmarks of two builds.")
    parser.add_argument("before", metavar="BEFORE", help="a dfsim_bench program")
    parser.add_argument("after", metavar="AFTER", help="another one")
    parser.add_argument("--filter", default="Simulate|schedule/", help="which benchmarks (a regular expression)")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each program")
    parser.add_argument("--min-time", type=float, default=0.2, help="seconds for each benchmark of a run")
    arguments = parser.parse_args()
    programs = [os.path.abspath(arguments.before), os.path.abspath(arguments.after)]
    runs = [[], []]
    for _ in range(arguments.rounds):
        for i, program in enumerate(programs):
            runs[i].append(run(program, arguments))
    before, after = least(runs[0]), least(runs[1])
    print("| benchmark | before, ms | after, ms | change | bytes/task before | after |")
    print("|---|---:|---:|---:|---:|---:|")
    for name in after:
        if name not in before:
            continue
        (old_ns, old_bytes), (new_ns, new_bytes) = before[name], after[name]
        change = 100 * (new_ns / old_ns - 1)
        sizes = f"{old_bytes:.1f} | {new_bytes:.1f}" if old_bytes and new_bytes else " | "
        print(f"| `{name}` | {old_ns / 1e6:.3f} | {new_ns / 1e6:.3f} | {change:+.1f} % | {sizes} |")


if __name__ == "__main__":
    main()
