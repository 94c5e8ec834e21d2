#!/usr/bin/env python3
"""Fits the law of opmodel/model/laws/neighbours/neighbour_dtypes.cc for TF32, from shapes that a board ran in fp32, TF32 and fp16.

    fit_tf32.py OPS.csv.gz [OPS.csv.gz...]

OPS is a file of `collect.py export`. For each kind of operator, prints how far the time in TF32 is from that in fp32; for
dense convolutions, fits the weight of fp16 between both (1x1) or the factor on fp16 (windows), no longer than fp32, to
half of the shapes (by their hash), and prints the mean and median error, and the factor that holds four fifths, of both
halves.
"""

import argparse
import collections
import csv
import gzip
import hashlib
import math
import re
import statistics

WEIGHTS = [w / 20 for w in range(0, 21)]
FACTORS = [1 + f / 20 for f in range(0, 25)]

Shape = collections.namedtuple("Shape", "op_type attributes extents")
Times = collections.namedtuple("Times", "shape fp32 tf32 fp16")


def read(path):
    times = {}
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            shape = Shape(row["op_type"], row["attributes"], re.sub(r"[a-z]+\d+\[", "[", row["inputs"]))
            dtype = row["compute_dtype"] or row["inputs"].split("[")[0]
            times.setdefault(shape, {})[dtype] = float(row["time_ns"])
    wanted = ("float32", "tf32", "float16")
    return [Times(shape, *(found[dtype] for dtype in wanted)) for shape, found in times.items()
            if all(dtype in found for dtype in wanted)]


def kind(times):
    if times.shape.op_type != "Conv":
        return times.shape.op_type
    image, weight = (list(map(int, text.strip("[]").split("x"))) for text in times.shape.extents.split(";")[:2])
    group = int(re.search(r"group=(\d+)", times.shape.attributes)[1])
    if group > 1:
        return "Conv depthwise" if group == image[1] else "Conv grouped"
    return "Conv 1x1" if math.prod(weight[2:]) == 1 else "Conv windows"


def points(weight):
    return lambda t: min(t.fp32, t.fp16**weight * t.fp32 ** (1 - weight))


def windows(factor):
    return lambda t: min(t.fp32, t.fp16 * factor)


def errors(rows, law):
    return sorted(abs(math.log(law(t) / t.tf32)) for t in rows)


def summary(rows, law):
    found = errors(rows, law)
    return (f"{len(found):4} shapes, mean {100 * statistics.mean(found):5.1f} %, median {100 * statistics.median(found):5.1f} %, "
            f"four fifths within a factor of {math.exp(found[int(0.8 * len(found))]):.2f}")


def fits_half(times):
    return hashlib.sha256(repr(times.shape).encode()).digest()[0] % 2 == 0


def fit(name, rows, laws, parameters):
    half = [t for t in rows if fits_half(t)]
    rest = [t for t in rows if not fits_half(t)]
    best = min(parameters, key=lambda p: statistics.mean(errors(half, laws(p))))
    print(f"{name}, {best}: fitted    {summary(half, laws(best))}")
    print(f"{name}, {best}: left out  {summary(rest, laws(best))}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ops", nargs="+")
    rows = [times for path in parser.parse_args().ops for times in read(path)]
    kinds = collections.defaultdict(list)
    for times in rows:
        kinds[kind(times)].append(times)
    for name, found in sorted(kinds.items()):
        print(f"{name}, as fp32: {summary(found, lambda t: t.fp32)}")
    fit("Conv 1x1, weight of fp16", kinds["Conv 1x1"], points, WEIGHTS)
    fit("Conv windows, times fp16", kinds["Conv windows"], windows, FACTORS)


if __name__ == "__main__":
    main()
