"""Blocks of CNNs in which many tensors come together: concatenations that grow, branches of several resolutions,
pools side by side; and networks of convolutions along a line."""

import numpy as np
from networks import Network, conv, squeeze_excite

LEAST_POOLED = 5  # rows and columns
MOST_LINE_MACS = 6e8


def dense_block(net, x, _):
    """DenseNet's: normalised once more, 1x1, 3x3, and behind everything that came before."""
    n, c, h, w = x[1]
    growth = net.pick(12, 16, 24, 32, 32, 48)
    for _ in range(net.pick(1, 2, 3)):
        y = net.op("BatchNormalization", [x] + [net.weight([c]) for _ in range(4)], x[1])
        y = conv(net, net.op("Relu", [y], y[1]), 4 * growth, 1, activation="Relu")
        y = conv(net, y, growth, 3)
        c += growth
        x = net.op("Concat", [x, y], [n, c, h, w], axis=1)
    return x


def aggregated_block(net, x, activation):
    """VoVNet's and HarDNet's: all results in a row together, once."""
    n, c, h, w = x[1]
    width = max(16, c // net.pick(1, 2, 4) // 8 * 8)
    parts = [x]
    for _ in range(net.pick(2, 3, 4, 5)):
        depthwise = net.chance(0.3)
        y = conv(net, parts[-1], width, 1 if depthwise else 3, activation=activation)
        parts.append(conv(net, y, width, 3, group=width) if depthwise else y)
    joined = net.op("Concat", parts, [n, sum(p[1][1] for p in parts), h, w], axis=1)
    y = conv(net, joined, c, 1, activation=activation)
    return net.op("Add", [squeeze_excite(net, y) if net.chance(0.5) else y, x], x[1])


def upsampled(net, x, factor):
    n, c, h, w = x[1]
    scales = net.constant([1, 1, factor, factor], np.float32)
    return net.op("Resize", [x, "", scales], [n, c, h * factor, w * factor], mode="nearest", nearest_mode="floor",
                  coordinate_transformation_mode="asymmetric")


def fused_block(net, x, activation):
    """HRNet's and feature pyramids': a coarser branch, put back beside the fine one."""
    c, h, w = x[1][1:]
    factor = net.pick(2, 2, 4)
    if h % factor or w % factor:
        return conv(net, x, c, 3, activation=activation)
    coarse = x
    for _ in range(factor // 2):
        coarse = conv(net, coarse, min(512, 2 * coarse[1][1]), 3, 2, activation=activation)
    coarse = conv(net, coarse, c, 1)
    fine = conv(net, x, c, 3) if net.chance(0.5) else x
    y = net.op("Add", [fine, upsampled(net, coarse, factor)], x[1])
    return net.op("Relu", [y], y[1])


def pooled_block(net, x, activation):
    """Inception's and YOLO's: pools of stride 1 beside what they read, then 1x1; or a pool that halves."""
    n, c, h, w = x[1]
    if h < LEAST_POOLED or w < LEAST_POOLED:
        return conv(net, x, c, 1, activation=activation)
    kind = net.pick("MaxPool", "MaxPool", "AveragePool")
    if net.chance(0.4):
        shape = [n, c, (h - 1) // 2 + 1, (w - 1) // 2 + 1]
        return net.op(kind, [x], shape, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    kernel = net.pick(3, 3, 5)
    parts = [x]
    for _ in range(net.pick(1, 2, 3)):
        parts.append(net.op(kind, [parts[-1]], x[1], kernel_shape=[kernel] * 2, strides=[1, 1], pads=[kernel // 2] * 4))
    joined = net.op("Concat", parts, [n, len(parts) * c, h, w], axis=1)
    return conv(net, joined, c, 1, activation=activation)


def line_conv(net, x, kernel, group, out):
    """A convolution along a line, as of sound and of texts whose channels lie in front."""
    n, c, length = x[1]
    weights = [net.weight([out, c // group, kernel], 1.0 / (c // group * kernel)), net.weight([out])]
    net.macs += n * out * length * (c // group) * kernel
    return net.op("Conv", [x, *weights], [n, out, length], kernel_shape=[kernel], strides=[1],
                  pads=[kernel // 2] * 2, group=group)


def line_network(seed):
    """SqueezeBERT's, Conformer's and WaveNet's layers: convolutions of tensors of three axes, dense, grouped and
    depthwise, some with the channels moved to the front and back."""
    net = Network(seed)
    n, length = net.pick(1, 1, 2, 4, 8), net.log_uniform(16, 1024)
    c = net.pick(64, 96, 128, 192, 256, 384, 512, 768)
    while n * c * length > 8e5:
        n, length = max(1, n // 2), max(16, length // 2)
    x = net.made([n, length, c])
    for _ in range(net.pick(2, 3, 4)):
        if net.macs > MOST_LINE_MACS:
            break
        y = net.op("Transpose", [x], [n, c, length], perm=[0, 2, 1])
        group = net.pick(1, 1, 4, 4, 2, 8)
        inner = c * net.pick(1, 1, 2, 4)
        y = line_conv(net, y, net.pick(1, 1, 1, 3, 5), group, inner)
        y = net.op(net.pick("Relu", "Sigmoid", "Tanh"), [y], y[1])
        if net.chance(0.4):
            y = line_conv(net, y, net.pick(3, 7, 15, 31), inner, inner)
        y = line_conv(net, y, 1, group, c)
        y = net.op("Transpose", [y], [n, length, c], perm=[0, 2, 1])
        x = net.op("Add", [x, y], x[1])
    return net
