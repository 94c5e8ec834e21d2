"""A generated network, and the layers that all families of samples are built of."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
MOST_MACS = 1.2e9  # of one network: a run takes a tenth of a second
_BLOCK = np.random.default_rng(0).uniform(0.5, 1.5, 1 << 16).astype(np.float32)


class Network:
    """A graph under construction; values are (name, shape), all float32 unless said."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []
        self.macs = 0
        self.batch = 1
        self.open_batch = False  # the inputs' first axis has no number in the file
        self.used = set()
        self.contents = []  # type, variant and elements of the result of each operator
        self.ranks = {}  # of each operator's results

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def log_uniform(self, low, high):
        return int(round(np.exp(self.rng.uniform(np.log(low), np.log(high)))))

    def chance(self, share):
        return self.rng.random() < share

    def input(self, shape, dtype=TensorProto.FLOAT, name="input"):
        """name: says what values it gets (made_up_inputs)."""
        name = f"{name}{len(self.inputs)}"
        extents = ["batch", *shape[1:]] if self.open_batch and shape and shape[0] == self.batch else shape
        self.inputs.append(helper.make_tensor_value_info(name, dtype, extents))
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
        self.ranks.update((name, len(shape)) for name in results)
        return (results[0], list(shape)) if outputs == 1 else [(r, list(shape)) for r in results]

    @staticmethod
    def variant(kind, operands, attributes):
        """As dfsim tells convolutions apart."""
        if kind != "Conv":
            return ""
        group = attributes.get("group", 1)
        return "dense" if group <= 1 else "depthwise" if group >= operands[0][1][1] else "grouped"

    def read_all(self):
        """Takes one element of every value that nothing reads. Otherwise the value would be an output, for which ONNX
        Runtime takes fresh memory in each run: its operator would take up to twice as long as inside a network."""
        for node in list(self.nodes):
            for name in node.output:
                rank = self.ranks[name]
                if name not in self.used and rank:
                    first, last, axes = (self.constant(v) for v in ([0] * rank, [1] * rank, list(range(rank))))
                    self.op("Slice", [name, first, last, axes], [1] * rank)

    def model(self):
        """Every value that nothing reads is an output."""
        for node in self.nodes:
            for name in node.output:
                if name and name not in self.used:
                    self.outputs.append(helper.make_empty_tensor_value_info(name))
        graph = helper.make_graph(self.nodes, "sample", self.inputs, self.outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


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
