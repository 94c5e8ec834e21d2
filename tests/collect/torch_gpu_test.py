#!/usr/bin/env python3
"""The GPU campaign on the CPU: it measures, goes on after a stop, exports what dfsim reads."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLLECTOR = ROOT / "datasets" / "collect" / "torch_gpu" / "collect.py"


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
                         "--networks", "--dtypes", "float32", "--no-onnx")
            self.assertEqual(run(*arguments).returncode, 0)
            path = out / "results.jsonl"
            records = [json.loads(line) for line in path.read_text().splitlines()]
            self.assertEqual(sum(r.get("kind") == "op" for r in records), 6)
            path.write_bytes(path.read_bytes() + b'{"cut off')
            self.assertEqual(run(*arguments).returncode, 0)  # nothing is measured twice
            self.assertEqual(len(path.read_text().splitlines()), len(records))
            profile = out / "ops.csv.gz"
            result = run("export", str(out), "-o", str(profile), "--runs", str(out / "runs.csv"))
            self.assertEqual(result.returncode, 0, result.stderr)
            if os.environ.get("DFSIM"):
                check = subprocess.run([os.environ["DFSIM"], "profiles", "check", str(profile)], capture_output=True,
                                       text=True, check=False)
                self.assertEqual(check.returncode, 0, check.stdout + check.stderr)


if __name__ == "__main__":
    unittest.main()
