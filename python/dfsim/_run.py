"""Options become arguments of the command line, and what runs becomes a result.

The functions of _commands.py, which the build writes, call these.
"""

from __future__ import annotations

import copy
import difflib
import functools
import gzip
import inspect
import json
import os
import pathlib
import tempfile
from typing import (Any, Callable, ContextManager, Dict, List, Mapping, Optional, Sequence, Tuple, TypeVar,
                    cast)

from ._errors import InvalidInputError, with_result
from ._load import load, renamed
from ._messages import in_python, parameter, spoken
from ._native import _dfsim
from ._policies import Scheduler
from ._results import Prediction, Result, Sweep
from ._support import (Hardware, Option, Progress, Watched, assignments, listed, several, text,
                       whole)

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")


def checked(function: F) -> F:
    """Suggests the nearest valid option for an unknown one."""
    names = [name for name, parameter in inspect.signature(function).parameters.items()]

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        for name in options:
            if name not in names:
                near = difflib.get_close_matches(name, names, 1)
                hint = f"did you mean '{near[0]}'? " if near else ""
                raise TypeError(f"{function.__name__}: unknown option '{name}'; {hint}valid: "
                                f"{', '.join(names)}")
        return function(*arguments, **options)

    return cast(F, call)


def _values(name: str, value: Any, kind: str) -> List[str]:
    """The value of an option as strings, one for each time that the option is given."""
    if kind.startswith("dict"):
        return assignments(value, name)
    if kind.startswith("list"):
        inner = kind[5:-1]
        values = value if several(value) else [value]
        if isinstance(values, list) and not values:
            raise InvalidInputError(f"{name}: found an empty list, expected one value or more; give one, or leave "
                                    f"{name} out for the default")
        return [item for one in values for item in _values(name, one, inner)]
    if kind == "int":
        return [str(whole(value, name))]
    if kind == "series" and not isinstance(value, str):
        return [str(whole(value, name))]
    if kind == "float":
        if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
            raise TypeError(f"{name}: found a value of type {type(value).__name__}, expected a "
                            "number")
        number = float(value)
        short = f"{number:g}"
        return [short if float(short) == number else repr(number)]
    if kind == "model":
        return [text(value if isinstance(value, (str, os.PathLike)) else load(value), name)]
    return [text(value, name)]


# Commands that run the program behind "--": none of their own arguments may stand there.
TAKES_COMMAND = ("tune",)


class Arguments:
    """The arguments of one command. Models that are temporary files live as long as this."""

    def __init__(self, command: str, options: Sequence[Option]) -> None:
        self.command = command
        self.kept: List[Any] = []
        words: List[str] = command.split()
        behind: List[str] = []
        for name, value, kind in listed(options):
            shown = parameter(command, name)
            if kind in ("flag", "no"):
                if not isinstance(value, bool):
                    raise TypeError(f"{shown}: found a value of type {type(value).__name__}, "
                                    "expected True or False")
                if value == (kind == "flag"):
                    words.append(name)
                continue
            if value is None:
                continue
            if "model" in kind:
                value = self._keep(value)
            texts = _values(shown, value, kind)
            if name.startswith("-"):
                for one in texts:
                    # The parser takes an empty value as a word of its own only.
                    words += [f"{name}={one}"] if one else [name, one]
            else:
                behind += texts
        self.words = words
        if words[0] in TAKES_COMMAND:
            self.behind = [f"./{one}" if one.startswith("-") else one for one in behind]
        else:
            self.behind = ["--", *behind] if behind else []

    def _keep(self, value: Any) -> Any:
        def loaded(one: Any) -> Any:
            if isinstance(one, (str, os.PathLike)):
                return one
            model = load(one)
            self.kept.append(model)
            return model

        if isinstance(value, (list, tuple)):
            return [loaded(one) for one in value]
        return loaded(value)

    def shown_names(self) -> Dict[str, str]:
        """Names to show instead of the paths of temporary files."""
        return {model.path: model.temporary_name for model in self.kept if model.temporary_name is not None}

    def spoken(self) -> ContextManager[None]:
        """Errors of the compiled module in the words of the caller."""
        return spoken(self.command, self.shown_names())

    def accepted(self, found: R, refused: Optional[Tuple[str, str]]) -> R:
        """The result, or the error that has it."""
        if refused is None:
            return found
        error = with_result(*refused, found)
        error.args = (in_python(self.command, refused[1], self.shown_names()),)
        raise error

    def encoded(self, *more: str) -> List[bytes]:
        # Names of files that are not UTF-8 come as they are; other surrogates are a ValueError.
        return [word.encode("utf-8", "surrogateescape")
                for word in [*self.words, *more, *self.behind]]


def _machine_runtimes(options: Sequence[Option]) -> List[Option]:
    """A Hardware with a runtime of its own sets --runtime, unless that is given."""
    options = listed(options)
    given = dict((name, value) for name, value, _ in options)
    machine = given.get("--hw")
    machines = machine if isinstance(machine, (list, tuple)) else [machine]
    own = [one.given_runtime for one in machines
           if isinstance(one, Hardware) and one.given_runtime is not None]
    if not own:
        return list(options)
    if len(machines) > 1:
        raise TypeError("hardware: found Hardware with a runtime of its own among several, "
                        "expected machines without one; give it with runtime=")
    return [(name, own[0] if name == "--runtime" and value is None else value, kind)
            for name, value, kind in options]


def result(command: str, options: Sequence[Option], progress: Progress) -> Result:
    """The result that the command prints with --json."""
    arguments = Arguments(command, _machine_runtimes(options))
    with Watched(progress) as tell, arguments.spoken():
        printed, refused = _dfsim.run(arguments.encoded("--json"), tell)
        if command == "generate" and not printed:
            # The graph went to a file. A seed gives one graph, so that this is the same text.
            arguments.words = [word for word in arguments.words if not word.startswith("--output=")]
            printed, refused = _dfsim.run(arguments.encoded("--json"), tell)
    return arguments.accepted(Result(printed), refused)


def written(command: str, options: Sequence[Option], progress: Progress) -> str:
    """The text that a command without --json prints."""
    arguments = Arguments(command, options)
    with Watched(progress) as tell, arguments.spoken():
        printed, _ = _dfsim.run(arguments.encoded(), tell)
    return str(printed)


def _with_schedulers(options: Sequence[Option], name: str
                     ) -> Tuple[List[Option], List[Tuple[str, Any]]]:
    """Policies that are objects become names, and the objects by name."""
    objects: Dict[str, Scheduler] = {}

    def named(policy: Any) -> Any:
        if not isinstance(policy, Scheduler):
            return policy
        if objects.setdefault(policy.name, policy) is not policy:
            raise ValueError(f"{name.lstrip('-')}: two schedulers have the name {policy.name!r}")
        return policy.name

    changed: List[Option] = []
    for option, value, kind in options:
        if option == name and value is not None:
            value = list(value) if several(value) else value
            value = ([named(one) for one in value] if isinstance(value, (list, tuple))
                     else named(value))
            if option == "--policies" and isinstance(value, list):
                value = ",".join(text(one, "policies") for one in value)
        changed.append((option, value, kind))
    return changed, list(objects.items())


def prediction(command: str, options: Sequence[Option], progress: Progress) -> Prediction:
    options, policies = _with_schedulers(_machine_runtimes(options), "--policy")
    costs = next((value for name, value, _ in options if name == "--cost-model"), None)
    predict_ops = costs if callable(costs) else None
    arguments = Arguments(command, [option for option in options
                                    if predict_ops is None or option[0] != "--cost-model"])

    def again(trace: str) -> None:
        changed = copy.copy(arguments)
        changed.words = [word for word in arguments.words if not word.startswith("--trace=")]
        with arguments.spoken():
            _dfsim.predict(changed.encoded(f"--trace={trace}"), None, predict_ops, policies)

    with Watched(progress) as tell, arguments.spoken():
        native, refused = _dfsim.predict(arguments.encoded(), tell, predict_ops, policies)
    return arguments.accepted(Prediction(native, again), refused)


def comparison(command: str, options: Sequence[Option], progress: Progress) -> Result:
    options, policies = _with_schedulers(_machine_runtimes(options), "--policies")
    arguments = Arguments(command, options)
    with Watched(progress) as tell, arguments.spoken():
        printed, refused = _dfsim.compare(arguments.encoded("--json"), tell, policies)
    return arguments.accepted(Result(printed), refused)


def table(command: str, options: Sequence[Option], journal: Any, progress: Progress,
          executor: Any = None, parts: Optional[int] = None, retries: int = 3) -> Sweep:
    options = _loaded(options)
    if executor is not None:
        if journal is not None:
            raise ValueError("journal: found one next to executor, expected one of them; the engine "
                             "keeps what is done")
        from . import fleet

        return fleet.table(options, executor, parts, retries, progress)
    if parts is not None:
        raise ValueError("parts: found a number of parts without executor; give executor=, too")
    machines = next((value for name, value, _ in options if name == "--hw"), None)
    for machine in machines if isinstance(machines, (list, tuple)) else [machines]:
        if isinstance(machine, Hardware) and machine.given_runtime is not None:
            raise TypeError("sweep: found Hardware with a runtime of its own, expected machines "
                            "without one; give the runtimes with runtime=")
    arguments, found, refused = swept(command, options, journal, progress)
    return arguments.accepted(found, refused)


def _loaded(options: Sequence[Option]) -> List[Option]:
    """The options of a sweep with lists, and with models that are not files loaded once."""
    return [(name, value if value is None or kind != "list[model]"
             else _with_own_names(value if isinstance(value, list) else [value]), kind)
            for name, value, kind in listed(options)]


def _with_own_names(models: Sequence[Any]) -> List[Any]:
    """The models of a sweep. Names of temporary files differ from those of the others, as tables show them."""
    found: List[Any] = [one if isinstance(one, (str, os.PathLike)) else load(one) for one in models]
    paths = {pathlib.Path(text(one, "models")).stem: text(one, "models")
             for one in reversed(found) if getattr(one, "temporary_name", None) is None}
    for i, model in enumerate(found):
        name = getattr(model, "temporary_name", None)
        if name is None:
            continue
        count = 1
        while paths.setdefault(name, model.path) != model.path:
            count += 1
            name = f"{model.temporary_name}-{count}"
        if count > 1:
            found[i] = renamed(model, name)
            paths[name] = found[i].path
    return found


def swept(command: str, options: Sequence[Option], journal: Any, progress: Progress
          ) -> Tuple[Arguments, Sweep, Optional[Tuple[str, str]]]:
    """The table, and why the command line would not accept it."""
    prices = next((value for name, value, _ in options if name == "--prices"), None)
    with tempfile.TemporaryDirectory(prefix="dfsim-") as folder:
        if isinstance(prices, Mapping):
            file = os.path.join(folder, "prices.yaml")
            with open(file, "w", encoding="utf-8") as out:
                for name, price in prices.items():
                    (cost,) = _values("prices", price, "float")
                    out.write(f"{json.dumps(text(name, 'prices'))}: {cost}\n")
            options = [(name, file if name == "--prices" else value, kind)
                       for name, value, kind in options]
        arguments = Arguments(command, options)
        with Watched(progress) as tell, arguments.spoken():
            native, refused = _dfsim.sweep(arguments.encoded(), tell,
                                           "" if journal is None else text(journal, "journal"))
        names = arguments.shown_names()
        for name, value, _ in options:
            if name in ("--output", "--html") and value is not None and names:
                _rename_in(text(value, name), names)
    return arguments, Sweep(native, names), refused


def _rename_in(path: str, names: Mapping[str, str]) -> None:
    """Names models in a file that the compiled module has written with the paths of temporary files."""
    file = pathlib.Path(path)
    content = file.read_bytes()
    is_packed = content.startswith(b"\x1f\x8b")
    if is_packed:
        content = gzip.decompress(content)
    for old, new in names.items():
        content = content.replace(os.fsencode(old), new.encode())
    file.write_bytes(gzip.compress(content, mtime=0) if is_packed else content)
