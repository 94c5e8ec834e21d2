#!/usr/bin/env python3
"""Tests of datasets/collect/torch_gpu/compare_steps.py, and of the laws of training kernels behind its figures."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "datasets/collect/torch_gpu/compare_steps.py"
MEASURED = ROOT / "datasets/measured"
sys.path.insert(0, str(SCRIPT.parent))

import compare_steps  # noqa: E402

LAUNCH_US = 2.5  # of hardware/platforms/nvidia/h100-sxm.yaml


def run(*arguments):
    command = [sys.executable, str(SCRIPT), "--dfsim", os.environ["DFSIM"], *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class CompareSteps(unittest.TestCase):
    def test_calls_have_the_classes_of_operators(self):
        classes = {"aten::conv2d": "conv", "ConvolutionBackward0": "conv grad", "aten::batch_norm": "norm",
                   "CudnnBatchNormBackward0": "norm grad", "aten::linear": "product", "AddmmBackward0": "product grad",
                   "aten::_foreach_add_": "update", "aten::relu_": "other", "ReluBackward0": "other",
                   "ToCopyBackward0": "cast", "aten::scaled_dot_product_attention": "attention"}
        for call, wanted in classes.items():
            self.assertEqual(compare_steps.class_of_call(call), wanted)

    def test_normalisation_of_an_h100s_steps_is_within_a_quarter(self):
        done = run(MEASURED / "h100/training_steps.csv.gz", "--hw", "h100-sxm", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        networks = ("resnet18", "resnet50", "mobilenet_v2", "densenet121", "unet", "resnext50_32x4d")
        steps = [step for step in json.loads(done.stdout) if step["network"] in networks]
        self.assertEqual(len(steps), 10)
        for step in steps:
            predicted, measured = step["classes"]["norm grad"]
            self.assertLess(abs(predicted / measured - 1), 0.25, step)

    def test_no_kernel_of_batch_normalisation_is_faster_than_its_bound(self):
        rows = [row for row in compare_steps.read(MEASURED / "h100/training_steps.csv.gz") if row["op"] == "aten::batch_norm"]
        shapes = {(row["network"], row["dtype"], row["shapes"].partition("]")[0].strip("[")): float(row["us"]) for row in rows}
        checked = 0
        for row, _, _ in compare_steps.steps_of([row for row in rows if row["network"] in ("resnet50", "densenet121")]):
            graph = compare_steps.find(row["network"], compare_steps.FOLDERS)
            for op in compare_steps.predict(os.environ["DFSIM"], graph, "h100-sxm", row)["ops"]:
                if op["op_type"] == "BatchNormalization":
                    measured = shapes[row["network"], row["dtype"], op["output_shape"]]
                    # a kernel may be shorter than the launch that the bound has
                    self.assertLess(op["bound_us"] - LAUNCH_US, measured, (row["network"], op))
                    checked += 1
        self.assertEqual(checked, 2 * (53 + 121))

    def test_whole_steps_have_an_interval(self):
        done = run(MEASURED / "published/resnet50_train_steps.csv", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        steps = json.loads(done.stdout)
        self.assertEqual(len(steps), 4)
        self.assertTrue(all(step["inside"] for step in steps), steps)
        self.assertEqual({step["runtime"] for step in steps}, {"torch-eager", "torch-channels-last"})

    def test_a_table_without_hardware_needs_it_named(self):
        done = run(MEASURED / "h100/training_steps.csv.gz")
        self.assertEqual(done.returncode, 1)
        self.assertIn("name the GPU with --hw", done.stderr)

    def test_networks_without_a_graph_are_named_when_none_is_left(self):
        with tempfile.TemporaryDirectory() as folder:
            steps = pathlib.Path(folder) / "steps.csv"
            steps.write_text("network,batch,dtype,optimizer,hw,time_ms\nnothing,1,float32,sgd,a100,1\n", encoding="utf-8")
            done = run(steps)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no graph of these 1 steps", done.stderr)


if __name__ == "__main__":
    unittest.main()
