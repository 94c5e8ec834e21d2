"""Machines, and what all functions share: options as the compiled module takes them, progress."""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from ._native import _dfsim

# Called with "stage" and the step that begins, or with "note" and a line worth keeping.
ProgressCallback = Callable[[str, str], None]
Progress = Union[bool, ProgressCallback, None]
Texts = Union[str, Sequence[str]]
# Times in microseconds of distinct operators on a device; see predict().
PredictOps = Callable[[List[Dict[str, Any]], Dict[str, Any]], Sequence[float]]


def texts(values: Any) -> Optional[List[str]]:
    """One value or several, as a list of texts."""
    if values is None:
        return None
    if hasattr(values, "path") or isinstance(values, (str, bytes, os.PathLike, Hardware, int)):
        values = [values]
    return [text(value) for value in values]


def text(value: Any) -> str:
    path = getattr(value, "path", None)  # of a Model
    if isinstance(path, str) and not isinstance(value, os.PathLike):
        return path
    if isinstance(value, Hardware):
        return value.source
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def assignments(values: Optional[Mapping[str, Any]]) -> Optional[List[str]]:
    if values is None:
        return None

    def extent(value: Any) -> str:
        if isinstance(value, (list, tuple)):
            return ",".join(str(int(item)) for item in value)
        return str(value)

    return [f"{name}={extent(value)}" for name, value in values.items()]


def machine_options(hardware: Union[str, os.PathLike, "Hardware"], runtime: Optional[str]
                     ) -> Dict[str, Any]:
    if isinstance(hardware, Hardware):
        return {"hardware": hardware.source, "runtime": runtime or hardware.given_runtime}
    return {"hardware": text(hardware), "runtime": runtime}


class _Bar:
    """Steps on a tqdm bar where tqdm is installed, else on stderr."""

    def __init__(self) -> None:
        try:
            from tqdm.auto import tqdm  # type: ignore[import-untyped]

            self._bar: Any = tqdm(bar_format="{desc} [{elapsed}]", leave=False)
        except ImportError:
            self._bar = None

    def __call__(self, kind: str, text: str) -> None:
        if self._bar is not None:
            if kind == "note":
                self._bar.write(text)
            else:
                self._bar.set_description_str(text)
        else:
            import sys

            print(text, file=sys.stderr)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def call(function: Callable[..., Any], options: Mapping[str, Any], progress: Progress) -> Any:
    given = {name: value for name, value in options.items() if value is not None}
    if progress is None or progress is False:
        return function(given, None)
    if progress is not True:
        return function(given, progress)
    bar = _Bar()
    try:
        return function(given, bar)
    finally:
        bar.close()


class Hardware:
    """A machine: the name of a built-in one, or a hardware file.

    >>> Hardware("a100").devices[0]["memory_bytes"]
    85899345920
    """

    def __init__(self, name_or_file: Union[str, os.PathLike], runtime: Optional[str] = None) -> None:
        self.source: str = text(name_or_file)
        self.given_runtime = runtime
        found = _dfsim.machine(self.source, runtime or "")
        self.name: str = found["name"]
        self.description: str = found["description"]
        self.runtime: str = found["runtime"]
        # Each with name, model, type, memory_bytes, memory_bytes_per_s and cost_model.
        self.devices: List[Dict[str, Any]] = list(found["devices"])

    def __repr__(self) -> str:
        return f"dfsim.Hardware({self.source!r}, runtime={self.runtime!r})"
