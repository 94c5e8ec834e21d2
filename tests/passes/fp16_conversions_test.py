#!/usr/bin/env python3
"""A file that onnxconverter-common converted to fp16 is predicted like the original with --precision fp16.

All networks of the zoo, under a runtime of PyTorch, whose cast is model.half(), and under ONNX
Runtime's, whose cast is the converter's own. The zoo has no weights: they become inputs for the
conversion and weights without values again afterwards, so that the converter itself decides on every
type and cast. Exit code 77: skipped, as this Python lacks onnx or onnxconverter-common.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

try:
    import onnx
    from onnxconverter_common import float16
except ImportError as error:
    print(f"skipped: {error}; pip install onnx onnxconverter-common")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
DFSIM = os.environ.get("DFSIM", str(ROOT / "build/release/dfsim"))
RUNTIMES = ("torch-eager", "ort-cuda")
LIMIT = 0.01  # of latency and of device time
NETWORKS = 20


def convert(source, target):
    """The converter's model, with its weights outside the file as in the zoo."""
    model = onnx.load(source, load_external_data=False)
    weights = {t.name: t for t in model.graph.initializer
               if t.data_location == onnx.TensorProto.EXTERNAL}
    kept = [t for t in model.graph.initializer if t.name not in weights]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    declared = {v.name for v in model.graph.input}
    for name, tensor in weights.items():
        if name not in declared:
            model.graph.input.append(
                onnx.helper.make_tensor_value_info(name, tensor.data_type, list(tensor.dims)))
    model = float16.convert_float_to_float16(model, keep_io_types=False, disable_shape_infer=True)
    inputs = list(model.graph.input)
    del model.graph.input[:]
    for value in inputs:
        if value.name not in weights:
            model.graph.input.append(value)
            continue
        tensor = weights[value.name]
        tensor.data_type = value.type.tensor_type.elem_type
        model.graph.initializer.append(tensor)
    onnx.save(model, target)


def predict(path, runtime, *options):
    command = [DFSIM, "predict", str(path), "--hw", "a100", "--runtime", runtime, "--json",
               "--allow-incomplete", "--allow-oversubscription", *options]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit {run.returncode}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def times(result):
    """Latency, and the sum of what the devices do."""
    return result["latency_ms"], sum(op["duration_us"] for op in result["ops"])


def main():
    warnings.simplefilter("ignore")  # of numbers that fp16 cannot hold: masks
    zoo = sorted((ROOT / "graphs/zoo").glob("*.onnx"))
    failures, worst = [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        for path in zoo:
            converted = pathlib.Path(folder) / path.name
            convert(path, converted)
            for runtime in RUNTIMES:
                there = times(predict(converted, runtime))
                here = times(predict(path, runtime, "--precision", "fp16"))
                whole = times(predict(path, runtime))
                for name, a, b, fp32 in zip(("latency", "device time"), there, here, whole):
                    error = abs(b / a - 1)
                    worst = max(worst, error)
                    if error > LIMIT:
                        failures.append(f"{path.stem}, {runtime}: {name} differs by {error:.2%}")
                # Equal because nothing was rewritten would be no agreement.
                if here[1] >= whole[1]:
                    failures.append(f"{path.stem}, {runtime}: fp16 is not faster than fp32")
            converted.unlink()
    if len(zoo) != NETWORKS:
        failures.append(f"found {len(zoo)} networks, expected {NETWORKS}")
    print(f"{len(zoo)} networks under {' and '.join(RUNTIMES)}: largest difference {worst:.2%}")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
