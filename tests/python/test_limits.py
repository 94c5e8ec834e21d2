"""A prediction and a sweep of models that dfsim knows in part have lower limits and say so."""

import json
import math
import pathlib

import numpy as np
import pytest

import dfsim

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESNET = str(ROOT / "graphs/zoo/resnet50.onnx")
UNKNOWN = str(ROOT / "tests/golden/data/partly_unknown.onnx")
LARGE = str(ROOT / "graphs/zoo/gpt2_large.onnx")


def same(found, expected):
    """A number of Python and of the JSON, where null is nan."""
    return math.isnan(found) if expected is None else found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("options", [{"model": RESNET}, {"model": RESNET, "cost_model": "sol"},
                                     {"model": UNKNOWN, "allow_incomplete": True}])
def test_a_prediction_says_what_its_json_says(options):
    result = dfsim.predict(hardware="a100", **options)
    fields = json.loads(result.to_json())
    for name in ("complete", "is_limit", "fits"):
        assert getattr(result, name) is fields[name]
    for name in ("latency_ms", "latency_at_least_ms", "throughput_per_s", "throughput_at_most_per_s"):
        assert same(getattr(result, name), fields[name]), name
    low, high = result.interval
    assert same(low, fields["latency_interval_ms"]["low"]) and same(high, fields["latency_interval_ms"]["high"])


def test_the_repr_of_a_limit_says_so():
    estimate = dfsim.predict(RESNET, "a100")
    assert f"batch 1: {estimate.latency_ms:.3f} ms (80 %: " in repr(estimate)
    bound = dfsim.predict(RESNET, "a100", cost_model="sol")
    assert f"batch 1: ≥ {bound.latency_ms:.3f} ms" in repr(bound)
    part = dfsim.predict(UNKNOWN, "a100", allow_incomplete=True)
    low, _ = part.interval
    assert f"batch 1: at least {part.latency_at_least_ms:.3f} ms (80 %: {low:.3f} or more)" in repr(part)


def test_a_model_that_does_not_fit_has_an_error_of_its_own():
    with pytest.raises(dfsim.DoesNotFitError, match="or accept it with allow_oversubscription=True$") as error:
        dfsim.predict(LARGE, "p4", batch=64)
    result = error.value.result
    assert not isinstance(error.value, dfsim.IncompleteError) and isinstance(error.value, dfsim.FailedError)
    assert result.complete and not result.fits and result.latency_ms > 0
    accepted = dfsim.predict(LARGE, "p4", batch=64, allow_oversubscription=True)
    assert accepted.latency_ms == result.latency_ms


def test_a_result_that_is_no_limit_is_a_failed_error():
    with pytest.raises(dfsim.FailedError, match="no deployment keeps the limits") as error:
        dfsim.llm.search(str(ROOT / "examples/llm/qwen3-8b.json"), system="l40s", gpus=2, isl=256, osl=32,
                         sla="tpot=5")
    assert type(error.value) is dfsim.FailedError
    assert error.value.result is not None


def test_the_types_of_columns_do_not_depend_on_the_data():
    works = dfsim.sweep(RESNET, "a100").rows
    with pytest.raises(dfsim.FailedError) as error:
        dfsim.sweep("nope.onnx", "a100")
    fails = error.value.result.rows
    some = dfsim.sweep([RESNET, "nope.onnx"], "a100").rows
    part = dfsim.sweep(UNKNOWN, "a100", allow_incomplete=True).rows
    types = {name: column.dtype for name, column in works.items()}
    for table in (fails, some, part):
        assert {name: column.dtype for name, column in table.items()} == types
    assert types["latency_ms"] == types["flops"] == np.float64
    assert types["batch"] == np.int64 and types["fits"] == np.bool_ and types["error"] == object
    assert np.isnan(fails["latency_ms"]).all() and np.isnan(fails["flops"]).all()
    assert not fails["complete"].any() and list(fails["batch"]) == [0]
    assert some["latency_ms"][some["complete"]] == works["latency_ms"]


def test_a_sweep_fails_where_the_command_line_does():
    with pytest.raises(dfsim.FailedError, match="^all points failed; the first: nope.onnx") as error:
        dfsim.sweep(["nope.onnx", "neither.onnx"], "a100")
    assert error.value.result.failed == len(error.value.result) == 2
    with pytest.raises(dfsim.IncompleteError, match="accept them with allow_incomplete=True$") as error:
        dfsim.sweep([UNKNOWN, RESNET], "a100")
    accepted = dfsim.sweep([UNKNOWN, RESNET], "a100", allow_incomplete=True)
    assert accepted.to_csv() == error.value.result.to_csv()
    assert list(accepted.rows["complete"]) == [False, True]


def test_a_sweep_on_workers_fails_as_well():
    with pytest.raises(dfsim.FailedError, match="^all points failed; the first: nope.onnx") as error:
        dfsim.sweep("nope.onnx", "a100", executor="processes", parts=2)
    assert error.value.result.failed == 1
    with pytest.raises(dfsim.IncompleteError):
        dfsim.sweep(UNKNOWN, "a100", executor="processes", parts=2)


def test_the_number_of_rows_of_a_summary():
    result = dfsim.predict(RESNET, "a100")
    with pytest.raises(dfsim.InvalidInputError, match="^top: found -1, expected 0 or more; [^\n]*$"):
        result.summary(-1)
    with pytest.raises(TypeError, match="^top: found a value of type str, expected a whole number$"):
        result.summary("x")
    assert result.summary(np.int64(3)) == result.summary(3)
    assert result.summary(2**70) == result.summary(10**6)
