"""Golden cases of the command line as calls of the Python package."""

import importlib.util
import pathlib
import re
import shlex
import subprocess
import sys

import dfsim
from dfsim import _commands
from dfsim._native import _dfsim

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = ROOT / "tests/golden/cases"


def _module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


sys.path.insert(0, str(ROOT / "tests/golden"))
golden = _module(ROOT / "tests/golden/run_golden.py")
generator = _module(ROOT / "python/generate_commands.py")


def tables(commands=None, path=""):
    """Every command that has a function: its path and its table of options."""
    for command in _dfsim.commands()["commands"] if commands is None else commands:
        whole = f"{path} {command['name']}".strip()
        if whole in generator.LEFT_OUT:
            continue
        if command["commands"]:
            yield from tables(command["commands"], whole)
        else:
            yield whole, command


TABLES = dict(tables())


class NotACall(Exception):
    """The arguments have no equivalent in Python, such as options about text."""


def command_of(words):
    for count in (2, 1):
        path = " ".join(words[:count])
        if path in TABLES:
            return path, words[count:]
    raise NotACall(words[:2])


def _number(text, number):
    try:
        return number(text)
    except ValueError as error:
        raise NotACall(text) from error


def _value(kind, texts):
    """Texts of the command line as values of Python."""
    if kind.startswith("dict"):
        pairs = dict(text.split("=", 1) for text in texts if "=" in text)
        if len(pairs) < len(texts) or kind == "dict[series]":
            raise NotACall(texts)
        return {name: tuple(_number(item, int) for item in value.split(",")) if "," in value
                else _number(value, int) for name, value in pairs.items()}
    if kind.startswith("list") or kind == "policies":
        inner = kind[5:-1] if kind.startswith("list") else "str"
        return [_value(inner, [text]) for text in texts]
    if kind in ("int", "float"):
        return _number(texts[-1], int if kind == "int" else float)
    return texts[-1]


def call_of(line, folders):
    """A golden command as (path of the command, keyword arguments)."""
    words = shlex.split(line, comments=True)
    for name, folder in folders.items():
        words = [word.replace("{" + name + "}", str(folder)) for word in words]
    path, words = command_of([word for word in words if word not in ("-q", "--quiet")])
    by_flag = {}
    behind = []
    for option in TABLES[path]["options"]:
        parameter = generator.Parameter(path, option)
        for name in option["names"].split(","):
            by_flag[name] = (parameter, option)
        if option["positional"]:
            behind.append((parameter, option))
    known = {parameter.name for parameter in generator.parameters_of(path, TABLES[path])}
    given = {}
    arguments = []
    while words:
        word = words.pop(0)
        if not word.startswith("-") or word == "-":
            arguments.append(word)
            continue
        flag, equals, value = word.partition("=")
        if flag == "--json" or flag == "--host":
            continue
        if flag not in by_flag or by_flag[flag][0].name not in known or \
                by_flag[flag][0].flag in ("--csv",):
            raise NotACall(word)
        parameter, option = by_flag[flag]
        if parameter.kind in ("flag", "no"):
            given[parameter] = [parameter.kind == "flag"]
            continue
        if not equals and (not words or words[0].startswith("--")):
            raise NotACall(word)
        given.setdefault(parameter, []).append(value if equals else words.pop(0))
        while option["type"].startswith("list") and not parameter.kind.startswith("dict") and \
                words and not words[0].startswith("-"):
            given[parameter].append(words.pop(0))
    for parameter, option in behind:
        if arguments:
            count = len(arguments) if option["type"].startswith("list") else 1
            given[parameter] = arguments[:count]
            arguments = arguments[count:]
    if arguments:
        raise NotACall(arguments)
    return path, {parameter.name: texts[0] if parameter.kind in ("flag", "no")
                  else _value(parameter.kind, texts) for parameter, texts in given.items()}


def function_of(path):
    return getattr(_commands, path.replace(" ", "_").replace("-", "_"))


def run_before(program, case, folders):
    for line in golden.lines_of(case, "before"):
        words = shlex.split(line)
        for name, folder in folders.items():
            words = [word.replace("{" + name + "}", str(folder)) for word in words]
        subprocess.run([program, *words], cwd=ROOT, check=True, capture_output=True)


def masked(case, text):
    for pattern in golden.lines_of(case, "masks"):
        text = re.sub(pattern, "{masked}", text)
    return text


def text_of(result):
    return result if isinstance(result, str) else result.to_json()


assert dfsim.__version__


def in_python(path, message):
    """A message of the command line with the names that Python's callers have in the place of options."""
    message = re.sub(r"--dim '([^'=]+)=N'", lambda found: f"dims={{{found[1]!r}: N}}", message)
    for parameter in generator.parameters_of(path, TABLES[path]):
        written = {"flag": "=True", "no": "=False"}.get(parameter.kind, "")
        for flag in parameter.flags:
            word = rf"(?<![^\s(]){re.escape(flag)}(?![\w'/-])"
            message = re.sub(word + r" ([A-Z]+)\b", parameter.name + r"=\1", message)
            message = re.sub(word, parameter.name + written, message)
    return message


def without_help(message):
    """An error without the advice to run --help, which is the terminal's; Python has help()."""
    return re.sub(r"; run 'dfsim [a-z -]+ --help' for its arguments", "", message)
