"""Family of samples: operators whose time depends on the way that a kernel takes, not on sizes alone.

ONNX Runtime adds whole vectors in some reductions and gathers each result in others; a transposition copies at once,
along one axis, in pieces or element by element; a cubic Resize of an image is a hundred times a copy. Axes of one
element decide, too, so most samples have a batch of 1."""

import numpy as np
from networks import Network

MOST_ELEMENTS = 2e6
SIDES = (7, 8, 14, 14, 28, 28, 56, 56)


def reduction(net):
    """Over channels, branches of split attention, tokens or images."""
    kind = net.pick("ReduceSum", "ReduceSum", "ReduceMean", "ReduceMax")
    c, side = net.log_uniform(16, 768), net.pick(*SIDES)
    shape, axes = net.pick(([net.batch, c, side, side], [1]),
                           ([net.batch, net.pick(2, 2, 3, 4), c, side, side], [1]),
                           ([net.batch, side * side, c], [1]), ([side * side, c], [0]),
                           ([net.batch, net.pick(1, 2, 4, 8), side * side, net.pick(16, 32, 64)], [2]),
                           ([net.batch, c, side, side], [0, 2, 3]))
    if np.prod(shape) > MOST_ELEMENTS:
        return
    keeps = net.chance(0.5)
    result = [1 if i in axes else e for i, e in enumerate(shape) if keeps or i not in axes]
    axes_of = {} if kind == "ReduceSum" else {"axes": axes}
    operands = [net.made(shape)] + ([net.constant(axes)] if kind == "ReduceSum" else [])
    net.op(kind, operands, result, keepdims=int(keeps), **axes_of)


def transposition(net):
    """Any permutation of tokens, heads and sizes, with axes of one element anywhere."""
    extents = [net.pick(4, 7, 12, 16, 32, 64, 49, 128, 196), net.pick(1, 2, 3, 4, 6, 8, 12), net.pick(8, 16, 32, 64)]
    shape = [extents[i] for i in net.rng.permutation(3)]
    for _ in range(net.pick(0, 1, 1, 2)):
        shape.insert(int(net.rng.integers(0, len(shape) + 1)), 1)
    shape.insert(0, net.batch)
    if np.prod(shape) > MOST_ELEMENTS:
        return
    perm = [int(p) for p in net.rng.permutation(len(shape))]
    y = net.op("Transpose", [net.made(shape)], [shape[p] for p in perm], perm=perm)
    net.op("Sqrt", [y], y[1])  # so that it isn't moved past what follows or dropped


def image(net):
    """An image or its features brought to another size."""
    c = net.pick(1, 3, 3, 3, 16, 64)
    side = net.pick(32, 64, 112, 128, 160, 192, 224, 240, 256, 288, 384) // (4 if c > 3 else 1)
    scale = net.pick(224 / 240, 0.5, 0.875, 1.5, 2, 256 / 224)
    shape, out = [net.batch, c, side, side], [net.batch, c, max(1, int(side * scale)), max(1, int(side * scale))]
    mode = net.pick("cubic", "cubic", "linear")
    options = {"mode": mode, "coordinate_transformation_mode": net.pick("half_pixel", "align_corners", "pytorch_half_pixel")}
    if mode == "cubic":
        options["cubic_coeff_a"] = -0.75
    scales = [1.0, 1.0, *[(b + 0.01) / a for a, b in zip(shape[2:], out[2:])]]
    if np.prod(out) <= MOST_ELEMENTS / 4:
        net.op("Resize", [net.made(shape), "", net.constant(scales, np.float32)], out, **options)


def softmax(net):
    shape = [net.batch, net.pick(16, 49, 196, 197, 784, 785, 3137), net.pick(1, 2, 4, 8), net.pick(8, 16, 32, 64)]
    if np.prod(shape) <= MOST_ELEMENTS:
        net.op("Softmax", [net.made(shape)], shape, axis=net.pick(1, 1, 2))


KINDS = (reduction, reduction, reduction, reduction, transposition, transposition, transposition, image, image, softmax)


def ways_network(seed):
    net = Network(seed)
    net.batch = net.pick(1, 1, 1, 1, 2, 4)
    for index in net.rng.permutation(len(KINDS))[:7]:
        KINDS[index](net)
    net.read_all()
    return net
