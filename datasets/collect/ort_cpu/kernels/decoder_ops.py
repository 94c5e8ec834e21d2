#!/usr/bin/env python3
"""Measures ONNX Runtime's operators of language models, with one and two threads.

usage: decoder_ops.py [--hidden 896,4864] > decoder_ops.csv

Needs numpy, onnx and onnxruntime. Each network has one operator, or as many copies with weights of
their own as 100 MB have room for, because the weights of a real model come from memory. It runs
until a second has passed, with the profiler on; the median of the kernels' times counts.

MatMulNBits: weights of 4 and 8 bits, products in fp32 (accuracy level 0) and in 8 bits (level 4).
The others: attention with a cache, attention without one, and the embedding before BERT's layers.
"""
import argparse
import csv
import statistics
import pathlib
import sys
import tempfile

import numpy as np
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from measure import kernel_times_us  # noqa: E402

SECONDS = 1.0
FEWEST_RUNS = 5
BLOCK = 32
WEIGHTS_BYTES = 100e6


def kernel_us(graph, feed, threads, folder):
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
    return statistics.median(us for _, us in kernel_times_us(model, feed, threads, folder, FEWEST_RUNS, SECONDS))


def value(name, extents, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, extents)


def normal(rng, *extents):
    return (0.1 * rng.standard_normal(extents)).astype(np.float32)


def packed_product(rows, inner, columns, bits, level, rng):
    blocks = (inner + BLOCK - 1) // BLOCK
    row_bytes = blocks * (BLOCK * bits // 8 + 4)
    copies = int(np.clip(WEIGHTS_BYTES / (columns * row_bytes), 1, 24))
    nodes, operands = [], []
    for copy in range(copies):
        weight = rng.integers(0, 256, (columns, blocks, BLOCK * bits // 8), np.uint8)
        scales = (0.01 * rng.random(columns * blocks)).astype(np.float32)
        operands += [numpy_helper.from_array(weight, f"w{copy}"), numpy_helper.from_array(scales, f"s{copy}")]
        nodes.append(helper.make_node("MatMulNBits", ["x", f"w{copy}", f"s{copy}"], [f"y{copy}"], f"product{copy}",
                                      domain="com.microsoft", K=inner, N=columns, bits=bits, block_size=BLOCK,
                                      accuracy_level=level))
    outputs = [value(f"y{copy}", [rows, columns]) for copy in range(copies)]
    graph = helper.make_graph(nodes, "g", [value("x", [rows, inner])], outputs, operands)
    return graph, {"x": normal(rng, rows, inner)}


def attention_with_cache(batch, tokens, past, heads, kv_heads, size, rng):
    width = (heads + 2 * kv_heads) * size
    tables = [numpy_helper.from_array(normal(rng, 4096, size // 2), name) for name in ("cos", "sin")]
    node = helper.make_node("GroupQueryAttention",
                            ["x", "", "", "past_k", "past_v", "last", "total", "cos", "sin"], ["y", "k", "v"], "a",
                            domain="com.microsoft", num_heads=heads, kv_num_heads=kv_heads, do_rotary=1)
    cache = [batch, kv_heads, past, size]
    grown = [batch, kv_heads, past + tokens, size]
    graph = helper.make_graph(
        [node], "g",
        [value("x", [batch, tokens, width]), value("past_k", cache), value("past_v", cache),
         value("last", [batch], TensorProto.INT32), value("total", [1], TensorProto.INT32)],
        [value("y", [batch, tokens, heads * size]), value("k", grown), value("v", grown)], tables)
    feed = {"x": normal(rng, batch, tokens, width), "past_k": normal(rng, *cache), "past_v": normal(rng, *cache),
            "last": np.full(batch, past + tokens - 1, np.int32), "total": np.array([past + tokens], np.int32)}
    return graph, feed


def attention_of_heads(batch, tokens, keys, heads, size, rng):
    node = helper.make_node("MultiHeadAttention", ["q", "k", "v"], ["y"], "a", domain="com.microsoft", num_heads=heads)
    width = heads * size
    graph = helper.make_graph(
        [node], "g", [value("q", [batch, tokens, width]), value("k", [batch, keys, width]),
                      value("v", [batch, keys, width])], [value("y", [batch, tokens, width])])
    return graph, {"q": normal(rng, batch, tokens, width), "k": normal(rng, batch, keys, width),
                   "v": normal(rng, batch, keys, width)}


def embedding(batch, tokens, hidden, rng):
    operands = [numpy_helper.from_array(normal(rng, rows, hidden), name)
                for name, rows in (("words", 30522), ("places", 512), ("kinds", 2))]
    operands += [numpy_helper.from_array(normal(rng, hidden), name) for name in ("gamma", "beta")]
    node = helper.make_node("EmbedLayerNormalization",
                            ["ids", "types", "words", "places", "kinds", "gamma", "beta"], ["y", "mask"], "e",
                            domain="com.microsoft")
    inputs = [value(name, [batch, tokens], TensorProto.INT32) for name in ("ids", "types")]
    graph = helper.make_graph([node], "g", inputs, [value("y", [batch, tokens, hidden])], operands)
    return graph, {"ids": rng.integers(0, 30522, (batch, tokens), np.int32),
                   "types": np.zeros((batch, tokens), np.int32)}


def cases(extents, rng):
    """(operator, form, extents as text, graph, feed)"""
    for inner, columns in extents:
        for bits, level in ((4, 0), (4, 4), (8, 0), (8, 4)):
            for rows in (1, 4, 16, 128):
                yield ("MatMulNBits", f"{bits} bits, level {level}", f"{rows}x{inner}x{columns}",
                       *packed_product(rows, inner, columns, bits, level, rng))
    for shape in ((1, 1, 127, 14, 2, 64), (1, 1, 127, 16, 8, 64), (1, 1, 1023, 16, 8, 64), (1, 1, 511, 32, 8, 128),
                  (4, 1, 255, 9, 3, 64), (1, 64, 64, 14, 2, 64), (1, 64, 64, 16, 16, 64), (1, 256, 0, 32, 8, 128),
                  (1, 512, 0, 16, 8, 64), (1, 128, 896, 16, 8, 64)):
        yield "GroupQueryAttention", "batch, tokens, cache, heads, kv heads, size", "x".join(map(str, shape)), \
            *attention_with_cache(*shape, rng)
    for shape in ((1, 128, 128, 12, 64), (1, 512, 512, 12, 64), (8, 64, 64, 12, 32), (1, 1, 1500, 8, 64),
                  (1, 197, 197, 6, 64), (1, 1024, 77, 8, 40)):
        yield "MultiHeadAttention", "batch, tokens, keys, heads, size", "x".join(map(str, shape)), \
            *attention_of_heads(*shape, rng)
    for shape in ((1, 128, 384), (1, 128, 768), (8, 128, 768)):
        yield "EmbedLayerNormalization", "batch, tokens, hidden", "x".join(map(str, shape)), *embedding(*shape, rng)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hidden", default="576,1536;896,4864;2048,2048;4864,896",
                        help="inner extent and columns of the products, apart by semicolons")
    extents = [tuple(map(int, pair.split(","))) for pair in parser.parse_args().hidden.split(";")]
    rng = np.random.default_rng(0)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["operator", "form", "extents", "us_1_thread", "us_2_threads"])
    with tempfile.TemporaryDirectory() as folder:
        for operator, form, text, graph, feed in cases(extents, rng):
            times = [kernel_us(graph, feed, threads, folder) for threads in (1, 2)]
            writer.writerow([operator, form, text] + [f"{time:.1f}" for time in times])
            sys.stdout.flush()


if __name__ == "__main__":
    main()
