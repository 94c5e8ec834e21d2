"""Models from memory, iterables in the place of lists, and files in the place of results."""

import copy
import csv
import gc
import gzip
import json
import os
import pathlib
import pickle

import pytest

import dfsim

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESNET = ROOT / "graphs/zoo/resnet18.onnx"
LSTM = ROOT / "graphs/zoo/lstm.onnx"


def test_generate_with_an_output_gives_the_graph(tmp_path):
    file = tmp_path / "graph.json"
    written = dfsim.generate(tasks=10, seed=3, output=file)
    shown = dfsim.generate(tasks=10, seed=3)
    assert written.to_json() == shown.to_json() == file.read_text(encoding="utf-8")
    assert written.data == json.loads(file.read_text(encoding="utf-8"))
    assert repr(written) == "<dfsim result>"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_of_a_model_keeps_its_file(copied):
    model = dfsim.load(RESNET.read_bytes(), name="mine")
    expected = model.predict("a100").to_json()
    second = copied(model)
    del model
    gc.collect()
    assert second.predict("a100").to_json() == expected
    path = second.path
    del second
    gc.collect()
    assert not os.path.exists(path)


def test_a_model_can_be_pickled():
    model = dfsim.load(RESNET.read_bytes(), name="mine")
    again = pickle.loads(pickle.dumps(model))
    assert again.predict("a100").to_json() == model.predict("a100").to_json()


def test_sweeps_take_iterables():
    expected = dfsim.sweep([str(RESNET), str(LSTM)], ["a100", "t4"], batch=[1, 2]).to_csv()
    files = (str(file) for file in (RESNET, LSTM))
    machines = (name for name in ("a100", "t4"))
    assert dfsim.sweep(files, machines, batch=(batch for batch in (1, 2))).to_csv() == expected
    loaded = (dfsim.load(file) for file in (RESNET, LSTM))
    assert dfsim.sweep(loaded, (dfsim.Hardware(name) for name in ("a100", "t4")), batch=range(1, 3)).to_csv() \
        == expected


def sweep_of_contents(**options):
    return dfsim.sweep([RESNET.read_bytes(), LSTM.read_bytes(), dfsim.load(RESNET.read_bytes(), name="mine")],
                       "a100", **options)


def test_models_of_bytes_have_the_same_names_in_every_sweep(tmp_path):
    first, second = sweep_of_contents(), sweep_of_contents()
    assert first.to_csv() == second.to_csv() and first.to_json() == second.to_json()
    assert first.to_json_lines() == second.to_json_lines() and first.summary() == second.summary()
    assert [row["file"] for row in csv.DictReader(first.to_csv().splitlines())] == ["model", "model-2", "mine"]
    assert list(first.rows["file"]) == ["model", "model-2", "mine"]
    sweep_of_contents(output=tmp_path / "rows.csv", html=tmp_path / "page.html")
    assert (tmp_path / "rows.csv").read_text(encoding="utf-8") == first.to_csv()
    assert "/dfsim-" not in (tmp_path / "page.html").read_text(encoding="utf-8")
    sweep_of_contents(output=tmp_path / "rows.csv.gz")
    assert gzip.decompress((tmp_path / "rows.csv.gz").read_bytes()).decode() == first.to_csv()
    assert sweep_of_contents(executor="processes", parts=2).to_csv() == first.to_csv()


def test_torch_says_why_it_could_not_export(capfd):
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")

    class Branches(torch.nn.Module):
        def forward(self, x):
            return x * 2 if x.sum() > 0 else x

    class Raises(torch.nn.Module):
        def forward(self, x):
            raise RuntimeError("my\n\x1b[96mown\x1b[0m reason")

    for module, inputs, reason in [
            (torch.nn.Conv2d(3, 8, 3), torch.zeros(1, 4, 16, 16), "to have 3 channels, but got 4 channels"),
            (Branches(), torch.zeros(4), "data-dependent"),
            (torch.nn.Linear(4, 4, device="meta"), torch.zeros(1, 4, device="meta"), "meta tensor"),
            (Raises(), torch.zeros(4), "my own reason")]:
        with pytest.raises(dfsim.InvalidInputError) as error:
            dfsim.load(module, inputs=inputs)
        message = str(error.value)
        assert message.startswith(f"{type(module).__name__}: torch could not export it to ONNX: ")
        assert reason in message and "\n" not in message and "\x1b" not in message
    assert capfd.readouterr() == ("", "")
