"""Families of samples beside those of sampler.py: the blocks that modern CNNs are built of, whose convolutions are
grouped or depthwise, and small operators, whose time is what starting them costs and what the cache holds."""

from joins import aggregated_block, dense_block, fused_block, pooled_block
from mixture import (mix_concat, mix_elementwise, mix_norm, mix_product, mix_reduce, mix_slice, mix_softmax,
                     mix_transpose, tensor_shape)
from networks import MOST_MACS, Network, activate, channels, conv, layer_norm, linear, reshape, squeeze_excite
from onnx import TensorProto

SMALL = (mix_elementwise, mix_elementwise, mix_elementwise, mix_softmax, mix_norm, mix_reduce, mix_transpose,
         mix_concat, mix_slice, mix_product)
SMALL_ELEMENTS = 3e5


def eights(value):
    return max(8, int(value) // 8 * 8)


def grouped_block(net, x, activation):
    """ResNeXt's and RegNet's: 1x1, 3x3 in groups, 1x1, a sum."""
    n, c, h, _ = x[1]
    width = net.pick(8, 8, 16, 16, 24, 32, 40, 48, 56, 64, 80, 112)  # channels of a group
    inner = max(width, int(round(net.pick(0.5, 1, 1, 1, 2) * c / width)) * width)
    stride = net.pick(1, 1, 1, 2) if h >= 7 else 1
    out = c if stride == 1 else eights(c * net.pick(1, 1.5, 2))
    y = conv(net, x, inner, 1, activation=activation)
    y = conv(net, y, inner, 3, stride, group=inner // width, activation=activation)
    if net.chance(0.35):
        y = squeeze_excite(net, y)
    y = conv(net, y, out, 1)
    if stride == 1:
        return activate(net, net.op("Add", [y, x], x[1]), activation)
    return activate(net, net.op("Add", [y, conv(net, x, out, 1, stride)], y[1]), activation)


def inverted_block(net, x, activation):
    """MobileNet's, EfficientNet's: 1x1, depthwise, 1x1, a sum."""
    n, c, h, _ = x[1]
    kernel = net.pick(3, 3, 5, 7) if h >= 7 else 3
    stride = net.pick(1, 1, 1, 2) if h >= 7 else 1
    inner = eights(c * net.pick(1, 2, 3, 4, 6, 6)) if net.chance(0.8) else c * net.pick(3, 6)
    y = conv(net, x, inner, 1, activation=activation)
    y = conv(net, y, inner, kernel, stride, group=inner, activation=activation)
    if net.chance(0.4):
        y = squeeze_excite(net, y)
    if stride == 1 and net.chance(0.7):
        return net.op("Add", [conv(net, y, c, 1), x], x[1])
    return conv(net, y, eights(c * net.pick(1, 1.4, 2)), 1)


def shuffle_block(net, x, activation):
    """ShuffleNet's: half of the channels through 1x1, depthwise, 1x1, then both halves mixed."""
    n, c, h, w = x[1]
    half = eights(c // 2) if net.chance(0.5) else max(2, c // 2)
    left = conv(net, x, half, 1, activation=activation)
    y = conv(net, left, half, 1, activation=activation)
    y = conv(net, y, half, net.pick(3, 3, 5), group=half)
    y = conv(net, y, half, 1, activation=activation)
    y = net.op("Concat", [left, y], [n, 2 * half, h, w], axis=1)
    y = reshape(net, y, [n, 2, half, h, w])
    y = net.op("Transpose", [y], [n, half, 2, h, w], perm=[0, 2, 1, 3, 4])
    y = reshape(net, y, [n, 2 * half, h, w])
    if net.chance(0.6):
        parts = net.op("Split", [y], [n, half, h, w], outputs=2, axis=1)
        return net.op("Concat", [parts[0], conv(net, parts[1], half, 1, activation=activation)], y[1], axis=1)
    return y


def ghost_block(net, x, activation):
    n, c, h, w = x[1]
    first = conv(net, x, eights(c * net.pick(0.5, 1, 2)), 1, activation=activation)
    cheap = conv(net, first, first[1][1], 3, group=first[1][1], activation=activation)
    return net.op("Concat", [first, cheap], [n, 2 * first[1][1], h, w], axis=1)


def wide_kernel_block(net, x, _):
    """ConvNeXt's: depthwise 7x7, then a layer of a transformer on each pixel."""
    n, c, h, w = x[1]
    y = conv(net, x, c, 7, group=c)
    y = net.op("Transpose", [y], [n, h, w, c], perm=[0, 2, 3, 1])
    y = linear(net, layer_norm(net, y), 4 * c)
    y = linear(net, net.op("Relu", [y], y[1]) if net.chance(0.3) else net.op("Tanh", [y], y[1]), c)
    y = net.op("Transpose", [y], [n, c, h, w], perm=[0, 3, 1, 2])
    return net.op("Add", [x, y], x[1])


def plain_block(net, x, activation):
    """ResNet's, with bottleneck or without."""
    c, h = x[1][1], x[1][2]
    inner = eights(c / net.pick(1, 2, 4, 4))
    y = conv(net, x, inner, net.pick(1, 1, 3), activation=activation)
    y = conv(net, y, inner, 3, activation=activation) if net.chance(0.6) else y
    y = activate(net, net.op("Add", [conv(net, y, c, net.pick(1, 1, 3)), x], x[1]), activation)
    if h >= 14 and net.chance(0.25):
        y = conv(net, y, eights(min(1024, 2 * c)), net.pick(1, 3), 2, activation=activation)
    return y


BLOCKS = (grouped_block, grouped_block, inverted_block, inverted_block, shuffle_block, ghost_block,
          wide_kernel_block, plain_block, dense_block, aggregated_block, fused_block, pooled_block)


def blocks_network(seed):
    """A stage of a CNN: blocks of one or two kinds."""
    net = Network(seed)
    n = net.pick(1, 1, 1, 2, 4, 8, 8)
    size = net.pick(7, 7, 7, 10, 14, 14, 14, 19, 28, 28, 28, 38, 56, 56, 64, 112)
    most = 1280 if size <= 10 else 768 if size <= 19 else 384 if size <= 38 else 128 if size <= 64 else 48
    c = channels(net, 16, most)
    while n * c * size * size > 1.6e6:
        n = max(1, n // 2)
        if n == 1:
            break
    x = net.op("Relu", [net.input([n, c, size, size])], [n, c, size, size])
    x = conv(net, x, c, 1)
    activation = net.pick("Relu", "Relu", "Relu", "Relu6", "Silu", "HardSwish")
    kinds = [net.pick(*BLOCKS), net.pick(*BLOCKS)]
    for _ in range(7):
        if net.macs > MOST_MACS * 0.6 or x[1][2] < 3 or x[1][1] > 2048:
            break
        x = net.pick(*kinds)(net, x, activation)
    net.op("GlobalAveragePool", [x], [*x[1][:2], 1, 1])
    return net


def small_network(seed):
    """Operators of at most some hundred thousand elements."""
    net = Network(seed)
    for index in net.rng.permutation(len(SMALL)):
        shape = tensor_shape(net, net.log_uniform(300, SMALL_ELEMENTS))
        x = net.op(net.pick("Abs", "Relu", "Sigmoid", "Neg"), [net.input(shape)], shape)
        SMALL[index](net, x)
    return net


def attention_network(seed):
    """Layers whose attention is one operator, as ONNX Runtime fuses that of BERT's older exports."""
    net = Network(seed)
    n, length = net.pick(1, 1, 2, 4, 8), net.log_uniform(8, 512)
    size, heads = net.pick(16, 32, 64, 64, 64), net.pick(2, 4, 8, 8, 12, 12, 16)
    hidden = size * heads
    while n * length * hidden * (4 * hidden + 2 * length) > MOST_MACS / 2:
        n, length = max(1, n // 2), max(8, length // 2)
    x = layer_norm(net, net.made([n, length, hidden]))
    mask = net.op("Cast", [net.input([n, length])], [n, length], to=TensorProto.INT32)
    for _ in range(net.pick(1, 2, 3)):
        weights = [net.weight([hidden, 3 * hidden], 1.0 / hidden), net.weight([3 * hidden])]
        y = net.op("Attention", [x, *weights, mask], x[1], domain="com.microsoft", num_heads=heads)
        y = net.op("Add", [linear(net, y, hidden, bias=True), x], x[1])
        x = layer_norm(net, y)
    return net
