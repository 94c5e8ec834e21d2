#!/usr/bin/env python3
"""Fits the law of opmodel/model/laws/engine_kernels.cc for kernels that compute attention of 16 bits on the chip.

    fit_attention.py OPS.csv.gz [OTHER.csv.gz]

OPS and OTHER are files of `collect.py export`, of an H100 and an H200. A block takes 128 queries of a head, units take
blocks one after the other, and a block goes through the keys in steps of 128. The kernel takes the longer of its
roofline at sustained rates and of cycles to start and cycles per step and 64 elements of a head. Fits both to the shapes
of OPS, without causal masks, and prints the errors there and on OTHER.
"""

import argparse
import collections
import csv
import gzip
import itertools
import math
import re
import statistics

TILE = 128
HEAD = 64
START_CYCLES = range(4000, 12000, 500)
STEP_CYCLES = range(500, 5000, 250)
SHORT_US = 15

Kernel = collections.namedtuple("Kernel", "batch heads queries keys size us")
Board = collections.namedtuple("Board", "bandwidth rate clock units")
H100 = Board(2.8, 816, 1.983, 132)
H200 = Board(4.3, 814, 1.983, 132)


def read(path):
    kernels = []
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            operands = [list(map(int, extents.split("x"))) for extents in re.findall(r"\[([\dx]+)\]", row["inputs"])]
            if row["op_class"] != "attention" or "causal=0" not in row["attributes"] or len(operands) != 3:
                continue
            (batch, heads, queries, size), keys = operands[0], operands[1][2]
            if row["inputs"].startswith(("float16", "bfloat16")) and queries > 1:
                kernels.append(Kernel(batch, heads, queries, keys, size, float(row["time_ns"]) / 1e3))
    return kernels


def predicted_us(kernel, board, law):
    rows = kernel.batch * kernel.heads * kernel.size
    moved_us = 2 * 2 * rows * (kernel.queries + kernel.keys) / board.bandwidth / 1e6
    products_us = 4 * rows * kernel.queries * kernel.keys / board.rate / 1e6
    blocks = kernel.batch * kernel.heads * math.ceil(kernel.queries / TILE)
    steps = math.ceil(blocks / board.units) * math.ceil(kernel.keys / TILE) * max(kernel.size / HEAD, 1)
    return max(moved_us, products_us, (law[0] + law[1] * steps) / board.clock / 1e3)


def errors(kernels, board, law):
    return [100 * abs(predicted_us(k, board, law) / k.us - 1) for k in kernels]


def report(name, kernels, board, law):
    short = [k for k in kernels if k.us < SHORT_US]
    ratios = sorted(k.us / predicted_us(k, board, law) for k in short)
    tenth = len(ratios) // 10
    found = errors(kernels, board, law)
    print(f"{name}: {len(kernels)} kernels: error {statistics.mean(found):.1f} % (median {statistics.median(found):.1f}); "
          f"{len(short)} below {SHORT_US} us: {statistics.mean(errors(short, board, law)):.1f} %, four fifths between "
          f"{ratios[tenth]:.2f} and {ratios[-tenth - 1]:.2f} times the law")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ops")
    parser.add_argument("other", nargs="?")
    options = parser.parse_args()
    kernels = read(options.ops)
    if not kernels:
        parser.error(f"{options.ops}: found no attention of 16 bits, expected some; collect it")
    law = min(itertools.product(START_CYCLES, STEP_CYCLES),
              key=lambda values: statistics.mean(errors(kernels, H100, values)))
    print(f"{law[0]} cycles to start and {law[1]} per step")
    report("fitted", kernels, H100, law)
    if options.other:
        report("other board", read(options.other), H200, law)


if __name__ == "__main__":
    main()
