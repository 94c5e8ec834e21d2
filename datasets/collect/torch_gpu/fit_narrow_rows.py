#!/usr/bin/env python3
"""Fits the law of opmodel/model/laws/narrow_rows.cc for layer normalisations whose rows, not bytes, are the limit.

    fit_narrow_rows.py OPS.csv.gz [--bandwidth TB/s] [--clock GHz] [--units N] [--launch US]

OPS is a file of `collect.py export`; the defaults describe the H100 that ops.csv.gz is of. A normalisation takes the
longer of its bytes at the sustained bandwidth and of rows / units * (cycles per row + cycles per column * columns). Fits
both figures to half of the shapes (by their hash), for rows that vectors of four elements divide and for others, and
prints the errors of both halves.
"""

import argparse
import collections
import csv
import gzip
import hashlib
import itertools
import math
import statistics

VECTOR = 4
LEAST_US = 5  # shorter kernels are latencies
ROW_CYCLES = range(0, 2000, 20)
COLUMN_CYCLES = [0, 0.25, 0.5, 0.75, 1, 1.5, 2]

Kernel = collections.namedtuple("Kernel", "rows columns bytes us")
Board = collections.namedtuple("Board", "bandwidth clock units launch")


def read(path):
    kernels = []
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["op_type"] != "LayerNormalization":
                continue
            dtype, extents = row["inputs"].split(";")[0].rstrip("]").split("[")
            *rows, columns = (int(extent) for extent in extents.split("x"))
            size = 4 if dtype == "float32" else 2
            kernels.append(Kernel(math.prod(rows), columns, size, float(row["time_ns"]) / 1e3))
    return [kernel for kernel in kernels if kernel.us > LEAST_US]


def predicted_us(kernel, board, law):
    bytes_us = 2 * kernel.rows * kernel.columns * kernel.bytes / board.bandwidth / 1e6
    rows_us = kernel.rows / board.units * (law[0] + law[1] * kernel.columns) / board.clock / 1e3
    return board.launch + max(bytes_us, rows_us)


def scatter(kernels, board, law):
    return statistics.mean(abs(math.log(predicted_us(k, board, law) / k.us)) for k in kernels)


def error(kernels, board, law):
    return 100 * statistics.mean(abs(predicted_us(k, board, law) / k.us - 1) for k in kernels)


def fits_half(kernel):
    return hashlib.sha256(repr(kernel[:3]).encode()).digest()[0] % 2 == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ops")
    parser.add_argument("--bandwidth", type=float, default=2.6)
    parser.add_argument("--clock", type=float, default=1.983)
    parser.add_argument("--units", type=int, default=132)
    parser.add_argument("--launch", type=float, default=2.5)
    options = parser.parse_args()
    board = Board(options.bandwidth, options.clock, options.units, options.launch)
    kernels = read(options.ops)
    for name, divides in (("vectors", True), ("elements", False)):
        chosen = [k for k in kernels if (k.columns % VECTOR == 0) == divides]
        fit, held_out = ([k for k in chosen if fits_half(k) == half] for half in (True, False))
        if not fit or not held_out:
            parser.error(f"{options.ops}: found {len(chosen)} normalisations of {name}, expected some in each half; "
                         "collect more of them")
        law = min(itertools.product(ROW_CYCLES, COLUMN_CYCLES), key=lambda values: scatter(fit, board, values))
        print(f"{name}: {law[0]} cycles per row and {law[1]:g} per column; {len(fit)} kernels: error "
              f"{error(fit, board, law):.0f} %; {len(held_out)} held out: {error(held_out, board, law):.0f} % "
              f"(bytes alone {error(held_out, board, (0, 0)):.0f} %)")


if __name__ == "__main__":
    main()
