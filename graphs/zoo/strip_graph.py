"""Turns an exported ONNX model into a weight-free one: the graph, with the shapes of its weights only."""

import ast

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

LOCATION = "weights-not-shipped.bin"
FLOATS = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE}


def elements(tensor):
    return int(np.prod(tensor.dims, dtype=np.int64))


def is_stripped(tensor):
    return tensor.data_location == TensorProto.EXTERNAL


def keeps_data(tensor, weights):
    """Whether the values may matter: shape constants and scalars do, weights don't."""
    if tensor.name in weights:
        return False
    if tensor.data_type in FLOATS:
        return elements(tensor) <= 16
    return elements(tensor) * onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize <= 1024


def shape_only(name, dims, data_type):
    tensor = TensorProto(name=name, dims=dims, data_type=data_type, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=LOCATION)
    return tensor


def constant_tensor(node):
    for attribute in node.attribute:
        if attribute.name == "value":
            return attribute.t
    return None


def fold_transposed_weights(graph):
    """Transpose(weight) -> a weight of permuted dims, where nothing else uses the weight.

    torch's exporter does so by itself when it has the values; here it has none.
    """
    uses = {}
    for node in graph.node:
        for name in node.input:
            uses[name] = uses.get(name, 0) + 1
    weights = {t.name: t for t in graph.initializer if is_stripped(t)}
    renamed, nodes = {}, []
    for node in graph.node:
        if node.op_type == "Transpose" and node.input[0] in weights and uses[node.input[0]] == 1:
            tensor = weights[node.input[0]]
            perm = next((list(a.ints) for a in node.attribute if a.name == "perm"), None)
            perm = perm or list(range(len(tensor.dims)))[::-1]
            dims = [tensor.dims[i] for i in perm]
            del tensor.dims[:]
            tensor.dims.extend(dims)
            renamed[node.output[0]] = tensor.name
        else:
            nodes.append(node)
    for node in nodes:
        for i, name in enumerate(node.input):
            node.input[i] = renamed.get(name, name)
    del graph.node[:]
    graph.node.extend(nodes)


def drop_unused_initializers(graph):
    used = {name for node in graph.node for name in node.input} | {v.name for v in graph.output}
    kept = [t for t in graph.initializer if t.name in used]
    del graph.initializer[:]
    graph.initializer.extend(kept)


def short_scope(name):
    """/layer1/layer1.0/conv1/Conv -> /layer1.0/conv1/Conv"""
    parts = name.strip("/").split("/")
    kept = [p for i, p in enumerate(parts) if not (i + 1 < len(parts) and parts[i + 1].startswith(p + "."))]
    return "/" + "/".join(kept)


def scoped_name(node):
    """A name that tells the module: torch 1.13's are of that kind; torch 2's exporter puts modules in the metadata."""
    scopes = next((p.value for p in node.metadata_props if p.key == "pkg.torch.onnx.name_scopes"), None)
    if scopes is None:
        return short_scope(node.name) if node.name.startswith("/") else node.name
    parts, outer = [], ""
    for scope in ast.literal_eval(scopes)[:-1]:
        parts.append(scope.removeprefix(outer + "."))
        outer = scope
    # The first is the model's wrapper; what follows is empty, too, for nodes that belong to no module.
    return "/" + "/".join(parts[2:] + [node.op_type])


def rename(graph):
    """Short names: values inside the graph become numbers; nodes keep their scope, less its repetitions."""
    fixed = {v.name for v in list(graph.input) + list(graph.output)} | {t.name for t in graph.initializer}
    names, taken, number = {"": ""}, {""}, 0
    for name in fixed:
        names[name] = name
    for node in graph.node:
        for name in node.output:
            if name not in names:
                number += 1
                while str(number) in fixed:
                    number += 1
                names[name] = str(number)
    for node in graph.node:
        node.input[:] = [names[n] for n in node.input]
        node.output[:] = [names[n] for n in node.output]
        name = base = "" if node.op_type == "Constant" else scoped_name(node)
        n = 0
        while name and name in taken:
            n += 1
            name = f"{base}_{n}"
        taken.add(name)
        node.name = name
        del node.metadata_props[:]


def strip(model, weights, metadata, fold_transposes):
    """Strips `model` in place. weights: names of the torch model's parameters and buffers."""
    graph = model.graph
    assert not model.functions, "functions are to be inlined by the exporter"
    model.doc_string = graph.doc_string = ""
    del graph.value_info[:]
    del graph.metadata_props[:]
    del graph.quantization_annotation[:]
    del model.metadata_props[:]
    nodes = []
    for node in graph.node:
        assert node.domain in ("", "ai.onnx"), node.domain
        assert not any(a.type in (a.GRAPH, a.GRAPHS) for a in node.attribute), node.name
        node.doc_string = ""
        node.domain = ""
        tensor = constant_tensor(node) if node.op_type == "Constant" else None
        if tensor is not None:
            tensor.name = ""
            if not keeps_data(tensor, ()):
                graph.initializer.append(shape_only(node.output[0], tensor.dims, tensor.data_type))
                continue
            node.attribute[0].t.CopyFrom(inline(tensor))
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    tensors = []
    for tensor in graph.initializer:
        if keeps_data(tensor, weights):
            tensors.append(inline(tensor))
        else:
            tensors.append(shape_only(tensor.name, tensor.dims, tensor.data_type))
    del graph.initializer[:]
    graph.initializer.extend(tensors)
    if fold_transposes:
        fold_transposed_weights(graph)
    drop_unused_initializers(graph)
    have = {t.name for t in graph.initializer}
    inputs = [v for v in graph.input if v.name not in have]
    del graph.input[:]
    graph.input.extend(inputs)
    for value in list(graph.input) + list(graph.output):
        value.doc_string = ""
        del value.metadata_props[:]
    rename(graph)
    opset = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    del model.opset_import[:]
    model.opset_import.add(domain="", version=opset)
    for key in sorted(metadata):
        model.metadata_props.add(key=key, value=metadata[key])


def inline(tensor):
    """The tensor with its values as raw data, no doc string, no external reference."""
    if tensor.data_type == TensorProto.STRING:
        return tensor
    return numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name)
