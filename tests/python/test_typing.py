"""The package is typed: mypy accepts it strictly, and refuses calls that are wrong."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

import dfsim

USES = '''
import dfsim

model = dfsim.load("m.onnx")
result = model.predict("a100", batch=8, precision="fp16", dims={"sequence": 3})
latency: float = result.latency_ms
low, high = result.interval
table = dfsim.sweep([model, "n.onnx"], ["a100", dfsim.Hardware("t4")], batch=[1, "2:8:x2"],
                    params={"sequence": "1:4"}, prices={"a100": 2.0})
text: str = dfsim.llm.serve("config.json", users=3).to_json()
'''
WRONG = '''
import dfsim

dfsim.predict("m.onnx", "a100", batch="8")
dfsim.predict("m.onnx", "a100", bach=8)
latency: str = dfsim.predict("m.onnx", "a100").latency_ms
'''


def mypy(tmp_path, *arguments):
    package = pathlib.Path(dfsim.__file__).parent
    # A package of the test's own path counts as installed, so py.typed is looked at.
    environment = dict(os.environ)
    if package.parent.name != "site-packages":
        environment["MYPYPATH"] = str(package.parent)
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir",
                           str(tmp_path / "cache"), *arguments], capture_output=True, text=True,
                          env=environment, cwd=tmp_path, check=False)
    return done.stdout + done.stderr


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None,
                    reason="this Python lacks mypy; ./test --setup installs it")
def test_types(tmp_path):
    (tmp_path / "uses.py").write_text(USES)
    (tmp_path / "wrong.py").write_text(WRONG)
    # An installed package has data next to its modules: programs that are not its own.
    found = mypy(tmp_path, "-p", "dfsim", "--exclude", "/dfsim/share/")
    assert found.startswith("Success"), found
    found = mypy(tmp_path, "uses.py")
    assert found.startswith("Success"), found
    found = mypy(tmp_path, "wrong.py")
    assert "Found 3 errors" in found, found


def test_the_stub_lists_the_compiled_module():
    package = pathlib.Path(dfsim.__file__).parent
    stub = (package / "_native/_dfsim.pyi").read_text(encoding="utf-8")
    for name in ("class Prediction", "class SweepTable", "def predict", "def run", "def commands"):
        assert name in stub
    assert (package / "py.typed").exists()
