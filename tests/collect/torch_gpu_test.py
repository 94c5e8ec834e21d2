#!/usr/bin/env python3
"""The GPU campaign on the CPU: it measures, goes on after a stop, exports what dfsim reads."""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLLECTOR = ROOT / "datasets" / "collect" / "torch_gpu" / "collect.py"
sys.path.insert(0, str(COLLECTOR.parent))

import aten_rows  # noqa: E402
import export  # noqa: E402
import gradients  # noqa: E402
import networks  # noqa: E402
import operators  # noqa: E402
import timing  # noqa: E402


def run(*arguments):
    return subprocess.run([sys.executable, str(COLLECTOR), *arguments], capture_output=True, text=True, check=False)


class BadInput(unittest.TestCase):
    def test_messages(self):
        with tempfile.TemporaryDirectory() as folder:
            for arguments in (("export", folder, "-o", "x.csv"),
                              ("run", "-o", folder, "--minutes", "1", "--dtypes", "float31")):
                result = run(*arguments)
                self.assertEqual(result.returncode, 1)
                self.assertIn("collect.py: ", result.stderr)
                self.assertNotIn("Traceback", result.stderr)


class Event:
    """As PyTorch's profiler has them."""

    def __init__(self, name, device, correlation, linked, start, duration, thread=1):
        self.values = {"name": name, "device_type": f"DeviceType.{device}", "correlation_id": correlation,
                       "linked_correlation_id": linked, "start_ns": start, "duration_ns": duration,
                       "start_thread_id": thread, "shapes": [], "dtypes": [], "concrete_inputs": []}

    def __getattr__(self, name):
        return lambda: self.values[name]


class Calls(unittest.TestCase):
    def test_kernels_belong_to_the_outermost_call(self):
        events = [Event("aten::conv2d", "CPU", 1, 0, 0, 100), Event("aten::cudnn_convolution", "CPU", 2, 0, 10, 20),
                  Event("cudaLaunchKernel", "CPU", 77, 2, 15, 3), Event("conv", "CUDA", 77, 2, 200, 7),
                  Event("aten::relu", "CPU", 3, 0, 110, 20), Event("cudaLaunchKernel", "CPU", 78, 0, 115, 3),
                  Event("relu", "CUDA", 78, 0, 300, 9), Event("dfsim:0", "CUDA", 5, 1, 200, 7)]
        self.assertEqual([(c["op"], c["ns"], c["kernels"]) for c in timing.calls_of(events)],
                         [("aten::conv2d", 7, ["conv"]), ("aten::relu", 9, ["relu"])])

    def test_kernels_at_the_same_time_count_once(self):
        self.assertEqual(timing.length([(0, 10), (2, 5), (8, 12), (20, 21)]), 13)
        self.assertEqual(timing.length([]), 0)

    def test_equal_calls_of_threads_stay_apart(self):
        events = [Event("aten::add", "CPU", 1, 0, 0, 100), Event("aten::mul", "CPU", 2, 0, 10, 20, thread=2)]
        self.assertEqual([c["op"] for c in timing.calls_of(events)], ["aten::add", "aten::mul"])


def call(op, shapes, values, ns=1000, count=1, dtype="c10::Half"):
    types = [dtype if s else "" for s in shapes]
    return {"op": op, "shapes": shapes, "types": types, "values": values, "ns": ns, "count": count, "kernels": []}


class Rows(unittest.TestCase):
    def test_convolution(self):
        row = aten_rows.row_of(call("aten::conv2d", [[2, 8, 14, 14], [16, 4, 3, 3], [], [], [], [], []],
                                    [None, None, None, [2, 2], [1, 1], [1, 1], 2]))
        self.assertEqual(row, ("Conv", "conv", "dilations=1,1;group=2;kernel_shape=3,3;pads=1,1,1,1;strides=2,2",
                               [[2, 8, 14, 14], [16, 4, 3, 3]], [2, 16, 7, 7]))

    def test_others(self):
        cases = [
            ("aten::linear", [[2, 5, 8], [16, 8], [16]], [None] * 3, "Gemm", [10, 16]),
            ("aten::add_", [[2, 8, 4], [8, 1], []], [None, None, 1], "Add", [2, 8, 4]),
            ("aten::mean", [[2, 8, 4, 4], [], []], [None, [2, 3], True], "ReduceMean", [2, 8, 1, 1]),
            ("aten::max_pool2d", [[1, 3, 8, 8], *[[]] * 5], [None, [3, 3], [2, 2], [1, 1], [1, 1], True], "MaxPool",
             [1, 3, 5, 5]),
            ("aten::upsample_bilinear2d", [[1, 3, 7, 7], [], [], []], [None, None, False, [2.0, 2.0]], "Resize",
             [1, 3, 14, 14]),
            ("aten::matmul", [[2, 3, 4, 5], [2, 3, 5, 6]], [None, None], "MatMul", [2, 3, 4, 6])]
        for op, shapes, values, kind, out in cases:
            row = aten_rows.row_of(call(op, shapes, values))
            self.assertEqual((row[0], row[4]), (kind, out), op)

    def test_unknown_calls_have_none(self):
        self.assertIsNone(aten_rows.row_of(call("aten::contiguous", [[2, 3]], [None])))
        mixed = call("aten::add", [[2], [2]], [None, None])
        mixed["types"] = ["float", "c10::Half"]
        self.assertIsNone(aten_rows.row_of(mixed))

    def test_groups_that_ran_at_once_are_shortened(self):
        grouped = call("aten::conv2d", [[2, 8, 4, 4], [8, 4, 1, 1], []], [None, None, None, [1, 1], [0, 0], [1, 1], 2], 8000)
        other = call("aten::relu", [[2, 8, 4, 4]], [None], 2000)
        rows = [(c, aten_rows.row_of(c)) for c in (grouped, other)]
        times = {"kernels": {"time_ns": 10000}, "eager": {"time_ns": 9000}, "graph": {"time_ns": 6000}}
        self.assertAlmostEqual(export.overlap({"times": times}, rows), 0.5)
        self.assertEqual(export.overlap({"times": {**times, "graph": {"time_ns": 10500}, "eager": {"time_ns": 11000}}}, rows), 1)
        self.assertIsNone(export.overlap({"times": times}, rows[1:]))  # disturbed by something else
        self.assertIsNone(export.overlap({"times": times, "kernel_time": "union"}, rows))  # counted once already


class Strides(unittest.TestCase):
    def rows(self, kernels):
        depthwise = call("aten::conv2d", [[2, 8, 4, 4], [8, 1, 3, 3], []], [None, None, None, [1, 1], [1, 1], [1, 1], 8])
        depthwise["kernels"] = kernels
        return export.with_strides(depthwise, aten_rows.row_of(depthwise))

    def test_kernels_for_channels_last_mark_their_rows(self):
        self.assertTrue(self.rows(["conv2d_c1_k1_nhwc_specialized"])[2].startswith("channels_last=1;dilations="))
        self.assertTrue(self.rows(["conv2d_c1_k1_nchw_shmem_tiling"])[2].startswith("dilations="))

    def test_dense_ones_on_channels_last_are_left_out(self):
        copy = "void at::native::elementwise_kernel<128, 4>"
        self.assertIsNone(self.rows([copy, "sm90_xmma_fprop_f16_nhwckrsc_nhwc"]))
        self.assertIsNotNone(self.rows([copy, "nchwToNhwcKernel", "sm90_xmma_fprop_f16_nhwckrsc_nhwc"]))


    def test_products_that_copy_their_operands_are_left_out(self):
        product = call("aten::matmul", [[2, 3, 4, 5], [2, 3, 5, 6]], [None, None])
        product["kernels"] = ["void cutlass::Kernel2<a>"]
        self.assertIsNotNone(export.with_strides(product, aten_rows.row_of(product)))
        product["kernels"].insert(0, "void at::native::elementwise_kernel<128, 4>")
        self.assertIsNone(export.with_strides(product, aten_rows.row_of(product)))


class Runs(unittest.TestCase):
    def test_disturbed_ones_are_told_by_their_kernels(self):
        def record(run_ns):
            kernels = [{"ns": 1000, "count": 100, "kernels": ["a"]}]
            return {"times": {"graph": {"time_ns": run_ns}, "kernels": {"time_ns": 100000}}, "calls": kernels}

        self.assertFalse(export.is_disturbed(record(240000)))  # short kernels with gaps of 1.4 us
        self.assertTrue(export.is_disturbed(record(260000)))


class Lists(unittest.TestCase):
    def test_held_out_networks_teach_nothing(self):
        self.assertTrue(networks.held_out())
        self.assertFalse(set(networks.held_out()) & set(networks.learnt()))

    def test_operators_are_the_same_in_every_run(self):
        def drawn():
            makers = [operators.convolution, operators.linear]
            draw = operators.random.Random(1)
            return [m(draw, Functions) for m in makers for _ in range(20)]

        class Functions:
            linear = None

        self.assertEqual([o and o[:4] for o in drawn()], [o and o[:4] for o in drawn()])


    def test_gradients_have_the_shapes_of_their_convolution(self):
        makers = gradients.gradients(None)
        image, weight = next(makers), next(makers)
        self.assertEqual((image[0], weight[0]), ("ConvTranspose", "tensorflow.ConvFilterGrad"))
        self.assertIn("input_gradient=1;kernel_shape=", image[2])
        self.assertEqual(image[3][0], weight[3][1])  # both take the gradient of the result
        self.assertNotIn("input_gradient", weight[2])
        self.assertEqual(operators.work_of(image), operators.work_of(weight))


class OnTheCpu(unittest.TestCase):
    def setUp(self):
        try:
            import torch  # noqa: F401
        except ImportError as error:
            print(f"skipped: {error}")
            self.skipTest(str(error))

    def test_campaign(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out"
            arguments = ("run", "-o", str(out), "--device", "cpu", "--minutes", "2", "--runs", "1", "--most-ops", "6",
                         "--networks", "--dtypes", "float32", "--workers", "1")
            result = run(*arguments)
            self.assertEqual(result.returncode, 0, result.stderr)
            path = out / "results0.jsonl"
            records = [json.loads(line) for line in path.read_text().splitlines()]
            ops = collections.Counter(r["task"].split("/")[0] for r in records if r["kind"] == "op")
            self.assertEqual(ops, {"ops": 6, "gradients": 6})
            path.write_bytes(path.read_bytes() + b'{"cut off')
            self.assertEqual(run(*arguments).returncode, 0)  # nothing is measured twice
            self.assertEqual(len(path.read_text().splitlines()), len(records))
            profile = out / "ops.csv.gz"
            result = run("export", str(out), "-o", str(profile), "--timing", "launch-inclusive", "--runs", str(out / "runs.csv"))
            self.assertEqual(result.returncode, 0, result.stderr)
            if os.environ.get("DFSIM"):
                check = subprocess.run([os.environ["DFSIM"], "profiles", "check", str(profile)], capture_output=True,
                                       text=True, check=False)
                self.assertEqual(check.returncode, 0, check.stdout + check.stderr)


if __name__ == "__main__":
    unittest.main()
