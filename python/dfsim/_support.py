"""Machines, types of arguments, progress: what all functions share."""

from __future__ import annotations

import os
import re
import sys
from typing import (Any, Callable, Dict, Iterable, List, Mapping, Optional, Protocol, Sequence, Tuple, Union)

from ._native import _dfsim

# Called with "stage" and the step that begins, "advance" and how far it is ("12 of 30 policies"), or
# "note" and a line worth keeping.
ProgressCallback = Callable[[str, str], None]
Progress = Union[bool, ProgressCallback, None]
PathLike = Union[str, "os.PathLike[str]"]


# The name of an option as on the command line, its value, and the kind of value that it takes.
Option = Tuple[str, Any, str]


class ModelFile(Protocol):
    """dfsim.Model."""

    path: str


class Serializable(Protocol):
    """onnx.ModelProto."""

    def SerializeToString(self) -> bytes: ...


ModelLike = Union[PathLike, bytes, ModelFile, Serializable]
# Times in microseconds of distinct operators on a device; see the guide "a cost model in Python".
PredictOps = Callable[[List[Dict[str, Any]], Dict[str, Any]], Sequence[float]]


class Hardware:
    """A machine: the name of a built-in one, or a hardware file.

    name, description: strings; runtime: how the framework executes, by name; devices: a list of
    dicts with name, model, type ("gpu", "cpu" or "npu"), memory_bytes (bytes, 0 = not
    known), memory_bytes_per_s and cost_model.

    >>> Hardware("a100").devices[0]["memory_bytes"]
    85899345920
    """

    def __init__(self, name_or_file: PathLike, runtime: Optional[PathLike] = None) -> None:
        self.source: str = text(name_or_file, "Hardware")
        self.given_runtime = None if runtime is None else text(runtime, "runtime")
        found = _dfsim.machine(self.source, self.given_runtime or "")
        self.name: str = found["name"]
        self.description: str = found["description"]
        self.runtime: str = found["runtime"]
        self.devices: List[Dict[str, Any]] = list(found["devices"])

    def __repr__(self) -> str:
        return f"dfsim.Hardware({self.source!r}, runtime={self.runtime!r})"


HardwareLike = Union[PathLike, Hardware]


def text(value: Any, name: str) -> str:
    """A text, path, model or machine as the command line takes it."""
    if isinstance(value, str):
        return value
    if isinstance(value, Hardware):
        return value.source
    if isinstance(value, os.PathLike):
        path = os.fspath(value)
        return path if isinstance(path, str) else os.fsdecode(path)
    path = getattr(value, "path", None)  # of a Model
    if isinstance(path, str):
        return path
    raise TypeError(f"{name}: found a value of type {type(value).__name__}, expected a text or a "
                    "path")


def assignments(values: Mapping[str, Any], name: str) -> List[str]:
    """{"x": (1, 3)} as "x=1,3"."""
    if not isinstance(values, Mapping):
        raise TypeError(f"{name}: found a value of type {type(values).__name__}, expected a dict")

    def extent(value: Any) -> str:
        if isinstance(value, str):
            return value
        items = value if isinstance(value, (list, tuple)) else [value]
        return ",".join(item if isinstance(item, str) else str(whole(item, name))
                        for item in items)

    return [f"{key}={extent(value)}" for key, value in values.items()]


def whole(value: Any, name: str) -> int:
    """A whole number; numpy's too, but neither a bool nor a float."""
    index = getattr(value, "__index__", None)
    if index is None or isinstance(value, bool):
        raise TypeError(f"{name}: found a value of type {type(value).__name__}, expected a whole "
                        "number")
    return int(index())


def several(value: Any) -> bool:
    """Whether a value is a list, or something else with values one after the other, and no model, machine or text."""
    return (isinstance(value, Iterable)
            and not isinstance(value, (str, bytes, bytearray, memoryview, Mapping, os.PathLike, Hardware))
            and not any(hasattr(value, name) for name in ("path", "SerializeToString", "read", "state_dict")))


def listed(options: Sequence[Option]) -> List[Option]:
    """The options with lists in the place of iterables."""
    changed: List[Option] = []
    for name, value, kind in options:
        if kind.startswith("list") and several(value):
            value = list(value)
        changed.append((name, value, kind))
    return changed


# --- Progress ---

_COUNTED = re.compile(r"^([\d.e+]+) of ([\d.e+]+) (.+)")


class _Bar:
    """A tqdm bar with rate and time left where tqdm is installed, else steps on stderr."""

    def __init__(self) -> None:
        try:
            from tqdm.auto import tqdm  # type: ignore[import-untyped,import-not-found,unused-ignore]

            self._bar: Any = tqdm(leave=False, unit=" steps")
        except ImportError:
            self._bar = None

    def __call__(self, kind: str, line: str) -> None:
        counted = _COUNTED.match(line) if kind == "advance" else None
        if self._bar is None:
            if kind != "advance":
                print(line, file=sys.stderr)
        elif kind == "note":
            self._bar.write(line, file=sys.stderr)
        elif kind == "stage":
            self._bar.set_description_str(line)
        elif counted:
            done, total, what = float(counted.group(1)), float(counted.group(2)), counted.group(3)
            if (self._bar.total, self._bar.unit) != (total, f" {what}"):
                self._bar.unit = f" {what}"
                self._bar.reset(total=total)
            self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


class Watched:
    """`with Watched(progress) as tell`: what the compiled module calls."""

    def __init__(self, progress: Progress) -> None:
        if not (progress is None or isinstance(progress, bool) or callable(progress)):
            raise TypeError(f"progress: found a value of type {type(progress).__name__}, expected "
                            "True, False or a function")
        self._progress = progress
        self._bar: Optional[_Bar] = None

    def __enter__(self) -> Optional[ProgressCallback]:
        if self._progress is True:
            self._bar = _Bar()
            return self._bar
        return self._progress if callable(self._progress) else None

    def __exit__(self, *_: Any) -> None:
        if self._bar is not None:
            self._bar.close()
