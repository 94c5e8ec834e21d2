"""The Python blocks of the guides run, one after the other, and the notebooks run as notebooks."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDES = ROOT / "docs/guides"
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.md"))


@pytest.fixture(name="folder")
def make_folder(tmp_path, monkeypatch):
    for name in ("graphs", "examples"):
        os.symlink(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_blocks(page):
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    names = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)  # pylint: disable=exec-used
    return len(blocks), names


def test_the_blocks_of_the_guide_run(folder, capsys):
    blocks, _ = run_blocks(GUIDES / "use-python.md")
    assert blocks >= 6
    shown = capsys.readouterr().out
    assert "unknown hardware 'a1000'" in shown
    assert (folder / "timeline.json").exists()


def test_the_guide_to_cost_models_runs(folder):
    blocks, names = run_blocks(GUIDES / "python-cost-model.md")
    assert blocks == 2
    assert names["result"].latency_ms > 0


def test_the_guide_to_schedulers_runs(folder, capsys):
    blocks, names = run_blocks(GUIDES / "python-scheduler.md")
    assert blocks == 2
    makespans = {policy["name"]: policy["makespan_ms"] for policy in names["result"]["policies"]}
    assert set(makespans) == {"heft", "least-loaded"}
    assert "least-loaded" in capsys.readouterr().out


@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda page: page.stem)
def test_notebooks_run(page, folder):
    needed = ["jupytext", "nbmake", "ipykernel"]
    if "torch" in page.stem:
        needed += ["torch", "onnxscript"]
    if "ray" in page.stem:
        needed += ["ray"]
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"this Python lacks {', '.join(missing)}; pip install them next to dfsim")
    notebook = folder / f"{page.stem}.ipynb"
    subprocess.run([sys.executable, "-m", "jupytext", "--quiet", "--to", "ipynb", "--output",
                    str(notebook), str(page)], check=True)
    # The kernel is this Python, whatever kernels are installed.
    done = subprocess.run([sys.executable, "-m", "pytest", "--nbmake", "-q", "-p",
                           "no:cacheprovider", "--nbmake-timeout=300", str(notebook)],
                          capture_output=True, text=True, check=False,
                          env=dict(os.environ, JUPYTER_PREFER_ENV_PATH="1"))
    assert done.returncode == 0, done.stdout[-5000:]
