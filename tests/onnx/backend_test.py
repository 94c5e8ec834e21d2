#!/usr/bin/env python3
"""`dfsim inspect` on ONNX's backend tests: the node tests of the newest Python package onnx, the
models that the package has on disk, and those of Debian's libonnx-testdata.

Every model must import and resolve, and its outputs must have the shapes of the recorded outputs.
backend_exceptions.txt lists the models for which that cannot be, with the reason; a listed model
that resolves fails the test, too.

usage: DFSIM=build/release/dfsim backend_test.py [NAME...]
Exit code 77: this Python lacks onnx, or has one older than the list of exceptions.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")

try:
    import numpy
    import onnx
    import onnx.checker
    from onnx import TensorProto, numpy_helper
    from onnx.backend.test.case.node import collect_testcases
except ImportError:
    print(f"skipped: {sys.executable} has no package onnx")
    sys.exit(77)

# Earlier releases have other tests; that of Debian 12 cannot even list its own with Debian's numpy.
OLDEST = (1, 22)
if tuple(int(part) for part in onnx.__version__.split(".")[:2]) < OLDEST:
    print(f"skipped: {sys.executable} has onnx {onnx.__version__}, older than "
          f"{'.'.join(map(str, OLDEST))}")
    sys.exit(77)

FOLDERS = [pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data",
           pathlib.Path("/usr/share/libonnx-testdata/data")]
EXCEPTIONS = pathlib.Path(__file__).with_name("backend_exceptions.txt")


def is_small_operand(array, lonely):
    """Shapes, axes and scales that the tests feed as inputs; models in practice store them."""
    if not isinstance(array, (numpy.ndarray, numpy.generic)) or array.ndim > 1:
        return False
    return not lonely or array.dtype in (numpy.int32, numpy.int64)


def freeze_operands(model, arrays):
    """Stores small operands in the model; drops every shape that it declares for inner tensors."""
    graph = model.graph
    del graph.value_info[:]
    for output in graph.output:
        output.ClearField("type")
    lonely = len(graph.input) < 2
    frozen = set()
    for declared, array in zip(graph.input, arrays):
        if declared.type.HasField("tensor_type") and is_small_operand(array, lonely):
            graph.initializer.append(numpy_helper.from_array(numpy.asarray(array), declared.name))
            frozen.add(declared.name)
    for i in reversed(range(len(graph.input))):
        if graph.input[i].name in frozen:
            del graph.input[i]


def recorded_shape(array):
    return list(array.shape) if isinstance(array, (numpy.ndarray, numpy.generic)) else None


def node_cases():
    for case in collect_testcases(None):
        if case.data_sets:
            inputs, outputs = case.data_sets[0]
            yield f"node/{case.name}", case.model, list(inputs), [recorded_shape(o) for o in outputs]


def read_tensors(folder, prefix):
    arrays = []
    for path in sorted(folder.glob(f"{prefix}_*.pb"), key=lambda p: int(re.findall(r"\d+", p.stem)[-1])):
        tensor = TensorProto()
        try:
            tensor.ParseFromString(path.read_bytes())
            arrays.append(numpy_helper.to_array(tensor) if tensor.data_type else None)
        except Exception:  # a list or an optional
            arrays.append(None)
    return arrays


def folder_cases():
    for root in FOLDERS:
        for path in sorted(root.rglob("*.onnx")):
            model = onnx.load(str(path), load_external_data=False)
            data = path.parent / "test_data_set_0"
            outputs = [recorded_shape(a) for a in read_tensors(data, "output")]
            name = f"{'package' if root == FOLDERS[0] else 'debian'}/" + \
                str(path.relative_to(root).with_suffix("")).removesuffix("/model")
            yield name, model, read_tensors(data, "input"), outputs


def fits(found, recorded):
    extents = found["shape"]
    if extents is None or len(extents) != len(recorded):
        return False
    if found.get("upper_bound"):
        return all(isinstance(a, int) and a >= b for a, b in zip(extents, recorded))
    return extents == recorded


def check(program, path, recorded):
    """None, or why the model is not resolved as recorded."""
    run = subprocess.run([program, "inspect", str(path), "--json", "--quiet"], capture_output=True, text=True)
    if run.returncode != 0:
        return run.stderr.strip().split(".onnx: ")[-1] or f"exit code {run.returncode}"
    result = json.loads(run.stdout)
    for op in result.get("unresolved", []):
        return f"{op['op_type']}: {op['reason']}"
    for found, shape in zip(result["outputs"], recorded):
        if shape is not None and not found.get("sequence") and not fits(found, shape):
            return f"output {found['name']} is {found['shape']}, recorded {shape}"
    return None


def read_exceptions():
    lines = [line for line in EXCEPTIONS.read_text().splitlines() if line and not line.startswith("#")]
    return {name.strip(): reason.strip() for name, reason in (line.split(":", 1) for line in lines)}


def main():
    program = os.environ["DFSIM"]
    wanted = sys.argv[1:]
    failures = {}
    count = 0
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(2) as pool:
        running = {}
        for source in (node_cases(), folder_cases()):
            for name, model, inputs, recorded in source:
                if wanted and not any(w in name for w in wanted):
                    continue
                count += 1
                freeze_operands(model, inputs)
                path = pathlib.Path(scratch) / f"{count}.onnx"
                path.write_bytes(model.SerializeToString())
                running[name] = pool.submit(check, program, path, recorded)
        for name, future in running.items():
            if (reason := future.result()) is not None:
                failures[name] = reason
    exceptions = read_exceptions()
    wrong = {name: reason for name, reason in failures.items() if name not in exceptions}
    for name, reason in sorted(wrong.items()):
        print(f"{name}: {reason}")
    stale = [] if wanted else sorted(set(exceptions) - set(failures))
    for name in stale:
        print(f"{name}: listed in {EXCEPTIONS.name}, but it resolves as recorded (or does not exist)")
    print(f"onnx {onnx.__version__}: {count} models, {count - len(failures)} resolved as recorded, "
          f"{len(failures) - len(wrong)} exceptions, {len(wrong)} failures")
    sys.exit(1 if wrong or stale or not count else 0)


if __name__ == "__main__":
    main()
