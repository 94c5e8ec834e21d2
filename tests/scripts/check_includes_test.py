#!/usr/bin/env python3
"""Proves that scripts/check_includes.py fails on planted violations and passes what is allowed."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "scripts"))
import check_includes  # noqa: E402

# A small tree that keeps all rules.
CLEAN = {
    "base/a.h": "#include <string>\n",
    "base/a.cc": '#include "base/a.h"\n#include <fmt/format.h>\n#include <unistd.h>\n',
    "hardware/platform.h": '#include "base/a.h"\n',
    "hardware/load.cc": "#include <yaml-cpp/yaml.h>\n",
    "graphs/ir/exec_graph.h": '#include "base/a.h"\n',
    "graphs/ir/graph.h": "",
    "graphs/ops/work.h": '#include "graphs/ir/graph.h"\n',
    "graphs/algorithms/order.cc": "#include <boost/graph/adjacency_list.hpp>\n",
    "graphs/onnx/proto_internal.h": "#include <onnx/onnx_pb.h>\n",
    "graphs/onnx/import.cc": '#include "graphs/onnx/proto_internal.h"\n#include "graphs/ops/work.h"\n',
    "opmodel/cost_model.h": '#include "hardware/platform.h"\n#include "graphs/ops/work.h"\n',
    "opmodel/xgb.cc": "#include <xgboost/c_api.h>\n",
    "partition/split.h": '#include "opmodel/cost_model.h"\n',
    "schedulers/scheduler.h": '#include "opmodel/cost_model.h"\n',
    "schedulers/heft.h": '#include "schedulers/scheduler.h"\n',
    "sim/engine.h": '#include "schedulers/scheduler.h"\n#include "graphs/ir/exec_graph.h"\n',
    "study/predict.h": '#include "sim/engine.h"\n',
    "report/json.h": '#include "study/predict.h"\n',
    "cli/main.cc": '#include "report/json.h"\n#include <CLI/CLI.hpp>\n',
    "tests/sim/t.cc": '#include "sim/engine.h"\n#include <catch2/catch.hpp>\n'
    '#include "graphs/onnx/proto_internal.h"\n',
    "bench/b.cc": '#include "sim/engine.h"\n#include <benchmark/benchmark.h>\n',
}

# (planted file, its text, what the message must say)
PLANTED = [
    ("base/up.h", '#include "hardware/platform.h"\n', "base/ must not include"),
    ("hardware/side.cc", '#include "graphs/ir/graph.h"\n', "hardware/ must not include"),
    ("graphs/ir/up.cc", '#include "graphs/ops/work.h"\n', "graphs/ir/ must not include"),
    ("graphs/ops/up.cc", '#include "graphs/onnx/proto_internal.h"\n', "internal to graphs/onnx/"),
    ("graphs/passes/side.cc", '#include "graphs/onnx/import.h"\n', "graphs/passes/ must not include"),
    ("opmodel/up.h", '#include "sim/engine.h"\n', "opmodel/ must not include"),
    ("partition/side.cc", '#include "schedulers/scheduler.h"\n', "partition/ must not include"),
    ("schedulers/side.cc", '#include "partition/split.h"\n', "schedulers/ must not include"),
    ("sim/policy.cc", '#include "schedulers/heft.h"\n', "sim/ must not include"),
    ("sim/graph.cc", '#include "graphs/ir/graph.h"\n', "sim/ must not include"),
    ("sim/up.cc", '#include "report/json.h"\n', "sim/ must not include"),
    ("study/up.cc", '#include "report/json.h"\n', "study/ must not include"),
    ("report/side.cc", '#include "sim/engine.h"\n', "report/ must not include"),
    ("report/up.cc", '#include "cli/command.h"\n', "report/ must not include"),
    ("cli/lost.cc", '#include "command.h"\n', "file of this project; write the path from the root"),
    ("graphs/onnx/shown.h", "#include <onnx/onnx_pb.h>\n", "allowed only in graphs/onnx/*.cc"),
    ("sim/proto.cc", "#include <google/protobuf/message.h>\n", "allowed only in graphs/onnx/*.cc"),
    ("sim/learned.cc", "# include <xgboost/c_api.h>\n", "allowed only in opmodel/*.cc"),
    ("opmodel/yaml.cc", "#include <yaml-cpp/yaml.h>\n", "allowed only in hardware/*.cc"),
    ("hardware/shown.h", "#include <yaml-cpp/yaml.h>\n", "allowed only in hardware/*.cc"),
    ("graphs/ir/bgl.cc", "#include <boost/graph/graph_traits.hpp>\n", "allowed only in graphs/alg"),
    ("datasets/shown.h", "#include <nlohmann/json.hpp>\n", "allowed only in base/json/json_tree.cc"),
    ("report/args.cc", "#include <CLI/CLI.hpp>\n", "allowed only in cli/*"),
    ("base/zip.h", "#include <zlib.h>\n", "allowed only in *.cc"),
    ("sim/unit.cc", "#include <catch2/catch.hpp>\n", "allowed only in tests/*"),
    ("sim/new.cc", "#include <eigen3/Eigen/Dense>\n", "neither standard nor a known third party"),
    ("graphs/loose.cc", "#include <string>\n", "in no folder that the rules know"),
]
# Files that the planted includes name and that must exist for the layer rule to be what fails.
TARGETS = {"graphs/onnx/import.h": "", "cli/command.h": ""}


def write_tree(folder, files):
    for name, text in files.items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def violations(files):
    with tempfile.TemporaryDirectory() as folder:
        write_tree(folder, files)
        return check_includes.check_tree(pathlib.Path(folder))[1]


def run_script(files):
    with tempfile.TemporaryDirectory() as folder:
        write_tree(folder, files)
        command = [sys.executable, check_includes.__file__, "--root", folder]
        return subprocess.run(command, capture_output=True, text=True, check=False)


class CheckIncludes(unittest.TestCase):
    def test_clean_tree_passes(self):
        result = run_script(CLEAN | TARGETS)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_every_planted_violation_is_found_alone(self):
        for name, text, message in PLANTED:
            with self.subTest(planted=name):
                found = violations(CLEAN | TARGETS | {name: text})
                self.assertEqual(len(found), 1, found)
                self.assertTrue(found[0].startswith(f"{name}:1: "), found[0])
                self.assertIn(message, found[0])

    def test_a_violation_fails_the_script_and_names_the_line(self):
        result = run_script(CLEAN | {"base/up.h": '// text\n\n#include "cli/main.cc"\n'})
        self.assertEqual(result.returncode, 1)
        self.assertIn("base/up.h:3: ", result.stderr)

    def test_headers_in_no_list_are_internal(self):
        tree = CLEAN | TARGETS | {
            "cmake/public_headers.cmake": "set(DFSIM_PUBLIC_HEADERS\n  base/a.h\n  sim/engine.h\n)\n",
            "scripts/shared_headers.txt": "# Shared.\n" + "".join(
                f"{name}\n" for name in CLEAN if name.endswith(".h") and name not in (
                    "base/a.h", "sim/engine.h", "schedulers/heft.h")
                and not name.endswith("_internal.h") and not name.startswith("report/")),
            "sim/own.h": "", "sim/use.cc": '#include "sim/own.h"\n',
            "tests/sim/own.cc": '#include "sim/own.h"\n'}
        self.assertEqual([], violations(tree))
        found = violations(tree | {"cli/up.cc": '#include "sim/own.h"\n'})
        self.assertEqual(1, len(found), found)
        self.assertIn('"sim/own.h" is internal to sim/', found[0])
        gone = tree["scripts/shared_headers.txt"] + "sim/gone.h\n"
        self.assertEqual(["scripts/shared_headers.txt:1: sim/gone.h is not a file; remove the line"],
                         violations(tree | {"scripts/shared_headers.txt": gone}))

    def test_an_empty_tree_is_no_success(self):
        self.assertEqual(run_script({"README.md": ""}).returncode, 1)


if __name__ == "__main__":
    unittest.main()
