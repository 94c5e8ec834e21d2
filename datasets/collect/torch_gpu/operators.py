"""Operators to measure alone: shapes drawn like those of networks, odd ones among them.

Each item is (ONNX operator, class, attributes, shapes of the operands, function of the tensors), as
datasets/profiles/SCHEMA.md describes them. One seed gives one list.
"""

import math
import random

from gradients import numbers

SIZES = (7, 8, 12, 14, 16, 20, 24, 28, 32, 40, 56, 64, 75, 80, 96, 112, 128, 150, 160, 192, 224, 256, 300, 384)
CHANNELS = (8, 12, 16, 24, 32, 40, 48, 64, 72, 80, 96, 112, 120, 128, 144, 160, 192, 240, 256, 288, 320, 384, 448, 480, 512,
            576, 640, 672, 728, 768, 832, 960, 1024, 1152, 1280, 1536, 2048)
WIDTHS = (64, 96, 128, 192, 256, 320, 384, 512, 576, 640, 768, 896, 1024, 1152, 1280, 1536, 2048, 2304, 2560, 3072, 3840, 4096,
          5120, 6144, 8192, 10240, 12288, 14336, 16384, 30522, 32000, 50257)
BATCHES = (1, 1, 2, 4, 8, 16, 32, 64, 128, 256)
MOST_BYTES = 1 << 31


def log_uniform(draw, low, high):
    return round(math.exp(draw.uniform(math.log(low), math.log(high))))


def extent(draw, low, high, common):
    """A usual extent three times of four, else any."""
    usual = [c for c in common if low <= c <= high]
    return draw.choice(usual) if usual and draw.random() < 0.75 else log_uniform(draw, low, high)


def fits(shapes, most=MOST_BYTES):
    return sum(math.prod(s) for s in shapes) * 4 <= most


def convolution(draw, f):
    batch, size = draw.choice(BATCHES), extent(draw, 6, 384, SIZES)
    kernel = draw.choice((1, 1, 1, 3, 3, 3, 3, 5, 7, draw.choice((2, 4, 9, 11, 14, 16))))
    stride = draw.choice((1, 1, 1, 2, kernel))
    dilation = 2 if kernel == 3 and stride == 1 and draw.random() < 0.05 else 1
    inputs = 3 if size >= 192 and draw.random() < 0.7 else extent(draw, 8, 2048, CHANNELS)
    outputs, groups = extent(draw, 8, 2048, CHANNELS), 1
    form = draw.random()
    if inputs > 3 and form < 0.2 and kernel > 1:
        outputs = groups = inputs
    elif inputs > 3 and form < 0.32:
        groups = draw.choice((2, 4, 8, 16, 32))
        inputs, outputs = (max(1, round(c / groups)) * groups for c in (inputs, outputs))
    pad = draw.choice((0, dilation * (kernel - 1) // 2)) if kernel > 1 and kernel == stride else dilation * (kernel - 1) // 2
    if size + 2 * pad < dilation * (kernel - 1) + 1:
        return None
    out = (size + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1
    shapes = [(batch, inputs, size, size), (outputs, inputs // groups, kernel, kernel)]
    if draw.random() < 0.5:
        shapes.append((outputs,))
    work = 2 * batch * outputs * out * out * inputs // groups * kernel * kernel
    if work > 4e11 or not fits([*shapes, (batch, outputs, out, out)]):
        return None
    attributes = (f"dilations={dilation},{dilation};group={groups};kernel_shape={kernel},{kernel};"
                  f"pads={pad},{pad},{pad},{pad};strides={stride},{stride}")
    return "Conv", "conv", attributes, shapes, lambda x, w, b=None: f.conv2d(x, w, b, stride, pad, dilation, groups)


def transposed_convolution(draw, f):
    batch, size, kernel = draw.choice(BATCHES[:6]), extent(draw, 8, 128, SIZES), draw.choice((2, 3, 4))
    inputs, outputs, pad = extent(draw, 16, 1024, CHANNELS), extent(draw, 16, 512, CHANNELS), 0 if kernel == 2 else 1
    shapes = [(batch, inputs, size, size), (inputs, outputs, kernel, kernel), (outputs,)]
    if batch * inputs * outputs * (size * kernel) ** 2 > 1e11 or not fits(shapes):
        return None
    attributes = (f"dilations=1,1;group=1;kernel_shape={kernel},{kernel};output_padding=0,0;pads={pad},{pad},{pad},{pad};"
                  "strides=2,2")
    return "ConvTranspose", "conv", attributes, shapes, lambda x, w, b: f.conv_transpose2d(x, w, b, 2, pad)


def linear(draw, f):
    rows, n, k = log_uniform(draw, 1, 32768), extent(draw, 16, 51200, WIDTHS), extent(draw, 16, 16384, WIDTHS)
    if draw.random() < 0.4:
        rows = draw.choice((1, 2, 4, 8, 16, 32, 49, 64, 100, 128, 196, 197, 256, 512, 1024, 2048, 3136, 4096, 6272, 6304, 8192))
    shapes = [(rows, k), (n, k), (n,)][:draw.choice((2, 3, 3))]
    if 2 * rows * n * k > 4e11 or not fits([*shapes, (rows, n)]):
        return None
    return "Gemm", "matmul", "transA=0;transB=1", shapes, f.linear


def batched_product(draw, torch):
    batch = draw.choice((1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048))
    m = draw.choice((1, 7, 16, 49, 64, 77, 100, 128, 144, 196, 197, 256, 384, 512, 577, 784, 1024))
    n, k = m if draw.random() < 0.6 else extent(draw, 8, 1024, WIDTHS), draw.choice((16, 24, 32, 40, 48, 64, 80, 96, 128))
    if draw.random() < 0.5:
        n, k = k, n
    if 2 * batch * m * n * k > 4e11 or not fits([(batch, m, n), (batch, m, k), (batch, k, n)]):
        return None
    return "MatMul", "matmul", "", [(batch, m, k), (batch, k, n)], torch.matmul


def image(draw, most=MOST_BYTES):
    while True:
        shape = (draw.choice(BATCHES), extent(draw, 8, 2048, CHANNELS), *[extent(draw, 6, 224, SIZES)] * 2)
        if fits([shape] * 3, most):
            return shape


def rows_of(draw):
    while True:
        shape = (log_uniform(draw, 4, 1 << 18), extent(draw, 16, 8192, WIDTHS))
        if fits([shape] * 3):
            return shape


def some_shape(draw):
    return image(draw) if draw.random() < 0.5 else rows_of(draw)


def elementwise(draw, torch):
    f, shape = torch.nn.functional, some_shape(draw)
    unary = {"Relu": torch.relu, "Gelu": f.gelu, "Tanh": torch.tanh, "Sigmoid": torch.sigmoid, "Sqrt": torch.sqrt,
             "Erf": torch.erf, "Exp": torch.exp, "HardSwish": f.hardswish, "HardSigmoid": f.hardsigmoid, "Neg": torch.neg,
             "LeakyRelu": f.leaky_relu, "Clip": lambda x: torch.clamp(x, 0, 6), "Swish": f.silu}
    binary = {"Add": torch.add, "Mul": torch.mul, "Div": torch.div, "Sub": torch.sub}
    if draw.random() < 0.5:
        name = draw.choice(list(unary))
        return name, "elementwise", "", [shape], unary[name]
    name = draw.choice(("Add", "Add", "Mul", "Mul", "Div", "Sub"))
    channel = (1, shape[1], 1, 1) if len(shape) == 4 else (shape[1],)
    second = draw.choice((shape, shape, channel, (shape[0], shape[1], 1, 1) if len(shape) == 4 else (shape[0], 1), ()))
    return name, "elementwise", "", [shape, second], binary[name]


def row_wise(draw, torch):
    f, shape = torch.nn.functional, rows_of(draw)
    columns = shape[1]
    kind = draw.choice(("Softmax", "Softmax", "LayerNormalization", "LayerNormalization", "ReduceMean", "LogSoftmax"))
    if kind == "Softmax":
        return kind, "softmax", "axis=1", [shape], lambda x: torch.softmax(x, -1)
    if kind == "LogSoftmax":
        return kind, "softmax", "axis=1", [shape], lambda x: torch.log_softmax(x, -1)
    if kind == "ReduceMean":
        return kind, "reduce", "axes=1;keepdims=1", [shape], lambda x: x.mean(-1, keepdim=True)
    return (kind, "norm", "axis=1", [shape, (columns,), (columns,)],
            lambda x, w, b: f.layer_norm(x, x.shape[-1:], w, b))


def channel_wise(draw, torch):
    f, shape = torch.nn.functional, image(draw)
    channels = shape[1]
    kind = draw.choice(("BatchNormalization", "BatchNormalization", "GroupNorm", "MaxPool", "AveragePool", "GlobalAveragePool"))
    if kind == "BatchNormalization":
        return kind, "norm", "", [shape, *[(channels,)] * 4], lambda x, w, b, m, v: f.batch_norm(x, m, v, w, b)
    if kind == "GroupNorm":
        groups = draw.choice([g for g in (1, 8, 16, 32) if channels % g == 0])
        return ("GroupNormalization", "norm", f"num_groups={groups}", [shape, (channels,), (channels,)],
                lambda x, w, b: f.group_norm(x, groups, w, b))
    if kind == "GlobalAveragePool":
        return kind, "pool", "", [shape], lambda x: f.adaptive_avg_pool2d(x, 1)
    kernel, stride = draw.choice(((2, 2), (3, 2), (3, 1)))
    pad = kernel // 2 if kernel == 3 else 0
    places = f"kernel_shape={kernel},{kernel};pads={pad},{pad},{pad},{pad};strides={stride},{stride}"
    if kind == "MaxPool":
        return kind, "pool", f"ceil_mode=0;dilations=1,1;{places}", [shape], lambda x: f.max_pool2d(x, kernel, stride, pad)
    return kind, "pool", f"ceil_mode=0;{places}", [shape], lambda x: f.avg_pool2d(x, kernel, stride, pad)


def movement(draw, torch):
    f = torch.nn.functional
    kind = draw.choice(("Transpose", "Transpose", "Transpose", "Concat", "Concat", "Resize"))
    if kind == "Transpose":
        if draw.random() < 0.5:
            shape, perm = image(draw), draw.choice(((0, 2, 3, 1), (0, 3, 1, 2), (0, 1, 3, 2)))
        else:
            shape = (draw.choice(BATCHES[:8]), draw.choice((49, 128, 196, 197, 384, 512)), draw.choice((3, 6, 8, 12, 16)),
                     draw.choice((32, 64, 80)))
            perm = draw.choice(((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3)))
        return (kind, "data_movement", "perm=" + ",".join(map(str, perm)), [shape],
                lambda x: x.permute(perm).contiguous())
    shape = image(draw, MOST_BYTES >> 2)
    if kind == "Concat":
        other = (shape[0], extent(draw, 8, 1024, CHANNELS), *shape[2:])
        return kind, "data_movement", "axis=1", [shape, other], lambda x, y: torch.cat((x, y), 1)
    mode = draw.choice(("nearest", "bilinear"))
    attributes = "coordinates=" + ("asymmetric;mode=nearest" if mode == "nearest" else "pytorch_half_pixel;mode=linear")
    return kind, "data_movement", attributes, [shape], lambda x: f.interpolate(x, scale_factor=2.0, mode=mode)


def attention(draw, f):
    batch, heads, size = draw.choice(BATCHES), draw.choice((3, 6, 8, 12, 16, 20, 32)), draw.choice((32, 64, 64, 80, 96, 128))
    queries = draw.choice((1, 16, 49, 64, 77, 128, 196, 197, 256, 384, 512, 577, 1024, 2048))
    causal = queries > 1 and draw.random() < 0.3
    keys = queries if queries > 1 else draw.choice((128, 512, 1024, 2048))
    shapes = [(batch, heads, queries, size), (batch, heads, keys, size), (batch, heads, keys, size)]
    if batch * heads * queries * keys * size * 4 > 4e11 or not fits([*shapes, (batch, heads, queries, keys)]):
        return None
    return ("Attention", "attention", f"causal={int(causal)};kind=encoder;kv_heads={heads}", shapes,
            lambda q, k, v: f.scaled_dot_product_attention(q, k, v, is_causal=causal))


PRODUCT_WIDTHS = (96, 192, 320, 384, 640, 896, 1152, 1280, 1792, 2304, 2816, 3328, 3840, 4608, 5632, 6400, 6912, 7680, 8960, 9216,
                  11008, 13824, 14336, 18432, 20480, 24576, 28672, 32000)
PRODUCT_ROWS = (1, 2, 4, 8, 16, 17, 32, 48, 64, 96, 128, 192, 256, 512, 768, 1024, 2048, 4096, 8192)


def products(torch, seed=1):
    """Products with weights of widths that the public tables lack: four numbers of rows each. Endless."""
    draw = random.Random(seed)
    while True:
        n, k = draw.choice(PRODUCT_WIDTHS), draw.choice(PRODUCT_WIDTHS)
        for rows in draw.sample(PRODUCT_ROWS, 4):
            if rows * n * k < 2e11:
                yield "Gemm", "matmul", "transA=0;transB=1", [(rows, k), (n, k)], torch.nn.functional.linear


def work_of(operator):
    """A sort of size: multiplications of products, else elements."""
    kind, _, attributes, shapes, _ = operator
    if kind == "tensorflow.ConvFilterGrad":  # image and gradient of the result
        channels = shapes[0][1] // numbers(attributes, "group")[0]
        return math.prod(shapes[1]) * channels * math.prod(numbers(attributes, "kernel_shape"))
    if "input_gradient=1" in attributes:  # gradient of the result and filter
        return math.prod(shapes[0]) * math.prod(shapes[1][1:])
    if kind in ("Conv", "ConvTranspose"):
        stride = int(attributes.rpartition("strides=")[2].split(",")[0])
        return math.prod(shapes[1]) * shapes[0][0] * shapes[0][2] * shapes[0][3] / stride ** 2
    if kind == "Attention":
        return 2 * math.prod(shapes[0]) * shapes[1][2]
    return math.prod(shapes[0]) * (shapes[1][-1] if kind == "MatMul" else shapes[1][0] if kind == "Gemm" else 1)


# name: how it is drawn, and how often of a hundred
KINDS = {"conv": 34, "transposed": 2, "linear": 12, "bmm": 8, "elementwise": 14, "rows": 10, "channels": 8, "movement": 6,
         "attention": 6}


def operators(torch, seed=1, count=100000):
    """Endless by nature: the list stops at `count`."""
    f = torch.nn.functional
    makers = {"conv": lambda d: convolution(d, f), "transposed": lambda d: transposed_convolution(d, f),
              "linear": lambda d: linear(d, f), "bmm": lambda d: batched_product(d, torch),
              "elementwise": lambda d: elementwise(d, torch), "rows": lambda d: row_wise(d, torch),
              "channels": lambda d: channel_wise(d, torch), "movement": lambda d: movement(d, torch),
              "attention": lambda d: attention(d, f)}
    draw = random.Random(seed)
    while count > 0:
        operator = makers[draw.choices(list(KINDS), list(KINDS.values()))[0]](draw)
        if operator:
            count -= 1
            yield operator
