"""Made-up networks whose operators have sampled shapes.

An operator is measured where it will be met: between others, its operands just made by the one before it, its
weights as cold as a network's are. So each sample is a small network of one family (convolutions, transformer
layers, or a mixture of everything else), which ONNX Runtime fuses as it does real ones. A network is a function of
its family and seed alone.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
FAMILIES = ("conv", "transformer", "mixture", "blocks", "small", "layouts", "attention", "lines")
MOST_MACS = 1.2e9  # of one network: a run takes a tenth of a second
_BLOCK = np.random.default_rng(0).uniform(0.5, 1.5, 1 << 16).astype(np.float32)


class Network:
    """A graph under construction; values are (name, shape), all float32 unless said."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []
        self.macs = 0
        self.used = set()
        self.contents = []  # type, variant and elements of the result of each operator

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def log_uniform(self, low, high):
        return int(round(np.exp(self.rng.uniform(np.log(low), np.log(high)))))

    def chance(self, share):
        return self.rng.random() < share

    def input(self, shape, dtype=TensorProto.FLOAT):
        name = f"input{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name, list(shape)

    def made(self, shape):
        """A value of that shape that an operator has just made."""
        return self.op("Neg", [self.input(shape)], shape)

    def weight(self, shape, scale=1.0):
        """Positive values, so that nothing cancels and no denormal number comes up."""
        name = f"w{len(self.weights)}"
        values = np.resize(_BLOCK[len(self.weights) % 97:], shape) * np.float32(scale)
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def constant(self, values, dtype=np.int64):
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(values, dtype), name))
        return name

    def op(self, kind, operands, shape, domain="", outputs=1, **attributes):
        names = [o if isinstance(o, str) else o[0] for o in operands]
        self.used.update(names)
        results = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.contents.append((kind, self.variant(kind, operands, attributes), int(np.prod(shape))))
        self.nodes.append(helper.make_node(kind, names, results, name=f"n{len(self.nodes)}", domain=domain,
                                           **attributes))
        return (results[0], list(shape)) if outputs == 1 else [(r, list(shape)) for r in results]

    @staticmethod
    def variant(kind, operands, attributes):
        """As dfsim tells convolutions apart."""
        if kind != "Conv":
            return ""
        group = attributes.get("group", 1)
        return "dense" if group <= 1 else "depthwise" if group >= operands[0][1][1] else "grouped"

    def model(self):
        """Every value that nothing reads is an output."""
        for node in self.nodes:
            for name in node.output:
                if name and name not in self.used:
                    self.outputs.append(helper.make_empty_tensor_value_info(name))
        graph = helper.make_graph(self.nodes, "sample", self.inputs, self.outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


# --- convolutions

def conv(net, x, out, kernel, stride=1, group=1, bias=True, activation=None):
    n, c, h, w = x[1]
    pad = kernel // 2
    shape = [n, out, (h + 2 * pad - kernel) // stride + 1, (w + 2 * pad - kernel) // stride + 1]
    operands = [x, net.weight([out, c // group, kernel, kernel], 1.0 / (c // group * kernel * kernel))]
    if bias:
        operands.append(net.weight([out]))
    y = net.op("Conv", operands, shape, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, group=group)
    net.macs += int(np.prod(shape)) * (c // group) * kernel * kernel
    return activate(net, y, activation)


def activate(net, x, kind):
    if kind in ("Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", "HardSwish"):
        return net.op(kind, [x], x[1]) if kind != "HardSwish" else net.op(
            "Mul", [x, net.op("HardSigmoid", [x], x[1], alpha=1 / 6, beta=0.5)], x[1])
    if kind == "Relu6":
        return net.op("Clip", [x, net.constant(0, np.float32), net.constant(6, np.float32)], x[1])
    if kind == "Silu":
        return net.op("Mul", [x, net.op("Sigmoid", [x], x[1])], x[1])
    return x


def channels(net, low=8, high=1024):
    if net.chance(0.08):
        return net.log_uniform(low, min(high, 256))
    step = net.pick(8, 8, 16, 32, 64)
    return max(step, int(round(net.log_uniform(low, high) / step)) * step)


def pool(net, x):
    n, c, h, w = x[1]
    if min(h, w) < 3:
        return x
    kind, kernel = net.pick("MaxPool", "AveragePool"), net.pick(2, 3, 3)
    stride = net.pick(1, 2, 2)
    pad = 0 if kernel == 2 else net.pick(0, 1)
    shape = [n, c, (h + 2 * pad - kernel) // stride + 1, (w + 2 * pad - kernel) // stride + 1]
    return net.op(kind, [x], shape, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)


def squeeze_excite(net, x):
    n, c = x[1][:2]
    small = net.op("GlobalAveragePool", [x], [n, c, 1, 1])
    middle = max(8, c // net.pick(4, 8, 16) // 8 * 8)
    small = conv(net, small, middle, 1, activation="Relu")
    small = conv(net, small, c, 1, activation=net.pick("Sigmoid", "HardSigmoid"))
    return net.op("Mul", [x, small], x[1])


def conv_layer(net, x, activation):
    n, c, h, _ = x[1]
    style = net.rng.random()
    most = max(8, int((MOST_MACS / 6 / (n * h * h * c * 3)) ** 1.0))
    out = min(channels(net, 8, 1536 if h <= 28 else 512), max(8, most // 8 * 8))
    if style < 0.34:
        return conv(net, x, out, 1, net.pick(1, 1, 1, 1, 2), activation=activation)
    if style < 0.62:
        kernel = net.pick(3, 3, 3, 3, 5, 7) if h >= 7 else 3
        if c * out * kernel * kernel * n * h * h > MOST_MACS / 3:
            kernel, out = 3, max(8, int(MOST_MACS / 3 / (n * h * h * c * 9)) // 8 * 8)
        return conv(net, x, out, kernel, net.pick(1, 1, 1, 2), activation=activation)
    if style < 0.76:
        return conv(net, x, c, net.pick(3, 3, 5, 7), net.pick(1, 1, 1, 2), group=c, activation=activation)
    if style < 0.82:
        group = net.pick(2, 4, 8, 16, 32)
        if c % group or out % group:
            return x
        return conv(net, x, out, 3, net.pick(1, 1, 2), group=group, activation=activation)
    if style < 0.86:
        return pool(net, x)
    if style < 0.90:
        return squeeze_excite(net, x)
    if style < 0.95:  # a residual block
        y = conv(net, x, max(8, c // net.pick(1, 2, 4) // 8 * 8), net.pick(1, 3), activation=activation)
        y = conv(net, y, c, net.pick(1, 1, 3))
        return activate(net, net.op("Add", [y, x], x[1]), activation)
    y = conv(net, x, channels(net, 8, 256), net.pick(1, 3), activation=activation)
    return net.op("Concat", [x, y], [n, c + y[1][1], *x[1][2:]], axis=1)


def conv_network(seed):
    net = Network(seed)
    n = net.pick(1, 1, 1, 2, 4, 8)
    size = net.pick(7, 8, 10, 14, 14, 16, 20, 28, 28, 32, 40, 56, 56, 64, 80, 112, 112, 128, 224)
    c = 3 if size >= 112 and net.chance(0.6) else channels(net, 16, 1024 if size <= 28 else 256 if size <= 56 else 64)
    x = net.input([n, c, size, size])
    activation = net.pick("Relu", "Relu", "Relu", "Relu6", "Silu", "HardSwish", None, "LeakyRelu", "Sigmoid")
    if c == 3:
        x = conv(net, x, net.pick(16, 24, 32, 48, 64, 96), net.pick(3, 3, 5, 7), net.pick(1, 2, 2), activation=activation)
    for _ in range(14):
        if net.macs > MOST_MACS * 0.7 or int(np.prod(x[1])) > 6e6 or x[1][2] < 3:
            break
        x = conv_layer(net, x, activation)
    if net.chance(0.6):
        x = net.op("GlobalAveragePool", [x], [*x[1][:2], 1, 1])
        x = net.op("Flatten", [x], [n, x[1][1]])
        linear(net, x, net.pick(10, 100, 1000, 1000, 21841 if x[1][1] < 512 else 365), gemm=True)
    return net


# --- transformers

def linear(net, x, out, gemm=False, bias=True):
    k = x[1][-1]
    shape = [*x[1][:-1], out]
    net.macs += int(np.prod(shape)) * k
    if gemm:
        return net.op("Gemm", [x, net.weight([out, k], 1 / k), net.weight([out])], shape, transB=1)
    y = net.op("MatMul", [x, net.weight([k, out], 1 / k)], shape)
    return net.op("Add", [y, net.weight([out])], shape) if bias else y


def layer_norm(net, x, simplified=False):
    width = x[1][-1]
    if not simplified:
        return net.op("LayerNormalization", [x, net.weight([width]), net.weight([width])], x[1], axis=-1)
    square = net.op("Pow", [x, net.constant(2, np.float32)], x[1])
    mean = net.op("ReduceMean", [square], [*x[1][:-1], 1], axes=[-1], keepdims=1)
    root = net.op("Sqrt", [net.op("Add", [mean, net.constant(1e-6, np.float32)], mean[1])], mean[1])
    return net.op("Mul", [net.op("Div", [x, root], x[1]), net.weight([width])], x[1])


def gelu(net, x, style):
    if style == "relu":
        return net.op("Relu", [x], x[1])
    if style == "silu":
        return net.op("Mul", [x, net.op("Sigmoid", [x], x[1])], x[1])
    if style == "tanh":
        cube = net.op("Pow", [x, net.constant(3, np.float32)], x[1])
        inner = net.op("Add", [x, net.op("Mul", [cube, net.constant(0.044715, np.float32)], x[1])], x[1])
        inner = net.op("Tanh", [net.op("Mul", [inner, net.constant(0.7978845, np.float32)], x[1])], x[1])
        inner = net.op("Add", [inner, net.constant(1, np.float32)], x[1])
        return net.op("Mul", [net.op("Mul", [x, net.constant(0.5, np.float32)], x[1]), inner], x[1])
    erf = net.op("Erf", [net.op("Div", [x, net.constant(1.4142135, np.float32)], x[1])], x[1])
    erf = net.op("Add", [erf, net.constant(1, np.float32)], x[1])
    if style == "erf":  # as torch 1.13 writes it
        return net.op("Mul", [net.op("Mul", [x, erf], x[1]), net.constant(0.5, np.float32)], x[1])
    return net.op("Mul", [net.op("Mul", [x, net.constant(0.5, np.float32)], x[1]), erf], x[1])


def reshape(net, x, shape):
    return net.op("Reshape", [x, net.constant(shape)], shape)


def attention(net, x, heads, masked):
    n, s, width = x[1]
    size = width // heads
    bias = net.chance(0.8)

    def split(perm):
        y = reshape(net, linear(net, x, width, bias=bias), [n, s, heads, size])
        return net.op("Transpose", [y], [[n, s, heads, size][p] for p in perm], perm=perm)

    q, k, v = split([0, 2, 1, 3]), split([0, 2, 3, 1]), split([0, 2, 1, 3])
    if net.chance(0.5):
        q = net.op("Mul", [q, net.constant(size ** -0.5, np.float32)], q[1])
    scores = net.op("MatMul", [q, k], [n, heads, s, s])
    net.macs += 2 * n * heads * s * s * size
    if net.chance(0.5):
        scores = net.op("Div", [scores, net.constant(size ** 0.5, np.float32)], scores[1])
    if masked:
        scores = net.op("Add", [scores, masked], scores[1])
    y = net.op("MatMul", [net.op("Softmax", [scores], scores[1], axis=-1), v], [n, heads, s, size])
    y = net.op("Transpose", [y], [n, s, heads, size], perm=[0, 2, 1, 3])
    return linear(net, reshape(net, y, [n, s, width]), width, bias=bias)


def transformer_layer(net, x, heads, mask, style):
    n, s, width = x[1]
    simplified = style == "silu"
    if net.post_norm:
        x = layer_norm(net, net.op("Add", [attention(net, x, heads, mask), x], x[1]))
        y = gelu(net, linear(net, x, int(width * net.pick(1, 2, 4, 4, 4)) // 8 * 8), style)
        return layer_norm(net, net.op("Add", [linear(net, y, width), x], x[1]))
    y = attention(net, layer_norm(net, x, simplified), heads, mask)
    x = net.op("Add", [x, y], x[1])
    y = layer_norm(net, x, simplified)
    inner = int(width * net.pick(1, 2, 2.67, 3, 4, 4, 4)) // 8 * 8
    up = gelu(net, linear(net, y, inner, gemm=False, bias=not simplified), style)
    if simplified:
        up = net.op("Mul", [up, linear(net, y, inner, bias=False)], up[1])
    return net.op("Add", [x, linear(net, up, width, bias=not simplified)], x[1])


def transformer_network(seed):
    net = Network(seed)
    n = net.pick(1, 1, 1, 1, 2, 4, 8)
    size = net.pick(32, 32, 48, 64, 64, 64, 96, 128)
    heads = net.log_uniform(1, 20)
    s = net.pick(1, 7, 16, 32, 49, 50, 64, 96, 128, 128, 197, 256, 384, 512, net.log_uniform(1, 512))
    style = net.pick("erf", "erf", "erf2", "tanh", "relu", "silu")
    net.post_norm = style != "silu" and net.chance(0.5)
    while heads > 1 and n * s * (heads * size) ** 2 * 12 + 2 * n * s * s * heads * size > MOST_MACS:
        heads -= 1
    x = net.input([n, s, heads * size])
    mask = net.op("Mul", [net.input([n, 1, net.pick(1, s), s]), net.constant(-10000, np.float32)], [n, 1, s, s])
    mask = mask if net.chance(0.7) else None
    for _ in range(3):
        if net.macs > MOST_MACS * 0.5:
            break
        x = transformer_layer(net, x, heads, mask, style)
    if net.chance(0.3):
        out = net.log_uniform(2, min(50000, max(3, int(2e8 / (np.prod(x[1]))))))
        linear(net, x, out, bias=net.chance(0.5))
    return net


# --- everything else

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


def network(family, seed):
    """The network of that family and seed, its operators' kinds and sizes in `contents`."""
    import blocks  # these use this module
    import joins
    import layouts
    return {"conv": conv_network, "transformer": transformer_network, "mixture": mixture_network,
            "blocks": blocks.blocks_network, "small": blocks.small_network,
            "layouts": layouts.layouts_network, "attention": blocks.attention_network,
            "lines": joins.line_network}[family](seed)


def sample(family, seed):
    """The same as an ONNX model."""
    return network(family, seed).model()
