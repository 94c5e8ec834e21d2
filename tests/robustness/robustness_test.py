#!/usr/bin/env python3
"""Runs dfsim on inputs and outputs that a shell can produce: pipes, devices, links, directories,
files without permission, full disks, closed pipes and signals.

Every case checks the documented exit code, that an error is one line (usage errors add a hint), that
the command ends by itself, and that nothing is overwritten or left behind.

usage: robustness_test.py DFSIM
"""

import os
import pathlib
import signal
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = "graphs/zoo/mobilenet_v2.onnx"
LIMIT_S = 20  # only catches commands that never end
DFSIM = None  # set by main

# Commands that read one input file: the arguments, with {} for the file.
READERS = {
    "predict": ["predict", "{}", "--hw", "a100"],
    "predict --hw": ["predict", MODEL, "--hw", "{}"],
    "inspect": ["inspect", "{}"],
    "compare": ["compare", "{}", "--hw", "a100"],
    "partition": ["partition", "{}", "--hw", "dgx-a100"],
    "roofline": ["roofline", "{}", "--hw", "a100"],
    "report": ["report", "{}", "-o", "{tmp}/report.html"],
    "analyze": ["analyze", "{}"],
    "diff": ["diff", "{}", "{}"],
    "replay": ["replay", "{}"],
    "profiles check": ["profiles", "check", "{}"],
    "profiles stats": ["profiles", "stats", "{}"],
    "evaluate": ["evaluate", "--model", "a100", "--profiles", "{}"],
    "train": ["train", "{}", "-o", "{tmp}/model"],
    "validate": ["validate", "--runs", "{}"],
    "hardware": ["hardware", "{}"],
}


def run(arguments, **options):
    return subprocess.run([DFSIM, *arguments], cwd=ROOT, timeout=LIMIT_S, text=True,
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          **{"stdout": subprocess.PIPE, **options})


class Robustness(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.tmp = pathlib.Path(self.folder.name)

    def check_refused(self, result, code=2):
        self.assertEqual(result.returncode, code, result.stderr)
        lines = [line for line in result.stderr.splitlines() if "warning:" not in line]
        self.assertTrue(lines and lines[0].startswith("dfsim: error: "), result.stderr)
        hint = [line for line in lines[1:] if not line.startswith("Run 'dfsim")]
        self.assertEqual(hint, [], result.stderr)
        self.assertNotIn("Success", result.stderr)

    def check_readers(self, path):
        before = sorted(p.name for p in self.tmp.iterdir())
        for name, arguments in READERS.items():
            with self.subTest(command=name):
                filled = [a.replace("{tmp}", str(self.tmp)).replace("{}", str(path))
                          for a in arguments]
                self.check_refused(run(filled))
        self.assertEqual(sorted(p.name for p in self.tmp.iterdir()), before)

    def test_missing_file(self):
        self.check_readers(self.tmp / "missing")

    def test_empty_file(self):
        (self.tmp / "empty").touch()
        self.check_readers(self.tmp / "empty")

    def test_random_bytes(self):
        (self.tmp / "random").write_bytes(bytes((i * 7919 + i // 3) % 251 for i in range(4096)))
        self.check_readers(self.tmp / "random")

    def test_directory(self):
        (self.tmp / "directory").mkdir()
        self.check_readers(self.tmp / "directory")

    def test_named_pipe_that_nobody_writes(self):
        os.mkfifo(self.tmp / "pipe")
        self.check_readers(self.tmp / "pipe")

    def test_file_without_permission(self):
        if os.geteuid() == 0:
            self.skipTest("root may read every file")
        (self.tmp / "secret").write_text("x")
        (self.tmp / "secret").chmod(0)
        self.check_readers(self.tmp / "secret")

    def test_output_device_stays_a_device(self):
        result = run(["inspect", MODEL, "-o", "/dev/null"])
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))

    def test_output_link_stays_a_link(self):
        (self.tmp / "target").write_text("before")
        (self.tmp / "link").symlink_to("target")
        self.assertEqual(run(["inspect", MODEL, "-o", str(self.tmp / "link")]).returncode, 0)
        self.assertTrue((self.tmp / "link").is_symlink())
        self.assertIn("mobilenet_v2", (self.tmp / "target").read_text())

    def test_output_keeps_its_permissions(self):
        out = self.tmp / "out"
        out.write_text("before")
        out.chmod(0o600)
        self.assertEqual(run(["inspect", MODEL, "-o", str(out)]).returncode, 0)
        self.assertEqual(stat.S_IMODE(out.stat().st_mode), 0o600)

    def test_output_in_a_missing_directory(self):
        result = run(["inspect", MODEL, "-o", str(self.tmp / "none" / "out")])
        self.check_refused(result, code=1)
        self.assertIn("No such file or directory", result.stderr)

    def test_full_disk(self):
        for arguments in (["inspect", MODEL, "-o", "/dev/full"],
                          ["predict", MODEL, "--hw", "a100", "--trace", "/dev/full"]):
            with self.subTest(arguments=arguments):
                result = run(arguments)
                self.check_refused(result, code=1)
                self.assertIn("No space left on device", result.stderr)

    def test_full_stdout(self):
        for arguments in (["--help"], ["version"], ["hardware"], ["predict", "--help"],
                          ["predict", MODEL, "--hw", "a100", "--json"]):
            with self.subTest(arguments=arguments), open("/dev/full", "w", encoding="ascii") as full:
                self.check_refused(run(arguments, stdout=full), code=1)

    def test_closed_pipe(self):
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "w") as stdout:
            result = run(["predict", MODEL, "--hw", "a100", "--json"], stdout=stdout)
        self.assertIn(result.returncode, (1, -signal.SIGPIPE))

    def test_interrupted_writer_leaves_nothing_and_keeps_the_old_file(self):
        out = self.tmp / "graph.json"
        out.write_text("before")
        process = subprocess.Popen(
            [DFSIM, "generate", "--shape", "layered", "--tasks", "2000000", "-o", str(out)],
            cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT_S)
        self.assertEqual([p.name for p in self.tmp.iterdir()], ["graph.json"])
        if process.returncode != 0:
            self.assertEqual(process.returncode, -signal.SIGINT)
            self.assertEqual(out.read_text(), "before")

    def test_twenty_at_once(self):
        arguments = [DFSIM, "predict", MODEL, "--hw", "a100", "--json", "--quiet"]
        running = [subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE) for _ in range(20)]
        outputs = {process.communicate(timeout=LIMIT_S) for process in running}
        self.assertEqual([process.returncode for process in running], [0] * 20)
        self.assertEqual(len(outputs), 1)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    DFSIM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
