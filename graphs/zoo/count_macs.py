"""Counts the multiply-accumulates of a weight-free graph, as a check on the files of the zoo.

Shapes are found node by node: integer tensors are computed with onnx's reference evaluator where their values are
known, everything else goes through onnx's own shape inference with those values at hand.
"""
import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

LIMIT = 1 << 16  # elements: larger tensors' values aren't computed


class Unresolved(Exception):
    pass


def dims_of(type_proto):
    shape = type_proto.tensor_type.shape
    return [d.dim_value if d.HasField("dim_value") else None for d in shape.dim]


def evaluate(node, inputs, opset):
    """The node's outputs, from arrays."""
    names = [n for n in node.input if n]
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(inputs[n].dtype), None)
                      for n in dict.fromkeys(names)],
        [helper.make_tensor_value_info(n, TensorProto.UNDEFINED, None) for n in node.output if n])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return ReferenceEvaluator(model).run(None, {n: inputs[n] for n in names})


def shapes(model, dims):
    """-> {value name: dims}; raises Unresolved"""
    graph = model.graph
    opset = model.opset_import[0].version
    types, values = {}, {}
    for tensor in graph.initializer:
        types[tensor.name] = helper.make_tensor_type_proto(tensor.data_type, list(tensor.dims))
        if tensor.data_location != TensorProto.EXTERNAL:
            values[tensor.name] = numpy_helper.to_array(tensor)
    for value in graph.input:
        shape = [d.dim_value if d.HasField("dim_value") else dims[d.dim_param]
                 for d in value.type.tensor_type.shape.dim]
        types[value.name] = helper.make_tensor_type_proto(value.type.tensor_type.elem_type, shape)
    imports = list(model.opset_import)
    for node in graph.node:
        result = None
        if node.op_type == "Shape":
            start = next((a.i for a in node.attribute if a.name == "start"), 0)
            end = next((a.i for a in node.attribute if a.name == "end"), None)
            result = [np.array(dims_of(types[node.input[0]])[start:end], dtype=np.int64)]
        elif all(n in values for n in node.input if n) and node.op_type not in ("RandomNormal", "RandomUniform"):
            small = all(math.prod(values[n].shape) <= LIMIT for n in node.input if n)
            if node.op_type in ("Expand", "ConstantOfShape", "Tile"):
                small = small and math.prod(int(v) for v in values[node.input[-1]].flatten()) <= LIMIT
            if small:
                result = evaluate(node, values, opset)
        if result is not None:
            for name, array in zip(node.output, result):
                array = np.asarray(array)
                values[name] = array
                types[name] = helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            continue
        schema = onnx.defs.get_schema(node.op_type, opset)
        data = {n: numpy_helper.from_array(values[n], n) for n in node.input if n in values}
        out = shape_inference.infer_node_outputs(schema, node, {n: types[n] for n in node.input if n}, data, None,
                                                 imports, model.ir_version)
        for name in node.output:
            if not name:
                continue
            if name not in out or not out[name].tensor_type.HasField("shape") or None in dims_of(out[name]):
                raise Unresolved(f"{node.op_type} {node.name}: no shape for output {name!r}")
            types[name] = out[name]
    return {name: dims_of(t) for name, t in types.items()}


def macs(model, dims):
    """-> {op type: multiply-accumulates}"""
    shape = shapes(model, dims)
    count = {}
    for node in model.graph.node:
        ins = [shape[n] if n else None for n in node.input]
        out = shape[node.output[0]] if node.output[0] else None
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        if node.op_type == "Conv":
            n = math.prod(out) * math.prod(ins[1][1:])
        elif node.op_type == "ConvTranspose":
            n = math.prod(ins[0]) * math.prod(ins[1][1:])
        elif node.op_type == "Gemm":
            n = math.prod(out) * ins[0][0 if attributes.get("transA") else 1]
        elif node.op_type == "MatMul":
            n = math.prod(out) * ins[0][-1]
        elif node.op_type == "LSTM":
            sequence, batch, size = ins[0]
            hidden = attributes["hidden_size"]
            n = sequence * batch * ins[1][0] * 4 * hidden * (size + hidden)
        else:
            continue
        count[node.op_type] = count.get(node.op_type, 0) + n
    return dict(sorted(count.items()))
