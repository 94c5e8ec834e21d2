"""Rows of the profile schema from the calls of PyTorch that a network made.

A call is an outermost aten operator with the shapes and values of its operands (timing.calls_of).
Calls whose operands do not say what they cost, copies of views whose strides are not known among
them, have no row.
"""

import math

DTYPES = {"c10::Half": "float16", "float": "float32", "c10::BFloat16": "bfloat16", "long int": "int64", "bool": "bool"}
FLOATS = ("float16", "float32", "bfloat16")
UNARY = {"relu": "Relu", "gelu": "Gelu", "silu": "Swish", "sigmoid": "Sigmoid", "tanh": "Tanh", "hardswish": "HardSwish",
         "hardsigmoid": "HardSigmoid", "leaky_relu": "LeakyRelu", "hardtanh": "Clip", "relu6": "Clip", "sqrt": "Sqrt",
         "rsqrt": "Rsqrt", "exp": "Exp", "erf": "Erf", "neg": "Neg", "elu": "Elu"}
BINARY = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div"}
WINDOWS = {"max_pool2d": "MaxPool", "avg_pool2d": "AveragePool"}


def row_of(call):
    """-> op type, class, attributes, shapes of the operands, shape of the result; None without one."""
    name = call["op"].removeprefix("aten::").removesuffix("_")
    shapes, values = call["shapes"], call["values"]
    if dtype_of(call) is None:
        return None
    if name in UNARY:
        return UNARY[name], "elementwise", "", shapes[:1], shapes[0]
    if name in BINARY:
        return binary(BINARY[name], shapes)
    if name in WINDOWS:
        return window(name, shapes, values)
    special = SPECIAL.get(name)
    return special(shapes, values) if special else None


def dtype_of(call):
    """The floating type of the first operand, where all floating operands have it."""
    types = [DTYPES.get(t) for t, s in zip(call["types"], call["shapes"]) if t not in ("", "Scalar", "ScalarList", "TensorList")]
    found = {t for t in types if t in FLOATS}
    if call["op"] == "aten::embedding":
        return types[0]
    return types[0] if types and len(found) == 1 and types[0] in FLOATS and None not in types else None


def binary(kind, shapes):
    first, second = shapes[0], shapes[1]
    rank = max(len(first), len(second))
    padded = [[1] * (rank - len(s)) + s for s in (first, second)]
    return kind, "elementwise", "", [first, second], [max(pair) for pair in zip(*padded)]


def pair(value, rank):
    return list(value) * rank if len(value) == 1 else list(value)


def text(values):
    return ",".join(map(str, values))


def convolution(shapes, values, transposed=False):
    x, w = shapes[0], shapes[1]
    rank = len(x) - 2
    stride, pad = values[3], values[4]
    if not isinstance(pad, list):  # "same"
        return None
    stride, pad = pair(stride, rank), pair(pad, rank)
    groups, dilation = (values[6], pair(values[7], rank)) if transposed else (values[6], pair(values[5], rank))
    window_of = [d * (k - 1) + 1 for d, k in zip(dilation, w[2:])]
    attributes = f"dilations={text(dilation)};group={groups};kernel_shape={text(w[2:])};"
    operands = [s for s in shapes[:3] if s]
    places = f"pads={text(pad + pad)};strides={text(stride)}"
    if transposed:
        extra = pair(values[5], rank)
        out = [(n - 1) * s - 2 * p + k + e for n, s, p, k, e in zip(x[2:], stride, pad, window_of, extra)]
        return ("ConvTranspose", "conv", f"{attributes}output_padding={text(extra)};{places}", operands,
                [x[0], w[1] * groups, *out])
    out = [(n + 2 * p - k) // s + 1 for n, p, k, s in zip(x[2:], pad, window_of, stride)]
    return "Conv", "conv", attributes + places, operands, [x[0], w[0], *out]


def window(name, shapes, values):
    x = shapes[0]
    kernel = pair(values[1], 2)
    stride = pair(values[2], 2) if values[2] else kernel
    pad, ceil = pair(values[3], 2), values[5 if name == "max_pool2d" else 4]
    up = math.ceil if ceil else math.floor
    out = [up((n + 2 * p - k) / s) + 1 for n, p, k, s in zip(x[2:], pad, kernel, stride)]
    attributes = f"kernel_shape={text(kernel)};pads={text(pad + pad)};strides={text(stride)}"
    dilations = "dilations=1,1;" if name == "max_pool2d" else ""
    return WINDOWS[name], "pool", f"ceil_mode={int(bool(ceil))};{dilations}{attributes}", [x], [*x[:2], *out]


def linear(shapes, _):
    x, w = shapes[0], shapes[1]
    rows = math.prod(x[:-1])
    return ("Gemm", "matmul", "transA=0;transB=1", [[rows, x[-1]], w, *([shapes[2]] if len(shapes) > 2 and shapes[2] else [])],
            [rows, w[0]])


def addmm(shapes, _):
    bias, x, w = shapes[:3]
    return "Gemm", "matmul", "transA=0;transB=0", [x, w, bias], [x[0], w[1]]


def matmul(shapes, _):
    a, b = shapes[:2]
    if len(a) < 3 or len(a) != len(b) or a[:-2] != b[:-2]:
        return None
    return "MatMul", "matmul", "", [a, b], [*a[:-1], b[-1]]


def softmax(shapes, values):
    axis = values[1] % len(shapes[0])
    return "Softmax", "softmax", f"axis={axis}", shapes[:1], shapes[0]


def layer_norm(shapes, values):
    operands = [shapes[0], *(s for s in shapes[2:4] if s)]
    return "LayerNormalization", "norm", f"axis={len(shapes[0]) - len(values[1])}", operands, shapes[0]


def mean(shapes, values):
    axes = sorted(a % len(shapes[0]) for a in (values[1] or range(len(shapes[0]))))
    keep = bool(values[2])
    out = [1 if i in axes else n for i, n in enumerate(shapes[0]) if keep or i not in axes]
    return "ReduceMean", "reduce", f"axes={text(axes)};keepdims={int(keep)}", shapes[:1], out


def global_pool(shapes, values):
    if values[1] != [1, 1] or len(shapes[0]) != 4:
        return None
    return "GlobalAveragePool", "pool", "", shapes[:1], [*shapes[0][:2], 1, 1]


def embedding(shapes, _):
    return "Gather", "gather", "axis=0", shapes[:2], [*shapes[1], *shapes[0][1:]]


def attention(shapes, values):
    q, k, v = shapes[:3]
    causal = int(bool(values[5]))
    return "Attention", "attention", f"causal={causal};kind=encoder;kv_heads={k[1]}", [q, k, v], [*q[:3], v[3]]


def power(shapes, values):
    exponent = f"exponent={values[1]:g}" if values[1] in (2, 3) else ""
    return ("Pow", "elementwise", exponent, [shapes[0], []], shapes[0]) if isinstance(values[1], (int, float)) else None


def resize(mode):
    def row(shapes, values):
        x, size, align, scales = shapes[0], values[1], values[2] if mode == "linear" else False, values[-1]
        out = size if isinstance(size, list) else [int(n * s) for n, s in zip(x[2:], scales)] if isinstance(scales, list) else None
        coordinates = "asymmetric" if mode == "nearest" else "align_corners" if align else "pytorch_half_pixel"
        return ("Resize", "data_movement", f"coordinates={coordinates};mode={mode}", [x], [*x[:2], *out]) if out else None
    return row


def group_norm(shapes, values):
    return "GroupNormalization", "norm", f"num_groups={values[1]}", [s for s in shapes if s], shapes[0]


def normalized(kind):
    def row(shapes, _):
        return kind, "norm", "", [s for s in shapes if s], shapes[0]
    return row


SPECIAL = {"conv2d": convolution, "conv1d": convolution, "convolution": None,
           "conv_transpose2d": lambda s, v: convolution(s, v, transposed=True), "linear": linear, "pow": power, "addmm": addmm,
           "matmul": matmul, "bmm": matmul, "softmax": softmax, "layer_norm": layer_norm, "mean": mean,
           "adaptive_avg_pool2d": global_pool, "embedding": embedding, "scaled_dot_product_attention": attention,
           "upsample_bilinear2d": resize("linear"), "upsample_nearest2d": resize("nearest"),
           "batch_norm": normalized("BatchNormalization"), "group_norm": group_norm}
