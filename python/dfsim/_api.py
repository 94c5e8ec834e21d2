"""Models, and short lists of names."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, cast

from . import _commands
from ._load import load as _load
from ._load import set_model_type
from ._native import _dfsim


class Model:
    """A model file, as load() makes it. The methods are the functions of the same names."""

    # A model in a temporary file has the object that keeps the file, and the name to show instead of its path.
    kept: Optional[object] = None
    temporary_name: Optional[str] = None

    def __init__(self, path: str) -> None:
        self.path = path

    def __copy__(self) -> "Model":
        copied = Model(self.path)
        copied.__dict__.update(self.__dict__)
        return copied

    def __deepcopy__(self, _: Dict[int, Any]) -> "Model":
        return self.__copy__()

    def __getstate__(self) -> Dict[str, Any]:
        # For pickle: another process does not keep the file.
        return {name: value for name, value in self.__dict__.items() if name != "kept"}

    compare = _commands.compare
    inspect = _commands.inspect
    partition = _commands.partition
    predict = _commands.predict
    roofline = _commands.roofline

    def __repr__(self) -> str:
        return f"dfsim.Model({self.path!r})"


set_model_type(Model)


def load(source: Any, *, inputs: Any = None, name: Optional[str] = None) -> Model:
    return cast(Model, _load(source, inputs=inputs, name=name))


load.__doc__ = _load.__doc__


def machines() -> List[str]:
    """Names of the built-in machines."""
    return list(_dfsim.machines())


def runtimes() -> List[str]:
    """Names of the built-in runtimes."""
    return list(_dfsim.runtimes())


def cost_models() -> List[str]:
    """Names of the cost models that come with dfsim."""
    return list(_dfsim.cost_models())


_LOG_LEVELS = ("trace", "debug", "info", "warning", "error", "off")


def set_log_level(level: str) -> None:
    """The least severe messages that go to stderr, as --log-level: "info" explains decisions. It starts at
    "warning"."""
    if level not in _LOG_LEVELS:
        raise ValueError(f"level: found {level!r}, expected one of {', '.join(_LOG_LEVELS)}")
    _dfsim.set_log_level(level)
