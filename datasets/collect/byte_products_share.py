#!/usr/bin/env python3
"""Compares products of 8 bits with those of 16 in AIConfigurator's tables of TensorRT-LLM.

    byte_products_share.py FOLDER

FOLDER is data/aiconfigurator. For each board, prints the median time of 8 bits over 16 where 16 bits take more than
100 us, and the factor on the law of opmodel/model/laws/neighbours/neighbour_dtypes.cc below which four fifths are where 16 bits
take 30 us and more. The tables time 8 bits together with the kernel that quantises the activations.
"""

import argparse
import csv
import gzip
import pathlib
import statistics

LONG_US = 100
LEAST_US = 30
SHARE = 0.65  # the law
START_US = 2


def read(path):
    products = {}
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            shape = (row["m"], row["n"], row["k"])
            products.setdefault(shape, {})[row["gemm_dtype"]] = float(row["latency"]) * 1e3
    return products.values()


def law_us(wide):
    return START_US + (wide - START_US) * SHARE


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    for path in sorted(folder.glob("*/gemm/trtllm/*/gemm_perf.csv.gz")):
        products = list(read(path))
        for name in ("fp8", "sq"):
            pairs = [(found[name], found.get("bfloat16", found.get("float16"))) for found in products if name in found]
            pairs = [(narrow, wide) for narrow, wide in pairs if wide]
            if not pairs:
                continue
            long = [narrow / wide for narrow, wide in pairs if wide > LONG_US]
            spread = sorted(narrow / law_us(wide) for narrow, wide in pairs if wide >= LEAST_US)
            print(f"{path.parts[-5]:10} {path.parts[-2]:11} {name:4} median {statistics.median(long):.2f} of {len(long)}, "
                  f"four fifths below {spread[int(0.8 * len(spread))]:.2f} times the law")


if __name__ == "__main__":
    main()
