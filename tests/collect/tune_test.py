#!/usr/bin/env python3
"""dfsim tune on a small network, for seconds: it measures, goes on after a stop, and says why it cannot."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy
    import onnx
    import onnxruntime  # noqa: F401
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"skipped: {error}; needs the packages of datasets/collect/ort_cpu/requirements.txt")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
DFSIM = os.environ["DFSIM"]


def small_network(path, kind="MatMul"):
    rng = numpy.random.default_rng(0)
    weight = numpy_helper.from_array(rng.uniform(-1, 1, (64, 64)).astype(numpy.float32), "w")
    graph = helper.make_graph(
        [helper.make_node(kind, ["x", "w"], ["y"]), helper.make_node("Relu", ["y"], ["z"])], "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 64])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, ["batch", 64])], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def tune(*arguments):
    return subprocess.run(
        [DFSIM, "tune", *map(str, arguments), "--host", "--hw", "epyc-milan", "--threads", "2", "--python",
         sys.executable, "--no-install", "--seconds", "0.1"], cwd=ROOT, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=240, check=False)


class Tune(unittest.TestCase):
    def test_measures_and_goes_on(self):
        with tempfile.TemporaryDirectory() as folder:
            model, state = pathlib.Path(folder) / "small.onnx", pathlib.Path(folder) / "state"
            small_network(model)
            done = tune(model, "--dir", state, "--budget", "3", "--batches", "1,4", "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            result = json.loads(done.stdout)
            self.assertEqual(result["schema"], "dfsim.tune/1")
            self.assertEqual(result["default"], {"intra": 2, "inter": 1, "pinned": False, "level": 3, "batch": 1})
            self.assertLessEqual(result["measured"], 3)
            self.assertGreater(result["ratio"], 0)
            self.assertGreater(result["best_time"]["runs"], 8)
            points = json.loads((state / "tune.json").read_text())["points"]
            self.assertEqual(len(points), result["measured"])
            # A known setting is not measured again.
            known = {key: 0.5 if '"batch":4' in key else value for key, value in points.items()}
            saved = json.loads((state / "tune.json").read_text()) | {"points": known}
            (state / "tune.json").write_text(json.dumps(saved))
            again = tune(model, "--dir", state, "--budget", "3", "--batches", "1,4", "--json")
            self.assertEqual(again.returncode, 0, again.stderr)
            measured = [p["measured"] for p in json.loads(again.stdout)["settings"] if p["measured"]]
            for value in known.values():
                self.assertIn(value, measured)

    def test_a_state_that_is_none(self):
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "small.onnx"
            small_network(model)
            (pathlib.Path(folder) / "tune.json").write_text("{}")
            done = tune(model, "--dir", folder)
            self.assertEqual(done.returncode, 2)
            self.assertIn("is not a state of dfsim tune", done.stderr)

    def test_a_model_that_onnx_runtime_refuses(self):
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "refused.onnx"
            small_network(model)
            broken = onnx.load(model)
            broken.opset_import[0].version = 99999
            onnx.save(broken, model)
            done = tune(model, "--dir", pathlib.Path(folder) / "state", "--budget", "2")
            self.assertNotEqual(done.returncode, 0)
            self.assertNotEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main()
