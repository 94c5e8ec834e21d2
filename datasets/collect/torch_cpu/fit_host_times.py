#!/usr/bin/env python3
"""Fits the host times per operator of the runtime torch-eager to published latencies that the host limits.

usage: fit_host_times.py [--rows host_bound.csv] [--strength S]
A row of the file is a network at batch 1 on a GPU that waits for the host, with the number of its
operators by kind. Rows of role `fit` decide, each with its weight; rows of role `test` only show the
error. The sum of times per operator should be the published latency: least squares of its logarithm.
A few rows cannot tell a dozen kinds apart, so the times that dispatch.py measured on a CPU (times 8.2,
which makes them add up to the first two rows) pull at the solution with --strength. Prints the times in
microseconds and the error of each row before and after.
"""
import argparse
import csv
import math
import pathlib
import sys

# dispatch.py with PyTorch 2.13 on one thread of a CPU, times 8.2, in microseconds.
MEASURED = {"conv": 57, "BatchNormalization": 68, "linear": 48, "MatMul": 33, "LayerNormalization": 41,
            "softmax": 23, "Add": 9, "Mul": 15, "elementwise": 20, "gather": 42, "pool": 27, "Concat": 10,
            "view": 7}
RUN_US = 10  # run_overhead_us of the runtime


def predicted_us(times, row):
    return RUN_US + sum(times[kind] * float(row[kind]) for kind in MEASURED)


def fit(rows, strength):
    """Coordinate descent on the logarithms; the step halves when no direction helps any more."""
    logs = {kind: math.log(value) for kind, value in MEASURED.items()}

    def loss():
        times = {kind: math.exp(value) for kind, value in logs.items()}
        misses = sum(float(row["weight"]) * math.log(predicted_us(times, row) / float(row["published_ms"]) / 1e3) ** 2
                     for row in rows)
        return misses + strength * sum((logs[kind] - math.log(MEASURED[kind])) ** 2 for kind in logs)

    best, step = loss(), 0.2
    while step > 1e-4:
        improved = False
        for kind in logs:
            for change in (step, -step):
                logs[kind] += change
                now = loss()
                if now < best - 1e-12:
                    best, improved = now, True
                    break
                logs[kind] -= change
        step = step if improved else step / 2
    return {kind: math.exp(value) for kind, value in logs.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=pathlib.Path, default=pathlib.Path(__file__).with_name("host_bound.csv"))
    parser.add_argument("--strength", type=float, default=0.05)
    arguments = parser.parse_args()
    with open(arguments.rows, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    times = {kind: round(value) for kind, value in fit([r for r in rows if r["role"] == "fit"],
                                                       arguments.strength).items()}
    print("us per operator: " + ", ".join(f"{kind} {value}" for kind, value in times.items()))
    print(f"{'':4} {'network':52} {'published':>9} {'measured x 8.2':>15} {'fitted':>9}")
    means = {}
    for row in rows:
        published = float(row["published_ms"]) * 1e3
        errors = [predicted_us(t, row) / published - 1 for t in (MEASURED, times)]
        means.setdefault(row["role"], []).append([abs(error) for error in errors])
        print(f"{row['role']:4} {row['network']:52} {published / 1e3:6.2f} ms {errors[0]:+14.1%} {errors[1]:+9.1%}")
    for role, errors in means.items():
        print(f"{role:4} {'mean of absolute errors':52} {'':9} "
              + " ".join(f"{sum(e[i] for e in errors) / len(errors):{width}.1%}" for i, width in ((0, 14), (1, 9))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
