#!/usr/bin/env python3
"""Fits the laws of opmodel/model/laws/training_kernels.cc for batch normalisation in training steps.

    fit_norm_laws.py STEPS.csv.gz --bandwidth TB/s --clock GHz --units N [--launch US]

STEPS is a file of `collect.py export --steps`. A law is floor + max(moved bytes / (share of bandwidth), channels / units
* channel cycles, elements of a channel * element cycles); the last one counts where a channel is larger than a block
keeps. Forward kernels are fitted one by one, gradients by their sums over a network, which is all that a profile has;
minimises absolute logarithms of predicted over measured time, with parameters drawn to a start by 0.02 of theirs.
Prints the parameters, and the errors of networks that were left out of the fit.
"""

import argparse
import collections
import csv
import gzip
import math
import pathlib
import re
import statistics

import numpy
import scipy.optimize

PARAMETERS = ("floor us", "channel cycles", "element cycles, 4 bytes", "element cycles, 2 bytes", "share of bandwidth")
KEPT_BYTES = {"forward": 195e3, "gradient": 100e3}
PASSES = {"forward": (2, 3), "gradient": (3, 5)}  # kept, walked
START = {"forward": (1.0, 2400.0, 1.1, 1.3, 0.95), "gradient": (1.5, 2400.0, 3.0, 2.6, 0.8)}
PULL = 0.02
NORMAL_80 = (10, 90)

Kernel = collections.namedtuple("Kernel", "channels elements bytes us count")


def read(path):
    """Forward kernels and the gradients' sum of each network and dtype."""
    forward, gradients = {}, {}
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            key = row["network"], row["dtype"]
            us, count = float(row["us"]), int(row["count"])
            if row["op"] == "aten::batch_norm":
                n, c, *image = map(int, re.match(r"\[([0-9x]+)\]", row["shapes"])[1].split("x"))
                size = 2 if row["type"] == "float16" else 4
                forward.setdefault(key, []).append(Kernel(c, n * math.prod(image), size, us, count))
            elif "BatchNormBackward" in row["op"]:
                gradients[key] = gradients.get(key, 0) + us * count
    return forward, gradients


class Law:
    def __init__(self, direction, device):
        self.direction, self.device = direction, device

    def us(self, kernel, parameters):
        floor, channel, four, two, share = parameters
        walked = kernel.elements * kernel.bytes > KEPT_BYTES[self.direction]
        moved = PASSES[self.direction][walked] * kernel.channels * kernel.elements * kernel.bytes
        per_element = four if kernel.bytes > 2 else two
        return self.device.launch + floor + max(
            moved / (self.device.bandwidth * 1e6 * share), kernel.channels / self.device.units * channel / self.device.clock / 1e3,
            kernel.elements * per_element / self.device.clock / 1e3 if walked else 0)

    def logs(self, parameters, forward, gradients, networks):
        """Logarithms of predicted over measured: of kernels, or of a network's sum of gradients."""
        for key in networks:
            if self.direction == "forward":
                yield from (math.log(self.us(k, parameters) / k.us) for k in forward[key])
            else:
                yield math.log(sum(k.count * self.us(k, parameters) for k in forward[key]) / gradients[key])

    def network_log(self, parameters, forward, gradients, key):
        total = sum(k.count * self.us(k, parameters) for k in forward[key])
        measured = gradients[key] if self.direction == "gradient" else sum(k.count * k.us for k in forward[key])
        return math.log(total / measured)

    def fit(self, forward, gradients, networks):
        start = numpy.log(START[self.direction])

        def loss(logs):
            errors = list(self.logs(numpy.exp(logs), forward, gradients, networks))
            return statistics.mean(map(abs, errors)) + PULL * float(numpy.mean(numpy.abs(logs - start)))

        found = scipy.optimize.minimize(loss, start, method="Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-4, "fatol": 1e-6})
        return numpy.exp(found.x)


def report(law, forward, gradients):
    keys = sorted(gradients)
    best = law.fit(forward, gradients, keys)
    print(f"{law.direction}: " + ", ".join(f"{name} {value:.3g}" for name, value in zip(PARAMETERS, best)))
    if law.direction == "forward":
        low, high = numpy.percentile(list(law.logs(best, forward, gradients, keys)), NORMAL_80)
        print(f"  80 % of the kernels: {math.exp(low):.2f} to {math.exp(high):.2f} of the measured time")
    left_out = []
    for network in sorted({network for network, _ in keys}):
        parameters = law.fit(forward, gradients, [key for key in keys if key[0] != network])
        for key in keys:
            if key[0] == network:
                left_out.append(math.exp(law.network_log(parameters, forward, gradients, key)) - 1)
                print(f"  left out: {network:18} {key[1]:12} {100 * left_out[-1]:+6.1f} %")
    print(f"  left out: mean error {100 * statistics.mean(map(abs, left_out)):.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", type=pathlib.Path)
    parser.add_argument("--bandwidth", type=float, required=True, help="TB/s that the board sustains")
    parser.add_argument("--clock", type=float, required=True, help="GHz")
    parser.add_argument("--units", type=int, required=True)
    parser.add_argument("--launch", type=float, default=2.5, help="least time of a kernel in microseconds; default: 2.5")
    options = parser.parse_args()
    forward, gradients = read(options.steps)
    for direction in PASSES:
        report(Law(direction, options), forward, gradients)


if __name__ == "__main__":
    main()
