#!/usr/bin/env python3
"""Writes dfsim/_commands.py: a typed and documented function per command, from the tables of options
that the program itself has (_dfsim.commands()). The build runs this.

usage: generate_commands.py FOLDER_OF_THE_MODULE OUTPUT.py
"""

import sys
import textwrap

# Commands without a function: help and report are about text and pages (Result.to_html()), version
# is dfsim.__version__, and serve-api is a program.
LEFT_OUT = {"help", "report", "serve-api", "version"}
# Options about text, and those that only choose how the result is printed.
VIEWS = {"--json", "--csv", "--top", "--plugin", "--host"}
VIEWS_OF = {
    "predict": {"--ops", "--output"},
    "compare": {"--unit", "--gantt", "--output"},
    "evaluate": {"--group-by", "--output"},
    "inspect": {"--ops", "--unresolved", "--output"},
    "sweep": {"--lines", "--part", "--mpi", "--merge", "--slurm"},
}
# The use of -o where it does not name the result.
OUTPUTS = {"train": "directory", "calibrate": "directory", "llm train": "directory",
           "partition": "plan", "sweep": "output", "profiles import": "output",
           "generate": "output"}
NAMES = {"hw": "hardware", "dim": "dims", "input-shape": "input_shapes",
         "trip-count": "trip_counts", "procs": "processors", "dir": "directory"}
NAMES_OF = {
    "compare": {"graph": "model"},
    "replay": {"--trace": "replayed_trace"},
    "analyze": {"trace": "traces"},
    "sweep": {"sweep": "file", "param": "params"},
}
# The order of arguments that need no name; elsewhere those that must be given.
POSITIONAL = {"sweep": ["models", "hardware"], "evaluate": ["model", "profiles"],
              "compare": ["model", "hardware"], "train": ["profiles", "directory"]}
ALWAYS = {"tune": ["--host"]}
RUNNERS = {"predict": "prediction", "compare": "comparison", "sweep": "table",
           "llm train": "written"}
RETURNS = {"prediction": "Prediction", "comparison": "Result", "table": "Sweep",
           "written": "str", "result": "Result"}

TYPES = {
    "str": "PathLike",
    "int": "int",
    "float": "float",
    "model": "ModelLike",
    "machine": "HardwareLike",
    "series": "Union[int, str]",
    "list[str]": "Union[PathLike, Sequence[PathLike]]",
    "list[int]": "Union[int, Sequence[int]]",
    "list[float]": "Union[float, Sequence[float]]",
    "list[model]": "Union[ModelLike, Sequence[ModelLike]]",
    "list[machine]": "Union[HardwareLike, Sequence[HardwareLike]]",
    "list[series]": "Union[int, str, Sequence[Union[int, str]]]",
    "dict[int]": "Mapping[str, int]",
    "dict[shape]": "Mapping[str, Union[int, Sequence[int]]]",
    "dict[series]": "Mapping[str, Union[int, str, Sequence[int]]]",
    "price": "Union[PathLike, Mapping[str, float]]",
    "costs": "Union[PathLike, PredictOps]",
    "policy": "Union[str, Scheduler]",
    "policies": "Union[str, Sequence[Union[str, Scheduler]]]",
    "flag": "bool",
    "no": "bool",
}
# Parameters whose values are more than their texts, by command ("" = all).
KINDS = {
    "": {"hardware": "machine", "from": "machine", "dims": "dict[int]",
         "trip_counts": "dict[int]", "input_shapes": "dict[shape]"},
    "predict": {"model": "model", "cost_model": "costs", "policy": "policy"},
    "partition": {"model": "model"},
    "roofline": {"model": "model"},
    "inspect": {"model": "model"},
    "tune": {"model": "model"},
    "llm inspect": {"model": "model"},
    "llm predict": {"model": "model"},
    "llm search": {"model": "model"},
    "llm serve": {"model": "model"},
    "compare": {"model": "list[model]", "hardware": "list[machine]", "policies": "policies"},
    "validate": {"hardware": "list[machine]"},
    "train": {"hardware": "list[machine]"},
    "sweep": {"models": "list[model]", "hardware": "list[machine]", "batch": "list[series]",
              "params": "dict[series]", "prices": "price"},
}
NOTES = {
    "predict": """cost_model may also be a function predict_ops(ops, device) that gives the time of each distinct
operator in microseconds, and policy a dfsim.Scheduler. Both are called once per plan.

Errors: dfsim.Error and its subclasses, with the texts of the command line. IncompleteError: the
work of some operators is not known, so that times are lower limits. DoesNotFitError: the model needs
more memory than the device has. The `result` of both has the prediction.""",
    "compare": "policies may have dfsim.Scheduler objects among the names.",
    "sweep": """journal: a file that keeps finished points until the sweep is done, so that one that was stopped
resumes. prices may also be a dict, per hour by machine. A point that fails is a row with its
error.

Errors: FailedError: all points failed. IncompleteError: the work of some operators is not known, so
that times of some points are lower limits. The `result` of both has the table.

executor: an engine that predicts parts of the sweep on many workers (dfsim.fleet): "ray", "dask", "mpi",
"processes", a Dask client, or an executor of concurrent.futures. parts: how many; default: eight per
worker. retries: how often a part starts again whose worker was lost.""",
}

HEADER = '''"""The commands of dfsim as functions. Written by python/generate_commands.py; do not edit.

Each function gives the same result as the command of its name. dims, trip_counts: extents by name;
input_shapes: whole shapes by name; hardware: a name, a file or dfsim.Hardware; progress: True shows
steps, a function is called with ("stage" or "note", text). Values that are not given (None) have the
defaults of the command line. Unknown options and values of a wrong type are a TypeError, and
everything else that is wrong is a dfsim.Error with the text of the command line, in which options
have the names of the parameters.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence, Union

from . import _messages, _run
from ._policies import Scheduler
from ._results import Prediction, Result, Sweep
from ._support import HardwareLike, ModelLike, PathLike, PredictOps, Progress
'''


class Parameter:
    def __init__(self, command, option):
        names = option["names"].split(",")
        self.flag = next((name for name in names if name.startswith("--")), names[0])
        plain = self.flag.lstrip("-").lower()
        self.negated = option["type"] == "bool" and plain.startswith("no-")
        if self.negated:
            plain = plain[3:]
        if plain == "output" and command in OUTPUTS:
            plain = OUTPUTS[command]
        own = NAMES_OF.get(command, {})
        plain = own.get(self.flag, own.get(plain, NAMES.get(plain, plain)))
        self.name = plain.replace("-", "_")
        if self.name in ("from", "import"):
            self.name += "_"
        self.flags = names
        self.required = option["required"]
        self.help = option["help"]
        kind = {"bool": "no" if self.negated else "flag"}.get(option["type"], option["type"])
        self.kind = KINDS.get(command, {}).get(
            self.name, KINDS[""].get(self.name.rstrip("_"), kind))

    @property
    def annotation(self):
        return TYPES[self.kind]

    def declaration(self, required):
        if self.kind in ("flag", "no"):
            return f"{self.name}: bool = {self.kind == 'no'}"
        if required:
            return f"{self.name}: {self.annotation}"
        return f"{self.name}: Optional[{self.annotation}] = None"

    @property
    def call(self):
        """How a caller sets it: the parameter, with its value where only one makes a difference."""
        return {"flag": f"{self.name}=True", "no": f"{self.name}=False"}.get(self.kind, self.name)

    @property
    def option(self):
        kind = {"machine": "str", "costs": "str", "policy": "str", "policies": "str",
                "price": "str"}.get(self.kind, self.kind)
        kind = "list[str]" if kind == "list[machine]" else kind
        return f'("{self.flag}", {self.name}, "{kind}")'


def parameters_of(path, command):
    dropped = VIEWS | VIEWS_OF.get(path, set())
    if path not in OUTPUTS:
        dropped = dropped | {"--output"}
    found = [Parameter(path, option) for option in command["options"]
             if not dropped & set(option["names"].split(","))]
    names = [parameter.name for parameter in found]
    assert len(set(names)) == len(names), f"{path}: two options have one name: {names}"
    return found


def wrapped(text, first, rest):
    return textwrap.fill(" ".join(text.split()), 96, initial_indent=first, subsequent_indent=rest,
                         break_long_words=False, break_on_hyphens=False)


def function(path, command):
    parameters = parameters_of(path, command)
    order = POSITIONAL.get(path) or [
        p.name for p in sorted(parameters, key=lambda p: not p.required)
        if p.kind not in ("flag", "no") and (p.required or not p.flag.startswith("-"))]
    by_name = {parameter.name: parameter for parameter in parameters}
    front = [by_name[name] for name in order]
    behind = [parameter for parameter in parameters if parameter.name not in order]
    runner = RUNNERS.get(path, "result")
    declared = [p.declaration(p.required) for p in front] + ["*"]
    declared += [p.declaration(p.required) for p in behind]
    if path == "sweep":
        declared.append("journal: Optional[PathLike] = None")
        declared += ["executor: Any = None", "parts: Optional[int] = None", "retries: int = 3"]
    declared.append("progress: Progress = None")
    name = path.replace(" ", "_").replace("-", "_")
    lines = ["", "", "@_run.checked", f"def {name}("]
    lines += [f"    {one}," for one in declared]
    lines += [f") -> {RETURNS[runner]}:", f'    """{command["summary"]}.', ""]
    for parameter in front + behind:
        text = parameter.help.replace("\\", "\\\\").replace('"""', "'''")
        said = f"False: {text}" if parameter.kind == "no" else text
        lines.append(wrapped(f"{parameter.name}: {said}.", "    ", "      "))
    if path in NOTES:
        lines += ["", textwrap.indent(NOTES[path], "    ")]
    lines += ['    """', f'    return _run.{runner}("{" ".join([path, *ALWAYS.get(path, [])])}", [']
    lines += [f"        {parameter.option}," for parameter in front + behind]
    lines.append("    ], journal, progress, executor, parts, retries)" if path == "sweep" else "    ], progress)")
    return "\n".join(lines) + "\n"


def leaves(commands, path=""):
    """Each command that has a function, with its path."""
    for command in commands:
        whole = f"{path} {command['name']}".strip()
        if whole in LEFT_OUT:
            continue
        if command["commands"]:
            yield from leaves(command["commands"], whole)
        else:
            yield whole, command


def names(commands):
    """For messages: what a caller writes for each option, by command."""
    lines = ["", "", "_messages.PARAMETERS.update({"]
    for path, command in commands:
        lines.append(f'    "{path}": {{')
        for parameter in parameters_of(path, command):
            lines += [f'        "{flag}": "{parameter.call}",' for flag in parameter.flags]
        lines.append("    },")
    return "\n".join([*lines, "})"]) + "\n"


def main():
    folder, output = sys.argv[1:]
    sys.path.insert(0, folder)
    import _dfsim  # the compiled module, without the package that needs what this writes

    commands = list(leaves(_dfsim.commands()["commands"]))
    text = HEADER + "".join(function(path, command) for path, command in commands) + names(commands)
    with open(output, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
