#!/usr/bin/env python3
"""Fits the law of opmodel/model/laws/torch/group_norm.cc for group normalisation.

    fit_group_norms.py OPS.csv.gz... [--clock GHz] [--units N] [--cache MB] [--launch US] [--bandwidth TB/s...]

OPS are files of `collect.py export`, one bandwidth (sustained) for each; the defaults describe an H100 and an H200. The
statistics of a group are one thread block, which takes cycles per element: those of a lone block grow with the share of
the cache that the image takes, and blocks that share a unit have theirs. Fits the five numbers to the first file, from
those in use, and prints the errors of each file.
"""

import argparse
import collections
import csv
import gzip
import math
import random
import re
import statistics

SHARE = 0.04  # of the cache, where a lone block takes LAW[0] cycles
LAW = [0.28, 0.31, 0.79, 1.74, 0.83, 3.8]  # at that share, more with each doubling, least, most, of a busy unit, launches

Kernel = collections.namedtuple("Kernel", "groups elements size us bandwidth")


def read(path, bandwidth):
    kernels = []
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["op_type"] != "GroupNormalization" or row["timing"] != "kernel-only":
                continue
            extents = [int(e) for e in row["inputs"].split("[")[1].split("]")[0].split("x")]
            groups = extents[0] * int(re.search(r"num_groups=(\d+)", row["attributes"])[1])
            kernels.append(Kernel(groups, math.prod(extents) / groups, 4 if row["inputs"].startswith("float32") else 2,
                                  float(row["time_ns"]) / 1e3, bandwidth))
    return kernels


def time_us(kernel, options, law):
    size = kernel.groups * kernel.elements * kernel.size
    lone = min(max(law[0] + law[1] * math.log2(size / options.cache / 1e6 / SHARE), law[2]), law[3])
    cycles = kernel.elements * max(lone, law[4] * kernel.groups / options.units)
    one_pass = size / kernel.bandwidth / 1e6
    return options.launch + law[5] + max(cycles / options.clock / 1e3, one_pass) + 2 * one_pass


def errors(kernels, options, law):
    return [100 * abs(time_us(k, options, law) / k.us - 1) for k in kernels]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ops", nargs="+")
    parser.add_argument("--clock", type=float, default=1.98)
    parser.add_argument("--units", type=int, default=132)
    parser.add_argument("--cache", type=float, default=52.4)
    parser.add_argument("--launch", type=float, default=2.5)
    parser.add_argument("--bandwidth", type=float, nargs="+", default=[2.8, 4.08])
    options = parser.parse_args()
    files = {path: read(path, bandwidth) for path, bandwidth in zip(options.ops, options.bandwidth)}
    draw = random.Random(1)
    fitted, least = LAW, statistics.mean(errors(files[options.ops[0]], options, LAW))
    for _ in range(3000):
        law = [value * math.exp(draw.gauss(0, 0.06)) for value in fitted]
        error = statistics.mean(errors(files[options.ops[0]], options, law))
        fitted, least = (law, error) if error < least else (fitted, least)
    print("fitted:", " ".join(f"{value:.2f}" for value in fitted), "in use:", *LAW)
    for path, kernels in files.items():
        for name, law in (("fitted", fitted), ("in use", LAW)):
            found = errors(kernels, options, law)
            print(f"{path}, {name}: mean error {statistics.mean(found):.1f} %, median {statistics.median(found):.1f} %, "
                  f"{len(kernels)} kernels")


if __name__ == "__main__":
    main()
