"""Family of samples: the forms of operators that the other families lack, in graphs with an open batch.

With an open batch ONNX Runtime keeps MatMul and its bias apart, fuses the bias into Gelu and computes shapes in each
run. Further: every mode of Resize, Softmax over inner axes, dilated, strip-shaped and patch convolutions, group and
channel norms as both of PyTorch's exporters write them, cosine attention, windows with shifts, Einsum, rotary
embeddings, gathers with short and long runs, scatters."""

import numpy as np
from onnx import TensorProto
from networks import Network, channels, conv, gelu, layer_norm, linear, reshape

MOST_ELEMENTS = 1.5e6
BATCHES = (1, 1, 1, 2, 4, 8)


def limited(shape, most=MOST_ELEMENTS, axis=1):
    shape = list(shape)
    while np.prod(shape) > most and shape[axis] > 8:
        shape[axis] //= 2
    return shape


def fed(net, shape):
    """A value that an operator has just made of an input with an open batch."""
    return net.made(shape)


def tokens(net, most=MOST_ELEMENTS):
    size = net.pick(16, 24, 32, 32, 48, 64, 64)
    heads = net.pick(1, 2, 3, 4, 6, 8, 12)
    length = net.pick(16, 49, 50, 64, 128, 144, 196, 197, 256, 257, 784, 785, 3136, 3137, net.log_uniform(8, 1024))
    n = net.batch
    while n * length * heads * size > most and (heads > 1 or length > 16):
        heads, length = max(1, heads // 2), max(16, length // 2) if heads == 1 else length
    return n, length, heads, size


def resize(net):
    shape = limited([net.batch, channels(net, 3, 512), *[net.pick(7, 8, 14, 16, 28, 32, 56, 112)] * 2], 4e5)
    mode = net.pick("nearest", "linear", "linear", "cubic", "cubic")
    scale = net.pick(2, 2, 4, 0.5, 0.25, 1.5, 224 / 240, 0.875)
    out = shape[:2] + [max(1, int(e * scale)) for e in shape[2:]]
    if np.prod(out) > MOST_ELEMENTS:
        return
    options = {"mode": mode, "coordinate_transformation_mode": net.pick(
        *{"nearest": ("asymmetric", "half_pixel"), "linear": ("half_pixel", "align_corners", "pytorch_half_pixel"),
          "cubic": ("half_pixel", "align_corners", "pytorch_half_pixel")}[mode])}
    if mode == "cubic":
        options["cubic_coeff_a"] = -0.75
    if mode == "nearest":
        options["nearest_mode"] = "floor"
    scales = [1.0, 1.0, *[(b + 0.01) / a for a, b in zip(shape[2:], out[2:])]]
    net.op("Resize", [fed(net, shape), "", net.constant(scales, np.float32)], out, **options)


def inner_softmax(net):
    n, length, heads, size = tokens(net, 1e6)
    shape, axis = net.pick(([n, heads, length, size], 2), ([n, length, heads, size], 1), ([n, heads * size, length], 1),
                           ([n, heads, size, length], 2), ([n, heads, length, size], 1))
    net.op("Softmax", [fed(net, shape)], shape, axis=axis)


def mlp(net):
    """Bias and Gelu; the residual sum and the norm behind it."""
    n, length, heads, size = tokens(net)
    width = heads * size
    x = fed(net, [n, length, width])
    inner = width * net.pick(1, 2, 3, 4, 4)
    while n * length * width * inner > 2e8 and inner > 64:
        inner //= 2
    y = gelu(net, linear(net, x, inner), net.pick("erf", "erf", "erf2", "tanh", "relu", "silu"))
    y = linear(net, y, width)
    if net.chance(0.4):
        y = net.op("Mul", [net.weight([width]), y], y[1])  # a layer's scale
    y = net.op("Add", [x, y], x[1])
    layer_norm(net, y)


def attention(net):
    """As both exporters decompose it: scale on one side, on both, or behind the product."""
    n, length, heads, size = tokens(net, 6e5)
    while n * heads * length * length > 3e6 and length > 16:
        length //= 2
    width = heads * size
    x = fed(net, [n, length, width])
    qkv = linear(net, x, 3 * width)
    style = net.pick(0, 1, 2)
    root = net.constant(size ** -0.25, np.float32)
    if style == 0:
        y = net.op("Reshape", [qkv, net.constant([-1, length, 3, heads, size])], [n, length, 3, heads, size])
        y = net.op("Transpose", [y], [3, n, heads, length, size], perm=[2, 0, 3, 1, 4])
        parts = [net.op("Gather", [y, net.constant(i)], [n, heads, length, size], axis=0) for i in range(3)]
        key = net.op("Transpose", [parts[1]], [n, heads, size, length], perm=[0, 1, 3, 2])
    else:
        split = net.op("Split", [qkv], [n, length, width], outputs=3, axis=2)
        parts = []
        for item in split:
            item = net.op("Reshape", [item, net.constant([-1, length, heads, size])], [n, length, heads, size])
            parts.append(net.op("Transpose", [item], [n, heads, length, size], perm=[0, 2, 1, 3]))
        key = net.op("Transpose", [parts[1]], [n, heads, size, length], perm=[0, 1, 3, 2])
    query = parts[0]
    if style == 2:
        query, key = (net.op("Mul", [v, root], v[1]) for v in (query, key))
    scores = net.op("MatMul", [query, key], [n, heads, length, length])
    if style == 0:
        scores = net.op("Mul", [scores, net.constant(size ** -0.5, np.float32)], scores[1])
    if net.chance(0.4):
        scores = net.op("Add", [scores, net.weight([1, heads, length, length])], scores[1])
    y = net.op("MatMul", [net.op("Softmax", [scores], scores[1], axis=-1), parts[2]], [n, heads, length, size])
    y = net.op("Transpose", [y], [n, length, heads, size], perm=[0, 2, 1, 3])
    linear(net, net.op("Reshape", [y, net.constant([-1, length, width])], [n, length, width]), width)


def cosine(net):
    """Queries and keys of length 1."""
    n, length, heads, size = tokens(net, 6e5)
    x = fed(net, [n, heads, length, size])
    norm = net.op("ReduceL2", [x], [n, heads, length, 1], axes=[-1], keepdims=1)
    norm = net.op("Clip", [norm, net.constant(1e-12, np.float32)], norm[1])
    net.op("Div", [x, net.op("Expand", [norm, net.op("Shape", [x], [4])], x[1])], x[1])


def channel_norm(net):
    """Group norm by InstanceNormalization, layer norm over the channels of an image, BatchNormalization alone."""
    c, side = channels(net, 16, 512), net.pick(7, 14, 28, 56)
    shape = limited([net.batch, c, side, side])
    n, c = shape[:2]
    x = fed(net, shape)
    style = net.pick(0, 1, 2, 3)
    if style == 0:
        groups = net.pick(1, 2, 4, 8)
        y = net.op("Reshape", [x, net.constant([0, groups, -1])], [n, groups, c // groups * side * side])
        y = net.op("InstanceNormalization", [y, net.weight([groups]), net.weight([groups])], y[1])
        y = net.op("Reshape", [y, net.constant([-1, c, side, side])], shape)
        y = net.op("Mul", [y, net.weight([c, 1, 1])], shape)
        net.op("Add", [y, net.weight([c, 1, 1])], shape)
    elif style == 1:
        y = net.op("Transpose", [x], [n, side, side, c], perm=[0, 2, 3, 1])
        y = layer_norm(net, y)
        y = linear(net, y, max(8, min(2 * c, int(1e8 / np.prod(shape)))))
        net.op("Transpose", [gelu(net, y, "erf")], [n, y[1][-1], side, side], perm=[0, 3, 1, 2])
    elif style == 2:
        mean = net.op("ReduceMean", [x], [n, 1, side, side], axes=[1], keepdims=1)
        rest = net.op("Sub", [x, mean], shape)
        square = net.op("Pow", [rest, net.constant(2, np.float32)], shape)
        variance = net.op("ReduceMean", [square], mean[1], axes=[1], keepdims=1)
        variance = net.op("Add", [variance, net.constant(1e-6, np.float32)], mean[1])
        y = net.op("Div", [rest, net.op("Sqrt", [variance], mean[1])], shape)
        net.op("Mul", [net.weight([c, 1, 1]), y], shape)
    else:
        y = net.op("Sigmoid", [x], shape)
        y = net.op("BatchNormalization", [y] + [net.weight([c]) for _ in range(4)], shape)
        net.op("ReduceMean", [y], [n, c], axes=[2, 3], keepdims=0)


def windows(net):
    """Windows of an image with its channels last, shifted by slices."""
    size, number = net.pick(4, 7, 7, 8), net.pick(1, 2, 4, 8)
    side = size * number
    n, _, _, c = shape = limited([net.batch, side, side, channels(net, 24, 512)], axis=3)
    x = fed(net, shape)
    shift = size // 2
    for axis in (1, 2):
        parts = []
        for start, end in ((shift, side), (0, shift)):
            part = list(shape)
            part[axis] = end - start
            parts.append(net.op("Slice", [x, net.constant([start]), net.constant([end]), net.constant([axis])], part))
        x = net.op("Concat", parts, shape, axis=axis)
    y = net.op("Reshape", [x, net.constant([-1, number, size, number, size, c])], [n, number, size, number, size, c])
    y = net.op("Transpose", [y], [n, number, number, size, size, c], perm=[0, 1, 3, 2, 4, 5])
    y = net.op("Reshape", [y, net.constant([-1, size * size, c])], [n * number * number, size * size, c])
    y = layer_norm(net, y)
    net.op("Add", [y, net.weight([size * size, 1])], y[1])


def convolutions(net):
    """Dilated, strips, patches, large depthwise kernels, channels that do not fill blocks, groups."""
    side = net.pick(7, 14, 14, 28, 28, 56)
    c = channels(net, 16, 384)
    style = net.pick("dilated", "strip", "patch", "large", "odd", "groups", "groups", "one")
    if style == "patch":
        kernel = net.pick(2, 4, 4, 8, 14, 16, 32)
        c = 3 if kernel > 4 else c
        side = kernel * net.pick(7, 14, 16, 28)
    if style == "odd":
        c = net.pick(3, 5, 10, 12, 18, 27, 36, 44, 66)
    shape = limited([net.batch, c, side, side], 1e6)
    n, c = shape[:2]
    x = fed(net, shape)
    kernel, stride, dilation, group, pads, out = [3, 3], 1, 1, 1, [1] * 4, max(8, min(channels(net, 8, 256), c * 2))
    if style == "dilated":
        dilation = net.pick(2, 2, 3, 4, 6, 12)
        group = net.pick(1, 1, c)
        pads = [dilation] * 4
    elif style == "strip":
        length = net.pick(3, 5, 7, 7, 11, 21)
        kernel = net.pick([1, length], [length, 1])
        pads = [kernel[0] // 2, kernel[1] // 2] * 2
        group = net.pick(1, c, c)
    elif style == "patch":
        stride, kernel, pads = side // net.pick(7, 14, 16, 28), None, [0] * 4
        stride = max(2, min(32, stride))
        kernel = [stride, stride]
    elif style == "large":
        length = net.pick(5, 7, 7, 9, 11)
        kernel, pads, group, stride = [length] * 2, [length // 2] * 4, c, net.pick(1, 1, 2)
    elif style == "groups":
        choices = [g for g in (2, 3, 4, 8, 16, 24, 32, 64) if c % g == 0] or [1]
        group = net.pick(*choices)
        stride = net.pick(1, 1, 2)
        out = c * net.pick(1, 1, 2)
        kernel, pads = net.pick(([3, 3], [1] * 4), ([1, 1], [0] * 4), ([5, 5], [2] * 4))
    elif style == "one":
        kernel, pads, out = [1, 1], [0] * 4, max(8, min(4 * c, int(1e8 / np.prod(shape))))
    if group == c:
        out = c
    while np.prod(shape) / stride ** 2 * out / group * np.prod(kernel) > 2e8 and out > 8 and group == 1:
        out //= 2
    after = [(side + pads[i] + pads[i + 2] - dilation * (kernel[i] - 1) - 1) // stride + 1 for i in (0, 1)]
    if min(after) < 1:
        return
    y = net.op("Conv", [x, net.weight([out, c // group, *kernel], 1 / (c // group * np.prod(kernel))), net.weight([out])],
               [n, out, *after], kernel_shape=kernel, strides=[stride] * 2, pads=pads, group=group,
               dilations=[dilation] * 2)
    kind = net.pick(None, "Relu", "Silu", "gelu", "HardSwish", "scale")
    if kind == "gelu":
        gelu(net, y, "erf")
    elif kind == "scale":
        small = net.op("ReduceMean", [y], [n, out, 1, 1], axes=[2, 3], keepdims=1)
        small = conv(net, small, out, 1)
        net.op("Mul", [y, net.op("Sigmoid", [small], small[1])], y[1])
    elif kind == "Silu":
        net.op("Mul", [y, net.op("Sigmoid", [y], y[1])], y[1])
    elif kind is not None:
        net.op(kind, [y], y[1])


def einsum(net):
    n, length, heads, size = tokens(net, 4e5)
    while n * heads * length * length > 2e6 and length > 16:
        length //= 2
    width = heads * size
    equation, a, b, out = net.pick(
        ("ibh,hnd->ibnd", [n, length, width], [width, heads, size], [n, length, heads, size]),
        ("ibnd,hnd->ibh", [n, length, heads, size], [width, heads, size], [n, length, width]),
        ("bind,bjnd->bnij", [n, length, heads, size], [n, length, heads, size], [n, heads, length, length]),
        ("bnij,bjnd->bind", [n, heads, length, length], [n, length, heads, size], [n, length, heads, size]),
        ("bhic,bhjc->bhij", [n, heads, length, size], [n, heads, length, size], [n, heads, length, length]),
        ("bhic,rc->bhir", [n, heads, length, size], [length, size], [n, heads, length, length]))
    second = net.weight(b) if b[0] != n or len(b) < 4 else fed(net, b)
    net.op("Einsum", [fed(net, a), second], out, equation=equation)


def rotary(net):
    n, length, heads, size = tokens(net, 6e5)
    shape = [n, heads, length, size]
    x = fed(net, shape)
    half = [n, heads, length, size // 2]
    low, high = (net.op("Slice", [x, net.constant([a]), net.constant([b]), net.constant([3])], half)
                 for a, b in ((0, size // 2), (size // 2, size)))
    turned = net.op("Concat", [net.op("Neg", [high], half), low], shape, axis=3)
    cosines, sines = (net.op("Unsqueeze", [net.op(kind, [fed(net, [n, length, size])], [n, length, size]),
                                           net.constant([1])], [n, 1, length, size]) for kind in ("Cos", "Sin"))
    net.op("Add", [net.op("Mul", [x, cosines], shape), net.op("Mul", [turned, sines], shape)], shape)


def positions(net):
    """Class tokens joined, single tokens taken, keys repeated for groups of heads, values gathered one by one."""
    n, length, heads, size = tokens(net, 6e5)
    width = heads * size
    x = fed(net, [n, length, width])
    style = net.pick(0, 1, 2, 3)
    if style == 0:
        first = fed(net, [n, 1, width])
        y = net.op("Concat", [first, x], [n, length + 1, width], axis=1)
        net.op("Add", [y, net.weight([1, length + 1, width])], y[1])
    elif style == 1:
        net.op("Gather", [x, net.constant(0)], [n, width], axis=1)
        net.op("Slice", [x, net.constant([1]), net.constant([length]), net.constant([1])], [n, length - 1, width])
    elif style == 2:
        times = net.pick(2, 4)
        y = net.op("Reshape", [x, net.constant([-1, heads, 1, length, size])], [n, heads, 1, length, size])
        y = net.op("Expand", [y, net.constant([n, heads, times, length, size])], [n, heads, times, length, size])
        net.op("Neg", [y], y[1])
    elif n == 1:
        taken = net.pick(1, min(64, width))
        index = net.constant(net.rng.integers(0, width, [1, length, taken]))
        net.op("GatherElements", [x, index], [n, length, taken], axis=2)


def gathers(net):
    """Gathers whose runs of neighbours are short or long: unfolded lines and images, permuted rows and channels."""
    n, length, heads, size = tokens(net, 2e5)
    width = heads * size
    style = net.pick("line", "image", "rows", "channels", "last", "pairs")
    if style == "line":  # a window of `kernel` elements around each position
        kernel = net.pick(3, 5, 7, 9, 9)
        index = np.arange(length)[None, :] + np.arange(kernel)[:, None]
        x = fed(net, [n, width, length + kernel - 1])
        net.op("Gather", [x, net.constant(index)], [n, width, kernel, length], axis=2)
    elif style == "image":
        side, kernel = net.pick(7, 8, 14, 16, 28), net.pick(2, 3, 3, 5)
        c = max(8, min(width, int(4e5 / (side * kernel) ** 2)))
        index = np.arange(side)[None, :] + np.arange(kernel)[:, None]
        full = side + kernel - 1
        y = net.op("Gather", [fed(net, [n, c, full, full]), net.constant(index)], [n, c, kernel, side, full], axis=2)
        net.op("Gather", [y, net.constant(index)], [n, c, kernel, side, kernel, side], axis=4)
    elif style in ("rows", "channels"):
        shape = [n, length, width] if style == "rows" else [n, width, net.pick(7, 14, 28), 7]
        taken = shape[1] if net.chance(0.5) else max(1, shape[1] // 2)
        index = net.rng.permutation(shape[1])[:taken]
        net.op("Gather", [fed(net, shape), net.constant(index)], [n, taken, *shape[2:]], axis=1)
    elif style == "last":
        taken = net.pick(size, max(1, size // 2), 2 * size)
        x = fed(net, [n, heads, length, size])
        net.op("Gather", [x, net.constant(net.rng.integers(0, size, [taken]))], [n, heads, length, taken], axis=3)
    else:
        pairs = np.stack([net.rng.integers(0, n, [length]), net.rng.integers(0, length, [length])], 1)
        net.op("GatherND", [fed(net, [n, length, width]), net.constant(pairs)], [length, width])


def scatters(net):
    """Updates of rows, of elements along an axis, and of every element, its index joined of one number per axis."""
    n, length, heads, size = tokens(net, 1.5e5)
    style = net.pick("rows", "axis", "each", "joined")
    if style == "rows":
        rows = np.stack([net.rng.integers(0, n, [length]), net.rng.permutation(length)], 1)
        x = fed(net, [n, length, heads * size])
        net.op("ScatterND", [x, net.constant(rows), net.weight([length, heads * size])], x[1])
        return
    x, updates = fed(net, [n, heads, length, size]), fed(net, [n, heads, length, size])
    if style == "axis":
        index = net.constant(net.rng.integers(0, size, x[1]))
        net.op("ScatterElements", [x, index, updates], x[1], axis=3)
        return
    if style == "each":
        index = net.constant(np.stack(np.indices(x[1]), -1))
    else:  # -1 counts from the end of each axis
        parts = [net.op("Cast", [fed(net, [*x[1], 1])], [*x[1], 1], to=TensorProto.INT64) for _ in range(4)]
        index = net.op("Concat", parts, [*x[1], 4], axis=4)
    net.op("ScatterND", [x, index, updates], x[1])


KINDS = (resize, resize, resize, inner_softmax, inner_softmax, mlp, mlp, attention, attention, cosine, channel_norm,
         channel_norm, windows, convolutions, convolutions, convolutions, convolutions, einsum, rotary, positions, gathers,
         gathers, scatters)


def forms_network(seed):
    net = Network(seed)
    net.batch = net.pick(*BATCHES)
    net.open_batch = True
    for index in net.rng.permutation(len(KINDS))[:7]:
        if net.macs < 4e8:
            KINDS[index](net)
    net.read_all()
    return net
