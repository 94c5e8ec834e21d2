#!/usr/bin/env python3
"""Measures operators that no campaign has: time per element in ONNX Runtime, with one and two threads.

usage: plain_ops.py [--extents 8,64,32,32] > plain_ops.csv

Needs numpy, onnx and onnxruntime. Each operator is a network of its own that is run 15 times with the
profiler on; the median of the kernel's times counts, at half a million elements, so that the
profiler's own microseconds do not matter. Fourier transforms are timed per transform.
"""
import argparse
import csv
import math
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from measure import kernel_times_us  # noqa: E402

RUNS = 15
ELEMENTWISE = ("Acos Acosh Asin Asinh Atan Atanh Celu Cosh Mish Selu Sign Sinh Tan".split())
REDUCTIONS = ("ReduceL1 ReduceLogSum ReduceLogSumExp ReduceMin ReduceProd ReduceSumSquare".split())


def constant(name, values, dtype=np.float32):
    return numpy_helper.from_array(np.asarray(values, dtype), name)


def cases(shape):
    """(operator, form, opset, constant operands, attributes)"""
    for op in ELEMENTWISE:
        yield op, "", 20, [], {}
    for op in REDUCTIONS:
        for form, axes in (("last", [3]), ("inner", [1])):
            yield op, form, 18, [constant("axes", axes, np.int64)], {}
    for form, axis in (("last", 3), ("inner", 1)):
        yield "CumSum", form, 18, [constant("axis", axis, np.int64)], {}
        yield "ArgMin", form, 18, [], {"axis": axis}
        yield "Hardmax", form, 18, [], {"axis": axis}
    yield "PRelu", "", 18, [constant("slope", np.full((64, 1, 1), 0.1))], {}
    yield "Mod", "", 18, [constant("by", np.full((64, 1, 1), 1.5))], {"fmod": 1}
    yield "LRN", "", 18, [], {"size": 5}
    yield "LpNormalization", "", 18, [], {"axis": 1}
    yield "GroupNormalization", "", 21, [constant("a", np.ones(64)), constant("b", np.ones(64))], {"num_groups": 8}
    yield "LpPool", "", 18, [], {"kernel_shape": [2, 2], "strides": [2, 2]}
    yield "GlobalLpPool", "", 18, [], {}
    yield "GlobalMaxPool", "", 18, [], {}
    yield "Gelu", "", 20, [], {}
    yield "DepthToSpace", "", 18, [], {"blocksize": 2}
    yield "TopK", "", 18, [constant("k", [5], np.int64)], {}
    yield "NonZero", "", 18, [], {}
    yield "GridSample", "", 18, [constant("grid", np.random.default_rng(0).random((shape[0], *shape[2:], 2)))], {}


def kernel_us(model, feed, threads, folder):
    return sum(us for _, us in kernel_times_us(model.SerializeToString(), feed, threads, folder, RUNS))


def network(op, opset, operands, attributes, shape):
    outputs = ["y", "indices"] if op == "TopK" else ["y"]
    node = helper.make_node(op, ["x"] + [operand.name for operand in operands], outputs, **attributes)
    graph = helper.make_graph([node], op, [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_empty_tensor_value_info("y")], operands)
    return onnx.shape_inference.infer_shapes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9))


def values_for(op, rng, shape):
    """Draws values of both signs, as branches take time, but inside of the function's domain."""
    if op in ("Acos", "Asin", "Atanh", "Acosh", "ReduceLogSum"):
        values = rng.random(shape) * (1 if op == "ReduceLogSum" else 0.99)
        return (values + (1 if op == "Acosh" else 0)).astype(np.float32)
    return rng.standard_normal(shape).astype(np.float32)


def regions(count=100, side=7, ratio=2):
    """Regions of random places and sizes on a map of 256 channels."""
    corners = np.sort(np.random.default_rng(0).random((count, 2, 2)) * 50, axis=1).reshape(count, 4)
    operands = [constant("regions", corners), constant("images", np.zeros(count), np.int64)]
    sizes = {"output_height": side, "output_width": side, "sampling_ratio": ratio}
    return network("RoiAlign", 16, operands, sizes, [1, 256, 50, 50]), count * 256 * (side * ratio) ** 2


def transform(length, frames=200):
    step = length // 2
    samples = step * (frames - 1) + length
    operands = [constant("step", step, np.int64), constant("window", np.hanning(length))]
    return network("STFT", 17, operands, {}, [1, samples, 1]), samples, frames


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extents", default="8,64,32,32", help="four extents, the second a multiple of 64")
    shape = [int(extent) for extent in parser.parse_args().extents.split(",")]
    rng = np.random.default_rng(0)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["operator", "form", "per", "ns_1_thread", "ns_2_threads"])
    with tempfile.TemporaryDirectory() as folder:
        for op, form, opset, operands, attributes in cases(shape):
            model = network(op, opset, operands, attributes, shape)
            feed = {"x": values_for(op, rng, shape)}
            times = [1000 * kernel_us(model, feed, threads, folder) / math.prod(shape) for threads in (1, 2)]
            writer.writerow([op, form, "element"] + [f"{time:.2f}" for time in times])
        model, samples = regions()
        feed = {"x": rng.standard_normal((1, 256, 50, 50)).astype(np.float32)}
        times = [1000 * kernel_us(model, feed, threads, folder) / samples for threads in (1, 2)]
        writer.writerow(["RoiAlign", "", "sample"] + [f"{time:.2f}" for time in times])
        for length in (256, 512, 1024, 2048, 320, 400, 800):
            model, samples, frames = transform(length)
            signal = rng.random((1, samples, 1)).astype(np.float32)
            times = [1000 * kernel_us(model, {"x": signal}, threads, folder) / frames for threads in (1, 2)]
            writer.writerow(["STFT", length, "transform"] + [f"{time:.0f}" for time in times])


if __name__ == "__main__":
    main()
