#!/usr/bin/env python3
"""Measures operators whose kernels work piece by piece, at few and many elements a piece.

usage: plain_forms.py [OPERATOR...] > plain_forms.csv

Needs numpy, onnx and onnxruntime. Each row is a network of one operator, run 9 times and a tenth of a second or longer
with the profiler on, and again; the lower median counts, as other load only makes a kernel longer. `pieces` is what the
laws count (opmodel/model/laws/cpu/short_pieces.h, plain_forms.h): calls of an inner loop, elements of a window,
results.
"""
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

RNG = np.random.default_rng(0)


def random(*extents):
    return RNG.standard_normal(extents).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


class Case:
    def __init__(self, op, form, pieces, feeds, constants=(), opset=20, outputs=1, domain="", **attributes):
        self.domain = domain
        self.op, self.form, self.pieces = op, form, pieces
        self.feeds, self.constants = feeds, constants
        self.opset, self.outputs, self.attributes = opset, outputs, attributes

    def network(self):
        kinds = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64,
                 np.dtype(bool): TensorProto.BOOL, np.dtype(np.int8): TensorProto.INT8,
                 np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.int32): TensorProto.INT32,
                 np.dtype(np.uint32): TensorProto.UINT32}
        inputs = [helper.make_tensor_value_info(f"x{i}", kinds[x.dtype], x.shape) for i, x in enumerate(self.feeds)]
        weights = [None if w is None else numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(self.constants)]
        names = [x.name for x in inputs] + ["" if w is None else w.name for w in weights]
        outputs = [f"y{i}" for i in range(self.outputs)]
        node = helper.make_node(self.op, names, outputs, domain=self.domain, **self.attributes)
        graph = helper.make_graph([node], self.op, inputs, [helper.make_empty_tensor_value_info(n) for n in outputs],
                                  [w for w in weights if w is not None])
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        return onnx.shape_inference.infer_shapes(model), {f"x{i}": x for i, x in enumerate(self.feeds)}


def broadcasts():
    for run in (1, 2, 3, 4, 8, 16, 64):
        n = 65536
        for op in ("Mul", "Add") if run > 1 else ("Mul",):
            yield Case(op, f"rows of {run} by a row", n, [random(n, run), random(run)])
        yield Case("Mul", f"rows of {run} by a column", n, [random(n, run), random(n, 1)])
        yield Case("Expand", f"to rows of {run}", n, [random(n, 1)], [ints(n, run)])
    yield Case("Mul", "[64,64,16,1] by a scalar", 65536, [random(64, 64, 16, 1)], [np.float32(2)])
    yield Case("Mul", "[64,64,16] by a scalar", 1, [random(64, 64, 16)], [np.float32(2)])
    yield Case("Add", "[64,64,16,1] twice", 65536, [random(64, 64, 16, 1), random(64, 64, 16, 1)])
    for other in ((64, 64, 1, 1), (16, 1), (1, 1, 1, 1)):
        yield Case("Add", f"[64,64,16,1] by {list(other)}", 65536, [random(64, 64, 16, 1), random(*other)])
    yield Case("Sub", "[512,1,3] and [1,512,3]", 512 * 512, [random(512, 1, 3), random(1, 512, 3)])
    yield Case("Div", "rows of 3 by a row", 65536, [random(65536, 3), random(3)])
    yield Case("Pow", "rows of 3 by a row", 65536, [abs(random(65536, 3)), abs(random(3))])
    yield Case("Max", "rows of 3 by a row", 65536, [random(65536, 3), random(3)])
    yield Case("Less", "rows of 3 by a row", 65536, [random(65536, 3), random(3)])
    yield Case("Where", "rows of 3, by a column", 65536, [random(65536, 1) > 0, random(65536, 3), random(65536, 3)])
    yield Case("PRelu", "rows of 3 by a row", 65536, [random(65536, 3), random(3)])


def copies():
    for run in (1, 3, 8, 32):
        n = 20000
        yield Case("Concat", f"8 times {run}", 8 * n, [random(n, run) for _ in range(8)], axis=1)
        yield Case("Slice", f"{run} of {run + 2}", n, [random(n, run + 2)], [ints(0), ints(run), ints(1)])
        yield Case("Split", f"into 3 of {run}", 3 * n, [random(n, 3 * run)], outputs=3, axis=1, num_outputs=3)
        yield Case("Pad", f"{run} to {run + 2}", n, [random(n, run)], [ints(0, 1, 0, 1)])
        yield Case("Tile", f"{run} to {3 * run}", 3 * n, [random(n, run)], [ints(1, 3)])


def small_slices():
    for shape, axis, begin, end in (((1, 512, 32000), 1, 511, 512), ((32, 512, 768), 1, 0, 1),
                                    ((1, 4096, 4096), 1, 0, 10), ((8, 512, 784), 2, 1, 40), ((8, 197, 768), 1, 0, 1)):
        results = math.prod(shape) // shape[axis] * (end - begin)
        yield Case("Slice", f"{begin}:{end} of axis {axis} of {list(shape)}", results, [random(*shape)],
                   [ints(begin), ints(end), ints(axis)])


def products():
    for rows in (2, 4, 16, 32):
        for k, n in ((512, 512), (1024, 4096)):
            yield Case("MatMul", f"{rows} rows by a computed [{k},{n}]", k * n, [random(rows, k), random(k, n)])
    for dtype in (np.int8, np.uint8):
        for c, side, kernel, group in ((128, 32, 3, 1), (64, 56, 1, 1), (256, 14, 3, 1), (96, 28, 3, 96)):
            image = RNG.integers(0, 200, (1, c, side, side)).astype(np.uint8)
            weight = RNG.integers(0, 100, (c, c // group, kernel, kernel)).astype(dtype)
            form = f"{c} channels, {side}, {kernel}x{kernel}, {group} groups, {np.dtype(dtype).name}"
            yield Case("ConvInteger", form, weight.size * side * side, [image], [weight, np.uint8(5), dtype(0)],
                       kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4, group=group)


def activations():
    for shape in ((1, 128, 768), (1, 128, 3072), (8, 128, 3072)):
        x, microsoft = random(*shape), "com.microsoft"
        yield Case("Gelu", f"ai.onnx, {list(shape)}", x.size, [x])
        yield Case("Gelu", f"ai.onnx, tanh, {list(shape)}", x.size, [x], approximate="tanh")
        yield Case("Gelu", f"{microsoft}, {list(shape)}", x.size, [x], domain=microsoft)
        yield Case("FastGelu", f"{list(shape)}", x.size, [x], domain=microsoft)
        yield Case("QuickGelu", f"by 1.702, {list(shape)}", x.size, [x], domain=microsoft)
        yield Case("QuickGelu", f"by 1, {list(shape)}", x.size, [x], domain=microsoft, alpha=1.0)


def reductions():
    n = 65536
    for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL2"):
        for middle, inner in ((3, 1), (3, 2), (20, 3), (3, 32)):
            count = n if inner < 32 else n // 8
            yield Case(op, f"middle {middle}, inner {inner}", count, [random(4, count // 4, middle, inner)], [ints(2)],
                       opset=18)
        yield Case(op, "last 3", n, [random(n, 3)], [ints(1)], opset=18)
    for op in ("ReduceMean", "ReduceMax"):
        yield Case(op, "middle 784, inner 1", 4096, [random(8, 512, 784, 1)], [ints(2)], opset=18)
    for op in ("ArgMax", "ArgMin"):
        yield Case(op, "first of [1000,512]", 512000, [random(1000, 512)], axis=0)
        yield Case(op, "second of [1,21,128,128]", 21 * 128 * 128, [random(1, 21, 128, 128)], axis=1)
        yield Case(op, "last of [16384,21]", 21 * 16384, [random(16384, 21)], axis=1)
    for axis, x in ((1, random(1, 4096, 64)), (0, random(100, 64, 64)), (1, random(64, 4096)), (1, random(16, 64, 64))):
        yield Case("CumSum", f"axis {axis} of {list(x.shape)}", x.size, [x], [ints(axis)[0]])


def pools():
    def pool(op, form, channels, extents, side, stride=1):
        axes = len(extents)
        pads = {} if stride > 1 else {"pads": [side // 2] * 2 * axes}
        read = channels * math.prod(extents) * side ** axes
        x = random(1, channels, *(stride * extent for extent in extents))
        return Case(op, form, read, [x], kernel_shape=[side] * axes, strides=[stride] * axes, **pads)

    for op in ("MaxPool", "AveragePool"):
        for side in (3, 5, 9, 13):
            yield pool(op, f"{side}x{side}, blocks", 64, [56, 56], side)
            yield pool(op, f"{side}x{side} stride {side}, blocks", 64, [8, 8], side, side)
        for side in (3, 9, 25):
            yield pool(op, f"{side}, signal", 64, [3136], side)
        for side in (3, 5):
            yield pool(op, f"{side}x{side}x{side}, volume", 16, [16, 16, 16], side)
        for side in (5, 9):
            yield pool(op, f"{side}x{side}, 3 channels", 3, [56, 56], side)


def samples():
    x, grid = random(1, 64, 64, 64), np.clip(random(1, 64, 64, 2), -1.2, 1.2)

    def sampled(form, image, points, **attributes):
        results = math.prod(image.shape[:2]) * math.prod(points.shape[1:-1])
        return Case("GridSample", form, results, [image, points], **{"mode": "linear", **attributes})

    for mode in ("linear", "nearest", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            for align in (0, 1):
                form = f"{mode} {padding} {align}"
                yield sampled(form, x, grid, mode=mode, padding_mode=padding, align_corners=align)
    yield sampled("linear zeros 0, fewer results", x, grid[:, :16, :16])
    yield sampled("linear zeros 0, small input", x[:, :, :16, :16], grid)
    yield sampled("linear zeros 1, many images", random(320, 1, 2, 2), random(320, 7, 7, 2), align_corners=1)
    yield sampled("linear volume", random(1, 8, 16, 32, 32), random(1, 16, 32, 32, 3))
    for c, side in ((64, 112), (32, 64), (256, 28)):
        operands = [random(1, c, side, side), random(c, c, 3, 3), random(1, 18, side, side)]
        yield Case("DeformConv", f"{c} channels, {side}", c * 9 * side * side, operands, opset=19, pads=[1] * 4,
                   kernel_shape=[3, 3])
    for rows, classes in ((1024, 512), (8192, 16)):
        values = [np.array(classes, np.int64), np.array([0, 1], np.float32)]
        yield Case("OneHot", f"{classes} classes", rows * classes, [ints(*range(rows)) % classes], values)


def selections():
    image, wide = (1, 64, 64, 64), (1, 256, 32, 32)
    for shape, scales in ((image, (2, 2)), (wide, (2, 2)), (image, (3, 3)), (image, (2, 1)), (image, (4, 4))):
        y = [*shape[:2], shape[2] * scales[0], shape[3] * scales[1]]
        for transform, nearest in (("asymmetric", "floor"), ("half_pixel", "round_prefer_floor")):
            yield Case("Resize", f"nearest {transform} {y} from {list(shape)}", math.prod(y), [random(*shape)],
                       [None, np.array((1, 1, *scales), np.float32)], mode="nearest",
                       coordinate_transformation_mode=transform, nearest_mode=nearest)
    for n in (1000, 10000, 100000):
        for k in (1, 10, 100, 1000, 10000):
            if k <= n:
                rows = 100000 // n
                yield Case("TopK", f"{k} of {n}", rows * n, [random(rows, n)], [ints(k)], outputs=2)


def scatters():
    for rows, columns in ((4000, 16), (4000, 64), (10556, 64), (40000, 64), (4000, 1)):
        index = np.repeat(RNG.integers(0, 500, (rows, 1)), columns, 1)
        operands = [random(500, columns), index, random(rows, columns)]
        yield Case("ScatterElements", f"rows of {columns}, {rows}", index.size, operands, axis=0, reduction="add",
                   opset=18)


def recurrent():
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        for t, b, h in ((50, 1, 256), (50, 8, 256), (50, 32, 256), (100, 8, 64), (100, 16, 128)):
            w = [random(1, gates * h, h) * .05, random(1, gates * h, h) * .05]
            yield Case(op, f"{t} steps, batch {b}, state {h}", t * b * gates * h, [random(t, b, h)], w, opset=14,
                       hidden_size=h)


def quantisers():
    n = 1024
    x, q = random(n, n), RNG.integers(-128, 127, (n, n), np.int8)
    for axis, form in ((1, "a scale per column"), (0, "a scale per row")):
        scales, zeros = abs(random(n)) + .01, np.zeros(n, np.int8)
        yield Case("DequantizeLinear", form, q.size, [q], [scales, zeros], axis=axis)
        yield Case("QuantizeLinear", form, x.size, [x], [scales, zeros], axis=axis)
    for block in (32, 64):
        scales = abs(random(n, n // block)) + .01
        yield Case("DequantizeLinear", f"a scale per {block}", q.size, [q], [scales], opset=21, axis=1,
                   block_size=block)
    one = [np.float32(.1), np.int8(0)]
    yield Case("DequantizeLinear", "one scale", q.size, [q], one)
    yield Case("QuantizeLinear", "one scale", x.size, [x], one)


def pools_with_indices():
    for channels, extent, side in ((16, 32, 2), (64, 56, 2), (64, 112, 2), (32, 64, 3)):
        x = random(1, channels, extent, extent)
        yield Case("MaxPool", f"{side}x{side} stride 2 with indices of {list(x.shape)}", channels * (extent // 2) ** 2,
                   [x], kernel_shape=[side] * 2, strides=[2, 2], pads=[0, 0, side // 2, side // 2], outputs=2)
    for channels, extent in ((64, 28), (64, 56)):
        x = random(1, channels, extent, extent)
        yield Case("LpPool", f"3x3 of {list(x.shape)}", x.size * 9, [x], kernel_shape=[3, 3], pads=[1] * 4)


def filtered_images():
    for before, after in ((512, 128), (256, 224), (1024, 224)):
        for mode, width in (("linear", 2), ("cubic", 4)):
            taps = width * before / after
            steps = 3 * (before * after * taps + after * after * taps)
            yield Case("Resize", f"{mode} antialias, {before} to {after}", round(steps), [random(1, 3, before, before)],
                       [None, None, ints(1, 3, after, after)], mode=mode, antialias=1)


def many_operands():
    for count in (20, 200, 1000):
        yield Case("Split", f"into {count} rows of 64", count, [random(count, 64)], axis=0, num_outputs=count,
                   outputs=count)
        yield Case("Concat", f"of {count} rows of 64", count, [random(1, 64) for _ in range(count)], axis=0)


def searches():
    for n in (20000, 200000):
        yield Case("Unique", f"of {n} integers below 500", n, [RNG.integers(0, 500, n)])
        yield Case("Unique", f"of {n} different numbers", n, [random(n)])
    for classes, boxes, most in ((80, 5000, 100), (1, 5000, 100), (1, 5000, 5000)):
        corners = np.sort(RNG.random((1, boxes, 2, 2), np.float32), 2).reshape(1, boxes, 4)
        yield Case("NonMaxSuppression", f"{most} of {boxes} boxes, {classes} classes", classes * boxes,
                   [corners, RNG.random((1, classes, boxes), np.float32)], [ints(most)[0], np.float32(.5)])


def transpositions():
    for shape, perm in (((8, 784, 1, 4, 48), (2, 0, 3, 4, 1)), ((8, 784, 4, 48), (0, 2, 3, 1)),
                        ((8, 784, 4, 48), (2, 3, 0, 1)), ((8, 28, 28, 192), (0, 3, 2, 1))):
        yield Case("Transpose", f"{list(shape)} by {list(perm)}", math.prod(shape), [random(*shape)], perm=list(perm))


def reduced_axes():
    """Over the last axis, over an inner one between others, over the first one, and over all."""
    for op in ("ReduceMin", "ReduceMax", "ReduceProd", "ReduceSumSquare", "ReduceLogSumExp", "ReduceLogSum", "ReduceL1",
               "ReduceL2", "ReduceSum", "ReduceMean"):
        for shape, axes in (((512, 1024), [1]), ((512, 1024), [0]), ((8, 64, 1024), [1]), ((8, 256, 28, 28), [1]),
                            ((8, 256, 28, 28), [2, 3]), ((8, 256, 28, 28), [0, 2, 3]), ((512, 1024), [0, 1])):
            yield Case(op, f"axes {axes} of {list(shape)}", math.prod(shape), [abs(random(*shape))], [ints(*axes)],
                       opset=18)


    for op in ("ReduceMin", "ReduceProd", "ReduceLogSumExp"):
        for shape, axis in (((4, 197, 768), 1), ((4, 300, 1000), 1), ((8, 32, 1024), 1), ((16, 128, 256), 1),
                            ((4, 128, 512), 1), ((1000, 1000), 0), ((4000, 300), 0), ((1000, 77), 1)):
            yield Case(op, f"axes {[axis]} of {list(shape)}", math.prod(shape), [abs(random(*shape))], [ints(axis)],
                       opset=18)


def conditions():
    for shape in ((8, 12, 128, 128), (64, 4096)):
        for chance, form in ((.5, "random"), (1, "all true"), (.01, "one in a hundred")):
            mask = RNG.random(shape) < chance
            yield Case("Where", f"{form}, {list(shape)}", mask.size, [mask, random(*shape), random(*shape)])
            yield Case("Where", f"{form}, {list(shape)} or a scalar", mask.size, [mask, random(*shape)],
                       [np.float32(0)])
    x, row = random(8, 12, 128, 128), RNG.random((1, 1, 128, 128)) < .5
    yield Case("Where", "a mask for all heads", x.size, [row, x], [np.float32(0)])
    yield Case("Where", "a mask for each image", x.size, [RNG.random((8, 1, 1, 128)) < .5, x], [np.float32(0)])


def integers():
    x, y = (RNG.integers(1, 1 << 20, 1 << 18) for _ in range(2))
    for dtype in (np.int64, np.int32):
        a, b, seven = x.astype(dtype), y.astype(dtype), np.array(7, dtype)
        for op in ("Div", "Mod", "Mul", "Add"):
            yield Case(op, f"{np.dtype(dtype).name}, two tensors", a.size, [a, b])
            yield Case(op, f"{np.dtype(dtype).name} by 7", a.size, [a], [seven])
        for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
            yield Case(op, f"{np.dtype(dtype).name}, two tensors", a.size, [a, b])
            yield Case(op, f"{np.dtype(dtype).name} by 7", a.size, [a], [seven])
        yield Case("BitwiseNot", np.dtype(dtype).name, a.size, [a])
    shifted = [x.astype(np.uint32), (y % 8).astype(np.uint32)]
    yield Case("BitShift", "uint32, two tensors", x.size, shifted, direction="LEFT")
    yield Case("Mod", "float32, two tensors", x.size, [x.astype(np.float32), y.astype(np.float32)], fmod=1)


GROUPS = (broadcasts, copies, small_slices, products, activations, reductions, pools, samples, selections, scatters,
          recurrent, quantisers, pools_with_indices, filtered_images, many_operands, searches, transpositions,
          reduced_axes, conditions, integers)


def lowest_us(model, feed, threads, folder):
    """The lower of two medians."""
    text = model.SerializeToString()
    return min(sum(us for _, us in kernel_times_us(text, feed, threads, folder, 9, 0.1)) for _ in range(2))


def main():
    wanted = set(sys.argv[1:])
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["operator", "form", "pieces", "us_1_thread", "us_2_threads", "ns_per_piece"])
    with tempfile.TemporaryDirectory() as folder:
        for case in (case for group in GROUPS for case in group()):
            if wanted and case.op not in wanted:
                continue
            model, feed = case.network()
            times = [lowest_us(model, feed, threads, folder) for threads in (1, 2)]
            writer.writerow([case.op, case.form, case.pieces] + [f"{us:.1f}" for us in times] +
                            [f"{1000 * times[0] / case.pieces:.2f}"])
            sys.stdout.flush()


if __name__ == "__main__":
    main()
