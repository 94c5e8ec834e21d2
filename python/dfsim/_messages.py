"""Messages of the command line in the words of Python: parameters instead of options, names of models instead of
temporary files."""

from __future__ import annotations

import contextlib
import re
from typing import Dict, Iterator, Mapping, Match, Optional

from ._errors import Error

# By command: each option and argument of the command line, and what a caller writes instead: the parameter, or
# "parameter=True" for an option without a value. _commands.py fills it.
PARAMETERS: Dict[str, Dict[str, str]] = {}

# --dim 'r[0]=N' --dim 'r[1]=N'
_DIMS = re.compile(r"--dim '[^'=]+=N'(?: --dim '[^'=]+=N')*")
# An option that is a word of its own, and the placeholder of its value. In quotes it is a value that the caller gave.
_OPTION = re.compile(r"(?<![\w'/=-])(--[a-z][a-z-]*[a-z]|-[a-zA-Z])(?![\w'/-])(?: ([A-Z]+)\b)?")
_REQUIRED = re.compile(r"^(\S+)(?= is required)")


def path_of(command: str) -> str:
    """A command without the options that are always given: "tune" of "tune --host"."""
    return command.split(" -")[0]


def parameter(command: str, option: str) -> str:
    """The parameter that sets an option."""
    known = PARAMETERS.get(path_of(command), {}).get(option)
    return known.partition("=")[0] if known else option.lstrip("-").replace("-", "_").lower()


def _dims(found: Match[str]) -> str:
    names = re.findall(r"--dim '([^'=]+)=N'", found.group())
    return "dims={" + ", ".join(f"{name!r}: N" for name in names) + "}"


def in_python(command: str, message: str, names: Mapping[str, str]) -> str:
    """A message with the parameters of the command's function and the names of models by path."""
    known = PARAMETERS.get(path_of(command), {})
    for path, name in names.items():
        message = message.replace(path, name)
    if "--dim" in known:
        message = _DIMS.sub(_dims, message)
    message = _REQUIRED.sub(lambda found: known.get(found.group(), found.group()), message)

    def setting(found: Match[str]) -> str:
        option, placeholder = found.groups()
        if option not in known:
            return found.group()
        return f"{known[option]}={placeholder}" if placeholder else known[option]

    return _OPTION.sub(setting, message)


@contextlib.contextmanager
def spoken(command: str, names: Optional[Mapping[str, str]] = None) -> Iterator[None]:
    """Translates the message of an error that the compiled module raises."""
    try:
        yield
    except Error as error:
        if len(error.args) == 1 and isinstance(error.args[0], str):
            error.args = (in_python(command, error.args[0], names or {}),)
        raise
