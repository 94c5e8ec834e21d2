#!/usr/bin/env python3
"""Writes made-up MindSpore profiles of training steps: six networks at several batch sizes.

usage: training_steps.py FOLDER BATCH... [--networks N] [--layers N]

The machine behind them is made up too, but behaves like an accelerator with 32 cores: work is cut
into blocks that fill whole waves of cores, data that fits into the cache moves faster, each op type
has its own launch time and efficiency, each op of a network its own lasting deviation (4 %), each
measurement noise (2 %). Forward, backward and update ops, blocked formats (NC1HWC0, FRACTAL_Z,
FRACTAL_NZ), 5-D and empty shapes, op types that ONNX does not have. One folder per network and
batch size: NETWORK_bsBATCH/profiler/{framework_raw_0,aicore_intermediate_0_detail}.csv.
"""
import argparse
import csv
import json
import math
import pathlib
import random
import zlib

CORES = 32
CACHE_BYTES = 32e6
BYTES_PER_US = 1.0e6
FLOPS_PER_US = 200e6


def unit(*key):
    """A number in [0, 1) that depends on the key alone."""
    return zlib.crc32("|".join(map(str, key)).encode()) / 2**32


def size(shape):
    return math.prod(shape) if shape else 1


def time_us(op_type, inputs, outputs, flops, blocks):
    moved = sum(size(s) * b for s, b, _ in inputs + outputs)
    speed = BYTES_PER_US * (0.35 + 0.5 * unit(op_type, "memory"))
    if moved < CACHE_BYTES:
        speed *= 1.6
    waves = math.ceil(blocks / CORES) * CORES / blocks
    compute = flops / (FLOPS_PER_US * (0.3 + 0.4 * unit(op_type, "cube")))
    return 1.5 + 4 * unit(op_type, "launch") + max(moved / speed, compute) * (1 + 0.5 * (waves - 1))


class Step:
    """The ops of one training step of one network at one batch size."""

    def __init__(self, network, batch):
        self.network, self.batch = network, batch
        self.noise = random.Random(zlib.crc32(f"{network} {batch}".encode()))
        self.rows = []

    def op(self, op_type, inputs, outputs, flops=0.0, blocks=CORES, tag="half"):
        bits = {"half": 2, "float": 4}
        names = {"half": "NUMBER_TYPE_FLOAT16", "float": "NUMBER_TYPE_FLOAT32"}
        inputs = [(s, bits[tag], f) for s, f in inputs]
        outputs = [(s, bits[tag], f) for s, f in outputs]
        index = len(self.rows)
        lasting = 1 + 0.04 * (2 * unit(self.network, index, "op") - 1) * 1.7
        time = time_us(op_type, inputs, outputs, flops, blocks) * lasting
        time *= max(1 + 0.02 * self.noise.gauss(0, 1), 0.5)
        info = {}
        for kind, tensors in (("input", inputs), ("output", outputs)):
            for i, (shape, _, layout) in enumerate(tensors):
                info[f"{kind}_{i}"] = {"format": layout, "data_type": names[tag],
                                       "shape": ",".join(map(str, shape))}
        # The compiler numbers ops differently at each batch size.
        name = f"Default/network/{op_type}-op{index + 3 * self.batch}"
        self.rows.append((name, op_type, max(1, min(CORES, int(blocks))), info, time))

    def conv(self, c, o, side, kernel):
        b = self.batch
        c1, o1 = -(-c // 16), -(-o // 16)
        x, y = ((b, c1, side, side, 16), "NC1HWC0"), ((b, o1, side, side, 16), "NC1HWC0")
        w = ((c1 * kernel * kernel, o1, 16, 16), "FRACTAL_Z")
        s = ((1, o1, 1, 1, 16), "NC1HWC0")
        flops = 2.0 * b * c * o * side * side * kernel * kernel
        blocks = b * max(o1 // 4, 1)
        self.op("Conv2D", [x, w], [y], flops, blocks)
        self.op("BNTrainingReduce", [y], [s, s], 0, b)
        self.op("BNTrainingUpdate", [y, s, s], [y], 0, b)
        self.op("ReLU", [y], [y])
        self.op("ReluGrad", [y, y], [y])
        self.op("BNTrainingUpdateGrad", [y, y, s], [s, s], 0, b)
        self.op("BNTrainingReduceGrad", [y, y, s], [y], 0, b)
        self.op("Conv2DBackpropInput", [y, w], [x], flops, blocks)
        self.op("Conv2DBackpropFilter", [y, x], [w], flops * 1.1, c1 * o1)
        flat = ((o, c, kernel, kernel), "DefaultFormat")
        self.op("TransData", [w], [flat])
        self.op("ApplyMomentum", [flat, flat, ((), "DefaultFormat"), flat], [flat], 0, 32, "float")
        self.op("Cast", [flat], [flat])

    def dense(self, rows, n, k):
        nz = lambda r, c: ((-(-c // 16), -(-r // 16), 16, 16), "FRACTAL_NZ")
        flops = 2.0 * rows * n * k
        blocks = max(rows * n // (128 * 128), 1)
        self.op("TransData", [((rows, k), "DefaultFormat")], [nz(rows, k)])
        self.op("MatMul", [nz(rows, k), nz(k, n)], [nz(rows, n)], flops, blocks)
        self.op("BiasAdd", [((rows, n), "DefaultFormat"), ((n,), "DefaultFormat")],
                [((rows, n), "DefaultFormat")])
        self.op("BiasAddGrad", [((rows, n), "DefaultFormat")], [((n,), "DefaultFormat")])
        self.op("MatMul", [nz(rows, n), nz(k, n)], [nz(rows, k)], flops, blocks)
        self.op("MatMul", [nz(rows, k), nz(rows, n)], [nz(k, n)], flops, max(n * k // 16384, 1))
        flat = ((k, n), "DefaultFormat")
        self.op("AdamApplyOneWithDecay", [flat, flat, flat, ((), "DefaultFormat")], [flat, flat],
                0, 32, "float")

    def block(self, sequence, hidden, heads):
        rows = self.batch * sequence
        for n, k in ((hidden, hidden),) * 4 + ((4 * hidden, hidden), (hidden, 4 * hidden)):
            self.dense(rows, n, k)
        t = ((rows, hidden), "DefaultFormat")
        scores = ((self.batch, heads, sequence, sequence), "DefaultFormat")
        part = ((self.batch * heads, hidden // heads // 16, sequence // 16, 16, 16), "FRACTAL_NZ")
        full = ((self.batch * heads, sequence // 16, sequence // 16, 16, 16), "FRACTAL_NZ")
        flops = 2.0 * rows * sequence * hidden
        self.op("BatchMatMul", [part, part], [full], flops, self.batch * heads)
        self.op("Softmax", [scores], [scores])
        self.op("SoftmaxGrad", [scores, scores], [scores])
        self.op("DropoutDoMask", [scores, ((rows * 8,), "DefaultFormat")], [scores])
        self.op("LayerNorm", [t, ((hidden,), "DefaultFormat")], [t])
        self.op("LayerNormGrad", [t, t, ((hidden,), "DefaultFormat")], [t])
        self.op("GeLU", [((rows, 4 * hidden), "DefaultFormat")],
                [((rows, 4 * hidden), "DefaultFormat")])

    def embedding(self, fields, vocabulary, width):
        table = ((vocabulary, width), "DefaultFormat")
        out = ((self.batch, fields, width), "DefaultFormat")
        self.op("GatherV2", [table, ((self.batch, fields), "DefaultFormat")], [out])
        self.op("UnsortedSegmentSum", [out, ((self.batch, fields), "DefaultFormat")], [table])
        self.op("FusedSparseAdam", [table, table, table, ((), "DefaultFormat")], [table], 0, 32,
                "float")

    def write(self, folder):
        folder = pathlib.Path(folder) / f"{self.network}_bs{self.batch}" / "profiler"
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "framework_raw_0.csv", "w", newline="") as raw, \
             open(folder / "aicore_intermediate_0_detail.csv", "w", newline="") as detail:
            raw, detail = csv.writer(raw), csv.writer(detail)
            raw.writerow(["task_id", "stream_id", "block_dim", "full_op_name", "op_name",
                          "op_type", "subgraph", "op_info"])
            detail.writerow(["full_op_name", "execution_time"])
            for i, (name, op_type, blocks, info, time) in enumerate(self.rows):
                raw.writerow([i, 3, blocks, name, name.split("/")[-1], op_type, "Default",
                              json.dumps(info)])
                detail.writerow([name, f"{time / 1000:.6f}"])


def build(network, batch, layers):
    step = Step(network, batch)
    shapes = random.Random(network)  # the same network at every batch size
    for i in range(layers):
        stage = 4 * i // layers
        if network in ("resnet50", "inceptionv3", "yolov3"):
            width = {"resnet50": 64, "inceptionv3": 48, "yolov3": 32}[network] << stage
            c, o = (width * shapes.choice((1, 2, 4)) for _ in range(2))
            side = {"resnet50": 56, "inceptionv3": 71, "yolov3": 104}[network] >> stage
            step.conv(c, o, side, shapes.choice((1, 1, 3, 5)))
        elif network in ("bert", "vit"):
            step.block(128 if network == "bert" else 208, 768, 12)
        else:
            step.embedding(39, 10000 * (1 + stage), 16 * shapes.choice((1, 2, 5)))
            step.dense(step.batch * 8, shapes.choice((256, 512, 1024)), 39 * 16)
    return step


NETWORKS = ("resnet50", "bert", "vit", "inceptionv3", "yolov3", "deepfm")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("batches", nargs="+", type=int)
    parser.add_argument("--networks", type=int, default=len(NETWORKS))
    parser.add_argument("--layers", type=int, default=12)
    args = parser.parse_args()
    for network in NETWORKS[:args.networks]:
        for batch in args.batches:
            build(network, batch, args.layers).write(args.folder)


if __name__ == "__main__":
    main()
