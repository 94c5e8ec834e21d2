#!/usr/bin/env python3
"""Fits the law of opmodel/model/laws/unaligned_products.cc for products whose rows are not aligned to 16 bytes.

    fit_unaligned.py OPS.csv.gz [--rate TFLOP/s] [--bandwidth TB/s] [--clock GHz] [--units N] [--launch US]

OPS is a file of `collect.py export`; the defaults describe the H100 that ops.csv.gz is of. A product takes the longer of
its roofline at sustained rates and of the loads of its thread blocks: for each tile of 64 or 128 rows and columns, waves
* (K + steps per tile) + first steps, times (rows + columns) * cycles per loaded element; the best tile and split of K
count. Fits the cycles to half of the shapes (by their hash), for loads of one element and of two, and prints the errors
of both halves, and of products that others measured on an RTX 4090.
"""

import argparse
import collections
import csv
import gzip
import hashlib
import itertools
import math
import statistics

TILES = (64, 128)
TILE_STEPS, FIRST_STEPS = 64, 256
MOST_SPLITS, LEAST_STEPS = 16, 128
CYCLES = [round(0.10 + 0.01 * i, 2) for i in range(41)]
LEAST_US = 20  # shorter products hardly count in networks

Product = collections.namedtuple("Product", "batch m n k elements us")
Board = collections.namedtuple("Board", "rate bandwidth clock units launch")

# TFLOP/s of square products in bfloat16 by PyTorch (pytorch/pytorch issue 181718, 2026); the board's clock as its fp32
# peak implies, its rate as aligned products of that size reach it.
RTX_4090 = Board(156, 0.92, 2.72, 128, 2.5)
OTHERS = {2055: 115.6, 2057: 106.8, 2071: 110.9, 2073: 112.0}


def elements(extent):
    """Elements of a load that a row of so many elements allows."""
    return next(size for size in (8, 4, 2, 1) if extent % size == 0)


def extents(tensor):
    return [int(extent) for extent in tensor.split("[")[1].rstrip("]").split("x") if extent]


def read(path):
    """Unaligned products of 16 bits."""
    products = []
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["op_class"] != "matmul" or row["inputs"].split("[")[0] not in ("float16", "bfloat16"):
                continue
            left, right = (extents(tensor) for tensor in row["inputs"].split(";")[:2])
            out = extents(row["outputs"].split(";")[0])
            batched = len(right) > 2
            batch = math.prod(out[:-2]) if batched else 1
            m = out[-2] if batched else math.prod(out[:-1])
            product = Product(batch, m, out[-1], left[-1], min(elements(out[-1]), elements(left[-1])),
                              float(row["time_ns"]) / 1e3)
            if product.elements < 8 and m > 1 and product.n > 1 and product.us > LEAST_US:
                products.append(product)
    return products


def roofline_us(product, board):
    b, m, n, k = product[:4]
    return board.launch + max(2 * b * m * n * k / board.rate / 1e6, 2 * b * (m * k + k * n + m * n) / board.bandwidth / 1e6)


def unit_steps(tiles, k, units):
    best = math.inf
    splits = 1
    while splits <= MOST_SPLITS and (splits == 1 or k / splits >= LEAST_STEPS):
        best = min(best, math.ceil(tiles * splits / units) * (math.ceil(k / splits) + TILE_STEPS) + FIRST_STEPS)
        splits *= 2
    return best


def loads_us(product, board, cycles):
    b, m, n, k = product[:4]
    return min((rows + columns) * unit_steps(b * math.ceil(m / rows) * math.ceil(n / columns), k, board.units)
               for rows, columns in itertools.product(TILES, TILES)) * cycles / board.clock / 1e3


def predicted_us(product, board, cycles):
    return max(roofline_us(product, board), loads_us(product, board, cycles))


def scatter(products, board, cycles):
    return math.sqrt(statistics.mean(math.log(predicted_us(p, board, cycles) / p.us) ** 2 for p in products))


def error(products, board, cycles):
    return 100 * statistics.mean(abs(predicted_us(p, board, cycles) / p.us - 1) for p in products)


def fits_half(product):
    return hashlib.sha256(repr(product[:4]).encode()).digest()[0] % 2 == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ops")
    parser.add_argument("--rate", type=float, default=700, help="sustained, in 16 bits")
    parser.add_argument("--bandwidth", type=float, default=2.6)
    parser.add_argument("--clock", type=float, default=1.983)
    parser.add_argument("--units", type=int, default=132)
    parser.add_argument("--launch", type=float, default=2.5)
    options = parser.parse_args()
    board = Board(options.rate, options.bandwidth, options.clock, options.units, options.launch)
    products = read(options.ops)
    fitted = {}
    for name, sizes in (("one element", (1,)), ("two elements", (2, 4))):
        chosen = [p for p in products if p.elements in sizes]
        fit, held_out = ([p for p in chosen if fits_half(p) == half] for half in (True, False))
        if not fit or not held_out:
            parser.error(f"{options.ops}: found {len(chosen)} products with loads of {name}, expected some in each half; "
                         "collect more of them")
        cycles = fitted[name] = min(CYCLES, key=lambda value: scatter(fit, board, value))
        print(f"loads of {name}: {cycles:.2f} cycles; {len(fit)} products: error {error(fit, board, cycles):.0f} %; "
              f"{len(held_out)} held out: {error(held_out, board, cycles):.0f} % "
              f"(roofline alone {error(held_out, board, 0):.0f} %)")
    for size, measured in OTHERS.items():
        square = Product(1, size, size, size, 1, 2 * size**3 / measured / 1e6)
        us = predicted_us(square, RTX_4090, fitted["one element"])
        print(f"RTX 4090, {size} x {size} x {size}: {measured} TFLOP/s measured, {2 * size**3 / us / 1e6:.0f} predicted")


if __name__ == "__main__":
    main()
