#!/usr/bin/env python3
"""Models that `dfsim inspect --save` wrote, as ONNX itself sees them: valid, without weights, every
tensor with a shape, and with the same operators.

usage: DFSIM=build/release/dfsim saved_models_test.py
Exit code 77: this Python lacks onnx.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

try:
    # Debian's libonnx-testdata makes a folder onnx among Python's packages, which `import onnx` takes
    # for an empty package.
    import onnx
    import onnx.checker
except ImportError:
    print(f"skipped: {sys.executable} has no package onnx")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_KEPT = 16  # elements of a table that --save keeps


def models():
    zoo = ROOT / "graphs" / "zoo"
    found = [zoo / f"{name}.onnx" for name in ("resnet18", "mobilenet_v2", "lstm", "gpt2", "bert_base", "unet")]
    shared = os.environ.get("DFSIM_SHARED")
    if shared:  # one of them contradicts itself
        found += [p for p in sorted((pathlib.Path(shared) / "models" / "ort").glob("transform*.onnx"))
                  if not p.name.endswith("attention_distilbert.onnx")]
    return found


def element_count(tensor):
    count = 1
    for extent in tensor.dims:
        count *= extent
    return count


def check(path, saved_path):
    saved = onnx.load(str(saved_path))
    newest = onnx.defs.onnx_opset_version()
    opset = max((o.version for o in saved.opset_import if o.domain in ("", "ai.onnx")), default=0)
    own_domains = [o.domain for o in saved.opset_import if o.domain not in ("", "ai.onnx", "ai.onnx.ml")]
    if opset > newest or saved.ir_version > onnx.IR_VERSION:
        print(f"{path.name}: not checked, onnx {onnx.__version__} is older than the model")
        return False
    original = onnx.load(str(path), load_external_data=False)
    try:
        onnx.checker.check_model(original)
    except onnx.checker.ValidationError as error:
        # The graph is not at fault if the zoo keeps its weights in files that do not ship.
        if "should be stored in" not in str(error):
            print(f"{path.name}: not checked, the model itself is not valid: {str(error).splitlines()[0]}")
            return False
    onnx.checker.check_model(saved, full_check=not own_domains)
    for tensor in saved.graph.initializer:
        floats = tensor.data_type in (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE)
        assert not floats or element_count(tensor) <= MOST_KEPT, f"{path.name}: {tensor.name} is a weight"
    known = {v.name for v in [*saved.graph.value_info, *saved.graph.output] if v.type.tensor_type.HasField("shape")}
    computed = [o for node in original.graph.node if node.op_type != "Constant" for o in node.output if o]
    missing = [name for name in computed if name not in known]
    assert len(missing) <= len(computed) // 20, f"{path.name}: no shapes of {missing[:5]}"
    types = lambda model: sorted(n.op_type for n in model.graph.node if n.op_type != "Constant")
    assert types(saved) == types(original), f"{path.name}: other operators"
    return True


def main():
    checked = 0
    with tempfile.TemporaryDirectory() as scratch:
        for path in models():
            saved = pathlib.Path(scratch) / path.name
            subprocess.run([os.environ["DFSIM"], "inspect", str(path), "--save", str(saved), "--quiet"], check=True,
                           stdout=subprocess.DEVNULL)
            checked += check(path, saved)
    print(f"{checked} models checked by onnx {onnx.__version__}")
    assert checked >= 4


if __name__ == "__main__":
    main()
