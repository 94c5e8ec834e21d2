#!/usr/bin/env python3
"""A campaign of seconds: every family of samples is measured, goes on after a stop, and is read by dfsim."""

import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLLECTOR = ROOT / "datasets" / "collect" / "ort_cpu"
sys.path.insert(0, str(COLLECTOR))
try:
    import collect
    import numpy  # noqa: F401
    import onnx
    import onnxruntime  # noqa: F401
    import rows
    import sampler
except ImportError as error:
    print(f"skipped: {error}; needs the packages of datasets/collect/ort_cpu/requirements.txt")
    sys.exit(77)


class Sampler(unittest.TestCase):
    def test_a_network_is_a_function_of_its_seed(self):
        for family in sampler.FAMILIES:
            one, other = (sampler.sample(family, seed).SerializeToString() for seed in (5, 5))
            self.assertEqual(one, other)
            self.assertNotEqual(one, sampler.sample(family, 6).SerializeToString())

    def test_all_classes_of_operators_come_up(self):
        kinds = {node.op_type for family in sampler.FAMILIES for seed in range(40)
                 for node in sampler.sample(family, seed).graph.node}
        for kind in ("Conv", "Gemm", "MatMul", "Softmax", "LayerNormalization", "Relu", "Add", "MaxPool", "ReduceMean",
                     "Transpose", "Concat", "Slice", "Gather", "Resize", "LSTM", "GRU", "ConvTranspose"):
            self.assertIn(kind, kinds)

    def test_outputs_of_forms_are_single_elements(self):
        # Outputs take fresh memory in each run, which would count as the time of whatever makes them.
        for seed in range(20):
            graph = sampler.sample("forms", seed).graph
            makers = {name: node for node in graph.node for name in node.output}
            for value in graph.output:
                self.assertEqual(makers[value.name].op_type, "Slice")

    def test_gathers_and_scatters_of_every_kind_come_up(self):
        nodes = [node for seed in range(200) for node in sampler.sample("forms", seed).graph.node]
        axes = {attribute.i for node in nodes if node.op_type == "Gather" for attribute in node.attribute}
        self.assertLessEqual({0, 1, 2, 3, 4}, axes)
        self.assertLessEqual({"GatherElements", "GatherND", "ScatterElements", "ScatterND"},
                             {node.op_type for node in nodes})

    def test_classes_are_known(self):
        for family in sampler.FAMILIES:
            for seed in range(20):
                for node in sampler.sample(family, seed).graph.node:
                    self.assertIn(node.op_type, rows.CLASSES)


class Levels(unittest.TestCase):
    def test_below_all_images_keep_their_layout(self):
        with tempfile.TemporaryDirectory() as folder:
            options = argparse.Namespace(output=pathlib.Path(folder), scratch=pathlib.Path(folder))
            collector = collect.Collector(options, collect.load_libraries())
            task = collect.network_tasks([ROOT / "graphs" / "zoo" / "mobilenet_v2.onnx"], [1], [1], {})[0]
            kinds = {}
            for level in ("all", "extended"):
                at_level = collect.at_level([task], level)[0]
                self.assertEqual(at_level["id"] == task["id"], level == "all")
                model = onnx.load(collector.prepare(at_level)[0], load_external_data=False)
                kinds[level] = {(node.domain, node.op_type) for node in model.graph.node}
            self.assertIn(("com.microsoft.nchwc", "Conv"), kinds["all"])
            self.assertFalse({domain for domain, _ in kinds["extended"]} & {"com.microsoft.nchwc"})
            self.assertIn(("com.microsoft", "FusedConv"), kinds["extended"])


class Campaign(unittest.TestCase):
    def collect(self, *arguments):
        return subprocess.run([sys.executable, str(COLLECTOR / "collect.py"), *arguments], capture_output=True,
                              text=True, check=False)

    def test_a_dimension_counts_for_the_networks_that_have_it(self):
        zoo = ROOT / "graphs" / "zoo"
        with tempfile.TemporaryDirectory() as folder:
            options = argparse.Namespace(output=pathlib.Path(folder), scratch=pathlib.Path(folder))
            collector = collect.Collector(options, collect.load_libraries())
            paths = [zoo / "distilbert.onnx", zoo / "mobilenet_v2.onnx"]
            for length in (16, 32):  # a file for another length is not reused
                tasks = collect.network_tasks(paths, [1], [1], {"sequence": length})
                dims = {task["network"]: collector.prepare(task)[1] for task in tasks}
                self.assertEqual(dims, {"distilbert": {"batch": 1, "sequence": length}, "mobilenet_v2": {"batch": 1}})
            done = self.collect("run", "-o", folder, "--minutes", "1", "--dim", "seq=16", "--networks",
                                *map(str, paths))
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("no network has an open dimension 'seq'; found: batch, sequence", done.stderr)

    def test_measures_goes_on_and_exports(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out"
            bad = pathlib.Path(folder) / "bad.onnx"
            bad.write_bytes(b"not a model")
            network = onnx.load(ROOT / "graphs" / "zoo" / "lstm.onnx", load_external_data=False)
            small = pathlib.Path(folder) / "small.onnx"
            onnx.save(network, small)
            run = ("run", "-o", str(out), "--minutes", "0.5", "--samples", "1", "--threads", "1", "--batches", "1",
                   "--networks", str(small), str(bad))
            first = self.collect(*run)
            self.assertEqual(first.returncode, 0, first.stderr)
            records = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
            done = {r["task"]: r for r in records}
            self.assertIn("error", done["network/bad/batch1/threads1"])
            self.assertGreater(done["network/small/batch1/threads1"]["wall_us"], 0)
            for family in sampler.FAMILIES:
                self.assertTrue(done[f"ops/{family}/1/threads1"]["rows"])
                self.assertEqual(done[f"ops/{family}/1/threads1"]["unknown_nodes"], 0)

            profile, runs = out / "profile.csv.gz", out / "runs.csv"
            exported = self.collect("export", str(out), "--device", "Test CPU", "-o", str(profile), "--runs", str(runs))
            self.assertEqual(exported.returncode, 0, exported.stderr)
            with runs.open() as file:
                measured = [(r["network"], r["shapes"]) for r in csv.DictReader(file)]
            self.assertEqual(sorted(measured), [("small", "open"), ("small", "static")])
            dfsim = os.environ.get("DFSIM")
            if dfsim:
                check = subprocess.run([dfsim, "profiles", "check", str(profile)], capture_output=True, text=True,
                                       check=False)
                self.assertEqual(check.returncode, 0, check.stdout + check.stderr)


if __name__ == "__main__":
    unittest.main()
