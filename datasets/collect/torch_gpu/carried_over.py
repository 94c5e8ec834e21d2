#!/usr/bin/env python3
"""How close an H100's kernels, carried over by the law of opmodel/model/laws/small_kernels.cc, come to an H200's.

    carried_over.py KNOWN_OPS.csv.gz OTHER_OPS.csv.gz

Takes the operators that are neither products, convolutions nor attention and that both files have with the same shapes.
The boards have the same units and clock, so this tests how time on the chip and time at the memory's rate share a
kernel, and nothing about other units. Prints the errors, and the factors between which four fifths are.
"""
import csv
import gzip
import math
import re
import statistics
import sys

BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "int64": 8, "int32": 4, "bool": 1, "int8": 1, "uint8": 1}
# Sustained bytes/s by hardware/platforms/nvidia/h100-sxm.yaml and h200.yaml, and the least time of a kernel, 2,000
# cycles at the clock that the printed fp32 rate implies.
RATES = (2.8e12, 4.3e12)
LEAST_US = 2000 / 1.98e9 * 1e6


def traffic(row):
    """Bytes of all operands and results."""
    tensors = re.findall(r"(\w+)\[([\dx]*)\]", row["inputs"] + ";" + row["outputs"])
    return sum(BYTES.get(kind, 4) * math.prod(int(e) for e in extents.split("x") if e) for kind, extents in tensors)


def kernels(path):
    """Medians of the times in us and bytes by operator and shapes."""
    times = {}
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            if row["op_class"] not in ("matmul", "conv", "attention"):
                key = tuple(row[name] for name in ("op_type", "attributes", "inputs", "outputs", "compute_dtype"))
                times.setdefault(key, (traffic(row), []))[1].append(float(row["time_ns"]) / 1e3)
    return {key: (moved, statistics.median(us)) for key, (moved, us) in times.items()}


def carried_over_us(known_us, moved):
    works = [moved / rate * 1e6 for rate in RATES]
    return max(known_us - works[0], min(known_us, LEAST_US)) + works[1]


def main():
    known, other = (kernels(path) for path in sys.argv[1:3])
    ratios = [(known[key][1], carried_over_us(known[key][1], known[key][0]) / other[key][1])
              for key in known.keys() & other.keys()]
    for name, least, most in (("up to 10 us", 0, 10), ("longer", 10, math.inf)):
        found = sorted(ratio for us, ratio in ratios if least < us <= most)
        errors = [abs(ratio - 1) for ratio in found]
        print(f"{name}: {len(found)} kernels, error {statistics.mean(errors):.1%} (median {statistics.median(errors):.1%}), "
              f"four fifths between {found[len(found) // 10]:.2f} and {found[-1 - len(found) // 10]:.2f}")


if __name__ == "__main__":
    main()
