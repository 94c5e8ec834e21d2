"""Bad input in every door of the package: an exception that says what is wrong, never a crash."""

import io
import multiprocessing
import os
import pathlib
import threading

import numpy as np
import pytest

import dfsim

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESNET = str(ROOT / "graphs/zoo/resnet18.onnx")
HEFT = str(ROOT / "examples/taskgraphs/heft_paper.json")


@pytest.mark.parametrize("value", [None, 3, 2.5, [], {}, object(), b"", dfsim.Hardware])
def test_things_that_are_no_model(value):
    with pytest.raises((TypeError, dfsim.Error)):
        dfsim.predict(value, "a100")
    with pytest.raises((TypeError, dfsim.Error)):
        dfsim.compare(value, "a100", policies="heft")


@pytest.mark.parametrize("options", [
    {"batch": 1.5}, {"batch": True}, {"batch": "8"}, {"strict": 1}, {"strict": "yes"}, {"seed": []},
    {"rate": "fast"}, {"rate": True}, {"precision": 16}, {"dims": ["sequence=3"]}, {"dims": 3},
    {"dims": {"sequence": 1.5}}, {"input_shapes": {"x": [1, None]}}, {"progress": 3},
    {"cost_model": 3}, {"policy": object()}, {"bach": 8},
])
def test_values_of_a_wrong_type(options):
    with pytest.raises(TypeError):
        dfsim.predict(RESNET, "a100", **options)


@pytest.mark.parametrize("options", [
    {"batch": 0}, {"batch": -1}, {"batch": 2**63}, {"requests": 0}, {"requests": -1},
    {"rate": float("nan"), "requests": 2}, {"rate": -1.0, "requests": 2}, {"repeat": -3},
    {"accumulate": 10**6}, {"branch": "maybe"}, {"mode": "learn"}, {"in_flight": 2},
    {"precision": "fp17"}, {"policy": "no-such"}, {"runtime": "no-such"},
    {"cost_model": "no-such"}, {"dims": {"no-such": 3}}, {"batch": 10**18},
])
def test_values_out_of_range(options):
    with pytest.raises(dfsim.Error):
        dfsim.predict(RESNET, "a100", **options)


def test_numpy_numbers_are_numbers():
    expected = dfsim.predict(RESNET, "a100", batch=4).latency_ms
    assert dfsim.predict(RESNET, "a100", batch=np.int64(4)).latency_ms == expected
    assert dfsim.predict(RESNET, "a100", dims={}, batch=np.uint8(4)).latency_ms == expected


@pytest.mark.parametrize("text", ["a\0b", "\udcff", "x" * 100_000, "--help", "-", "", "=", "[a]"])
def test_strange_texts(text):
    for call in (lambda: dfsim.predict(text, "a100"), lambda: dfsim.predict(RESNET, text),
                 lambda: dfsim.predict(RESNET, "a100", runtime=text or "?"),
                 lambda: dfsim.analyze([text]), lambda: dfsim.llm.inspect(text)):
        with pytest.raises((dfsim.Error, ValueError)):
            call()


def test_files_that_are_closed_or_of_text(tmp_path):
    with open(RESNET, "rb") as file:
        model = dfsim.load(file)
    assert model.predict("a100").latency_ms == dfsim.predict(RESNET, "a100").latency_ms
    with pytest.raises(ValueError, match="closed"):
        dfsim.load(file)
    with pytest.raises(TypeError, match="mode 'rb'"):
        dfsim.load(io.StringIO("text"))
    model = dfsim.load(pathlib.Path(RESNET).read_bytes())
    pathlib.Path(model.path).unlink()
    with pytest.raises(dfsim.NotFoundError):
        model.predict("a100")


def test_names_of_files_that_are_no_utf8(tmp_path):
    file = os.path.join(os.fsencode(tmp_path), b"m\xff.onnx")
    with open(file, "wb") as out:
        out.write(pathlib.Path(RESNET).read_bytes())
    expected = dfsim.predict(RESNET, "a100").latency_ms
    assert dfsim.predict(os.fsdecode(file), "a100").latency_ms == expected
    assert dfsim.predict(pathlib.Path(os.fsdecode(file)), "a100").latency_ms == expected


def test_a_prediction_outlives_its_model():
    result = dfsim.load(pathlib.Path(RESNET).read_bytes(), name="mine").predict("a100")
    assert result.model == "mine"
    assert len(result.ops["name"]) > 20 and result.to_json()


def test_huge_input():
    with pytest.raises(dfsim.InvalidInputError):
        dfsim.load(b"\x0a" + b"\xff" * (64 << 20)).predict("a100")
    with pytest.raises(dfsim.Error):
        dfsim.sweep(RESNET, "a100", batch="1:1000000000000")
    with pytest.raises(dfsim.Error):
        dfsim.predict(RESNET, "a100", dims={f"d{i}": i for i in range(20_000)})


def test_one_model_from_many_threads():
    model = dfsim.load(pathlib.Path(RESNET).read_bytes())
    expected = {batch: dfsim.predict(RESNET, "t4", batch=batch).latency_ms for batch in range(1, 9)}
    found = {}
    failures = []

    def work(batch):
        try:
            found[batch] = model.predict("t4", batch=batch).latency_ms
            with pytest.raises(dfsim.Error):
                model.predict("no-such", batch=batch)
        except BaseException as error:  # noqa: B902 - shown by the assertion
            failures.append(error)

    threads = [threading.Thread(target=work, args=(batch,)) for batch in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and found == expected


def test_results_of_threads_do_not_mix():
    """The output of a command belongs to the thread that called it."""
    kinds = [lambda: dfsim.ops("attention"), lambda: dfsim.hardware("a100"),
             lambda: dfsim.compare(HEFT, policies="heft", planning_time=False),
             lambda: dfsim.inspect(RESNET)]
    expected = [kind().to_json() for kind in kinds]
    found = [[] for _ in kinds]

    def work(i):
        for _ in range(10):
            found[i].append(kinds[i]().to_json())

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(kinds))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[text] * 10 for text in expected]


def latency_of(batch):
    return dfsim.predict(RESNET, "a100", batch=batch).latency_ms


def test_forked_workers():
    expected = [latency_of(batch) for batch in (1, 2, 4)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(latency_of, (1, 2, 4)) == expected


class Fixed(dfsim.Scheduler):
    def __init__(self, answer, name="fixed"):
        self.name = name
        self.answer = answer

    def plan(self, problem):
        return self.answer(problem) if callable(self.answer) else self.answer


def compare(*policies):
    return dfsim.compare(HEFT, policies=list(policies), planning_time=False)


def test_a_scheduler_plans_once():
    seen = []

    def everything_on_one(problem):
        seen.append(problem)
        return [0] * len(problem.task_names)

    result = compare(Fixed(everything_on_one))
    (problem,) = seen
    assert problem.times_ns.shape == (10, 3) and problem.edges.shape == (15, 2)
    assert (problem.edges[:, 0] < problem.edges[:, 1]).all()
    assert problem.edge_bytes.shape == (15,) and problem.ns_per_byte.shape == (3, 3)
    # Everything on one processor takes the sum of its times there.
    assert result["policies"][0]["makespan_ms"] == pytest.approx(
        problem.times_ns[:, 0].sum() / 1e6)


def list_schedule(problem, devices, ranks):
    """The makespan of the plan that plan() describes, without dfsim's code."""
    into = {task: [] for task in range(len(devices))}
    for (start, end), size in zip(problem.edges.tolist(), problem.edge_bytes.tolist()):
        into[end].append((start, size))
    finish = {}
    free = [0.0] * len(problem.device_names)
    while len(finish) < len(devices):
        ready = [task for task in into if task not in finish
                 and all(start in finish for start, _ in into[task])]
        task = max(ready, key=lambda task: (ranks[task], -task))
        device = devices[task]
        arrivals = [finish[start] + (0 if devices[start] == device or size == 0 else
                                     problem.latency_ns[devices[start], device] +
                                     size * problem.ns_per_byte[devices[start], device])
                    for start, size in into[task]]
        finish[task] = max([free[device], *arrivals]) + problem.times_ns[task, device]
        free[device] = finish[task]
    return max(finish.values()) / 1e6


@pytest.mark.parametrize("sign", [1, 0, -1])
def test_priorities_decide_the_order_on_a_device(sign):
    expected = []

    def plan(problem):
        ranks = sign * problem.times_ns.mean(axis=1)
        devices = [i % 2 for i in range(10)]
        expected.append(list_schedule(problem, devices, ranks))
        return devices, ranks

    (found,) = compare(Fixed(plan))["policies"]
    assert found["makespan_ms"] == pytest.approx(expected[0], rel=1e-6)


def test_a_scheduler_in_predict():
    first = dfsim.predict(RESNET, "a100")
    result = dfsim.predict(RESNET, "a100", policy=Fixed(
        lambda problem: problem.times_ns.argmax(axis=1)))
    assert result.latency_ms == first.latency_ms  # one device that can run them


@pytest.mark.parametrize("answer,expected", [
    ([0], "gave 1 devices, expected 10"),
    ([9] * 10, "on device 9, expected 0 to 2"),
    ([-1] * 10, "on device -1"),
    (([0] * 10, [1.0]), "gave 1 priorities"),
    (([0] * 10, [float("nan")] * 10), "is nan"),
])
def test_schedulers_with_wrong_answers(answer, expected):
    with pytest.raises(dfsim.InvalidInputError, match=expected):
        compare(Fixed(answer))


@pytest.mark.parametrize("answer", [None, "devices", [0.5] * 10, [[0]] * 10, [None] * 10])
def test_schedulers_with_answers_of_a_wrong_type(answer):
    with pytest.raises((TypeError, ValueError)):
        compare(Fixed(answer))


def test_schedulers_that_raise():
    with pytest.raises(ZeroDivisionError):
        compare(Fixed(lambda problem: 1 / 0))
    with pytest.raises(NotImplementedError):
        compare(dfsim.Scheduler.__new__(type("Empty", (dfsim.Scheduler,), {})))
    with pytest.raises(dfsim.InvalidInputError, match="heft"):
        compare(Fixed([0] * 10, "heft"))
    with pytest.raises(ValueError, match="two schedulers"):
        compare(Fixed([0] * 10), Fixed([1] * 10))


def test_tables_have_the_arrow_interface():
    pyarrow = pytest.importorskip("pyarrow")
    ops = dfsim.predict(RESNET, "a100").ops
    table = pyarrow.RecordBatchReader.from_stream(ops).read_all()
    table.validate(full=True)
    assert table.column_names == list(ops)
    assert table.schema.field("duration_ns").type == pyarrow.int64()
    assert table.schema.field("critical").type == pyarrow.bool_()
    for name, column in ops.items():
        assert table[name].to_pylist() == column.tolist()
    # Missing values, and columns that are taken out before the rest is freed.
    rows = dfsim.sweep([RESNET, "missing.onnx"], "a100", batch=1).rows
    table = pyarrow.RecordBatchReader.from_stream(rows).read_all()
    error = table["error"]
    del table
    assert error.to_pylist()[1].startswith("missing.onnx")
    empty = pyarrow.RecordBatchReader.from_stream(dfsim.Table()).read_all()
    assert empty.num_rows == 0


def test_an_arrow_stream_that_is_not_read_is_freed():
    ops = dfsim.predict(RESNET, "a100").ops
    for _ in range(1000):
        ops.__arrow_c_stream__()


def test_incomplete_results_are_errors_with_the_result():
    model = str(ROOT / "tests/golden/data/partly_unknown.onnx")
    with pytest.raises(dfsim.IncompleteError, match="lower limits") as error:
        dfsim.predict(model, "l4")
    assert error.value.result.latency_at_least_ms > 0
    accepted = dfsim.predict(model, "l4", allow_incomplete=True)
    assert accepted.latency_at_least_ms == error.value.result.latency_at_least_ms


def test_progress_on_a_bar(capsys):
    dfsim.predict(RESNET, "a100", progress=True)
    dfsim.sweep(RESNET, "a100", batch="1:4", progress=True)
    assert capsys.readouterr().out == ""
