"""Results of the studies."""

from __future__ import annotations

import html
import json
import os
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

import numpy as np

from ._native import _dfsim
from ._support import call

class Result:
    """The result of a study: its JSON, and the same as Python values in `data`."""

    def __init__(self, text: str) -> None:
        self._json = text
        self._data: Optional[Dict[str, Any]] = None

    @property
    def data(self) -> Dict[str, Any]:
        if self._data is None:
            self._data = json.loads(self._json)
        assert self._data is not None
        return self._data

    def __getitem__(self, name: str) -> Any:
        return self.data[name]

    def to_json(self) -> str:
        """The text that the command of the same name prints with --json, byte for byte."""
        return self._json

    def to_html(self) -> str:
        """A page that needs no other files, as --html writes it. Error: a result without a page."""
        return str(_dfsim.html_page(self._json))

    def _repr_html_(self) -> Optional[str]:
        try:
            return _frame(self.to_html())
        except ValueError:
            return None

    def __repr__(self) -> str:
        return f"<dfsim result {self.data.get('schema', '')}>"


def _frame(page: str) -> str:
    return (
        f'<iframe srcdoc="{html.escape(page, quote=True)}" width="100%" height="640" '
        'style="border:0" sandbox="allow-scripts"></iframe>'
    )


class Prediction:
    """A model's predicted run on a machine."""

    def __init__(self, native: Any, options: Dict[str, Any],
                 again: Callable[..., Any]) -> None:
        self._native = native
        self._options = options
        self._again = again

    @property
    def model(self) -> str:
        return str(self._native.model)

    @property
    def hardware(self) -> str:
        return str(self._native.hardware)

    @property
    def runtime(self) -> str:
        return str(self._native.runtime)

    @property
    def batch(self) -> int:
        return int(self._native.batch)

    @property
    def latency_ms(self) -> float:
        """The latency of one run of the whole batch."""
        return float(self._native.latency_ns) / 1e6

    @property
    def interval(self) -> Tuple[float, float]:
        """The 80 % interval of the latency, in milliseconds."""
        low, high = self._native.interval_ns
        return (low / 1e6, high / 1e6)

    @property
    def throughput_per_s(self) -> float:
        """Samples per second."""
        return float(self._native.throughput_per_s)

    @property
    def peak_memory_bytes(self) -> int:
        """Weights, inputs and activations at the worst moment."""
        return int(self._native.peak_memory_bytes)

    @property
    def device_memory_bytes(self) -> int:
        """0 when it is not known."""
        return int(self._native.device_memory_bytes)

    @property
    def macs(self) -> int:
        return int(self._native.macs)

    @property
    def flops(self) -> int:
        return int(self._native.flops)

    @property
    def parameters(self) -> int:
        return int(self._native.parameters)

    @property
    def notes(self) -> List[str]:
        return list(self._native.notes)

    @property
    def ops(self) -> Dict[str, np.ndarray]:
        """One array per column, each with one entry per operator in order of start.

        pandas.DataFrame(result.ops) is a table. Columns: name, op_type, op_class, device, start_ns,
        duration_ns, macs, flops, bytes, dtype, bound, source, critical, output_shape.
        """
        kinds = {"start_ns": np.int64, "duration_ns": np.int64, "macs": np.int64,
                 "flops": np.int64, "bytes": np.int64, "critical": np.bool_}
        return {
            name: np.asarray(values, dtype=kinds.get(name, object))
            for name, values in self._native.ops().items()
        }

    def to_json(self) -> str:
        """The text of `dfsim predict --json`, byte for byte."""
        return str(self._native.to_json())

    def to_html(self) -> str:
        """A page that needs no other files, as `dfsim predict --html` writes it."""
        return str(_dfsim.html_page(self.to_json()))

    def summary(self, top: int = 10) -> str:
        """The text that `dfsim predict` prints, with the `top` slowest operators."""
        return str(self._native.text(top))

    def save_trace(self, path: Union[str, os.PathLike]) -> None:
        """Simulates again and writes the timeline, for Perfetto or chrome://tracing."""
        call(self._again, {**self._options, "trace": os.fspath(path)}, None)

    def _repr_html_(self) -> str:
        return _frame(self.to_html())

    def __repr__(self) -> str:
        low, high = self.interval
        return (f"<dfsim prediction: {self.model} on {self.hardware}, batch {self.batch}: "
                f"{self.latency_ms:.3f} ms (80 %: {low:.3f} to {high:.3f})>")


class Sweep(Result):
    """A table with one row per point, and its report."""

    def __init__(self, native: Any) -> None:
        super().__init__(native.to_json())
        self._native = native

    def __len__(self) -> int:
        return int(self._native.points())

    @property
    def failed(self) -> int:
        """Points without a result; their rows have an `error`."""
        return int(self._native.failed())

    @property
    def rows(self) -> Dict[str, np.ndarray]:
        """One array per column, with one entry per point. A missing number is nan."""
        rows = self.data["rows"]
        columns = list(rows[0]) if rows else []
        return {name: _column([row[name] for row in rows]) for name in columns}

    def to_csv(self) -> str:
        """The text of `dfsim sweep --csv`, byte for byte."""
        return str(self._native.to_csv())

    def to_json_lines(self) -> str:
        return str(self._native.to_json_lines())

    def to_arrow(self) -> Any:
        """A pyarrow.Table; write it with pyarrow.parquet.write_table()."""
        import pyarrow  # type: ignore[import-untyped,import-not-found]

        return pyarrow.Table.from_pylist(self.data["rows"])

    def summary(self) -> str:
        """The text that `dfsim sweep` prints."""
        return str(self._native.text())

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.summary())}</pre>"

    def __repr__(self) -> str:
        return f"<dfsim sweep of {len(self)} points, {self.failed} failed>"


def _column(values: List[Any]) -> np.ndarray:
    kinds = {type(value) for value in values if value is not None}
    if kinds and kinds <= {int, float}:
        if None not in values and kinds == {int}:
            return np.asarray(values, dtype=np.int64)
        return np.asarray([np.nan if value is None else value for value in values], dtype=float)
    if kinds == {bool} and None not in values:
        return np.asarray(values, dtype=np.bool_)
    return np.asarray(values, dtype=object)
