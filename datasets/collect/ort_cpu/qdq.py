"""A float network as its int8 twin: QuantizeLinear and DequantizeLinear round every product and convolution.

Scales are made up: they change results, not times. Activations are uint8, weights int8, one scale each, as ONNX
Runtime's own quantiser writes them; ONNX Runtime then fuses them to QLinearConv, QGemm, QLinearMatMul and so on.
"""

import collections

import numpy as np
from onnx import helper, numpy_helper

PRODUCTS = ("Conv", "Gemm", "MatMul")
# Operators that also run on 8 bits when quantised values come in and go out.
FOLLOWERS = ("Add", "Mul", "MaxPool", "AveragePool", "GlobalAveragePool", "Concat", "Sigmoid", "LeakyRelu", "Softmax",
             "Transpose", "Reshape")
CLAMPS = ("Relu", "Clip")
MOVERS = ("MaxPool", "Transpose", "Reshape")
SCALE = np.float32(0.02)


class Quantiser:
    """shape_only: makes a tensor without values of a name, dims and type, for weights of models that have none."""

    def __init__(self, model, shape_only=None):
        self.graph = model.graph
        self.shape_only = shape_only
        self.weights = {t.name: t for t in model.graph.initializer}
        self.nodes = []
        self.quantised = {}  # value -> its dequantised twin
        self.zeros = {}  # of these values
        self.added = {}

    def constant(self, name, values):
        if name not in self.added:
            self.added[name] = numpy_helper.from_array(values, name)
        return name

    def pair(self, name, zero=128):
        """QuantizeLinear and DequantizeLinear after a value; a zero point of 0 cuts negative values off, as Relu."""
        if name not in self.quantised:
            self.zeros[name] = zero
            scale, zero = self.constant("q_scale", SCALE), self.constant(f"q_zero{zero}", np.uint8(zero))
            self.nodes.append(helper.make_node("QuantizeLinear", [name, scale, zero], [name + "_q"], name + "/q"))
            self.nodes.append(helper.make_node("DequantizeLinear", [name + "_q", scale, zero], [name + "_dq"],
                                               name + "/dq"))
            self.quantised[name] = name + "_dq"
        return self.quantised[name]

    def weight(self, name, dtype, scale, zero):
        whole, result = name + "_i", name + "_dq"
        if whole not in self.added:
            dims = list(self.weights[name].dims)
            if self.shape_only is None:
                self.constant(whole, np.resize(np.arange(1, 100, dtype=dtype), dims))
            else:
                self.added[whole] = self.shape_only(whole, dims, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
            self.nodes.append(helper.make_node("DequantizeLinear", [whole, scale, zero], [result], name + "/dq"))
        return result

    def operand(self, node, index):
        name = node.input[index]
        if name not in self.weights:
            return self.pair(name)
        if index == 2:
            return self.weight(name, np.int32, self.constant("b_scale", SCALE * SCALE),
                               self.constant("b_zero", np.int32(0)))
        return self.weight(name, np.int8, self.constant("w_scale", SCALE), self.constant("w_zero", np.int8(0)))

    def follower_operand(self, name):
        if name in self.weights:
            return self.weight(name, np.uint8, self.constant("q_scale", SCALE), self.constant("q_zero0", np.uint8(0)))
        return self.quantised.get(name, name)

    def run(self):
        outputs = {v.name for v in self.graph.output}
        readers = collections.defaultdict(list)
        for node in self.graph.node:
            for name in node.input:
                readers[name].append(node.op_type)
        clamped = set()  # results of products and sums that only a clamp reads: it goes into them
        for node in list(self.graph.node):
            source = node.input[0] if node.input else ""
            clamp = node.op_type in CLAMPS and node.input[0] in clamped
            follows = node.op_type in FOLLOWERS and any(n in self.quantised for n in node.input)
            if node.op_type in PRODUCTS:
                node.input[:] = [self.operand(node, i) for i in range(len(node.input))]
            elif follows:
                quantisable = node.op_type in ("Add", "Mul")
                node.input[:] = [self.follower_operand(n) if quantisable else self.quantised.get(n, n)
                                 for n in node.input]
            self.nodes.append(node)
            name = node.output[0]
            into = node.op_type in PRODUCTS or (follows and node.op_type == "Add")
            if into and len(readers[name]) == 1 and readers[name][0] in CLAMPS:
                clamped.add(name)
            elif (node.op_type in PRODUCTS or follows or clamp) and name not in outputs:
                moved = node.op_type in MOVERS  # these keep scale and zero point
                self.pair(name, 0 if clamp else self.zeros.get(source, 128) if moved else 128)
        for node in self.nodes:  # whoever reads a quantised value reads its twin
            if node.op_type != "QuantizeLinear":
                node.input[:] = [self.quantised.get(n, n) for n in node.input]
        del self.graph.node[:]
        self.graph.node.extend(self.nodes)
        used = {n for node in self.nodes for n in node.input}
        kept = [t for t in self.graph.initializer if t.name in used] + list(self.added.values())
        del self.graph.initializer[:]
        self.graph.initializer.extend(kept)


def quantise(model, shape_only=None):
    """Rewrites the model in place and gives it back."""
    Quantiser(model, shape_only).run()
    return model
