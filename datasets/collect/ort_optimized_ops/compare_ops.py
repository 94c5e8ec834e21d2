#!/usr/bin/env python3
"""Compares the operators that dfsim executes with those that ONNX Runtime executes.

For each model: ONNX Runtime's optimised graph (CPU provider, default level) next to what `dfsim
predict --json` lists, by operator type. Views are left out: Reshape, Squeeze, Unsqueeze, Flatten,
Identity. Models whose dimensions all have numbers also run once, and the shapes of their outputs are
compared. Exit code 1 when a model differs.

    DFSIM=build/release/dfsim python3 compare_ops.py MODEL.onnx...
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

VIEWS = {"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Constant"}
DFSIM = os.environ.get("DFSIM", "dfsim")
TYPES = {
    "tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64,
    "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(int8)": np.int8,
    "tensor(uint8)": np.uint8, "tensor(bool)": np.bool_,
}  # fmt: skip


def session_of(model, optimized):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.optimized_model_filepath = str(optimized)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def dfsim(*arguments):
    done = subprocess.run([DFSIM, *arguments, "--json"], capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)


def operators(prediction):
    """Counts by type, without the domain."""
    return collections.Counter(op["op_type"].split(".")[-1] for op in prediction["ops"])


def other_shapes(session, model):
    """Outputs whose shape is not the one that dfsim says, for models without open dimensions."""
    facts = dfsim("inspect", model)
    shapes = {entry["name"]: entry["shape"] or [] for entry in facts["inputs"]}
    generator = np.random.default_rng(0)
    feed = {}
    for entry in session.get_inputs():
        dtype = TYPES.get(entry.type)
        if dtype is None or entry.name not in shapes:
            return {}
        floats = np.issubdtype(dtype, np.floating)
        feed[entry.name] = np.asarray(
            generator.standard_normal(shapes[entry.name]) if floats else np.ones(shapes[entry.name])
        ).astype(dtype)
    try:
        results = session.run(None, feed)
    except Exception:  # noqa: BLE001: the model may not accept generated values
        return {}
    said = {entry["name"]: entry["shape"] or [] for entry in facts["outputs"]}
    return {
        output.name: (list(value.shape), said.get(output.name))
        for output, value in zip(session.get_outputs(), results)
        if hasattr(value, "shape") and list(value.shape) != said.get(output.name)
    }


def compare(model, hardware, folder):
    """(what ONNX Runtime says against the model, types with both counts, outputs with both shapes)."""
    optimized = folder / "optimized.onnx"
    try:
        session = session_of(model, optimized)
    except Exception as error:  # noqa: BLE001: whatever it says, the model has no operators there
        return str(error).splitlines()[0], {}, {}
    graph = onnx.load(optimized, load_external_data=False).graph
    runtime = collections.Counter(node.op_type for node in graph.node)
    prediction = dfsim("predict", model, "--hw", hardware, "--allow-incomplete")
    mine = operators(prediction)
    types = {
        name: (runtime[name], mine[name])
        for name in sorted(set(runtime) | set(mine))
        if runtime[name] != mine[name] and name not in VIEWS
    }
    return "", types, {} if prediction["open_dims"] else other_shapes(session, model)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--hw", default="epyc-genoa-1t", help="its runtime's rules are compared")
    arguments = parser.parse_args()
    verdicts = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for model in arguments.models:
            refused, types, shapes = compare(model, arguments.hw, pathlib.Path(folder))
            verdict = "refused by ONNX Runtime" if refused else "other" if types else "equal"
            verdicts[verdict] += 1
            if refused or types or shapes:
                print(f"{model}: {refused or types or ''} {shapes or ''}".rstrip())
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))
    return 1 if verdicts["other"] else 0


if __name__ == "__main__":
    sys.exit(main())
