#!/usr/bin/env python3
"""Fits the factors of opmodel/model/laws/network_factors.cc to published times of whole networks.

usage: fit_network_factors.py RUNS.csv --hw NAME [--dfsim PROGRAM]

RUNS.csv is a file for `dfsim validate --runs` of networks under autocast on one GPU. dfsim predicts each, its times are
summed by class, and one factor per class minimises the squared logarithms of predicted over measured time. Outliers are
damped (soft L1 beyond 5 %), and factors are drawn to 1 (by 0.05 of their logarithm). The factors that the program
applies already are undone first; where a limit held one back, that is not exact, so fit with a build in which all are
1. Prints the factors, and the errors before and after.
"""

import argparse
import collections
import csv
import gzip
import json
import pathlib
import re
import subprocess
import sys

import numpy
import onnx
import scipy.optimize

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "opmodel/model/laws/network_factors.cc"
CLASSES = ("windows", "grouped", "products", "attention")
PULL = 0.05
OUTLIER = 0.05


def shipped():
    """The factors that the program applies."""
    text = SOURCE.read_text(encoding="utf-8")
    return {name: float(re.search(rf"k{name.capitalize()} = ([0-9.]+);", text)[1]) for name in CLASSES}


def model_file(network):
    for folder in ("graphs/zoo", "datasets/measured/networks"):
        for suffix in (".onnx", ".onnx.gz"):
            file = ROOT / folder / (network + suffix)
            if file.exists():
                return file
    sys.exit(f"{network}: no graph of that name in graphs/zoo or datasets/measured/networks")


def convolution_class(node, shape):
    attributes = {a.name: a for a in node.attribute}
    group = attributes["group"].i if "group" in attributes else 1
    kernel = attributes["kernel_shape"].ints if "kernel_shape" in attributes else shape[2:]
    if group > 1:
        return "other" if shape is None or shape[1] == 1 else "grouped"  # the others are depthwise
    return "other" if all(extent == 1 for extent in kernel) else "windows"


def classes_of(file):
    """The class of each convolution and product with a weight, by the name of its node and of what it writes."""
    data = file.read_bytes()
    graph = onnx.load_from_string(gzip.decompress(data) if file.suffix == ".gz" else data).graph
    shapes = {tensor.name: tensor.dims for tensor in graph.initializer}
    weights = set(shapes)
    found = {}
    for node in graph.node:
        if node.op_type in ("Transpose", "Identity") and node.input[0] in weights:
            weights.update(node.output)
        elif node.op_type == "Conv":
            kind = convolution_class(node, shapes.get(node.input[1]))
            found.update((name, kind) for name in (node.name, *node.output))
        elif node.op_type in ("Gemm", "MatMul") and weights & set(node.input[:2]):
            found.update((name, "products") for name in (node.name, *node.output))
    return found


def times_by_class(program, row, hardware):
    """Milliseconds by class, "other" for all that has no factor."""
    file = model_file(row["network"])
    answer = subprocess.run(
        [program, "predict", str(file), "--hw", hardware, "--batch", row["batch"], "--precision", "mixed-fp16",
         "--runtime", "torch-sdpa", "--json"], capture_output=True, text=True, check=False)
    if answer.returncode:
        sys.exit(f"{row['network']}: {answer.stderr.strip()}")
    kinds = classes_of(file)
    times = collections.Counter()
    for op in json.loads(answer.stdout)["ops"]:
        time = op["duration_us"] / 1e3
        kind = "attention" if op["class"] == "attention" else "other"
        if op["class"] in ("conv", "matmul"):
            kind = kinds.get(op["name"], "other")
        times[kind if op["dtype"] == "float16" else "other"] += time
    return times


class Table:
    """The times of all runs by class, without the factors that the program applies."""

    def __init__(self, program, hardware, runs, applied):
        rows = [times_by_class(program, row, hardware) for row in runs]
        self.names = [row["network"] for row in runs]
        self.times = numpy.array([[row[name] / applied[name] for name in CLASSES] + [row["other"]] for row in rows])
        self.measured = numpy.array([float(row["time_ms"]) for row in runs])

    def errors(self, factors):
        return self.times @ numpy.array([*factors, 1]) / self.measured - 1

    def fit(self):
        def residuals(logs):
            return numpy.concatenate([numpy.log1p(self.errors(numpy.exp(logs))), PULL * logs])

        start = numpy.zeros(len(CLASSES))
        return numpy.exp(scipy.optimize.least_squares(residuals, start, loss="soft_l1", f_scale=OUTLIER).x)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs")
    parser.add_argument("--hw", required=True, help="the GPU's hardware file or its name")
    parser.add_argument("--dfsim", default=str(ROOT / "build/release/dfsim"))
    options = parser.parse_args()
    with open(options.runs, encoding="utf-8") as file:
        table = Table(options.dfsim, options.hw, list(csv.DictReader(file)), shipped())
    factors = table.fit()
    for name, factor in zip(CLASSES, factors):
        print(f"{name}: {factor:.2f}")
    before, after = table.errors([1] * len(CLASSES)), table.errors(factors)
    for title, errors in (("without factors", before), ("with them", after)):
        mean, bias = 100 * numpy.mean(numpy.abs(errors)), 100 * numpy.mean(errors)
        print(f"{title}: mean error {mean:.1f} %, bias {bias:+.1f} %")
    for name, old, new in zip(table.names, before, after):
        print(f"  {name:30} {100 * old:+6.1f} {100 * new:+6.1f}")


if __name__ == "__main__":
    main()
