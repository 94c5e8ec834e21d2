"""Messages name the parameters of Python, and models from memory by their names."""

import pathlib

import pytest

import dfsim
from dfsim import _messages

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESNET = str(ROOT / "graphs/zoo/resnet18.onnx")
UNKNOWN = ROOT / "tests/golden/data/partly_unknown.onnx"


def message_of(call):
    with pytest.raises((TypeError, dfsim.Error)) as error:
        call()
    (text,) = error.value.args
    return text


@pytest.mark.parametrize("call, expected", [
    (lambda: dfsim.predict(RESNET, 3), "hardware: found a value of type int, expected a text or a path"),
    (lambda: dfsim.predict(RESNET, "a100", dims=3), "dims: found a value of type int, expected a dict"),
    (lambda: dfsim.predict(RESNET, "a100", trip_counts={"x": 1.5}),
     "trip_counts: found a value of type float, expected a whole number"),
    (lambda: dfsim.predict(RESNET, None),
     "hardware is required; dfsim hardware lists the machines that dfsim knows"),
    (lambda: dfsim.predict(None, "a100"), "model is required"),
    (lambda: dfsim.train(str(ROOT / "datasets/measured/epyc-milan/unseen_ops.csv.gz")),
     "no place for the model: give directory=DIR, or extend=DIR to add to a model"),
    (lambda: dfsim.sweep(RESNET, "a100", output="x.txt"),
     "output x.txt: found another ending, expected .csv or .jsonl, with or without .gz; name it so"),
    (lambda: dfsim.sweep(RESNET, "a100", batch=[]),
     "batch: found an empty list, expected one value or more; give one, or leave batch out for the default"),
])
def test_messages_name_parameters(call, expected):
    assert message_of(call) == expected


def test_a_way_out_is_one_of_python():
    message = message_of(lambda: dfsim.predict(UNKNOWN, "l4"))
    assert message.endswith("give the extent with dims={'r[0]': N}, or accept limits with allow_incomplete=True")
    two = "with --dim 'a=N' --dim 'b=N', or --allow-incomplete"
    assert _messages.in_python("predict", two, {}) == "with dims={'a': N, 'b': N}, or allow_incomplete=True"
    assert _messages.in_python("sweep", "wait for it, or give another -o", {}).endswith("give another output")
    # Values that the caller gave and options of other commands stay.
    for text in ("found '--hw', expected", "see a--hw and x/-o", "say --no-such to it"):
        assert _messages.in_python("predict", text, {}) == text


def test_a_model_of_bytes_is_named_in_messages():
    model = dfsim.load(UNKNOWN.read_bytes(), name="mine")
    assert message_of(lambda: model.predict("l4")).startswith("mine: the work of 1 of 4 operators")
    assert message_of(lambda: dfsim.sweep(dfsim.load(b"\x08\x07no", name="mine"), "l4")).startswith(
        "all points failed; the first: mine: ")
