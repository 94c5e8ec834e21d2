#!/usr/bin/env python3
"""Prints what opmodel/model/laws/torch/depthwise_kernels.cc knows of depthwise convolutions with channels first.

    fit_depthwise.py OPS.csv.gz... [--clock GHz] [--units N] [--launch US]

OPS are files of `collect.py export`; the defaults describe an H100, and an H200 is the same chip. Prints the median of
multiply-adds per cycle and unit by pass, element type, window and stride over kernels of 15 us and longer. Gradients of
filters in kernels of PyTorch's own (fp32; in 16 bits windows beyond 5x5) are fitted by cycles per step of a warp and
steps per image; prints both and the errors.
"""

import argparse
import collections
import csv
import gzip
import itertools
import math
import re
import statistics

WARP, WARPS = 32, 16  # threads of a warp, warps of a block
LATENCY = 550  # cycles of a step of a block that has a unit for itself
PASSES = {"Conv": "forward", "ConvTranspose": "image", "tensorflow.ConvFilterGrad": "filter"}
STEP_CYCLES = [x / 4 for x in range(24, 72)]
STEPS_PER_IMAGE = [x / 2 for x in range(13)]

Kernel = collections.namedtuple("Kernel", "role dtype side stride result us")


def tensors(text):
    return [(dtype, [int(e) for e in extents.split("x")]) for dtype, extents in re.findall(r"(\w+)\[([\dx]+)\]", text)]


def read(path):
    kernels = []
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            role, fields = PASSES.get(row["op_type"]), dict(re.findall(r"(\w+)=([\d,]+)", row["attributes"]))
            window = [int(e) for e in fields.get("kernel_shape", "").split(",") if e]
            plain = len(window) == 2 and window[0] == window[1] and fields.get("dilations", "1,1") == "1,1"
            if role is None or not plain or "channels_last" in fields or row["timing"] != "kernel-only":
                continue
            inputs, outputs = tensors(row["inputs"]), tensors(row["outputs"])
            result = (inputs[1] if role == "filter" else inputs[0] if role == "image" else outputs[0])[1]
            image = (outputs[0] if role == "image" else inputs[0])[1]
            if int(fields["group"]) == image[1] == result[1] > 1:
                kernels.append(Kernel(role, inputs[0][0], window[0], int(fields["strides"].split(",")[0]), result,
                                      float(row["time_ns"]) / 1e3))
    return kernels


def filter_us(kernel, options, law):
    batch, channels, *pixels = kernel.result
    steps = math.ceil(math.prod(pixels) / WARP) + law[1]
    cycles = max(channels * kernel.side**2 * batch * steps * law[0] / options.units,
                 math.ceil(batch / WARPS) * steps * LATENCY)
    return options.launch + cycles / options.clock / 1e3


def errors(kernels, options, law):
    return [100 * abs(filter_us(k, options, law) / k.us - 1) for k in kernels]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ops", nargs="+")
    parser.add_argument("--clock", type=float, default=1.98)
    parser.add_argument("--units", type=int, default=132)
    parser.add_argument("--launch", type=float, default=1.0)
    options = parser.parse_args()
    kernels = [kernel for path in options.ops for kernel in read(path)]
    rates = collections.defaultdict(list)
    for kernel in kernels:
        if kernel.us > 15:
            adds = math.prod(kernel.result) * kernel.side**2
            rates[kernel.role, kernel.dtype, kernel.side, kernel.stride].append(
                adds / ((kernel.us - options.launch) * 1e3 * options.clock * options.units))
    for key, values in sorted(rates.items()):
        print(f"{key[0]:8} {key[1]:9} {key[2]}x{key[2]} stride {key[3]}: {statistics.median(values):6.2f} a cycle and unit, "
              f"{len(values)} kernels")
    own = [k for k in kernels if k.role == "filter" and k.us > 8 and k.side > 1 and (k.dtype == "float32" or k.side > 5)]
    if not own:
        return
    fitted = min(itertools.product(STEP_CYCLES, STEPS_PER_IMAGE), key=lambda law: statistics.mean(errors(own, options, law)))
    for name, law in (("fitted", fitted), ("in use", (12, 2.5))):
        found = errors(own, options, law)
        print(f"filters, {name}: {law[0]:g} cycles per step, {law[1]:g} steps per image: mean error {statistics.mean(found):.1f} %, "
              f"median {statistics.median(found):.1f} %, {len(own)} kernels")


if __name__ == "__main__":
    main()
