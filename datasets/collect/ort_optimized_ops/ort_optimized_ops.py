#!/usr/bin/env python3
"""Which operators ONNX Runtime executes: op types and counts of its optimised graphs.

Loads each model with the CPU provider at the default optimisation level, lets ONNX Runtime write
the graph that it would run, and counts its operators. Models without weight data (the zoo's) get
made-up weights. Nothing is run, so no operator's time is measured here.

    python3 ort_optimized_ops.py -o ort_ops.json ../../../graphs/zoo/*.onnx
"""

import argparse
import collections
import datetime
import json
import pathlib
import platform
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

WEIGHTS_FILE = "weights.bin"
STEP_BYTES = 4096  # weights start this far apart, so that no two of a size are equal
DEFAULT_DIM = "dfsim.dim."  # metadata of the zoo: the default of a named dimension


def has_data(tensor):
    return tensor.data_location != onnx.TensorProto.EXTERNAL


def invent_weights(model, folder):
    """Points every weight without data at one file of synthetic values; they may overlap there."""
    floats = [t for t in model.graph.initializer if not has_data(t)]
    generator = np.random.default_rng(0)
    largest = 0
    for index, tensor in enumerate(floats):
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        size = int(np.prod(tensor.dims, dtype=np.int64)) * np.dtype(dtype).itemsize
        if not np.issubdtype(dtype, np.floating):
            # Indices and masks: zeros are valid where random numbers are not.
            zeros = onnx.numpy_helper.from_array(np.zeros(list(tensor.dims), dtype), tensor.name)
            tensor.CopyFrom(zeros)
            continue
        offset = index * STEP_BYTES
        del tensor.external_data[:]
        for key, value in (("location", WEIGHTS_FILE), ("offset", offset), ("length", size)):
            tensor.external_data.add(key=key, value=str(value))
        largest = max(largest, offset + size)
    with open(folder / WEIGHTS_FILE, "wb") as out:
        # Positive, as variances have to be.
        block = generator.uniform(0.01, 0.02, 1 << 20).astype(np.float32).tobytes()
        # An odd length of the block keeps tensors that are a multiple of it apart from each other.
        block = block[: len(block) - 4 * 97]
        while out.tell() < largest:
            out.write(block)


def default_dims(model):
    return {
        prop.key[len(DEFAULT_DIM):]: int(prop.value)
        for prop in model.metadata_props
        if prop.key.startswith(DEFAULT_DIM)
    }


def open_dims(model):
    """The names of the open dimensions of the inputs."""
    return {dim.dim_param for value in model.graph.input for dim in value.type.tensor_type.shape.dim
            if dim.HasField("dim_param")}


def has_open_dims(model):
    return any(dim.HasField("dim_param") or not dim.HasField("dim_value") for value in model.graph.input
               for dim in value.type.tensor_type.shape.dim)


def fix_dims(model, dims):
    """Replaces named dimensions of the inputs; names of outputs may be expressions and are dropped."""
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if dim.HasField("dim_param"):
                if dim.dim_param not in dims:
                    raise ValueError(
                        f"dimension '{dim.dim_param}' of input '{value.name}' has no value; "
                        f"give --dim {dim.dim_param}=N"
                    )
                dim.dim_value = dims[dim.dim_param]
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")


def optimise(path, folder, dims, dynamic):
    """The model that ONNX Runtime would execute, without weights."""
    model = onnx.load(path, load_external_data=False)
    invent_weights(model, folder)
    if not dynamic:
        fix_dims(model, {**default_dims(model), **dims})
    source = folder / "model.onnx"
    onnx.save(model, source)
    optimised = folder / "optimised.onnx"
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.optimized_model_filepath = str(optimised)
    options.log_severity_level = 3
    prefix = "session.optimized_model_external_initializers_"
    options.add_session_config_entry(prefix + "file_name", "optimised.bin")
    options.add_session_config_entry(prefix + "min_size_in_bytes", "1024")
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])
    return onnx.load(optimised, load_external_data=False)


def qualified(node):
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"


def count_ops(graph):
    return dict(sorted(collections.Counter(qualified(node) for node in graph.node).items()))


def instructions():
    """Returns the instruction set that decides ONNX Runtime's channels per block; None if unknown."""
    try:
        flags = pathlib.Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return None
    return next((name for name, flag in (("AVX-512", "avx512f"), ("AVX2", "avx2"), ("AVX", "avx")) if flag in flags),
                None)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("models", nargs="+", type=pathlib.Path, help="ONNX files")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, help="JSON to write")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N",
                        help="value of a named dimension; default: what the zoo's metadata say")
    parser.add_argument("--dynamic", action="store_true",
                        help="leave named dimensions open, as a service of any shape would")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR",
                        help="keep the optimised graphs, without weights, in this folder")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    dims = {}
    for text in arguments.dim:
        name, equals, value = text.rpartition("=")
        if not equals or not value.isdigit():
            sys.exit(f"--dim: found '{text}', expected NAME=N")
        dims[name] = int(value)
    result = {
        "onnxruntime": onnxruntime.__version__,
        "provider": "CPUExecutionProvider",
        "level": "ORT_ENABLE_ALL",
        "machine": platform.machine(),
        "instructions": instructions(),
        "dims": "open" if arguments.dynamic else "fixed",
        "date": datetime.date.today().isoformat(),
        "models": {},
    }
    for path in arguments.models:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                model = optimise(path, pathlib.Path(scratch), dims, arguments.dynamic)
            except Exception as error:  # whatever ONNX Runtime throws: the other models go on
                sys.exit(f"{path}: {error}")
        if arguments.keep:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            onnx.save(model, arguments.keep / path.name)
        result["models"][path.stem] = count_ops(model.graph)
        print(f"{path.stem}: {sum(result['models'][path.stem].values())} operators", file=sys.stderr)
    models = result.pop("models")
    rows = (f"  {json.dumps(name)}: {json.dumps(counts, separators=(',', ':'))}" for name, counts in models.items())
    head = json.dumps(result, indent=1).removesuffix("\n}")
    arguments.output.write_text(f'{head},\n "models": {{\n' + ",\n".join(rows) + "\n }\n}\n")


if __name__ == "__main__":
    main()
