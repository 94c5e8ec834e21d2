"""Family of samples: what vision transformers, mobile networks and decomposed norms do to layouts. Windows of few
pixels and heads of few channels, slices that take everything, reductions over channels or pixels, channels split and
joined, powers with whole exponents, sums with one value per image or pixel."""

import numpy as np
from networks import Network, channels

SIDES = (4, 7, 8, 14, 16, 28, 32, 56)
MOST_ELEMENTS = 2e6


def batch(net):
    return net.pick(1, 1, 2, 4, 8)


def image(net, most=MOST_ELEMENTS):
    side = net.pick(*SIDES)
    shape = [batch(net), channels(net, 8, 1024), side, side]
    while np.prod(shape) > most:
        shape[int(np.argmax(shape[:2]))] = max(1, shape[int(np.argmax(shape[:2]))] // 2)
    return shape


def transposed(net, x, perm):
    shape = [x[1][p] for p in perm]
    y = net.op("Transpose", [x], shape, perm=list(perm))
    return net.op("Sqrt", [y], shape)  # so that it isn't moved past what follows or dropped


def made(net, shape):
    return net.made([int(e) for e in shape])


def windows(net):
    """Images to windows or patches and back: few values lie side by side."""
    n, c, h, w = image(net)
    size = net.pick(2, 2, 2, 4, 7, 7, 8)
    rows, columns = max(1, h // size), max(1, w // size)
    style = net.pick(0, 1, 2)
    if style == 0:  # MobileViT
        transposed(net, made(net, [n * c * rows, size, columns, size]), (0, 2, 1, 3))
    elif style == 1:  # Swin, channels last
        transposed(net, made(net, [n, rows, size, columns, size, c]), (0, 1, 3, 2, 4, 5))
    else:
        transposed(net, made(net, [n, c, rows * columns, size * size]), net.pick((0, 3, 2, 1), (0, 2, 3, 1), (0, 2, 1, 3)))


def heads(net):
    """Queries, keys and values from one product, as vision transformers take them apart."""
    size = net.pick(16, 24, 32, 32, 36, 48, 64, 64, 96)
    number, length = net.pick(1, 2, 3, 4, 6, 8, 12), net.log_uniform(16, 1600)
    n = net.pick(1, 1, 4, 8, 32)
    while n * length * number * size > MOST_ELEMENTS and (n > 1 or length > 16):
        n, length = max(1, n // 2), max(16, length // 2)
    style = net.pick(0, 0, 1, 1, 2, 3)
    if style == 0:
        transposed(net, made(net, [n, length, net.pick(1, 1, 3), number, size]), (2, 0, 3, 1, 4))
    elif style == 1:
        transposed(net, made(net, [n, length, number, size]), net.pick((0, 2, 1, 3), (0, 2, 3, 1)))
    elif style == 2:
        transposed(net, made(net, [n, number, size, length]), net.pick((0, 3, 1, 2), (0, 1, 3, 2)))
    else:
        transposed(net, made(net, [n, number * size, length]), (0, 2, 1))


def channels_last(net):
    shape = image(net)
    if net.chance(0.5):
        transposed(net, made(net, shape), (0, 2, 3, 1))
    else:
        transposed(net, made(net, [shape[0], shape[2], shape[3], shape[1]]), (0, 3, 1, 2))


def any_transposition(net):
    rank = net.pick(3, 4, 4, 5)
    shape = [net.log_uniform(1, 96) for _ in range(rank)]
    while np.prod(shape) > MOST_ELEMENTS:
        shape[int(np.argmax(shape))] //= 2
    transposed(net, made(net, shape), [int(p) for p in net.rng.permutation(rank)])


def everything(net):
    """GhostNet's slices, which take as many channels as there are."""
    shape = image(net)
    axis = net.pick(1, 1, 1, 0, 3)
    taken = shape[axis] if net.chance(0.5) else max(1, shape[axis] - net.pick(1, 2, 8))
    out = list(shape)
    out[axis] = taken
    # The ends come from the caller: with constant ones a slice of everything is dropped.
    ends = net.op("Add", [net.input([1], 7), net.constant([0])], [1])
    net.op("Slice", [made(net, shape), net.constant([0]), ends, net.constant([axis]), net.constant([1])], out)


def reductions(net):
    shape = image(net)
    axes = net.pick([1], [1], [2, 3], [2, 3], [3], [0, 2, 3])
    out = [1 if i in axes else e for i, e in enumerate(shape)]
    x = made(net, shape)
    mean = net.op(net.pick("ReduceMean", "ReduceMean", "ReduceMax", "ReduceL2"), [x], out, axes=axes, keepdims=1)
    if net.chance(0.6):  # a norm, written out
        rest = net.op("Sub", [x, mean], shape)
        exponent = net.pick(2, 2, 2, 3)
        square = net.op("Pow", [rest, net.constant(exponent, np.float32)], shape)
        net.op("Div", [rest, net.op("Sqrt", [net.op("ReduceMean", [square], out, axes=axes, keepdims=1)], out)], shape)


def spread(net):
    """One value for each channel of each image, or for each pixel, against a whole image."""
    shape = image(net)
    small = list(net.pick(shape[:2] + [1, 1], shape[:1] + [1] + shape[2:], [shape[1], 1, 1], [1, shape[1], 1, 1],
                          shape[:1] + [1, 1, 1]))
    if net.chance(0.3):
        shape = shape[:2] + [1, 1]
        small = shape[:1] + [1, 1, 1]
    net.op(net.pick("Add", "Sub", "Mul", "Div"), [made(net, shape), made(net, small)], shape)


def joined(net):
    shape = image(net, MOST_ELEMENTS / 2)
    parts = net.pick(2, 2, 2, 3, 4)
    total = [shape[0], shape[1] * parts, *shape[2:]]
    y = net.op("Concat", [made(net, shape) for _ in range(parts)], total, axis=1)
    y = net.op("Neg", [y], total)
    net.op("Split", [y], shape, outputs=parts, axis=1)


def blocked_borders(net):
    """Convolutions work on blocks of channels; to and from them everything is copied."""
    n, c, h, w = image(net, MOST_ELEMENTS)
    out = max(8, min(64, c // 8 * 8))
    x = made(net, [n, c, h, w])
    y = net.op("Conv", [x, net.weight([out, c, 1, 1], 1.0 / c)], [n, out, h, w], kernel_shape=[1, 1])
    net.macs += n * c * out * h * w
    net.op("Sqrt", [y], [n, out, h, w])


KINDS = (windows, windows, heads, heads, channels_last, any_transposition, everything, reductions, reductions, spread,
         spread, joined, blocked_borders, blocked_borders)


def layouts_network(seed):
    net = Network(seed)
    for index in net.rng.permutation(len(KINDS))[:8]:
        KINDS[index](net)
    return net
