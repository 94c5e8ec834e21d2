#!/usr/bin/env python3
"""Fits the law of opmodel/model/laws/torch/serial_images.cc for linear resizing of images.

    fit_resizes.py OPS.csv.gz... [--clock GHz] [--units N] [--cache MB] [--launch US]

OPS are files of `collect.py export`; the defaults describe an H100, and an H200 is the same chip. A thread computes one
pixel of the result and walks through all channels, so an operator takes channels * walks * cycles per channel: fewer
where images and results fit into the cache. Fits both numbers of cycles to the first file, and prints the errors of each.
"""

import argparse
import collections
import csv
import gzip
import itertools
import math
import statistics

THREADS, BLOCKS = 256, 4  # of a block; blocks of a unit
CACHED_SHARE, MEMORY_SHARE = 0.45, 1.2
CACHED, MEMORY = range(300, 460, 10), range(600, 1000, 20)

Kernel = collections.namedtuple("Kernel", "channels pixels bytes us")
Board = collections.namedtuple("Board", "clock units cache launch")


def extents(text):
    return [int(e) for e in text.split("[")[1].rstrip("]").split("x")]


def read(path):
    kernels = []
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["op_type"] == "Resize" and "mode=linear" in row["attributes"]:
                image, result = extents(row["inputs"]), extents(row["outputs"])
                channels, pixels = math.prod(result[:2]), math.prod(result[2:])
                size = 4 if row["inputs"].startswith("float32") else 2
                kernels.append(Kernel(channels, pixels, size * channels * (pixels + math.prod(image[2:])),
                                      float(row["time_ns"]) / 1e3))
    return kernels


def error(kernel, board, law):
    share = (kernel.bytes / board.cache / 1e6 - CACHED_SHARE) / (MEMORY_SHARE - CACHED_SHARE)
    cycles = law[0] + (law[1] - law[0]) * min(1, max(0, share))
    walks = math.ceil(math.ceil(kernel.pixels / THREADS) / (board.units * BLOCKS))
    return 100 * abs((board.launch + kernel.channels * walks * cycles / board.clock / 1e3) / kernel.us - 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ops", nargs="+")
    parser.add_argument("--clock", type=float, default=1.98)
    parser.add_argument("--units", type=int, default=132)
    parser.add_argument("--cache", type=float, default=52.4)
    parser.add_argument("--launch", type=float, default=1.5)
    options = parser.parse_args()
    board = Board(options.clock, options.units, options.cache, options.launch)
    files = {path: read(path) for path in options.ops}
    first = files[options.ops[0]]
    if not first:
        parser.error(f"{options.ops[0]}: found no linear Resize, expected some; collect them first")
    law = min(itertools.product(CACHED, MEMORY), key=lambda law: statistics.mean(error(k, board, law) for k in first))
    print(f"{law[0]} cycles per channel from the cache, {law[1]} from memory")
    for path, kernels in files.items():
        errors = sorted(error(k, board, law) for k in kernels)
        print(f"{path}: {len(errors)} kernels, error {statistics.mean(errors):.1f} % (median {statistics.median(errors):.1f}); "
              f"four fifths within {errors[int(0.8 * len(errors))]:.0f} %")


if __name__ == "__main__":
    main()
