#!/usr/bin/env python3
"""Measures ONNX Runtime's mixtures of experts (MoE, QMoE), with one and two threads.

usage: expert_ops.py [--bits 4,8,32] [--held-out] > expert_ops.csv

Needs numpy, onnx and onnxruntime. Each network has one operator with experts of random weights, routed at random. It
runs until a second has passed, five times at least, with the profiler on; the median of the kernel's times counts.
--held-out: sizes that the law (opmodel/model/laws/cpu/expert_kernels.h) was not made from.
"""
import argparse
import csv
import pathlib
import sys
import tempfile

import numpy as np
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from decoder_ops import normal, value  # noqa: E402
from measure import kernel_times_us  # noqa: E402

# (rows, hidden, width of an expert, experts, chosen)
SIZES = ((1, 1024, 512, 32, 8), (1, 2048, 1024, 32, 4), (1, 2880, 2880, 8, 4), (1, 768, 3072, 8, 1),
         (4, 1024, 512, 32, 8), (4, 2880, 2880, 8, 4), (16, 1024, 512, 32, 8), (16, 2048, 1024, 32, 4),
         (128, 1024, 512, 32, 8), (128, 2048, 1024, 32, 4), (128, 768, 3072, 8, 1), (512, 1024, 512, 32, 8))
HELD_OUT = ((1, 2048, 768, 64, 8), (1, 4096, 448, 16, 2), (8, 2048, 768, 64, 8), (64, 1536, 512, 40, 8),
            (256, 768, 2048, 8, 2))
# (operator, bits, accuracy level, block, activation)
FORMS = (("MoE", 32, 0, 0, "swiglu"), ("MoE", 32, 0, 0, "silu"), ("QMoE", 4, 0, 32, "swiglu"),
         ("QMoE", 4, 4, 32, "swiglu"), ("QMoE", 4, 0, 0, "swiglu"), ("QMoE", 8, 0, 32, "swiglu"),
         ("QMoE", 8, 0, 0, "swiglu"))


def expert_weights(name, experts, columns, inner, bits, block, rng):
    """The operands of one matrix per expert: weights, then scales where they are packed."""
    if bits == 32:
        return [numpy_helper.from_array(normal(rng, experts, columns, inner), name)]
    packed = rng.integers(0, 256, (experts, columns, inner * bits // 8), np.uint8)
    scaled = (experts, columns, inner // block) if block else (experts, columns)
    scales = (0.01 * rng.random(scaled)).astype(np.float32)
    return [numpy_helper.from_array(packed, name), numpy_helper.from_array(scales, name + "_scales")]


def experts_network(form, size, rng):
    operator, bits, level, block, activation = form
    rows, hidden, width, experts, chosen = size
    gates = 2 if activation == "swiglu" else 1
    first = expert_weights("up", experts, gates * width, hidden, bits, block, rng)
    second = expert_weights("down", experts, hidden, width, bits, block, rng)
    attributes = {"k": chosen, "activation_type": activation, "normalize_routing_weights": 1}
    if activation == "swiglu":
        attributes["swiglu_fusion"] = 1
    if bits != 32:
        attributes.update(expert_weight_bits=bits, accuracy_level=level, **({"block_size": block} if block else {}))
    names = ["x", "router"] + [w.name for w in first] + [""] + [w.name for w in second]
    node = helper.make_node(operator, names, ["y"], "experts", domain="com.microsoft", **attributes)
    graph = helper.make_graph([node], "g", [value("x", [rows, hidden]), value("router", [rows, experts])],
                              [value("y", [rows, hidden])], first + second)
    feed = {"x": normal(rng, rows, hidden), "router": rng.standard_normal((rows, experts)).astype(np.float32)}
    return graph, feed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--bits", default="4,8,32", help="of the weights, apart by commas")
    options = parser.parse_args()
    sizes = HELD_OUT if options.held_out else SIZES
    wanted = set(map(int, options.bits.split(",")))
    rng = np.random.default_rng(0)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["operator", "bits", "level", "block", "activation", "rows", "hidden", "width", "experts",
                     "chosen", "us_1_thread", "us_2_threads"])
    with tempfile.TemporaryDirectory() as folder:
        for form, size in ((form, size) for form in FORMS if form[1] in wanted for size in sizes):
            graph, feed = experts_network(form, size, rng)
            opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
            model = helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
            times = [sum(us for _, us in kernel_times_us(model, feed, threads, folder, 9, 1.0, min))
                     for threads in (1, 2)]
            writer.writerow([*form, *size] + [f"{time:.1f}" for time in times])
            sys.stdout.flush()


if __name__ == "__main__":
    main()
