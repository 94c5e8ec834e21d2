"""Every command: the same JSON as the command line, byte for byte, and errors with its texts.

The golden cases of the command line say what both are. A case that Python cannot express (an
unknown option, options about text) is left out; the last tests check that enough are left.
"""

import contextlib
import inspect
import os
import pathlib
import tempfile

import golden_calls
import pytest
from golden_calls import CASES, ROOT, TABLES, NotACall, call_of, function_of, masked, text_of

import dfsim

# Errors of the terminal alone: Python always gives the option that is missing, and prints no formats.
ALWAYS_GIVEN = {"analyze/timeline_without_json", "predict/markdown_and_json", "tune/not_on_host"}
# Calls whose JSON no golden case has.
EXTRA = [
    "llm predict examples/llm/qwen3-8b.json --system h100_sxm --tp 2 --batch 16",
    "llm search examples/llm/qwen3-8b.json --gpus 2 --isl 256 --osl 32",
    "predict graphs/zoo/bert_base.onnx --hw v100-pcie --dim sequence=64 --mode train "
    "--optimizer sgd --training-mode --repeat 3 --seed 7",
    "predict graphs/zoo/resnet18.onnx --hw a100 --batch 8 --precision fp16 --requests 20 "
    "--rate 50 --arrivals uniform --warm-up 2",
    "partition graphs/zoo/bert_base.onnx --hw pcie-2gpu --batch 4 --strategy pp --micro-batches 2",
    "inspect graphs/zoo/bert_base.onnx --dim sequence=32 --batch 2",
    "hardware dgx-a100",
    "analyze tests/golden/data/kineto_small.json --timeline --no-advice",
    "diff tests/golden/data/kineto_small.json tests/golden/data/kineto_small.json --nodes",
    "roofline graphs/zoo/resnet18.onnx --hw a100 --sweep batch=1,8",
    "replay tests/golden/data/kineto_small.json --scale kernel=0.5",
]


def golden_calls_that(wanted):
    found = []
    for case in golden_calls.golden.case_names():
        line = (CASES / case / "command").read_text(encoding="utf-8")
        code = CASES / case / "exit_code"
        code = int(code.read_text()) if code.exists() else 0
        # The folders are not known yet: only whether the line is a call matters here.
        with contextlib.suppress(NotACall, ValueError):
            path, arguments = call_of(line, {"tmp": "t", "scratch": "s"})
            if wanted(path, line, code) and case not in ALWAYS_GIVEN:
                found.append(pytest.param(case, id=case))
    return found


def bind(path, arguments):
    """Python itself refuses a call without what must be given."""
    try:
        inspect.signature(function_of(path)).bind(**arguments)
    except TypeError:
        pytest.skip("Python's own error: an argument is missing")


@pytest.fixture(name="folders")
def make_folders(monkeypatch):
    monkeypatch.chdir(ROOT)
    # Short names: messages shorten long ones.
    with tempfile.TemporaryDirectory(prefix="d") as folder:
        folders = {name: pathlib.Path(folder) / name for name in ("tmp", "scratch")}
        for one in folders.values():
            one.mkdir()
        yield folders


def shown(case, text, folders):
    for name, folder in folders.items():
        text = text.replace(str(folder), "{" + name + "}")
    return masked(case, text)


JSON_CASES = golden_calls_that(lambda path, line, code: "--json" in line)
ERROR_CASES = golden_calls_that(lambda path, line, code: code == 2)


@pytest.mark.parametrize("case", JSON_CASES)
def test_json_is_that_of_the_command_line(case, folders):
    golden_calls.run_before(os.environ["DFSIM"], case, folders)
    path, arguments = call_of((CASES / case / "command").read_text(encoding="utf-8"), folders)
    bind(path, arguments)
    expected = (CASES / case / "stdout").read_text(encoding="utf-8")
    code = CASES / case / "exit_code"
    if code.exists():
        with pytest.raises(dfsim.Error) as error:
            function_of(path)(**arguments)
        message = (CASES / case / "stderr").read_text(encoding="utf-8")
        message = golden_calls.in_python(path, message)
        assert shown(case, f"dfsim: error: {error.value}\n", folders) in message
        if expected:
            assert shown(case, error.value.result.to_json(), folders) == expected
        return
    assert shown(case, text_of(function_of(path)(**arguments)), folders) == expected


@pytest.mark.parametrize("line", EXTRA)
def test_more_json_is_that_of_the_command_line(line, folders):
    words = golden_calls.shlex.split(line)
    done = golden_calls.subprocess.run([os.environ["DFSIM"], *words, "--json"], cwd=ROOT,
                                       capture_output=True, text=True, check=True)
    path, arguments = call_of(line, folders)
    # An installed package has data of its own, and so has a program that was built in another copy of
    # the sources: both say where each file lies.
    own = str(pathlib.Path(dfsim.__file__).parent / "share" / "dfsim")
    built = str(pathlib.Path(os.environ["DFSIM"]).resolve().parents[2])
    expected = done.stdout.replace(built, str(ROOT))
    assert text_of(function_of(path)(**arguments)).replace(own, str(ROOT)) == expected


@pytest.mark.parametrize("case", ERROR_CASES)
def test_errors_have_the_texts_of_the_command_line(case, folders):
    golden_calls.run_before(os.environ["DFSIM"], case, folders)
    path, arguments = call_of((CASES / case / "command").read_text(encoding="utf-8"), folders)
    bind(path, arguments)
    with pytest.raises(dfsim.Error) as error:
        function_of(path)(**arguments)
    message = (CASES / case / "stderr").read_text(encoding="utf-8")
    message = golden_calls.in_python(path, golden_calls.without_help(message))
    assert shown(case, f"dfsim: error: {error.value}\n", folders) in message


def test_every_command_is_compared():
    lines = [(CASES / case.values[0] / "command").read_text(encoding="utf-8")
             for case in JSON_CASES] + EXTRA
    compared = {golden_calls.command_of(
        [word for word in line.split() if word != "-q"])[0] for line in lines}
    # It prints nothing, and its cases write binary files.
    assert set(TABLES) - compared == {"llm train"}
    assert len(ERROR_CASES) >= 40


def test_every_command_has_a_documented_function():
    for path in TABLES:
        function = function_of(path)
        names = [name for name in inspect.signature(function).parameters if name != "progress"]
        for name in names:
            assert f"{name}: " in function.__doc__ or f"{name} " in function.__doc__, (path, name)
