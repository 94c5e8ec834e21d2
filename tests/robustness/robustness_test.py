#!/usr/bin/env python3
"""Runs dfsim on inputs and outputs that a shell can produce: pipes, devices, links, directories,
files without permission, full disks, closed pipes and signals.

Every run must end by itself with the documented exit code, an error must be one line, and nothing
may be overwritten or left behind. Refused input must cost under a second of CPU time and 200 MB;
--no-limits leaves that out, for builds with sanitizers.

usage: robustness_test.py DFSIM [--no-limits] [unittest's arguments]
"""

import multiprocessing
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from commands import (CODES, CONFIG, DATA, LONG, MODEL, READERS, READS_NO_FILE, WORKING,
                      filled, make_inputs)
from makers import calls_of_calls, long_name_model, nested_spans, profile_with
from outputs import Outputs
from runner import ENDS_S, PROGRAM, ROOT, names_in, run, run_all

CPU_S = 1.0
MEMORY_MB = 200
NOBODY = 65534
LIMITS = True


class Robustness(Outputs, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.TemporaryDirectory()
        cls.inputs = pathlib.Path(cls.made.name)
        make_inputs(PROGRAM[0], ROOT, cls.inputs)
        cls.input_bytes = cls.read_inputs()

    @classmethod
    def tearDownClass(cls):
        cls.made.cleanup()

    @classmethod
    def read_inputs(cls):
        return {path.name: path.read_bytes() for path in sorted(cls.inputs.iterdir())}

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.tmp = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.assertEqual(self.read_inputs(), self.input_bytes)

    def line(self, arguments, file=""):
        return filled(arguments, file=file, tmp=self.tmp, inputs=self.inputs)

    def working(self):
        return {name: self.line(line) for name, line in WORKING.items()}

    def make(self, maker, name, *arguments):
        """Writes an input in a process of its own: a child's peak of memory starts at ours."""
        process = multiprocessing.Process(target=maker, args=[self.tmp / name, *arguments])
        process.start()
        process.join()
        self.assertEqual(process.exitcode, 0)

    def check_limits(self, result):
        if LIMITS:
            self.assertLess(result.cpu_s, CPU_S)
            self.assertLess(result.memory_mb, MEMORY_MB)

    def check_refused(self, result, code=2):
        self.assertEqual(result.code, code, result.stderr)
        lines = [line for line in result.stderr.splitlines() if "warning:" not in line]
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertTrue(lines[0].startswith("dfsim: error: "), result.stderr)
        self.assertNotIn("Success", result.stderr)
        self.check_limits(result)

    def check_readers(self, path, **options):
        """Every command refuses the file and leaves nothing."""
        before = names_in(self.tmp)
        results = run_all({name: self.line(line, path) for name, line in READERS.items()},
                          **options)
        for name, result in results.items():
            with self.subTest(command=name):
                self.check_refused(result, code=CODES.get(name, 2))
        self.assertEqual(names_in(self.tmp), before)

    # --- the suite itself ---

    def test_every_command_is_in_the_suite(self):
        commands = re.findall(r"^## dfsim (.+)$", run(["help", "--format", "markdown"]).stdout, re.M)
        groups = {name for name in commands
                  if any(other.startswith(name + " ") for other in commands)}
        missing = set(commands) - groups - set(WORKING) - LONG
        self.assertEqual(missing, set())
        readers = {name.split(" --")[0] for name in READERS}
        self.assertEqual(LONG - readers - READS_NO_FILE, set())

    # --- damaged input ---

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

    def test_truncated_file(self):
        cut = {}
        for name, source in (("model.onnx", ROOT / MODEL), ("tasks.json", self.inputs / "tasks.json"),
                             ("trace.json", self.inputs / "trace.json"),
                             ("result.json", self.inputs / "result.json"),
                             ("config.json", ROOT / CONFIG), ("rows.csv", ROOT / DATA / "runs.csv"),
                             ("profile.csv", ROOT / DATA / "profile_matmul.csv"),
                             ("machine.yaml", ROOT / "hardware/platforms/nvidia/a100-sxm4-80gb.yaml"),
                             ("runtime.yaml", ROOT / "hardware/runtimes/ort-cpu.yaml")):
            content = source.read_bytes()
            cut[name] = self.tmp / name
            # A runtime that ends after one of its lists is whole: its last bracket stays open.
            cut[name].write_bytes(content[: content.rindex(b",") if name == "runtime.yaml" else len(content) // 2])
        kinds = {"model.onnx": ["predict", "inspect", "partition", "roofline", "compare", "tune",
                                "sweep --models"],
                 "rows.csv": ["validate"], "profile.csv": ["profiles check"], "tasks.json": ["compare"],
                 "machine.yaml": ["hardware", "predict --hw"], "runtime.yaml": ["inspect --runtime"],
                 "result.json": ["report"], "config.json": ["llm inspect", "llm predict", "llm search", "llm serve"]}
        lines = {f"{name} {file}": self.line(READERS[name], cut[file])
                 for file, names in kinds.items() for name in names}
        for name, result in run_all(lines).items():
            with self.subTest(command=name):
                self.check_refused(result, code=CODES.get(name.rpartition(" ")[0], 2))
        # A trace that was cut off is what a killed program leaves: dfsim reads what is there.
        result = run(["analyze", cut["trace.json"]])
        self.assertEqual(result.code, 0, result.stderr)

    def test_file_without_permission(self):
        (self.tmp / "secret").write_text("x")
        (self.tmp / "secret").chmod(0)
        options = {}
        if os.geteuid() == 0:
            # Root may read every file: run as somebody else, who may enter the folder.
            options = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            self.tmp.chmod(0o755)
            self.inputs.chmod(0o755)
            try:
                self.assertEqual(run(["version"], **options).code, 0)
            except PermissionError:
                self.skipTest("the user without rights may not run this build of dfsim")
        self.check_readers(self.tmp / "secret", **options)

    def test_tasks_without_a_task(self):
        files = {"empty.dot": "digraph g {}\n",
                 "empty.dax": '<?xml version="1.0"?><adag></adag>\n',
                 "empty.json": '{"schemaVersion": "1.5", "workflow": {'
                               '"specification": {"tasks": []}, "execution": {"tasks": []}}}'}
        for name, content in files.items():
            with self.subTest(file=name):
                (self.tmp / name).write_text(content)
                result = run(["compare", self.tmp / name, "--procs", "2"])
                self.check_refused(result)
                self.assertIn("holds no task", result.stderr)

    def test_profile_cells_that_mean_nothing(self):
        cells = {"spread NaN": {"spread_ns": "nan"}, "spread -1": {"spread_ns": "-1"},
                 "spread infinite": {"spread_ns": "inf"}, "not UTF-8": {"name": "caf\udce9"}}
        for number, (name, cell) in enumerate(cells.items()):
            with self.subTest(cell=name):
                path = self.tmp / f"profile{number}.csv"
                profile_with(path, cell)
                result = run(["profiles", "check", path])
                self.assertEqual(result.code, 2, result.stdout + result.stderr)

    def test_costly_models_are_refused_at_once(self):
        self.make(calls_of_calls, "calls.onnx", 9, 10)
        self.make(calls_of_calls, "deep.onnx", 80, 1)
        self.make(long_name_model, "name.onnx", 50_000_000)
        for name in ("calls.onnx", "deep.onnx", "name.onnx"):
            with self.subTest(model=name):
                self.check_refused(run(["inspect", self.tmp / name]))

    def test_ten_thousand_nested_spans(self):
        self.make(nested_spans, "nested.json", 10_000)
        for command in ("analyze", "replay"):
            with self.subTest(command=command):
                result = run([command, self.tmp / "nested.json"])
                self.assertEqual(result.code, 0, result.stderr)
                if LIMITS:
                    self.assertLess(result.memory_mb, MEMORY_MB)

    def test_unknown_cost_model_of_a_device(self):
        (self.tmp / "machine.yaml").write_text(
            "name: machine\ndevices:\n  - {name: gpu, device: a100, cost_model: nosuch}\n"
            "host: {memory_gib: 64}\n")
        result = run(["predict", MODEL, "--hw", self.tmp / "machine.yaml"])
        self.check_refused(result)
        self.assertIn("unknown cost model 'nosuch'", result.stderr)

    # --- the command line ---

    def test_numbers_that_are_not_plain(self):
        model = ["predict", MODEL, "--hw", "a100"]
        shape = "input=8,3,224,224"
        lines = {
            "octal": [*model, "--batch", "010"], "hexadecimal": [*model, "--batch", "0x10"],
            "padded extent": [*model, "--dim", "batch=010"],
            "negative rows": [*model, "--top", "-1"], "negative seed": [*model, "--seed", "-1"],
            "negative tasks": ["generate", "--tasks", "-1"], "no tasks": ["generate", "--tasks", "0"],
            "not a number": ["roofline", MODEL, "--hw", "a100", "--top", "ten"],
            "NaN": [*model, "--requests", "5", "--rate", "nan"],
            "infinite": ["generate", "--ccr", "inf"],
            "too many runs": [*model, "--repeat", "1000000000"],
            "too many requests": [*model, "--requests", "10000000000"],
            "batch and dim": [*model, "--batch", "4", "--dim", "batch=8"],
            "batch and shape": [*model, "--batch", "4", "--input-shape", shape],
            "dim and shape": [*model, "--dim", "batch=4", "--input-shape", shape],
            "dim twice": [*model, "--dim", "batch=4", "--dim", "batch=5"],
            "shape twice": [*model, "--input-shape", shape, "--input-shape",
                            "input=4,3,224,224"],
        }
        for name, result in run_all(lines).items():
            with self.subTest(case=name):
                self.check_refused(result)
        agreeing = run([*model, "--batch", "8", "--dim", "batch=8", "--input-shape", shape])
        self.assertEqual(agreeing.code, 0, agreeing.stderr)

    def test_errors_are_one_line(self):
        lines = {name: self.line(line, self.tmp / "a\nb.onnx") for name, line in READERS.items()}
        lines.update({
            "command": ["pre\ndict"], "option": ["predict", "--no\nsuch"],
            "value": ["predict", MODEL, "--hw", "a100", "--batch", "1\n2"],
            "argument": ["hardware", "a100", "one\nmore"],
            "no command": [], "no argument": ["predict"]})
        for name, result in run_all(lines).items():
            with self.subTest(command=name):
                self.check_refused(result, code=CODES.get(name, 2))
        result = run(["inspect", MODEL, "-o", self.tmp / "no\nfolder" / "out"])
        self.check_refused(result, code=1)

    # --- many at once ---

    def test_twenty_at_once(self):
        """Every command next to others, and twenty of one kind: the same output each time."""
        commands = self.working()
        alone = {name: result.stdout for name, result in run_all(commands).items()}
        started = [(name, subprocess.Popen([*PROGRAM, *line], cwd=ROOT, stdin=subprocess.DEVNULL,
                                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL))
                   for name, line in [*commands.items(), *[("predict", commands["predict"])] * 20]]
        for name, process in started:
            with self.subTest(command=name):
                output = process.communicate(timeout=ENDS_S)[0].decode()
                self.assertEqual(process.returncode, 0)
                self.assertEqual(output, alone[name])

    def test_twenty_that_write_one_file(self):
        line = ["predict", MODEL, "--hw", "a100", "--json", "-o", self.tmp / "out.json"]
        results = run_all({number: line for number in range(20)})
        self.assertEqual({result.code for result in results.values()}, {0})
        self.assertEqual(names_in(self.tmp), ["out.json"])
        self.assertEqual((self.tmp / "out.json").read_bytes(),
                         (self.inputs / "result.json").read_bytes())


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM.append(os.path.abspath(sys.argv.pop(1)))
    if "--no-limits" in sys.argv:
        sys.argv.remove("--no-limits")
        LIMITS = False
    # A shell in the background ignores SIGINT, and so would its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    unittest.main()
