#!/usr/bin/env python3
"""Writes tests/ops/value_cases.txt: operators on small constants and what ONNX's reference
evaluator computes from them.

The cases are those of ONNX's own node tests whose tensors are small, and the ones below, for
operators whose node tests are too large. value_test.cc runs each through dfsim's folding rules.

usage: make_value_cases.py FILE.txt [--check]
Needs the Python package onnx, 1.22 or newer; exit code 77: it is missing. --check compares the file
with what this onnx computes.
"""

import collections
import os
import re
import sys
import warnings

warnings.filterwarnings("ignore")

# Functions of float32 end in other digits on processors with AVX-512. Read when numpy is imported; it
# has had several names for these features.
os.environ["NPY_DISABLE_CPU_FEATURES"] = (
    "X86_V4 AVX512_ICL AVX512_SPR AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL")
os.environ["OPENBLAS_CORETYPE"] = "Haswell"

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    from onnx.backend.test.case.node import collect_testcases
    from onnx.reference import ReferenceEvaluator
    from onnx.reference.op_run import OpRun
    from onnx.reference.ops import _op_list
except ImportError as missing:
    print(f"skipped: {sys.executable} has no package {missing.name}")
    sys.exit(77)

MOST_ELEMENTS = 64
MOST_PER_OPERATOR = 4
DTYPES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64",
    "int32": "i32", "int16": "i16", "int8": "i8", "uint64": "u64", "uint32": "u32",
    "uint16": "u16", "uint8": "u8", "bool": "b",
}
# Their result is not a function of their inputs, or no value that dfsim keeps.
# Lists take several operators: list_test.cc and tests/onnx/loop_test.cc check them by hand. dfsim keeps no
# strings and no pictures.
NOT_HERE = {"ConcatFromSequence", "ImageDecoder", "Optional", "RegexFullMatch", "SequenceAt", "SequenceConstruct",
            "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength", "SequenceMap",
            "SplitToSequence", "StringConcat", "StringNormalizer", "StringSplit", "Any"}
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
    yield from layer_cases()
    yield from resize_cases()
    yield from signal_cases()
    yield "Not", 1, {}, [np.array([True, False])]
    yield "IsNaN", 20, {}, [np.array([np.nan, 0, np.inf], F)]


def ramp(*shape, scale=1.0, start=0.0):
    """Different numbers without a pattern that a wrong index would hide."""
    count = int(np.prod(shape))
    return ((np.arange(count) * 7 % 11 - 5) * 0.37 * scale + start).astype(F).reshape(shape)


def layer_cases():
    image = ramp(1, 2, 4, 3)
    yield "Conv", 22, {"pads": [1, 0, 0, 1], "strides": [2, 1]}, [image, ramp(2, 2, 2, 2), ramp(2)]
    yield "Conv", 22, {"auto_pad": "SAME_LOWER", "dilations": [2, 1]}, [image, ramp(1, 2, 2, 2)]
    yield "Conv", 22, {"group": 2}, [image, ramp(4, 1, 3, 2)]
    yield "ConvTranspose", 22, {"strides": [2, 1], "output_padding": [1, 0], "pads": [0, 1, 1, 0]}, [
        ramp(1, 2, 2, 2), ramp(2, 1, 2, 2), ramp(1)]
    yield "ConvInteger", 10, {}, [np.arange(9, dtype=np.uint8).reshape(1, 1, 3, 3),
                                  np.arange(4, dtype=np.uint8).reshape(1, 1, 2, 2), np.array(3, np.uint8),
                                  np.array([2], np.uint8)]
    for pool in ("MaxPool", "AveragePool"):
        yield pool, 22, {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}, [image]
    yield "MaxPool", 22, {"kernel_shape": [2, 2], "dilations": [2, 1]}, [image]
    yield "AveragePool", 22, {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1]}, [image]
    yield "AveragePool", 22, {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "count_include_pad": 1}, [image]
    yield "LpPool", 22, {"kernel_shape": [2, 2], "p": 3}, [image]
    yield "Col2Im", 18, {"strides": [1, 2], "pads": [0, 1, 0, 1]}, [
        ramp(1, 4, 6), np.array([3, 4], I), np.array([2, 2], I)]
    steps = ramp(3, 1, 2)
    yield "RNN", 22, {"hidden_size": 2, "direction": "reverse"}, [steps, ramp(1, 2, 2), ramp(1, 2, 2)]
    yield "GRU", 22, {"hidden_size": 2, "direction": "bidirectional"}, [
        steps, ramp(2, 6, 2), ramp(2, 6, 2), ramp(2, 12)]
    yield "GRU", 22, {"hidden_size": 2, "linear_before_reset": 1}, [
        steps, ramp(1, 6, 2), ramp(1, 6, 2), ramp(1, 12), None, ramp(1, 1, 2)]
    yield "LSTM", 22, {"hidden_size": 2, "direction": "bidirectional"}, [
        steps, ramp(2, 8, 2), ramp(2, 8, 2), ramp(2, 16)]
    yield "LSTM", 22, {"hidden_size": 2, "direction": "reverse"}, [
        steps, ramp(1, 8, 2), ramp(1, 8, 2), None, None, ramp(1, 1, 2), ramp(1, 1, 2, start=0.3), ramp(1, 6)]
    yield "Attention", 24, {"is_causal": 1}, [ramp(1, 2, 3, 2), ramp(1, 1, 3, 2), ramp(1, 1, 3, 4)]
    yield "Attention", 24, {"q_num_heads": 2, "kv_num_heads": 2, "softcap": 1.5}, [
        ramp(1, 3, 4), ramp(1, 2, 4), ramp(1, 2, 4), np.array([[True, False]] * 3)]
    yield "Attention", 24, {"q_num_heads": 1, "kv_num_heads": 1, "scale": 0.3}, [
        ramp(1, 2, 4), ramp(1, 2, 4), ramp(1, 2, 4), None, ramp(1, 1, 3, 4), ramp(1, 1, 3, 4)]
    for interleaved in (0, 1):
        yield "RotaryEmbedding", 23, {"interleaved": interleaved, "rotary_embedding_dim": 4}, [
            ramp(1, 2, 2, 6), ramp(5, 2), ramp(5, 2, start=0.2), np.array([[3, 1]], I)]
    yield "RotaryEmbedding", 23, {"num_heads": 2}, [ramp(1, 3, 8), ramp(1, 3, 2), ramp(1, 3, 2, start=0.2)]
    for rule, extra in (("linear", [None, None]), ("gated", [ramp(1, 3, 2), None]),
                        ("delta", [None, ramp(1, 3, 1)]), ("gated_delta", [ramp(1, 3, 4), ramp(1, 3, 2)])):
        yield "LinearAttention", 27, {"q_num_heads": 4, "kv_num_heads": 2, "update_rule": rule}, [
            ramp(1, 3, 8), ramp(1, 3, 4), ramp(1, 3, 6), ramp(1, 2, 2, 3), *extra]
    for grid in ((1, 1), (0, 0)):
        yield "AffineGrid", 20, {"align_corners": grid[0]}, [ramp(2, 2, 3), np.array([2, 1, 3, 2], I)]
    yield "AffineGrid", 20, {}, [ramp(1, 3, 4), np.array([1, 1, 2, 2, 3], I)]
    for mode in ("avg", "max"):
        yield "RoiAlign", 22, {"output_height": 2, "output_width": 2, "mode": mode, "spatial_scale": 0.5,
                               "sampling_ratio": 2}, [
            ramp(1, 2, 5, 4), np.array([[0, 0, 7, 7], [1, 2, 5, 9]], F), np.array([0, 0], I)]
    yield "RoiAlign", 22, {"output_height": 2, "output_width": 1,
                           "coordinate_transformation_mode": "output_half_pixel"}, [
        ramp(2, 1, 4, 4), np.array([[0, 0, 3, 3], [1, 1, 9, 3]], F), np.array([1, 0], I)]
    for mode in ("linear", "nearest", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            yield "GridSample", 22, {"mode": mode, "padding_mode": padding, "align_corners": 1}, [
                ramp(1, 1, 4, 3), ramp(1, 2, 3, 2, scale=1.1)]


def resize_cases():
    x = ramp(1, 1, 4, 3)
    for mode in ("nearest", "linear", "cubic"):
        for transform in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel",
                          "half_pixel_symmetric"):
            yield "Resize", 19, {"mode": mode, "coordinate_transformation_mode": transform}, [
                x, None, np.array([1, 1, 1.7, 0.7], F)]
        yield "Resize", 19, {"mode": mode, "coordinate_transformation_mode": "tf_crop_and_resize",
                             "extrapolation_value": 9.0}, [
            x, np.array([0, 0, 0.2, -0.1, 1, 1, 0.9, 1.2], F), None, np.array([1, 1, 3, 4], I)]
    for mode in ("linear", "cubic"):
        yield "Resize", 19, {"mode": mode, "antialias": 1}, [x, None, np.array([1, 1, 0.6, 0.5], F)]
        yield "Resize", 19, {"mode": mode, "exclude_outside": 1}, [x, None, np.array([1, 1, 1.5, 2], F)]
        yield "Resize", 19, {"mode": mode, "axes": [3, 2], "keep_aspect_ratio_policy": "not_larger"}, [
            x, None, None, np.array([5, 5], I)]
    for nearest in ("floor", "ceil", "round_prefer_ceil"):
        yield "Resize", 19, {"nearest_mode": nearest}, [x, None, np.array([1, 1, 1.5, 2], F)]


def signal_cases():
    wave = ramp(1, 6, 1)
    for version, extra in ((17, {}), (20, {})):
        yield "DFT", version, {"onesided": 1, **extra}, [wave]
        yield "DFT", version, {}, [ramp(1, 5, 2), np.array(7, I)]
        yield "DFT", version, {"inverse": 1}, [ramp(1, 4, 2)]
    yield "DFT", 20, {"inverse": 1, "onesided": 1}, [ramp(1, 4, 2), np.array(7, I)]
    yield "DFT", 20, {}, [ramp(3, 2, 1), None, np.array(0, I)]
    yield "STFT", 17, {}, [ramp(1, 10, 1), np.array(3, I), ramp(4), np.array(4, I)]
    yield "STFT", 17, {"onesided": 0}, [ramp(1, 9, 1), np.array(2, I), None, np.array(5, I)]
    yield "MelWeightMatrix", 17, {}, [np.array(3, I), np.array(16, I), np.array(8192, I), np.array(0, F),
                                      np.array(4000, F)]


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
    return {"TopK": 2, "DynamicQuantizeLinear": 3, "MaxPool": 1, "RNN": 2, "GRU": 2, "LSTM": 3,
            "LinearAttention": 2}.get(op, 1)


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


def evaluated_operators():
    """The operators of ONNX's standard domain that the reference evaluator implements itself."""
    names = {re.sub(r"_\d+$", "", name) for name, kind in vars(_op_list).items()
             if isinstance(kind, type) and issubclass(kind, OpRun)}
    return names & {schema.name for schema in onnx.defs.get_all_schemas() if not schema.domain}


def compare(path, rows):
    """Exit code 1 when the file lacks a row or has another result for it."""
    with open(path, encoding="utf-8") as file:
        version = file.readline().split(" with onnx ")[-1].split(";")[0]
        kept = {line.rstrip("\n") for line in file if not line.startswith("#")}
    if version != onnx.__version__:
        print(f"skipped: {path} was written with onnx {version}, this is {onnx.__version__}")
        sys.exit(77)
    for row in sorted(rows ^ kept):
        print(f"{'missing' if row in rows else 'stale'}: {row[:200]}")
    sys.exit(1 if rows != kept else 0)


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
    rows = set()
    for op, version, attributes, inputs, outputs, domain in lines:
        rows.add("|".join([op, str(version), domain,
                           ";".join(attribute(n, v) for n, v in sorted(attributes.items())),
                           ";".join(tensor(v) for v in inputs),
                           ";".join(tensor(v) for v in outputs)]))
    missing = sorted(evaluated_operators() - set(seen) - WITHOUT_VALUES - set(NOT_HERE))
    if missing:
        sys.exit(f"no case of {', '.join(missing)}, which ONNX's evaluator runs")
    if len(sys.argv) > 2:
        compare(sys.argv[1], rows)
        return
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write("# Written by tests/ops/make_value_cases.py with onnx "
                  f"{onnx.__version__}; do not edit.\n"
                  "# operator|version|domain|attributes|inputs|outputs\n")
        out.write("\n".join(sorted(rows)) + "\n")
    print(f"{len(rows)} cases of {len(seen)} operators")


if __name__ == "__main__":
    main()
