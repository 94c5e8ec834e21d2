#!/usr/bin/env python3
"""Tests of datasets/collect/published_runs.py: sentences become runs, and unreadable ones errors."""

import csv
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "datasets" / "collect" / "published_runs.py"
sys.path.insert(0, str(SCRIPT.parent))

import published_runs  # noqa: E402

PAGE = """# Anything
A line about 3 ms that is no list of runs.
PyTorch 1.0 eager fp16, A100-40GB (A): ResNet-50 224² batch 1: 5 ms, batch 8: 6.5 ms; BERT-base sequence 64 batch 2: 7 ms. PyTorch 2.0 eager fp32, TF32 off (B): BERT-large sequence 128 batch 4: A100-40GB 20.5 ms, V100 30 ms. On 4 GPUs: 9 ms.
"""


def short(run):
    return tuple(run[name] for name in ("network", "batch", "dims", "dtype", "device", "runtime_version", "time_ms"))


class PublishedRuns(unittest.TestCase):
    def test_times_follow_a_batch_size_or_a_device(self):
        runs, others = published_runs.read(PAGE)
        a100, v100 = "NVIDIA A100-PCIE-40GB", "Tesla V100-PCIE-32GB"
        self.assertEqual([short(run) for run in runs], [
            ("resnet50", "1", "", "float16", a100, "1.0", "5"),
            ("resnet50", "8", "", "float16", a100, "1.0", "6.5"),
            ("bert_base", "2", "sequence=64", "float16", a100, "1.0", "7"),
            ("bert_large", "4", "sequence=128", "float32", a100, "2.0", "20.5"),
            ("bert_large", "4", "sequence=128", "float32", v100, "2.0", "30"),
        ])
        self.assertEqual([run["provenance"] for run in runs], ["A", "A", "A", "B", "B"])
        self.assertEqual([sentence.strip() for sentence in others], ["On 4 GPUs: 9 ms."])

    def test_what_it_cannot_read_is_an_error(self):
        for old, new, message in (("BERT-base", "BERT-tiny", "network 'BERT-tiny' is not known"),
                                  ("fp32", "fp12", "dtype 'fp12' is not known"),
                                  ("V100 30", "V200 30", "device 'V200' is not known"),
                                  (", A100-40GB (A)", " (A)", "device 'None' is not known"),
                                  ("5 ms, batch 8", "5 s, batch 8", "found '5 s'"),
                                  ("batch 4: ", "", "expected 'NETWORK batch B: TIME ms'")):
            with self.assertRaisesRegex(published_runs.Unreadable, message):
                published_runs.read(PAGE.replace(old, new))

    def run_script(self, notes, runs):
        return subprocess.run([sys.executable, str(SCRIPT), str(notes), str(runs)], capture_output=True, text=True)

    def test_a_missing_or_empty_page_is_one_line_and_exit_code_2(self):
        with tempfile.TemporaryDirectory() as folder:
            empty = pathlib.Path(folder) / "empty.md"
            empty.write_text("nothing\n")
            for notes in (empty, pathlib.Path(folder) / "none.md"):
                done = self.run_script(notes, pathlib.Path(folder) / "runs.csv")
                self.assertEqual(done.returncode, 2)
                self.assertEqual(len(done.stderr.splitlines()), 1)
                self.assertIn(str(notes), done.stderr)

    def test_dfsim_reads_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            page, runs = pathlib.Path(folder) / "page.md", pathlib.Path(folder) / "runs.csv"
            page.write_text(PAGE, encoding="utf-8")
            self.assertEqual(self.run_script(page, runs).stdout, "5 runs\n")
            with open(runs, newline="", encoding="utf-8") as file:
                self.assertEqual(len(list(csv.DictReader(file))), 5)
            done = subprocess.run([os.environ["DFSIM"], "validate", "--runs", str(runs)], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("5 runs of 3 networks", done.stdout)

    def test_the_shared_notes(self):
        if "DFSIM_SHARED" not in os.environ:
            self.skipTest("DFSIM_SHARED is not set")
        page = pathlib.Path(os.environ["DFSIM_SHARED"]) / "notes" / "cost-models.md"
        runs, others = published_runs.read(page.read_text(encoding="utf-8"))
        self.assertEqual(len(runs), 6)
        self.assertEqual(len(others), 1)


if __name__ == "__main__":
    unittest.main()
