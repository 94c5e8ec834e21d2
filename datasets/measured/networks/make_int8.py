#!/usr/bin/env python3
"""Makes int8 twins of weight-free ONNX graphs: NAME_int8.onnx with QuantizeLinear and DequantizeLinear round its products.

usage: make_int8.py [--out DIR] FILE.onnx...
"""
import argparse
import gzip
import pathlib
import sys

import onnx

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "collect" / "ort_cpu"))
sys.path.insert(0, str(HERE.parents[2] / "graphs" / "zoo"))


def main():
    import qdq
    import strip_graph
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE.onnx[.gz]")
    parser.add_argument("--out", type=pathlib.Path, default=HERE)
    options = parser.parse_args()
    for path in options.files:
        data = path.read_bytes()
        model = onnx.load_model_from_string(gzip.decompress(data) if path.suffix == ".gz" else data)
        for node in model.graph.node:  # values that QDQ reads by name must not be constants of nodes
            assert node.domain in ("", "ai.onnx"), f"{path}: {node.op_type} of {node.domain}"
        qdq.quantise(fold_batch_norms(model), strip_graph.shape_only)
        for index, node in enumerate(model.graph.node):
            node.name = f"n{index}"  # short, and there: profiles tell operators apart by it
        name = path.name.removesuffix(".gz").removesuffix(".onnx")
        target = options.out / f"{name}_int8.onnx.gz"
        target.write_bytes(gzip.compress(model.SerializeToString(deterministic=True), 9, mtime=0))
        print(f"{target}: {len(model.graph.node)} nodes, {target.stat().st_size} bytes")


def fold_batch_norms(model):
    """As exporters for inference do before they quantise: Conv takes the BatchNormalization after it, and has a bias."""
    import strip_graph
    graph = model.graph
    weights = {t.name: t for t in graph.initializer}
    makers = {node.output[0]: node for node in graph.node}
    kept = []
    for node in graph.node:
        conv = makers.get(node.input[0]) if node.op_type == "BatchNormalization" else None
        if conv is None or conv.op_type != "Conv":
            kept.append(node)
            continue
        if len(conv.input) == 2:
            bias = conv.input[1] + ".bias"
            graph.initializer.append(strip_graph.shape_only(bias, [weights[conv.input[1]].dims[0]], onnx.TensorProto.FLOAT))
            conv.input.append(bias)
        conv.output[0] = node.output[0]
    del graph.node[:]
    graph.node.extend(kept)
    strip_graph.drop_unused_initializers(graph)
    return model


if __name__ == "__main__":
    main()
