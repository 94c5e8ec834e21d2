#!/usr/bin/env python3
"""Writes tests/ops/value_cases.txt: operators on small constants and what ONNX's reference
evaluator computes from them.

The cases are those of ONNX's own node tests whose tensors are small, and the ones below, for
operators whose node tests are too large. value_test.cc runs each through dfsim's folding rules.

usage: make_value_cases.py OUTPUT.txt      (needs the Python package onnx, 1.22 or newer)
"""

import collections
import sys
import warnings

warnings.filterwarnings("ignore")

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.reference import ReferenceEvaluator

MOST_ELEMENTS = 64
MOST_PER_OPERATOR = 4
DTYPES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64",
    "int32": "i32", "int16": "i16", "int8": "i8", "uint64": "u64", "uint32": "u32",
    "uint16": "u16", "uint8": "u8", "bool": "b",
}
# Their result is not a function of their inputs, or no value that dfsim keeps.
WITHOUT_VALUES = {"Bernoulli", "RandomNormal", "RandomUniform", "RandomNormalLike",
                  "RandomUniformLike", "Multinomial", "If", "Loop", "Scan", "Constant"}

F = np.float32
I = np.int64


def own_cases():
    """(op, version, attributes, inputs) of forms that node tests lack or have too large."""
    x = np.arange(6, dtype=F).reshape(2, 3) - 2.5
    yield "Cast", 19, {"to": TensorProto.INT64}, [np.array([2.9, -2.9, 0], F)]
    yield "Cast", 19, {"to": TensorProto.FLOAT16}, [np.array([0.1, 70000, 1e-8], F)]
    yield "Cast", 19, {"to": TensorProto.BOOL}, [np.array([0, -0.5, 3], F)]
    yield "Cast", 19, {"to": TensorProto.UINT8}, [np.array([0, 255, 256, -1], I)]
    yield "Cast", 19, {"to": TensorProto.DOUBLE}, [np.array([0.1], F)]
    yield "CastLike", 19, {}, [np.array([1.5, 2.5], F), np.array([1], np.int32)]
    for mode in ("constant", "reflect", "edge", "wrap"):
        yield "Pad", 19, {"mode": mode}, [x, np.array([1, 2, 0, 1], I)]
    yield "Pad", 19, {}, [x, np.array([0, 0, 1, 2], I), np.array(7, F)]
    yield "Pad", 19, {}, [x, np.array([2, 1], I), np.array(0, F), np.array([-1], I)]
    yield "Slice", 13, {}, [x, np.array([0, -1], I), np.array([9, -9], I), np.array([0, 1], I),
                            np.array([1, -2], I)]
    yield "Slice", 13, {}, [np.arange(6, dtype=I), np.array([1], I), np.array([-1], I)]
    yield "Concat", 13, {"axis": -1}, [x, x[:, :1]]
    yield "Flatten", 13, {"axis": 1}, [np.arange(8, dtype=I).reshape(2, 2, 2)]
    yield "Tile", 13, {}, [x, np.array([2, 1], I)]
    yield "Gather", 13, {"axis": 1}, [x, np.array([[-1, 0]], I)]
    yield "ReverseSequence", 10, {"time_axis": 1, "batch_axis": 0}, [x, np.array([3, 2], I)]
    yield "SpaceToDepth", 13, {"blocksize": 2}, [np.arange(16, dtype=F).reshape(1, 1, 4, 4)]
    yield "DepthToSpace", 13, {"blocksize": 2, "mode": "CRD"}, [
        np.arange(16, dtype=F).reshape(1, 8, 1, 2)]
    yield "CenterCropPad", 18, {}, [np.arange(12, dtype=F).reshape(4, 3), np.array([2, 4], I)]
    yield "CenterCropPad", 18, {"axes": [1]}, [np.arange(10, dtype=F).reshape(2, 5),
                                               np.array([2], I)]
    yield "EyeLike", 9, {"k": -1, "dtype": TensorProto.INT32}, [np.zeros((3, 4), F)]
    yield "Erf", 13, {}, [x]
    yield "Mish", 18, {}, [x]
    # The evaluator sums as many channels as there are images, so both must be as many.
    yield "LRN", 13, {"size": 3, "alpha": 0.5, "bias": 2.0}, [
        np.arange(9, dtype=F).reshape(3, 3, 1, 1)]
    yield "BatchNormalization", 15, {"epsilon": 0.5}, [
        np.arange(8, dtype=F).reshape(2, 2, 2), np.array([1, 2], F), np.array([0, 1], F),
        np.array([3, 4], F), np.array([1, 4], F)]
    yield "Einsum", 12, {"equation": "ij,jk,k->i"}, [x, x.T, np.array([1, -1], F)]
    yield "Einsum", 12, {"equation": "...ij,...jk"}, [
        np.arange(4, dtype=F).reshape(1, 2, 2), np.arange(8, dtype=F).reshape(2, 2, 2)]
    yield "Einsum", 12, {"equation": "ii->i"}, [np.arange(9, dtype=F).reshape(3, 3)]
    yield "Einsum", 12, {"equation": "bhd,hde->be"}, [
        np.arange(8, dtype=F).reshape(2, 2, 2), np.arange(8, dtype=F).reshape(2, 2, 2)]
    yield "MatMul", 13, {}, [np.array([1, 2], I), np.array([[1, 2, 3], [4, 5, 6]], I)]
    yield "Resize", 19, {}, [np.zeros((1, 1, 4, 2), F), np.array([], F),
                             np.array([1, 1, 0.6, 1.5], F)]
    yield "Pow", 15, {}, [np.array([2, 3, -2], I), np.array([3, 0, 3], I)]
    yield "Pow", 15, {}, [np.array([2, 3], F), np.array([2, 3], I)]
    yield "Clip", 13, {}, [np.array([-3, 5, 200], I), np.array(0, I), np.array(100, I)]
    yield "Round", 11, {}, [np.array([0.5, 1.5, 2.5, -0.5, -1.5, 1.49], F)]
    yield "Sum", 13, {}, [x, x[0], np.array([1], F)]
    yield "Max", 13, {}, [np.array([1, 5], I), np.array([3], I), np.array([2], I)]
    yield "Range", 11, {}, [np.array(0.1, F), np.array(1.0, F), np.array(0.3, F)]
    yield "Compress", 11, {"axis": 1}, [x, np.array([False, True, True])]
    yield "NonZero", 13, {}, [np.array([0, 3, 0, -1], I)]
    yield "GatherND", 13, {"batch_dims": 1}, [x, np.array([[2], [0]], I)]
    yield "ScatterND", 18, {"reduction": "add"}, [x, np.array([[0], [0]], I), np.ones((2, 3), F)]
    yield "ScatterElements", 18, {"axis": 1, "reduction": "max"}, [
        x, np.array([[0, 0]], I), np.array([[9, 4]], F)]
    yield "TopK", 11, {"axis": 0, "largest": 0}, [x, np.array([1], I)]
    yield "QuantizeLinear", 19, {"axis": 0}, [x, np.array([0.5, 0.25], F),
                                              np.array([3, -3], np.int8)]
    yield "DequantizeLinear", 19, {"axis": 1}, [
        np.array([[1, 2], [255, 0]], np.uint8), np.array([0.5, 2], F), np.array([1, 2], np.uint8)]
    yield "DynamicQuantizeLinear", 11, {}, [x]
    yield "Not", 1, {}, [np.array([True, False])]
    yield "IsNaN", 20, {}, [np.array([np.nan, 0, np.inf], F)]


def evaluate(op, version, attributes, inputs):
    """The reference evaluator's outputs of one node."""
    names = [f"i{k}" for k in range(len(inputs))]
    node = helper.make_node(op, [n if v is not None else "" for n, v in zip(names, inputs)],
                            [f"o{k}" for k in range(output_count(op))], **attributes)
    graph = helper.make_graph(
        [node], "g",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
         for n, v in zip(names, inputs) if v is not None],
        [helper.make_empty_tensor_value_info(n) for n in node.output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)])
    return ReferenceEvaluator(model).run(
        None, {n: v for n, v in zip(names, inputs) if v is not None})


def output_count(op):
    return {"TopK": 2, "DynamicQuantizeLinear": 3}.get(op, 1)


def number(value):
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    return f"{float(str(value)):.9g}"  # the shortest text that gives this element again


def tensor(array):
    if array is None:
        return "-"
    array = np.asarray(array)
    values = ",".join(number(v) for v in array.reshape(-1))
    shape = "x".join(str(d) for d in array.shape)
    return f"{DTYPES[array.dtype.name]}[{shape}]{values}"


def attribute(name, value):
    if isinstance(value, onnx.AttributeProto):
        value = helper.get_attribute_value(value)
    if isinstance(value, TensorProto):
        return f"{name}=T:{tensor(numpy_helper.to_array(value))}"
    if isinstance(value, bytes):
        value = value.decode()
    if isinstance(value, str):
        return f"{name}=S:{value}"
    if isinstance(value, (int, float)):
        return f"{name}={'I' if isinstance(value, int) else 'F'}:{number(value)}"
    values = list(value)
    whole = all(isinstance(v, int) for v in values)
    return f"{name}={'IS' if whole else 'FS'}:{','.join(number(v) for v in values)}"


def fits(array):
    return (isinstance(array, np.ndarray) or np.isscalar(array)) and \
        np.asarray(array).size <= MOST_ELEMENTS and np.asarray(array).dtype.name in DTYPES


def node_cases():
    """(op, version, attributes, inputs, outputs, domain) of ONNX's node tests with small tensors."""
    for case in collect_testcases(None):
        graph = case.model.graph
        if len(graph.node) != 1 or graph.node[0].op_type in WITHOUT_VALUES:
            continue
        node = graph.node[0]
        inputs, _ = case.data_sets[0]
        if not all(fits(v) for v in inputs) or any(a.HasField("g") for a in node.attribute):
            continue
        try:
            results = ReferenceEvaluator(case.model).run(
                None, dict(zip([i.name for i in graph.input], inputs)))
        except Exception:  # a form that the evaluator does not run
            continue
        if not all(fits(v) for v in results):
            continue
        by_name = dict(zip([i.name for i in graph.input], inputs))
        version = {o.domain: o.version for o in case.model.opset_import}.get(node.domain, 1)
        outputs = dict(zip([o.name for o in graph.output], results))
        yield (node.op_type, version, {a.name: a for a in node.attribute},
               [by_name.get(n) for n in node.input], [outputs.get(n) for n in node.output],
               node.domain)


def main():
    lines = []
    seen = collections.Counter()
    for op, version, attributes, inputs in own_cases():
        outputs = evaluate(op, version, attributes, inputs)
        lines.append((op, version, attributes, inputs, outputs, ""))
        seen[op] += 1
    signatures = set()
    def size(case):
        return sum(np.asarray(v).size for v in case[3] if v is not None)

    for case in sorted(node_cases(), key=size):
        op, version, attributes, inputs, outputs, domain = case
        signature = (op, tuple(sorted(attributes)), tuple(i is not None for i in inputs))
        if seen[op] >= MOST_PER_OPERATOR and signature in signatures:
            continue
        signatures.add(signature)
        seen[op] += 1
        lines.append(case)
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write("# Written by tests/ops/make_value_cases.py with onnx "
                  f"{onnx.__version__}; do not edit.\n"
                  "# operator|version|domain|attributes|inputs|outputs\n")
        rows = set()
        for op, version, attributes, inputs, outputs, domain in lines:
            rows.add("|".join([op, str(version), domain,
                               ";".join(attribute(n, v) for n, v in sorted(attributes.items())),
                               ";".join(tensor(v) for v in inputs),
                               ";".join(tensor(v) for v in outputs)]))
        out.write("\n".join(sorted(rows)) + "\n")
    print(f"{len(rows)} cases of {len(seen)} operators")


if __name__ == "__main__":
    main()
