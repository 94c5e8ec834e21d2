"""Results of the studies."""

from __future__ import annotations

import html
import json
import math
import os
import sys
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

import numpy as np

from ._errors import InvalidInputError
from ._native import _dfsim
from ._support import whole
from ._table import Table, column_of


class Result:
    """The result of a study: its JSON, and the same as Python values in `data`."""

    def __init__(self, text: str) -> None:
        self._json = text
        self._data: Optional[Dict[str, Any]] = None

    @property
    def data(self) -> Dict[str, Any]:
        """The fields that docs/reference/json.md lists."""
        if self._data is None:
            self._data = json.loads(self.to_json())
        assert self._data is not None
        return self._data

    def __getitem__(self, name: str) -> Any:
        return self.data[name]

    def to_json(self) -> str:
        """The text that the command of the same name prints with --json, byte for byte."""
        return self._json

    def to_html(self) -> str:
        """A page that needs no other files, as --html writes it. Error: a result without a page."""
        return str(_dfsim.html_page(self.to_json()))

    def _repr_html_(self) -> Optional[str]:
        try:
            return _frame(self.to_html())
        except ValueError:
            return None

    def __repr__(self) -> str:
        return f"<dfsim result {self.data.get('schema', '')}".rstrip() + ">"


def _frame(page: str) -> str:
    return (
        f'<iframe srcdoc="{html.escape(page, quote=True)}" width="100%" height="640" '
        'style="border:0" sandbox="allow-scripts"></iframe>'
    )


class Prediction:
    """A model's predicted run on a machine."""

    def __init__(self, native: Any, again: Callable[[str], None]) -> None:
        self._native = native
        self._again = again
        self._ops: Optional[Table] = None

    @property
    def model(self) -> str:
        """The name of the model."""
        return str(self._native.model)

    @property
    def hardware(self) -> str:
        """The machine."""
        return str(self._native.hardware)

    @property
    def runtime(self) -> str:
        """How the framework executes, by name."""
        return str(self._native.runtime)

    @property
    def batch(self) -> int:
        """Samples in one run."""
        return int(self._native.batch)

    @property
    def complete(self) -> bool:
        """Whether the work of every operator is known. Else there are only limits: nan stands for the latency, the
        rate and the upper end of the interval."""
        return bool(self._native.complete)

    @property
    def is_limit(self) -> bool:
        """Whether the latency is a lower limit rather than an estimate: the model is not complete, or the speed of
        light is most of the time, because no cost model knows the operators."""
        return bool(self._native.is_limit)

    @property
    def fits(self) -> bool:
        """Whether the device has enough memory; True when its memory is not known."""
        return bool(self._native.fits)

    @property
    def latency_ms(self) -> float:
        """The latency of one run of the whole batch; nan unless the model is complete."""
        return float(self._native.latency_ns) / 1e6 if self.complete else math.nan

    @property
    def latency_at_least_ms(self) -> float:
        """The lower limit of the latency of a model that is not complete; nan for others."""
        return math.nan if self.complete else float(self._native.latency_ns) / 1e6

    @property
    def interval(self) -> Tuple[float, float]:
        """The 80 % interval of the latency, in milliseconds; its upper end is nan unless the model is complete."""
        low, high = self._native.interval_ns
        return (low / 1e6, high / 1e6 if self.complete else math.nan)

    @property
    def throughput_per_s(self) -> float:
        """Samples per second; nan unless the model is complete."""
        return float(self._native.throughput_per_s) if self.complete else math.nan

    @property
    def throughput_at_most_per_s(self) -> float:
        """The upper limit of the rate of a model that is not complete; nan for others."""
        return math.nan if self.complete else float(self._native.throughput_per_s)

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
        """Multiply-accumulate operations of one run."""
        return int(self._native.macs)

    @property
    def flops(self) -> int:
        """Floating-point operations of one run."""
        return int(self._native.flops)

    @property
    def parameters(self) -> int:
        """Number of weights."""
        return int(self._native.parameters)

    @property
    def notes(self) -> List[str]:
        """Remarks that the text shows."""
        return list(self._native.notes)

    @property
    def ops(self) -> Table:
        """One array per column, each with one entry per operator in order of start.

        name, op_type, op_class ("conv", "gemm", ...), device, dtype, bound ("compute", "memory",
        ...), source ("measured", "predicted", ...), output_shape: strings; start_ns, duration_ns:
        int64, nanoseconds; macs, flops: int64, counts; bytes: int64, read and written; critical:
        bool, whether the operator is on the critical path.

        pandas.DataFrame(result.ops), pyarrow.table(result.ops) and polars.from_arrow(result.ops)
        are tables.
        """
        if self._ops is None:
            kinds = {"start_ns": np.int64, "duration_ns": np.int64, "macs": np.int64,
                     "flops": np.int64, "bytes": np.int64, "critical": np.bool_}
            self._ops = Table((name, np.asarray(values, dtype=kinds.get(name, object)))
                              for name, values in self._native.ops().items())
        return self._ops

    def to_json(self) -> str:
        """The text of `dfsim predict --json`, byte for byte."""
        return str(self._native.to_json())

    def to_html(self) -> str:
        """A page that needs no other files, as `dfsim predict --html` writes it."""
        return str(_dfsim.html_page(self.to_json()))

    def summary(self, top: int = 10) -> str:
        """The text that `dfsim predict` prints, with the `top` slowest operators."""
        rows = whole(top, "top")
        if rows < 0:
            raise InvalidInputError(f"top: found {rows}, expected 0 or more; give the number of operators to show")
        return str(self._native.text(min(rows, sys.maxsize)))

    def save_trace(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Simulates again and writes the timeline, for Perfetto or chrome://tracing: JSON, or
        Perfetto's own format where the name ends in .pftrace."""
        self._again(os.fspath(path))

    def _repr_html_(self) -> str:
        return _frame(self.to_html())

    def __repr__(self) -> str:
        low, high = self.interval
        if self.complete:
            latency = f"{'≥ ' if self.is_limit else ''}{self.latency_ms:.3f} ms (80 %: {low:.3f} to {high:.3f})"
        else:
            latency = f"at least {self.latency_at_least_ms:.3f} ms (80 %: {low:.3f} or more)"
        return f"<dfsim prediction: {self.model} on {self.hardware}, batch {self.batch}: {latency}>"


# Columns of a sweep that are not numbers.
_TEXTS = ("model", "file", "hw", "runtime", "precision", "mode", "policy", "error")
_FLAGS = ("complete", "is_limit", "fits")


def _kind_of(column: str) -> type:
    """The type of a sweep's column, which depends on its name alone."""
    if column in _TEXTS:
        return str
    if column in _FLAGS:
        return bool
    return int if column == "batch" or column.startswith("param:") else float


class Sweep(Result):
    """A table with one row per point, and its report."""

    def __init__(self, native: Any, names: Mapping[str, str]) -> None:
        super().__init__("")
        self._native = native
        # To show instead of the paths of temporary files, whose names are random.
        self._names = names
        self._rows: Optional[Table] = None

    def __len__(self) -> int:
        return int(self._native.points())

    def to_json(self) -> str:
        """The text of `dfsim sweep --json`, byte for byte."""
        # Made when it is asked for: it is a few times as large as the rest of the table.
        if not self._json:
            self._json = self._named(self._native.to_json())
        return self._json

    @property
    def failed(self) -> int:
        """Points without a result; their rows have an `error`."""
        return int(self._native.failed())

    @property
    def rows(self) -> Table:
        """One array per column, with one entry per point.

        complete, is_limit, fits: bool, False for a point that failed; batch, param:NAME: int64, and 0 where a failed
        point says no batch; texts: object; all other numbers: float64, nan where one is missing.
        """
        if self._rows is None:
            rows = self.data["rows"]
            names = list(dict.fromkeys(name for row in rows for name in row))
            self._rows = Table((name, column_of([row.get(name) for row in rows], _kind_of(name)))
                               for name in names)
        return self._rows

    def to_csv(self) -> str:
        """The text of `dfsim sweep --csv`, byte for byte."""
        return self._named(self._native.to_csv())

    def to_json_lines(self) -> str:
        """One JSON object per point, as in a file that ends in .jsonl."""
        return self._named(self._native.to_json_lines())

    def to_arrow(self) -> Any:
        """A pyarrow.Table; write it with pyarrow.parquet.write_table()."""
        import pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]

        return pyarrow.RecordBatchReader.from_stream(self.rows).read_all()

    def summary(self) -> str:
        """The text that `dfsim sweep` prints."""
        return self._named(self._native.text())

    def _named(self, text: str) -> str:
        for path, name in self._names.items():
            text = text.replace(path, name)
        return text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.summary())}</pre>"

    def __repr__(self) -> str:
        return f"<dfsim sweep of {len(self)} points, {self.failed} failed>"
