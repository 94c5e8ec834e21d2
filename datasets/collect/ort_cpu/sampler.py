"""Made-up networks whose operators have sampled shapes.

An operator is measured where it will be met: between others, its operands just made by the one before it, its
weights as cold as a network's are. So each sample is a small network of one family (convolutions, transformer
layers, or a mixture of everything else), which ONNX Runtime fuses as it does real ones. A network is a function of
its family and seed alone.
"""

import numpy as np
from blocks import attention_network, blocks_network, small_network
from forms import forms_network
from joins import line_network
from layouts import layouts_network
from mixture import mixture_network
from networks import (MOST_MACS, Network, activate, channels, conv, gelu, layer_norm, linear, pool, reshape,
                      squeeze_excite)
from volumes import volumes_network
from ways import ways_network

FAMILIES = ("conv", "transformer", "mixture", "blocks", "small", "layouts", "attention", "lines", "forms", "ways",
            "volumes")


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
    # Ones, which hide nothing. ONNX Runtime's exponential of what a mask hides is a subnormal number, and Intel's
    # processors take six times as long for those.
    mask = net.op("Mul", [net.input([n, 1, net.pick(1, s), s], name="mask"), net.constant(-10000, np.float32)],
                  [n, 1, s, s])
    mask = mask if net.chance(0.7) else None
    for _ in range(3):
        if net.macs > MOST_MACS * 0.5:
            break
        x = transformer_layer(net, x, heads, mask, style)
    if net.chance(0.3):
        out = net.log_uniform(2, min(50000, max(3, int(2e8 / (np.prod(x[1]))))))
        linear(net, x, out, bias=net.chance(0.5))
    return net


def network(family, seed):
    """The network of that family and seed, its operators' kinds and sizes in `contents`."""
    return {"conv": conv_network, "transformer": transformer_network, "mixture": mixture_network,
            "blocks": blocks_network, "small": small_network,
            "layouts": layouts_network, "attention": attention_network,
            "lines": line_network, "forms": forms_network, "ways": ways_network, "volumes": volumes_network}[family](seed)


def sample(family, seed):
    """The same as an ONNX model."""
    return network(family, seed).model()
