#!/usr/bin/env python3
"""Makes the TensorFlow zoo: real networks as GraphDefs and SavedModels without weights.

usage: pip install -r requirements.txt && ./make_tensorflow.py [--out FOLDER] [NAME...]

Each network is traced with random or zero weights; large constants keep only their shape and type,
variables have no values at all. The same graph, converted by tf2onnx and stripped likewise, lies
beside it as ONNX, to compare with (not BERT-base, whose conversion takes 13 GB, but two layers of it,
nor training). Nothing is downloaded. One name, one process: names of functions
count up in a process.
"""

import argparse
import os
import pathlib
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
HERE = pathlib.Path(__file__).resolve().parent
MOST_KEPT = 64  # bytes of a constant that are kept


def strip_nodes(nodes):
    """Large constants lose their values, nodes what only TensorFlow's runtime wants."""
    for node in nodes:
        node.device = ""
        node.ClearField("experimental_debug_info")
        node.ClearField("experimental_type")
        for name in [n for n in node.attr if n.startswith("_") and n != "_output_shapes"] + ["_output_shapes"]:
            if name in node.attr:
                del node.attr[name]
        tensor = node.attr["value"].tensor if node.op == "Const" else None
        # Integers may be shapes; of floats only small ones may matter.
        if tensor is not None and tensor.dtype in (1, 2, 14, 19) and len(tensor.SerializeToString()) > MOST_KEPT:
            for field in ("tensor_content", "float_val", "double_val", "half_val"):
                tensor.ClearField(field)


def strip_graph(graph):
    strip_nodes(graph.node)
    for function in graph.library.function:
        strip_nodes(function.node_def)
        for key in list(function.attr):
            del function.attr[key]
        function.arg_attr.clear()
        function.resource_arg_unique_id.clear()
    for name in list(graph.library.DESCRIPTOR.fields_by_name):
        if name != "function":
            graph.library.ClearField(name)


def drop_defaults(graph):
    """Attributes that have the value which TensorFlow takes without them."""
    from tensorflow.core.protobuf import meta_graph_pb2
    from tensorflow.python.framework import meta_graph

    meta = meta_graph_pb2.MetaGraphDef()
    meta.graph_def.CopyFrom(graph)
    meta_graph.strip_graph_default_valued_attrs(meta)
    graph.CopyFrom(meta.graph_def)


def called(nodes):
    for node in nodes:
        for value in node.attr.values():
            if value.HasField("func"):
                yield value.func.name
            for function in value.list.func:
                yield function.name


def drop_unreachable(graph):
    """Functions that nothing calls: training, restoring, saving."""
    functions = {f.signature.name: f for f in graph.library.function}
    wanted, work = set(), list(called(graph.node))
    while work:
        name = work.pop()
        if name in functions and name not in wanted:
            wanted.add(name)
            work += called(functions[name].node_def)
    kept = [functions[name] for name in functions if name in wanted]
    del graph.library.function[:]
    graph.library.function.extend(kept)


def save_saved_model(function, keep, folder):
    """A SavedModel with the one signature, less its variables, its objects and what saving needs."""
    import tempfile

    import tensorflow as tf
    from tensorflow.core.protobuf import saved_model_pb2

    module = tf.Module()
    module.kept = keep
    with tempfile.TemporaryDirectory() as scratch:
        tf.saved_model.save(module, scratch, signatures=function)
        saved = saved_model_pb2.SavedModel.FromString((pathlib.Path(scratch) / "saved_model.pb").read_bytes())
    meta = saved.meta_graphs[0]
    roots = {info.name.split(":")[0] for s in meta.signature_def.values() if s.outputs for info in s.outputs.values()}
    nodes = {n.name: n for n in meta.graph_def.node}
    wanted, work = set(), [r for r in roots if r in nodes]
    while work:
        name = work.pop()
        if name not in wanted:
            wanted.add(name)
            work += [i.split(":")[0].lstrip("^") for i in nodes[name].input]
    kept = [n for n in meta.graph_def.node if n.name in wanted]
    del meta.graph_def.node[:]
    meta.graph_def.node.extend(kept)
    for field in ("object_graph_def", "saver_def", "collection_def", "asset_file_def"):
        meta.ClearField(field)
    for key in [k for k in meta.signature_def if k.startswith("__")]:
        del meta.signature_def[key]
    drop_unreachable(meta.graph_def)
    strip_graph(meta.graph_def)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "saved_model.pb").write_bytes(saved.SerializeToString(deterministic=True))


def keep_loops():
    """tf2onnx otherwise replaces what it takes for a recurrent layer by one operator, another program."""
    from tf2onnx import tfonnx

    for name in ("rewriter_lstm_tf2", "rewrite_gru_tf2", "rewrite_custom_rnn_cell",
                 "rewrite_single_direction_lstm", "rewrite_bi_direction_lstm",
                 "rewrite_single_direction_gru", "rewrite_bi_direction_gru"):
        assert hasattr(tfonnx, name), name
        setattr(tfonnx, name, lambda graph, ops: ops)


def strip_loops(model, stripper, metadata):
    """Takes the weights out of a model whose operators hold graphs; names lose Keras' outermost scope."""
    import onnx

    def short(name):
        return name.replace("functional_1/", "")

    def strip(graph):
        del graph.value_info[:]
        graph.doc_string = ""
        for value in list(graph.input) + list(graph.output) + list(graph.initializer):
            value.name = short(value.name)
        for tensor in graph.initializer:
            if tensor.data_type == 1 and stripper.elements(tensor) > 16:
                tensor.CopyFrom(stripper.shape_only(tensor.name, tensor.dims, tensor.data_type))
        for node in graph.node:
            node.doc_string = ""
            node.name = short(node.name)
            node.input[:] = map(short, node.input)
            node.output[:] = map(short, node.output)
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    strip(attribute.g)

    strip(model.graph)
    model.doc_string = ""
    onnx.helper.set_model_props(model, metadata)


def to_onnx(frozen, inputs, outputs, path):
    import onnx
    import tf2onnx

    keep_loops()
    sys.path.insert(0, str(HERE.parent))
    import strip_graph as stripper

    model, _ = tf2onnx.convert.from_graph_def(frozen, input_names=inputs, output_names=outputs, opset=18)
    metadata = {"dfsim.source": "tf2onnx of the TensorFlow graph of the same name"}
    if any(a.HasField("g") for node in model.graph.node for a in node.attribute):
        strip_loops(model, stripper, metadata)
    else:
        weights = {t.name for t in model.graph.initializer
                   if t.data_type == 1 and stripper.elements(t) > 16}
        stripper.strip(model, weights, metadata, False)
    onnx.save(model, path)


def write_graph(graph, kind, path):
    """Binary, or as text: a node a line, without attributes that say what is the default."""
    if kind != "text":
        path.with_suffix(".pb").write_bytes(graph.SerializeToString(deterministic=True))
        return
    from google.protobuf import text_format

    drop_defaults(graph)
    lines = [text_format.MessageToString(node, as_one_line=True) for node in graph.node]
    del graph.node[:]
    rest = text_format.MessageToString(graph, as_one_line=True)
    path.with_suffix(".pbtxt").write_text("".join(f"node {{ {line} }}\n" for line in lines) + rest + "\n")


def make(name, out):
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    import networks

    tf.keras.utils.set_random_seed(1)
    if name in networks.VERSION_1:
        kind, build = networks.VERSION_1[name]
        graph = build()
        strip_graph(graph)
        write_graph(graph, kind, out / name)
        return
    kind, build = networks.NETWORKS[name]
    function, specs, keep = build()
    traced = tf.function(function, input_signature=specs)
    concrete = traced.get_concrete_function()
    if kind == "training":  # its variables change: nothing to freeze, nor to convert
        save_saved_model(concrete, keep, out / name)
        return
    frozen_function = convert_variables_to_constants_v2(concrete, lower_control_flow=False)
    frozen = frozen_function.graph.as_graph_def()
    inputs = [t.name for t in frozen_function.inputs]
    outputs = [t.name for t in frozen_function.outputs]
    if name not in networks.TENSORFLOW_ONLY:
        to_onnx(frozen, inputs, outputs, out / f"{name}.onnx")
    if kind == "saved":
        save_saved_model(concrete, keep, out / name)
        return
    drop_unreachable(frozen)
    strip_graph(frozen)
    write_graph(frozen, "frozen", out / name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--out", type=pathlib.Path, default=HERE)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    if len(args.names) == 1:
        make(args.names[0], args.out)
        return
    names = args.names or ["resnet50", "mobilenet_v2", "efficientnet_b0", "inception_v3", "bert_base", "bert_2", "unet",
                           "lstm", "gru", "lstm_v1", "digits_train", "digits_train_v1"]
    for name in names:
        subprocess.run([sys.executable, __file__, "--out", str(args.out), name], check=True)


if __name__ == "__main__":
    main()
