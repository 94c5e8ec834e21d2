#!/usr/bin/env python3
"""Measures how fast products read their weights in ONNX Runtime: from the last-level cache and from memory.

usage: resident_weights.py [--width 1024] > resident_weights.csv

Needs numpy, onnx and onnxruntime. Each network is a chain of products of ROWS rows with square weights
of their own, run again and again, so that the weights of small chains stay in the cache. The median of
a run less that of the smallest chain's overhead, divided by the bytes of the weights, counts.
"""
import argparse
import csv
import os
import statistics
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

MEGABYTES = (4, 8, 16, 24, 32, 64, 128)
ROWS = (1, 4, 8, 16)
SECONDS = 0.7


def chain(layers, width, rows, path):
    rng = np.random.default_rng(0)
    weights = [numpy_helper.from_array(rng.standard_normal((width, width), np.float32) / np.float32(width), f"w{i}")
               for i in range(layers)]
    nodes = [helper.make_node("MatMul", [f"y{i}", f"w{i}"], [f"y{i + 1}"]) for i in range(layers)]
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, width]) for name in ("y0", f"y{layers}")]
    model = helper.make_model(helper.make_graph(nodes, "chain", value[:1], value[1:], weights),
                              opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)


def run_us(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0]
    feed = {given.name: np.ones(given.shape, np.float32)}
    times = []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(times) < 15:
        start = time.perf_counter()
        session.run(None, feed)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=1024)
    width = parser.parse_args().width
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["rows", "weights_mb", "gb_per_s_1_thread", "gb_per_s_2_threads"])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "chain.onnx")
        chain(1, 4, 1, path)
        overhead = [run_us(path, threads) for threads in (1, 2)]
        print("a run of one product of 4 x 4: " + ", ".join(f"{us:.1f} us" for us in overhead), file=sys.stderr)
        for rows in ROWS:
            for megabytes in MEGABYTES:
                layers = max(1, round(megabytes * 1e6 / (width * width * 4)))
                chain(layers, width, rows, path)
                size = layers * width * width * 4
                rates = [size / (run_us(path, 1 + i) - overhead[i]) / 1e3 for i in range(2)]
                out.writerow([rows, f"{size / 1e6:.1f}", *(f"{rate:.1f}" for rate in rates)])
                sys.stdout.flush()


if __name__ == "__main__":
    main()
