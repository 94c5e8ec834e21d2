"""The Python package: the same results as the command line, errors, cancellation, sweeps."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import dfsim
from golden_calls import in_python, without_help

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESNET = str(ROOT / "graphs/zoo/resnet18.onnx")
BERT = str(ROOT / "graphs/zoo/bert_base.onnx")
LSTM = str(ROOT / "graphs/zoo/lstm.onnx")
HEFT = str(ROOT / "examples/taskgraphs/heft_paper.json")
TRACE = str(ROOT / "tests/golden/data/kineto_small.json")
PROFILE = str(ROOT / "datasets/measured/epyc-milan/unseen_ops.csv.gz")


def cli(*arguments):
    done = subprocess.run([os.environ["DFSIM"], *arguments], capture_output=True, text=True,
                          check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def cli_error(*arguments):
    done = subprocess.run([os.environ["DFSIM"], *arguments], capture_output=True, text=True,
                          check=False, timeout=300)
    assert done.returncode == 2
    return in_python(arguments[0], without_help(done.stderr.strip().removeprefix("dfsim: error: ")))


def test_predict_equals_the_command_line():
    result = dfsim.load(RESNET).predict("a100", batch=8, runtime="torch-eager")
    assert result.to_json() == cli("predict", RESNET, "--hw", "a100", "--batch", "8", "--runtime",
                                   "torch-eager", "--json")
    assert result.latency_ms == json.loads(result.to_json())["latency_ms"]
    low, high = result.interval
    assert 0 < low < result.latency_ms < high
    assert result.throughput_per_s == pytest.approx(8 / result.latency_ms * 1e3)


def test_predict_options_equal_the_command_line():
    result = dfsim.predict(BERT, "v100-pcie", dims={"sequence": 64}, mode="train",
                           optimizer="sgd", repeat=3, seed=7)
    assert result.to_json() == cli("predict", BERT, "--hw", "v100-pcie", "--dim", "sequence=64",
                                   "--mode", "train", "--optimizer", "sgd", "--repeat", "3",
                                   "--seed", "7", "--json")


def test_ops_are_arrays():
    result = dfsim.predict(RESNET, "a100")
    ops = result.ops
    expected = json.loads(result.to_json())["ops"]
    assert {len(column) for column in ops.values()} == {len(expected)}
    assert ops["duration_ns"].dtype == np.int64
    assert list(ops["name"]) == [op["name"] for op in expected]
    assert ops["flops"].sum() == sum(op["flops"] for op in expected)


def stderr_of(*lines):
    done = subprocess.run([sys.executable, "-c", "\n".join(["import dfsim", *lines])],
                          capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_says_nothing_on_stderr_unless_asked():
    predict = f"dfsim.predict({RESNET!r}, 'a100')"
    assert stderr_of(predict) == ""
    log = stderr_of("dfsim.set_log_level('info')", predict)
    assert 'dfsim: info: cost model device="NVIDIA A100-SXM4-80GB"' in log
    assert "dfsim: info: operator times device=gpu0 class=conv " in log
    with pytest.raises(ValueError, match="level: found 'loud', expected one of trace"):
        dfsim.set_log_level("loud")


def test_hardware_has_devices():
    machine = dfsim.Hardware("dgx-a100", runtime="cuda-graph")
    assert [device["type"] for device in machine.devices].count("gpu") == 8
    assert machine.runtime == "cuda-graph"
    assert dfsim.predict(RESNET, machine).runtime == "cuda-graph"
    assert "a100" in " ".join(dfsim.machines())
    assert "torch-eager" in dfsim.runtimes()


def test_load_takes_bytes_and_protos():
    content = pathlib.Path(RESNET).read_bytes()
    from_file = dfsim.predict(RESNET, "a100")
    from_bytes = dfsim.load(content).predict("a100")
    assert from_bytes.latency_ms == from_file.latency_ms
    onnx = pytest.importorskip("onnx")
    assert dfsim.load(onnx.load(RESNET, load_external_data=False)).predict("a100").latency_ms == from_file.latency_ms


def test_a_temporary_model_is_removed():
    model = dfsim.load(pathlib.Path(LSTM).read_bytes())
    path = model.path
    assert os.path.exists(path)
    result = model.predict("a100")
    del model
    result.save_trace(os.devnull)  # the result keeps the file
    del result
    assert not os.path.exists(path)


def test_errors_have_the_texts_of_the_command_line(tmp_path):
    with pytest.raises(dfsim.NotFoundError) as error:
        dfsim.predict(RESNET, "a1000")
    assert str(error.value) == cli_error("predict", RESNET, "--hw", "a1000")
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"\x08\x07not a model")
    with pytest.raises(dfsim.InvalidInputError) as error:
        dfsim.predict(broken, "a100")
    assert str(error.value) == cli_error("predict", str(broken), "--hw", "a100")
    with pytest.raises(dfsim.NotFoundError):
        dfsim.load(tmp_path / "missing.onnx")
    assert issubclass(dfsim.InvalidInputError, ValueError)


def test_wrong_arguments_are_type_errors():
    with pytest.raises(TypeError, match="did you mean 'batch'"):
        dfsim.predict(RESNET, "a100", bach=3)
    with pytest.raises(TypeError, match="batch: found a value of type str, expected a whole"):
        dfsim.predict(RESNET, "a100", batch="eight")
    with pytest.raises(dfsim.InvalidInputError) as error:
        dfsim.predict(RESNET, "a100", requests=-1)
    assert str(error.value) == cli_error("predict", RESNET, "--hw", "a100", "--requests=-1").splitlines()[0]
    with pytest.raises(TypeError):
        dfsim.load(12)
    with pytest.raises(dfsim.InvalidInputError, match="^mode: learn not in {infer,train}"):
        dfsim.predict(RESNET, "a100", mode="learn")


@pytest.mark.parametrize("study,arguments", [
    (lambda: dfsim.compare(HEFT, policies=["heft", "cpop"], planning_time=False),
     ["compare", HEFT, "--policies", "heft,cpop", "--no-planning-time"]),
    (lambda: dfsim.partition(LSTM, "pcie-2gpu", cost_model="sol"),
     ["partition", LSTM, "--hw", "pcie-2gpu", "--cost-model", "sol"]),
    (lambda: dfsim.load(RESNET).roofline("a100", sweep="batch=1,8"),
     ["roofline", RESNET, "--hw", "a100", "--sweep", "batch=1,8"]),
    (lambda: dfsim.analyze(TRACE), ["analyze", TRACE]),
    (lambda: dfsim.evaluate("epyc-milan", PROFILE), ["evaluate", "--model", "epyc-milan", "--profiles", PROFILE]),
])
def test_studies_equal_the_command_line(study, arguments):
    result = study()
    assert result.to_json() == cli(*arguments, "--json")
    assert result["schema"].startswith("dfsim.")


def test_train_writes_a_model(tmp_path):
    result = dfsim.train(PROFILE, tmp_path / "model", rounds=3, threads=1)
    assert result["schema"].startswith("dfsim.train/")
    assert (tmp_path / "model" / "manifest.json").exists()


def test_reports_for_notebooks():
    result = dfsim.predict(RESNET, "a100")
    assert result._repr_html_().startswith("<iframe srcdoc=")
    assert result.to_html().lstrip().lower().startswith("<!doctype html")
    assert "<iframe" in dfsim.compare(HEFT, policies="heft")._repr_html_()


def test_a_trace_is_written(tmp_path):
    path = tmp_path / "trace.json"
    dfsim.predict(RESNET, "a100").save_trace(path)
    assert json.loads(path.read_text())["traceEvents"]


def test_progress_names_the_steps_and_an_exception_stops_the_work():
    steps = []
    dfsim.predict(RESNET, "a100", progress=lambda kind, text: steps.append((kind, text)))
    assert [kind for kind, _ in steps] == ["stage"] * 3
    assert steps[0][1].startswith("importing ")

    def stop(kind, text):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        dfsim.predict(RESNET, "a100", progress=stop)
    with pytest.raises(RuntimeError, match="enough"):
        dfsim.sweep(RESNET, "a100", batch="1:50", progress=stop)


def test_progress_says_how_far_it_is():
    seen = []
    dfsim.predict(RESNET, "a100", repeat=4000, progress=lambda kind, text: seen.append((kind, text)))
    far = [text for kind, text in seen if kind == "advance"]
    assert far and all(re.fullmatch(r"\d+ of 4000 runs", text) for text in far)
    assert [int(text.split()[0]) for text in far] == sorted(int(text.split()[0]) for text in far)


def test_ctrl_c_ends_the_work_inside_a_simulation():
    # Hundreds of thousands of runs take minutes, and no step begins after the first of them.
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        dfsim.predict(RESNET, "a100", repeat=1_000_000)
    timer.join()


def test_sweep_equals_the_command_line(tmp_path):
    table = dfsim.sweep([RESNET, LSTM], ["a100", "t4"], batch="1:4:x2", threads=2)
    assert table.to_csv() == cli("sweep", "--models", f"{RESNET},{LSTM}", "--hw", "a100,t4",
                                 "--batch", "1:4:x2", "--csv")
    assert len(table) == 12 and table.failed == 0
    assert table.rows["latency_ms"].dtype == float
    assert table.rows["batch"].dtype == np.int64
    first = dfsim.predict(RESNET, "a100", batch=1)
    assert table.rows["latency_ms"][0] == first.latency_ms


def test_sweep_costs_parameters_and_failures():
    table = dfsim.sweep([BERT, "missing.onnx"], "a100", params={"sequence": [16, 32]},
                        prices={"a100": 3.6}, mode=["infer"])
    assert table.failed == 2
    assert list(table.rows["param:sequence"]) == [16, 32, 16, 32]
    assert "missing.onnx" in table.rows["error"][2]
    assert np.isnan(table.rows["latency_ms"][2])
    per_s = table.rows["throughput_per_s"][0]
    assert table.rows["cost_per_million"][0] == pytest.approx(3.6 / 3600 / per_s * 1e6)
    assert table["models"][0]["best"]["cost"] is not None
    pyarrow = pytest.importorskip("pyarrow")
    assert table.to_arrow().num_rows == 4
    assert isinstance(table.to_arrow(), pyarrow.Table)


def test_a_machine_with_a_runtime_is_no_axis():
    with pytest.raises(TypeError, match="runtime="):
        dfsim.sweep(RESNET, [dfsim.Hardware("a100", runtime="cuda-graph")])


def test_threads_predict_at_once_and_agree():
    expected = dfsim.predict(RESNET, "a100").to_json()
    results = []
    threads = [threading.Thread(target=lambda: results.append(
        dfsim.predict(RESNET, "a100").to_json())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 6


def test_ctrl_c_stops_a_sweep():
    code = ("import sys, dfsim\n"
            "def tell(kind, text):\n"
            "    if text.startswith('point 3 '): print('running', flush=True)\n"
            f"dfsim.sweep([{RESNET!r}], dfsim.machines()[:4], batch='1:20000', progress=tell)\n")
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline().strip() == "running"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode != 0
    assert "KeyboardInterrupt" in errors


def test_a_forked_process_predicts():
    expected = dfsim.predict(LSTM, "a100").latency_ms
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, repr(dfsim.predict(LSTM, "a100").latency_ms).encode())
        os._exit(0)
    os.close(write)
    assert os.waitpid(child, 0)[1] == 0
    assert float(os.read(read, 100)) == expected
    os.close(read)


def test_a_cost_model_in_python():
    calls = []

    def predict_ops(ops, device):
        calls.append((len(ops), device["type"]))
        return [2.0 if op["op_class"] == "conv" else 1.0 for op in ops]

    result = dfsim.predict(RESNET, "a100", runtime="none", cost_model=predict_ops)
    assert len(calls) == 1 and calls[0][1] == "gpu"
    ops = result.ops
    assert set(ops["duration_ns"][ops["op_class"] == "conv"]) == {2000}
    assert set(ops["source"]) == {"predicted"}
    assert json.loads(result.to_json())["cost_model"] == "python"
    result.save_trace(os.devnull)
    assert len(calls) == 2


def test_a_cost_model_in_python_that_is_wrong():
    with pytest.raises(dfsim.InvalidInputError, match="expected .*, one per operator"):
        dfsim.predict(RESNET, "a100", cost_model=lambda ops, device: [1.0])
    with pytest.raises(dfsim.InvalidInputError, match="time of operator 0 is nan"):
        dfsim.predict(RESNET, "a100", cost_model=lambda ops, device: [float("nan")] * len(ops))
    with pytest.raises(ZeroDivisionError):
        dfsim.predict(RESNET, "a100", cost_model=lambda ops, device: 1 / 0)
