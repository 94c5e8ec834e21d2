#!/usr/bin/env python3
"""Writes made-up MindSpore profiles on a machine that is harder to learn, with anomalies.

usage: odd_steps.py FOLDER BATCH... [--only NETWORK,...] [--without NETWORK,...] [--seed N]
                    [--anomalies NETWORK:BATCH]

Operators and formats are those of training_steps.py; the machine is another one. Nothing of it is
known to dfsim's cost model:
- products choose one of five kernels by thresholds of rows and columns, which are not always the
  best choice, so that times jump where another kernel begins;
- three levels of memory, each with its own rate, mixed by the part of the data that each can hold;
- vector operators work in repeats of 255 vectors per core, so that times grow in steps;
- every run has a clock of its own (1.5 %), every measurement noise (2.5 %, now and then 10 %);
- with --anomalies, in that run all operators of every 30th shape take 3 to 8 times as long.
"""
import argparse
import math
import random
import zlib

import training_steps as steps

KERNELS = [  # rows from, columns from, tile rows, tile columns, efficiency, setup in us
    (0, 0, 16, 64, 0.22, 1.0),
    (64, 64, 64, 64, 0.45, 1.6),
    (256, 128, 128, 128, 0.62, 2.2),
    (1024, 256, 128, 256, 0.74, 3.1),
    (8192, 256, 256, 256, 0.71, 5.0),
]
LEVELS = [(1e6, 5.2e6), (24e6, 2.6e6), (1e18, 0.86e6)]  # bytes, bytes per us
NETWORKS = {  # kind, width, side, layers
    "resnet50": ("conv", 64, 56, 16), "resnet101": ("conv", 64, 56, 30),
    "vgg16": ("conv", 96, 112, 12), "yolo": ("conv", 48, 80, 18),
    "bert": ("block", 768, 128, 6), "bert_large": ("block", 1024, 128, 8),
    "vit": ("block", 768, 208, 6), "deepfm": ("table", 16, 39, 8), "widedeep": ("table", 32, 26, 8),
}


def memory_us(moved):
    time, left = 0.0, float(moved)
    for capacity, rate in LEVELS:
        part = min(left, max(capacity - (moved - left), 0.0))
        time += part / rate
        left -= part
    return time


def product_us(op_type, flops, inputs, outputs):
    elements = [steps.size(s) for s, _, _ in inputs + outputs]
    # M, N and K of any product from the sizes of its three matrices.
    a, b, c = (elements + [1, 1, 1])[:3]
    m, n = math.sqrt(a * c / b), math.sqrt(b * c / a)
    chosen = KERNELS[0]
    for kernel in KERNELS:
        if m >= kernel[0] and n >= kernel[1]:
            chosen = kernel
    _, _, rows, columns, efficiency, setup = chosen
    tiles = math.ceil(m / rows) * math.ceil(n / columns)
    waves = math.ceil(tiles / steps.CORES)
    padded = math.ceil(m / rows) * rows * math.ceil(n / columns) * columns / max(m * n, 1)
    tail = waves * steps.CORES / tiles
    rate = 256e6 * efficiency * (0.85 + 0.3 * steps.unit(op_type, "odd cube"))
    return setup + flops * min(padded * tail, 12) / rate


def time_us(op_type, inputs, outputs, flops, blocks):
    moved = sum(steps.size(s) * b for s, b, _ in inputs + outputs)
    time = memory_us(moved) * (1.1 + 0.9 * steps.unit(op_type, "odd memory"))
    if flops > 0:
        return 1.2 + max(time, product_us(op_type, flops, inputs, outputs))
    elements = max(steps.size(s) for s, _, _ in inputs + outputs)
    repeats = math.ceil(elements / (steps.CORES * 128 * 255))
    vector = repeats * 0.27 * (1 + 3 * steps.unit(op_type, "odd vector"))
    return 1.1 + 2.5 * steps.unit(op_type, "odd launch") + max(time, vector)


class OddStep(steps.Step):
    def __init__(self, network, batch, seed):
        super().__init__(network, batch)
        self.noise = random.Random(zlib.crc32(f"{network} {batch} {seed}".encode()))
        self.clock = 1 + 0.015 * self.noise.gauss(0, 1)
        self.seed = seed

    def disturb(self, anomalous):
        """Noise of each measurement; shapes that take far too long in this run."""
        for i, (name, op_type, blocks, info, time) in enumerate(self.rows):
            spread = 0.10 if self.noise.random() < 0.02 else 0.025
            time *= self.clock * max(1 + spread * self.noise.gauss(0, 1), 0.6)
            shape = op_type + str(sorted((k, v["shape"]) for k, v in info.items()))
            if anomalous and zlib.crc32(shape.encode()) % 30 == 7:
                time *= 3 + 5 * steps.unit(shape, "anomaly", self.seed)
            self.rows[i] = (name, op_type, blocks, info, time)


def build(network, batch, seed, anomalous):
    kind, width, side, layers = NETWORKS[network]
    step = OddStep(network, batch, seed)
    family = network.rstrip("0123456789") if kind == "conv" else network
    shapes = random.Random(family)  # networks of a family begin with the same layers
    for i in range(layers):
        stage = 4 * i // layers
        if kind == "conv":
            c, o = ((width << stage) * shapes.choice((1, 2, 4)) for _ in range(2))
            step.conv(c, o, side >> stage, shapes.choice((1, 1, 3)))
        elif kind == "block":
            step.block(side, width, width // 64)
        else:
            step.embedding(side, 10000 * (1 + stage), width * shapes.choice((1, 2, 5)))
            step.dense(step.batch * 8, shapes.choice((256, 512, 1024)), side * 16)
    step.disturb(anomalous)
    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("batches", nargs="+", type=int)
    parser.add_argument("--only", default="")
    parser.add_argument("--without", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--anomalies", default="")
    args = parser.parse_args()
    steps.time_us = time_us
    for network in NETWORKS:
        if network in args.without.split(",") or (args.only and network not in args.only.split(",")):
            continue
        for batch in args.batches:
            anomalous = f"{network}:{batch}" in args.anomalies.split(",")
            build(network, batch, args.seed, anomalous).write(args.folder)


if __name__ == "__main__":
    main()
