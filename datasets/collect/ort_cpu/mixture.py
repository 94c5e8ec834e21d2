"""A family of samples beside convolutions and transformers: single operators of every other kind."""

import numpy as np
from networks import Network, channels, layer_norm, linear, pool
from onnx import TensorProto

UNARY = ("Relu", "Sigmoid", "Tanh", "Erf", "Exp", "Sqrt", "Neg", "Abs", "LeakyRelu", "HardSigmoid", "Softplus", "Log",
         "Reciprocal", "Floor", "Elu", "HardSwish")
BINARY = ("Add", "Mul", "Sub", "Div", "Pow", "Max")


def tensor_shape(net, most=4e6):
    kind = net.rng.random()
    if kind < 0.4:
        shape = [net.pick(1, 1, 2, 4, 8), channels(net, 8, 512)] + [net.pick(1, 7, 14, 28, 56, 112)] * 2
    elif kind < 0.8:
        shape = [net.pick(1, 1, 2, 4, 8), net.log_uniform(1, 512), net.pick(64, 128, 256, 384, 512, 768, 1024, 3072)]
    elif kind < 0.9:
        shape = [net.pick(1, 2, 4), net.pick(1, 4, 8, 12, 16), net.log_uniform(1, 256), net.log_uniform(8, 256)]
    else:
        shape = [net.log_uniform(1, 4096), net.log_uniform(1, 2048)]
    while np.prod(shape) > most:
        shape[int(np.argmax(shape))] //= 2
    return shape


def broadcast_shape(net, shape):
    style = net.rng.random()
    if style < 0.3:
        return []
    if style < 0.65:
        return [shape[-1]]
    if style < 0.8 and len(shape) == 4:
        return [shape[0], shape[1], 1, 1]
    keep = net.rng.integers(0, 2, len(shape))
    return [e if k else 1 for e, k in zip(shape, keep)]


def mix_elementwise(net, x):
    y = net.op(net.pick(*BINARY[:4]), [x, net.input(x[1])], x[1])
    y = net.op(net.pick(*BINARY), [y, net.weight(broadcast_shape(net, x[1]))], x[1])
    kind = net.pick(*UNARY)
    y = net.op(kind, [y], x[1])
    if net.chance(0.3):
        y = net.op("Clip", [y, net.constant(0, np.float32), net.constant(6, np.float32)], x[1])
    if net.chance(0.3):
        flag = net.op(net.pick("Greater", "Less", "Equal"), [y, net.constant(0.5, np.float32)], x[1])
        net.op("Where", [flag, y, net.constant(0.1, np.float32)], x[1])
    if net.chance(0.3):
        net.op("Cast", [y], x[1], to=net.pick(TensorProto.INT64, TensorProto.INT32, TensorProto.DOUBLE))


def mix_softmax(net, x):
    axis = -1 if net.chance(0.8) else int(net.rng.integers(len(x[1])))
    y = net.op(net.pick("Softmax", "Softmax", "Softmax", "LogSoftmax"), [x], x[1], axis=axis)
    layer_norm(net, y)


def mix_norm(net, x):
    y = layer_norm(net, x)
    y = net.op("Add", [y, net.made(x[1])], x[1])
    layer_norm(net, y, simplified=net.chance(0.4))
    if len(x[1]) == 4 and net.chance(0.7):
        c = x[1][1]
        flat = net.op("Sigmoid", [x], x[1])
        net.op("InstanceNormalization", [flat, net.weight([c]), net.weight([c])], x[1])
        net.op("BatchNormalization", [flat] + [net.weight([c]) for _ in range(4)], x[1])


def mix_reduce(net, x):
    rank = len(x[1])
    for _ in range(2):
        axes = sorted({int(a) for a in net.rng.integers(0, rank, net.pick(1, 1, 2))})
        shape = [1 if i in axes else e for i, e in enumerate(x[1])]
        kind = net.pick("ReduceMean", "ReduceMean", "ReduceSum", "ReduceMax")
        if kind == "ReduceSum":
            net.op(kind, [x, net.constant(axes)], shape, keepdims=1)
        else:
            net.op(kind, [x], shape, axes=axes, keepdims=1)
    if net.chance(0.3):
        net.op("ArgMax", [x], x[1][:-1], axis=-1, keepdims=0)


def mix_transpose(net, x):
    for _ in range(2):
        perm = [int(p) for p in net.rng.permutation(len(x[1]))]
        if net.chance(0.6):
            perm = list(net.pick((0, 2, 1, 3), (0, 2, 3, 1), (0, 3, 1, 2), (0, 1, 3, 2)) if len(x[1]) == 4 else
                        (0, 2, 1) if len(x[1]) == 3 else (1, 0))
        y = net.op("Transpose", [x], [x[1][p] for p in perm], perm=perm)
        net.op("Sqrt", [y], y[1])  # so that it isn't moved past what follows or dropped


def mix_concat(net, x):
    axis = int(net.rng.integers(len(x[1])))
    others = [list(x[1]) for _ in range(net.pick(1, 1, 2, 3))]
    for shape in others:
        shape[axis] = net.log_uniform(1, 2 * x[1][axis])
    total = list(x[1])
    total[axis] += sum(shape[axis] for shape in others)
    y = net.op("Concat", [x] + [net.made(shape) for shape in others], total, axis=axis)
    net.op("Neg", [y], total)


def mix_slice(net, x):
    axis = int(net.rng.integers(len(x[1])))
    extent = x[1][axis]
    if extent < 2:
        return
    shape = list(x[1])
    start = int(net.rng.integers(extent // 2))
    shape[axis] = int(net.rng.integers(start + 1, extent + 1)) - start
    net.op("Slice", [x, net.constant([start]), net.constant([start + shape[axis]]), net.constant([axis])], shape)
    parts = net.pick(2, 3, 4)
    if extent % parts == 0:
        shape[axis] = extent // parts
        net.op("Split", [x], shape, outputs=parts, axis=axis)
    if len(shape) == 4 and net.chance(0.5):
        pads = [0, 0, 1, 1, 0, 0, net.pick(1, 2), 1]
        net.op("Pad", [x, net.constant(pads)], [shape[0], x[1][1], x[1][2] + 1 + pads[6], x[1][3] + 2])


def mix_gather(net, x):
    words, width = net.log_uniform(64, 32000), net.pick(64, 128, 256, 384, 512, 768, 1024)
    ids = net.constant(net.rng.integers(0, words, [net.pick(1, 2, 8), net.log_uniform(1, 512)]))
    shift = net.op("Add", [net.input([1], TensorProto.INT64), ids], [1])  # not a constant, so not folded
    net.op("Gather", [net.weight([words, width]), shift], [1, 1, width], axis=0)
    axis = int(net.rng.integers(len(x[1])))
    index = net.constant(sorted(net.rng.integers(0, x[1][axis], net.log_uniform(1, 2 * x[1][axis]))))
    net.op("Gather", [x, index], x[1], axis=axis)
    if net.chance(0.4):
        shape = [net.pick(2, 4), *x[1]] if net.chance(0.5) else x[1]
        small = net.op("ReduceMax", [x], [*x[1][:-1], 1], axes=[-1], keepdims=1)
        net.op("Expand", [small, net.constant(shape)], shape)


def mix_resize(net, x):
    if len(x[1]) != 4 or np.prod(x[1]) > 1e6:
        return
    scale = net.pick(2, 2, 1.5, 0.5)
    shape = x[1][:2] + [int(e * scale) for e in x[1][2:]]
    mode = net.pick("nearest", "linear")
    net.op("Resize", [x, "", net.constant([1, 1, scale, scale], np.float32)], shape, mode=mode,
           coordinate_transformation_mode=net.pick("asymmetric", "half_pixel"))
    c, out = x[1][1], channels(net, 8, 256)
    if np.prod(x[1]) * out * 4 < 3e8:
        kernel = net.pick(2, 3, 4)
        y = [x[1][0], out] + [(e - 1) * 2 + kernel for e in x[1][2:]]
        net.op("ConvTranspose", [x, net.weight([c, out, kernel, kernel], 1 / c)], y, kernel_shape=[kernel] * 2,
               strides=[2, 2])


def mix_pool(net, x):
    if len(x[1]) != 4 or x[1][2] < 4:
        return
    shape = [x[1][0], net.pick(3, 5, 13, 21)] + x[1][2:]  # channels that aren't blocked
    y = net.op("Abs", [net.input(shape)], shape)
    pool(net, y)
    net.op("GlobalAveragePool", [y], [*shape[:2], 1, 1])


def mix_recurrent(net, _):
    steps, batch = net.log_uniform(1, 40), net.pick(1, 1, 2, 4, 8)
    size, hidden = (net.pick(32, 64, 128, 200, 256, 400, 512, 650) for _ in range(2))
    kind, gates = net.pick(("LSTM", 4), ("GRU", 3))
    directions = net.pick(1, 1, 2)
    while steps * batch * gates * hidden * (size + hidden) * directions > 2e8:
        steps = max(1, steps // 2)
        hidden = max(32, hidden // 2)
    x = net.op("Tanh", [net.input([steps, batch, size])], [steps, batch, size])
    scale = 1 / hidden
    net.op(kind, [x, net.weight([directions, gates * hidden, size], scale),
                  net.weight([directions, gates * hidden, hidden], scale),
                  net.weight([directions, 2 * gates * hidden], scale)],
           [steps, directions, batch, hidden], hidden_size=hidden,
           direction="bidirectional" if directions == 2 else "forward")


def mix_product(net, x):
    """Products of any shape: thin ones, vectors, batches."""
    m, n, k = (net.log_uniform(1, 2048) for _ in range(3))
    while m * n * k > 1.5e8 or k * n > 8e6:
        m, n, k = max(1, m * 2 // 3), max(1, n * 2 // 3), max(1, k * 2 // 3)
    y = net.op("Abs", [net.input([m, k])], [m, k])
    linear(net, y, n, gemm=net.chance(0.5))
    batch = net.log_uniform(1, 96)
    m, n, k = (net.log_uniform(1, 512) for _ in range(3))
    while batch * m * n * k > 1e8:
        m, n, k = max(1, m * 2 // 3), max(1, n * 2 // 3), max(1, k * 2 // 3)
    a = net.op("Abs", [net.input([1, batch, m, k])], [1, batch, m, k])
    b = net.op("Neg", [net.input([1, batch, k, n])], [1, batch, k, n])
    net.op("MatMul", [a, b], [1, batch, m, n])


MIXTURE = (mix_elementwise, mix_elementwise, mix_softmax, mix_norm, mix_reduce, mix_transpose, mix_concat, mix_slice,
           mix_gather, mix_resize, mix_pool, mix_recurrent, mix_product, mix_product)


def mixture_network(seed):
    net = Network(seed)
    for index in net.rng.permutation(len(MIXTURE))[:9]:
        shape = tensor_shape(net, 1.5e6)
        x = net.op(net.pick("Abs", "Relu", "Sigmoid"), [net.input(shape)], shape)
        MIXTURE[index](net, x)
    return net
