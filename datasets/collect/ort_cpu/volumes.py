"""Family of samples: what models of video, medical images, audio and graphs add to those of images and text.

Convolutions and resizing of three and one dimensions run through ONNX Runtime's general kernels, whose time follows
what they copy and look up, not their arithmetic; recurrent layers run long at batch 1; graph networks scatter along
an axis that is not the innermost one; and segmentation resizes between blocked convolutions."""

import numpy as np
from networks import Network, activate, conv

MOST_MACS = 3e8
MOST_ELEMENTS = 2e6


def window(net, shape, out, kernel, stride, group=1, dilation=1):
    """A convolution of any number of dimensions that keeps its extents, strides aside."""
    c = shape[1]
    pads = [dilation * (k - 1) // 2 for k in kernel]
    result = [shape[0], out, *[(e + 2 * p - dilation * (k - 1) - 1) // s + 1
                               for e, p, k, s in zip(shape[2:], pads, kernel, stride)]]
    taps = c // group * int(np.prod(kernel))
    if np.prod(result) * taps > MOST_MACS or np.prod(result) * taps / out > 2e7 or min(result) < 1:
        return None
    y = net.op("Conv", [net.made(shape), net.weight([out, c // group, *kernel], 1 / taps), net.weight([out])], result,
               kernel_shape=kernel, strides=stride, pads=pads * 2, group=group, dilations=[dilation] * len(kernel))
    return activate(net, y, net.pick(None, "Relu", "LeakyRelu", "Silu"))


def volume_conv(net):
    shape = [1, net.pick(1, 3, 8, 16, 16, 32, 32, 64, 128), net.pick(1, 4, 8, 16, 16), *[net.pick(7, 14, 16, 28, 32, 56)] * 2]
    kernel = net.pick([3, 3, 3], [3, 3, 3], [3, 3, 3], [1, 3, 3], [3, 1, 1], [1, 1, 1], [2, 2, 2])
    window(net, shape, net.pick(1, 3, 8, 16, 16, 24, 32, 48, 64, 128), kernel, net.pick([1, 1, 1], [1, 1, 1], [2, 2, 2], [1, 2, 2]))


def signal_conv(net):
    shape = [net.pick(1, 1, 1, 4), net.pick(1, 16, 32, 64, 96, 256, 512), net.pick(49, 149, 500, 1000, 2000, 8000, 16000)]
    group = net.pick(1, 1, 1, 1, 16, shape[1])
    out = shape[1] if group > 1 else net.pick(1, 1, 2, 16, 32, 64, 256, 512)
    if shape[1] % group == 0 and np.prod(shape) <= MOST_ELEMENTS:
        window(net, shape, out, [net.pick(3, 3, 5, 7, 7, 11, 16, 128)], [net.pick(1, 1, 1, 2, 5)], group, net.pick(1, 1, 3, 5))


def image_conv(net):
    """Few or odd numbers of channels, and groups that do not fill a block."""
    side, width = net.pick(14, 28, 28, 56, 112), net.pick(4, 10, 12, 20, 24, 24, 36, 40)
    group = net.pick(1, 2, 3, 5, 7, 14)
    window(net, [net.pick(1, 1, 2), width * group, side, side], width * group, [3, 3], net.pick([1, 1], [2, 2]), group)


def resampling(net):
    """Volumes, signals, and images between blocked convolutions."""
    mode, coordinates = net.pick("nearest", "linear"), net.pick("asymmetric", "half_pixel", "align_corners")
    options = {"mode": mode, "coordinate_transformation_mode": "asymmetric" if mode == "nearest" else coordinates}
    if mode == "nearest":
        options["nearest_mode"] = "floor"
    c, style = net.pick(1, 8, 16, 32, 64, 128), net.pick("volume", "signal", "image", "image")
    if style == "image":
        side, factor = net.pick(7, 8, 14, 16, 28, 32, 56), net.pick(2, 2, 2, 4)
        shape, scales = [net.pick(1, 1, 2), max(c, 16), side, side], [1, 1, factor, factor]
    elif style == "volume":
        side = net.pick(7, 8, 14, 16, 28, 32)
        shape, scales = [1, c, net.pick(2, 4, 8), side, side], [1, 1, *net.pick([2, 2, 2], [2, 2, 2], [1, 2, 2], [2, 1, 1])]
    else:
        shape, scales = [1, c, net.pick(100, 512, 1000, 4096, 8000)], [1, 1, net.pick(2, 2, 4)]
    out = [e * s for e, s in zip(shape, scales)]
    if np.prod(out) > MOST_ELEMENTS / 2:
        return
    x = net.made(shape)
    x = conv(net, x, shape[1], 1) if style == "image" else x
    y = net.op("Resize", [x, "", net.constant(scales, np.float32)], out, **options)
    if style == "image":
        conv(net, y, 16, 1)


def recurrent(net):
    kind, gates = net.pick(("LSTM", 4), ("LSTM", 4), ("GRU", 3), ("RNN", 1))
    steps, batch = net.pick(20, 50, 100, 150, 250), net.pick(1, 1, 1, 1, 2, 4, 8)
    size, hidden = net.pick(64, 128, 256, 512, 1024), net.pick(64, 128, 256, 256, 512, 512, 768, 1024)
    directions = net.pick(1, 2)
    while steps * batch * gates * hidden * (size + hidden) * directions > 4e8:
        steps = max(1, steps // 2)
        hidden = hidden if steps > 12 else max(64, hidden // 2)
    x = net.op("Tanh", [net.input([steps, batch, size])], [steps, batch, size])
    net.op(kind, [x, *[net.weight([directions, gates * hidden, k], 1 / hidden) for k in (size, hidden)],
                  net.weight([directions, 2 * gates * hidden], 1 / hidden)],
           [steps, directions, batch, hidden], hidden_size=hidden,
           direction="bidirectional" if directions == 2 else "forward")


def columns(net):
    """Messages along the edges of a graph: gathered, and added to their nodes."""
    nodes, edges, width = net.log_uniform(50, 3000), net.log_uniform(200, 12000), net.pick(4, 16, 32, 64, 128, 256)
    if edges * width > MOST_ELEMENTS / 4:
        return
    index = np.tile(net.rng.integers(0, nodes, [edges, 1]), [1, width])
    x = net.made([nodes, width])
    if net.chance(0.3):
        net.op("GatherElements", [x, net.constant(index)], [edges, width], axis=0)
        return
    if net.chance(0.3):
        net.op("Gather", [net.made([1, width, nodes]), net.constant(index[:, 0])], [1, width, edges], axis=2)
        return
    net.op("ScatterElements", [x, net.constant(index), net.made([edges, width])], x[1], axis=0)


KINDS = (volume_conv, volume_conv, volume_conv, signal_conv, signal_conv, image_conv, image_conv, resampling,
         resampling, resampling, recurrent, columns)


def volumes_network(seed):
    net = Network(seed)
    for index in net.rng.permutation(len(KINDS))[:5]:
        KINDS[index](net)
    if not net.nodes:
        net.made([1, 16])
    net.read_all()
    return net
