#!/usr/bin/env python3
"""Measures ONNX Runtime's products of bytes by the types of their operands, with one and two threads.

usage: byte_products.py > byte_products.csv

Needs numpy, onnx and onnxruntime. Each operator is a network of its own that is run 12 times with the
profiler on; the sum of the medians of its kernels' times counts, as ONNX Runtime adds transposes to
some convolutions. Types are those of activations and weights: u8 s8, u8 u8, s8 s8.
"""
import csv
import pathlib
import sys
import tempfile

import numpy as np
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from measure import kernel_times_us  # noqa: E402

RUNS = 12
TYPES = {"u8 s8": (np.uint8, np.int8), "u8 u8": (np.uint8, np.uint8), "s8 s8": (np.int8, np.int8)}
ONNX_TYPES = {np.uint8: TensorProto.UINT8, np.int8: TensorProto.INT8}
# channels, side, output channels, kernel, stride, groups
CONVOLUTIONS = [(64, 56, 64, 1, 1, 1), (64, 56, 64, 3, 1, 1), (256, 14, 512, 3, 2, 1), (384, 7, 384, 1, 1, 1),
                (128, 28, 128, 3, 1, 8), (192, 28, 192, 3, 1, 192), (3, 224, 32, 3, 2, 1)]
PRODUCTS = [(128, 768, 768), (128, 3072, 768), (16, 384, 1536), (1, 1024, 1000)]  # rows, inner, columns


def kernels_us(graph, feed, threads, folder):
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return sum(us for _, us in kernel_times_us(model.SerializeToString(), feed, threads, folder, RUNS))


def network(node, types, x_extents, weight_extents, result_type, rng):
    """The operator `node` of x, its weight "w", the scale "s", and zero points "xz" and "wz"."""
    activation, weight = types
    operands = {"s": np.float32(0.02), "xz": np.array(3, activation), "wz": np.array(0, weight),
                "w": rng.integers(0, 100, weight_extents).astype(weight)}
    operands = [numpy_helper.from_array(value, name) for name, value in operands.items() if name in node.input]
    x = helper.make_tensor_value_info("x", ONNX_TYPES[activation], x_extents)
    y = helper.make_tensor_value_info("y", result_type or ONNX_TYPES[activation], None)
    return (helper.make_graph([node], "g", [x], [y], operands),
            {"x": rng.integers(0, 100, x_extents).astype(activation)})


def cases(types, rng):
    """(operator, extents as text, graph, feed)"""
    quantised = ["x", "s", "xz", "w", "s", "wz", "s", "xz"]
    for channels, side, columns, kernel, stride, groups in CONVOLUTIONS:
        node = helper.make_node("QLinearConv", quantised, ["y"], pads=[kernel // 2] * 4, strides=[stride] * 2,
                                group=groups)
        yield "QLinearConv", f"{channels}x{side}x{side} to {columns}, kernel {kernel}, stride {stride}, group {groups}", \
            *network(node, types, (1, channels, side, side), (columns, channels // groups, kernel, kernel), None, rng)
    for rows, inner, columns in PRODUCTS:
        text = f"{rows}x{inner}x{columns}"
        node = helper.make_node("QLinearMatMul", quantised, ["y"])
        yield "QLinearMatMul", text, *network(node, types, (rows, inner), (inner, columns), None, rng)
        node = helper.make_node("MatMulInteger", ["x", "w", "xz", "wz"], ["y"])
        yield "MatMulInteger", text, *network(node, types, (rows, inner), (inner, columns), TensorProto.INT32, rng)


def main():
    rng = np.random.default_rng(0)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["operator", "extents", "types", "us_1_thread", "us_2_threads"])
    with tempfile.TemporaryDirectory() as folder:
        for name, types in TYPES.items():
            for operator, text, graph, feed in cases(types, rng):
                times = [kernels_us(graph, feed, threads, folder) for threads in (1, 2)]
                writer.writerow([operator, text, name] + [f"{time:.1f}" for time in times])


if __name__ == "__main__":
    main()
