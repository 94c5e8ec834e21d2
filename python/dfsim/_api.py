"""The names that users of dfsim see, on top of the compiled module."""

from __future__ import annotations

import html
import json
import os
import tempfile
import weakref
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from ._native import _dfsim

# Called with "stage" and the step that begins, or with "note" and a line worth keeping.
ProgressCallback = Callable[[str, str], None]
Progress = Union[bool, ProgressCallback, None]
Texts = Union[str, Sequence[str]]
# Times in microseconds of distinct operators on a device; see predict().
PredictOps = Callable[[List[Dict[str, Any]], Dict[str, Any]], Sequence[float]]


def _texts(values: Optional[Union[Texts, Sequence[Any]]]) -> Optional[List[str]]:
    """One value or several, as a list of texts."""
    if values is None:
        return None
    if isinstance(values, (str, bytes, os.PathLike, Hardware, Model, int)):
        values = [values]  # type: ignore[list-item]
    return [_text(value) for value in values]


def _text(value: Any) -> str:
    if isinstance(value, Model):
        return value.path
    if isinstance(value, Hardware):
        return value.source
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _assignments(values: Optional[Mapping[str, Any]]) -> Optional[List[str]]:
    if values is None:
        return None

    def extent(value: Any) -> str:
        if isinstance(value, (list, tuple)):
            return ",".join(str(int(item)) for item in value)
        return str(value)

    return [f"{name}={extent(value)}" for name, value in values.items()]


def _machine_options(hardware: Union[str, os.PathLike, "Hardware"], runtime: Optional[str]
                     ) -> Dict[str, Any]:
    if isinstance(hardware, Hardware):
        return {"hardware": hardware.source, "runtime": runtime or hardware._given_runtime}
    return {"hardware": _text(hardware), "runtime": runtime}


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


def _call(function: Callable[..., Any], options: Mapping[str, Any], progress: Progress) -> Any:
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
        self.source: str = _text(name_or_file)
        self._given_runtime = runtime
        found = _dfsim.machine(self.source, runtime or "")
        self.name: str = found["name"]
        self.description: str = found["description"]
        self.runtime: str = found["runtime"]
        # Each with name, model, type, memory_bytes, memory_bytes_per_s and cost_model.
        self.devices: List[Dict[str, Any]] = list(found["devices"])

    def __repr__(self) -> str:
        return f"dfsim.Hardware({self.source!r}, runtime={self.runtime!r})"


class Result:
    """What a study found: its JSON, and the same as Python values in `data`."""

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
        """Of one run of the whole batch."""
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
        _call(self._again, {**self._options, "trace": os.fspath(path)}, None)

    def _repr_html_(self) -> str:
        return _frame(self.to_html())

    def __repr__(self) -> str:
        low, high = self.interval
        return (f"<dfsim prediction: {self.model} on {self.hardware}, batch {self.batch}: "
                f"{self.latency_ms:.3f} ms (80 %: {low:.3f} to {high:.3f})>")


class Model:
    """A model file. load() makes it."""

    def __init__(self, path: str) -> None:
        self.path = path

    def predict(self, hardware: Union[str, os.PathLike, Hardware], **options: Any) -> Prediction:
        """See predict()."""
        return predict(self, hardware, **options)

    def partition(self, hardware: Union[str, os.PathLike, Hardware], **options: Any) -> Result:
        """See partition()."""
        return partition(self, hardware, **options)

    def roofline(self, hardware: Union[str, os.PathLike, Hardware], **options: Any) -> Result:
        """See roofline()."""
        return roofline(self, hardware, **options)

    def __repr__(self) -> str:
        return f"dfsim.Model({self.path!r})"


ModelLike = Union[str, os.PathLike, bytes, Model, Any]


def load(source: ModelLike) -> Model:
    """A model from a file or directory (ONNX, GraphDef, SavedModel), from the bytes of an ONNX file
    or from an onnx.ModelProto.

    A file is read when something is predicted. Bytes and protos go to a temporary file that lives
    as long as the model.
    """
    if isinstance(source, Model):
        return source
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        if not os.path.exists(path):
            raise _not_found(path)
        return Model(path)
    content = source if isinstance(source, bytes) else None
    if content is None and hasattr(source, "SerializeToString"):
        content = source.SerializeToString()
    if content is None:
        raise TypeError(f"load: found {type(source).__name__}, expected a path, the bytes of an "
                        "ONNX file or an onnx.ModelProto")
    folder = tempfile.TemporaryDirectory(prefix="dfsim-")
    graph = getattr(getattr(source, "graph", None), "name", "") or "model"
    name = "".join(c if c.isalnum() or c in "-_" else "_" for c in graph)[:60]
    path = os.path.join(folder.name, f"{name}.onnx")
    with open(path, "wb") as file:
        file.write(content)
    model = Model(path)
    weakref.finalize(model, folder.cleanup)
    return model


def _not_found(path: str) -> Exception:
    from ._errors import NotFoundError

    return NotFoundError(f"{path}: no such file")


def _model_options(model: ModelLike, dims: Optional[Mapping[str, int]],
                   input_shapes: Optional[Mapping[str, Sequence[int]]],
                   trip_counts: Optional[Mapping[str, int]]) -> Tuple[Model, Dict[str, Any]]:
    loaded = load(model)
    return loaded, {"model": loaded.path, "dims": _assignments(dims),
                    "input_shapes": _assignments(input_shapes),
                    "trip_counts": _assignments(trip_counts)}


def predict(model: ModelLike, hardware: Union[str, os.PathLike, Hardware], *,
            batch: Optional[int] = None, dims: Optional[Mapping[str, int]] = None,
            input_shapes: Optional[Mapping[str, Sequence[int]]] = None,
            trip_counts: Optional[Mapping[str, int]] = None, runtime: Optional[str] = None,
            cost_model: Union[str, os.PathLike, "PredictOps", None] = None,
            progress: Progress = None, **options: Any) -> Prediction:
    """How long one run of the model takes.

    batch: size of the batch; dims: extents of dynamic dimensions by name; input_shapes: whole
    shapes of inputs by name; cost_model: a directory, a built-in name, or a function
    predict_ops(ops, device) that gives the time of each operator in microseconds. It is called once
    per device with all distinct operators of the graph, each a dict with op_type, op_class, dtype,
    macs, flops, bytes_read, bytes_written, input_shapes, output_shapes and attributes; device is a
    dict with name, model, type and memory_bytes_per_s.

    Further options are those of `dfsim predict`, with _ for -: precision, policy, mode ("infer" or "train"),
    optimizer, recompute, requests, in_flight, rate, arrivals, repeat, seed, advice, branch,
    signature, strict, trace (a file for the timeline).

    Errors: dfsim.Error and its subclasses, with the texts of the command line; TypeError for
    unknown options and values of a wrong type.
    """
    loaded, chosen = _model_options(model, dims, input_shapes, trip_counts)
    chosen.update(_machine_options(hardware, runtime), batch=batch, **options)
    predict_native = _dfsim.predict
    if callable(cost_model):
        predict_ops = cost_model

        def predict_native(given: Dict[str, Any], tell: Any) -> Any:
            return _dfsim.predict_with_costs(given, tell, predict_ops)
    elif cost_model is not None:
        chosen["cost_model"] = _text(cost_model)
    result = Prediction(_call(predict_native, chosen, progress), chosen, predict_native)
    result._loaded = loaded  # type: ignore[attr-defined]  # keeps a temporary file for save_trace()
    return result


def compare(model: ModelLike, hardware: Union[str, os.PathLike, Hardware, None] = None, *,
            policies: Texts = "all", batch: Optional[int] = None,
            dims: Optional[Mapping[str, int]] = None,
            input_shapes: Optional[Mapping[str, Sequence[int]]] = None,
            trip_counts: Optional[Mapping[str, int]] = None, runtime: Optional[str] = None,
            progress: Progress = None, **options: Any) -> Result:
    """Scheduling policies next to each other on a model or a task graph.

    Further options: processors (identical ones, for task graphs), bandwidth (bytes per second),
    cost_model, seed, iterations, planning_time (False leaves out the one figure that differs from
    run to run).
    """
    _, chosen = _model_options(model, dims, input_shapes, trip_counts)
    if hardware is not None:
        chosen.update(_machine_options(hardware, runtime))
    chosen.update(batch=batch, policies=",".join(_texts(policies) or []), **options)
    return Result(_call(_dfsim.compare, chosen, progress))


def partition(model: ModelLike, hardware: Union[str, os.PathLike, Hardware], *,
              strategy: str = "auto", batch: Optional[int] = None,
              dims: Optional[Mapping[str, int]] = None,
              input_shapes: Optional[Mapping[str, Sequence[int]]] = None,
              trip_counts: Optional[Mapping[str, int]] = None, runtime: Optional[str] = None,
              progress: Progress = None, **options: Any) -> Result:
    """The model over the devices of a machine, by each plan of a strategy.

    Further options are those of `dfsim partition`: devices, micro_batches, schedule, chunks,
    collectives, mode, optimizer, recompute, bucket_mb, nodes, cost_model.
    """
    _, chosen = _model_options(model, dims, input_shapes, trip_counts)
    chosen.update(_machine_options(hardware, runtime), strategy=strategy, batch=batch, **options)
    return Result(_call(_dfsim.partition, chosen, progress))


def roofline(model: ModelLike, hardware: Union[str, os.PathLike, Hardware], *,
             sweep: Optional[Texts] = None, batch: Optional[int] = None,
             dims: Optional[Mapping[str, int]] = None,
             input_shapes: Optional[Mapping[str, Sequence[int]]] = None,
             trip_counts: Optional[Mapping[str, int]] = None, runtime: Optional[str] = None,
             progress: Progress = None, **options: Any) -> Result:
    """The rate that each operator of a model or trace reaches, and what limits it.

    sweep: "batch=1,8,32" adds lines over a value. Further options: device, cost_model.
    """
    _, chosen = _model_options(model, dims, input_shapes, trip_counts)
    chosen.update(_machine_options(hardware, runtime), sweep=_texts(sweep), batch=batch, **options)
    return Result(_call(_dfsim.roofline, chosen, progress))


def analyze(traces: Union[Texts, os.PathLike], *, advice: bool = True, timeline: bool = False,
            progress: Progress = None) -> Result:
    """Where the time and memory of recorded runs went. timeline: also the spans."""
    return Result(_call(_dfsim.analyze, {"traces": _texts(traces), "advice": advice,
                                         "timeline": timeline}, progress))


def train(profiles: Union[Texts, os.PathLike], directory: Union[str, os.PathLike], *,
          hardware: Optional[Texts] = None, progress: Progress = None, **options: Any) -> Result:
    """Trains a cost model from profiles of measured operators and writes it to `directory`.

    Further options: name, extend, format, only_devices, only_ops, device, overheads, seed, threads,
    rounds.
    """
    chosen = {"profiles": _texts(profiles), "directory": os.fspath(directory),
              "hardware": _texts(hardware), "dfsim_version": _dfsim.__version__, **options}
    return Result(_call(_dfsim.train, chosen, progress))


def evaluate(model: Union[str, os.PathLike], profiles: Union[Texts, os.PathLike], *,
             use_lookup: bool = True, progress: Progress = None, **options: Any) -> Result:
    """How far a cost model, a directory or a built-in name, is from measured operator times.

    Further options: format, only_devices, only_ops, device.
    """
    return Result(_call(_dfsim.evaluate, {"model": _text(model), "profiles": _texts(profiles),
                                          "use_lookup": use_lookup, **options}, progress))


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


def sweep(models: Union[Texts, os.PathLike, Model, Iterable[ModelLike], None] = None,
          hardware: Union[Texts, os.PathLike, Hardware, Sequence[Any], None] = None, *,
          file: Union[str, os.PathLike, None] = None, batch: Any = None,
          runtime: Optional[Texts] = None, mode: Optional[Texts] = None,
          precision: Optional[Texts] = None, policy: Optional[Texts] = None, params: Optional[Mapping[str, Any]] = None,
          prices: Optional[Mapping[str, float]] = None,
          journal: Union[str, os.PathLike, None] = None, progress: Progress = None,
          **options: Any) -> Sweep:
    """Many predictions at once, on all cores.

    models: files, patterns such as "models/*.onnx", or what load() takes; batch: a number, a series
    such as "1:256:x2", or a list of them; params: series by name of a dynamic dimension; file: a
    sweep as YAML; prices: per hour by machine. journal: a file that keeps finished points until the
    sweep is done, so that a sweep that was stopped goes on. Further options: combine ("product" or
    "zip"), cost_model, optimizer, recompute, seed, threads, max_latency_ms, max_memory_gb,
    max_price_per_hour.

    A point that fails is a row with its error.
    """
    if models is None or isinstance(models, (str, bytes, os.PathLike, Model)):
        sources: List[Any] = [] if models is None else [models]
    else:
        sources = list(models) if isinstance(models, Iterable) else [models]
    loaded = [source if isinstance(source, (str, os.PathLike)) else load(source)
              for source in sources]
    native = _call(_dfsim.sweep, {
        "models": [_text(model) for model in loaded], "hardware": _texts(hardware),
        "batches": _texts(batch), "runtimes": _texts(runtime), "modes": _texts(mode),
        "precisions": _texts(precision), "policies": _texts(policy), "params": _assignments(params),
        "file": None if file is None else os.fspath(file),
        "prices": None if prices is None else dict(prices),
        "journal": None if journal is None else os.fspath(journal),
        "program": f"dfsim {_dfsim.__version__}", **options}, progress)
    return Sweep(native)


def machines() -> List[str]:
    """Names of the built-in machines."""
    return list(_dfsim.machines())


def runtimes() -> List[str]:
    """Names of the built-in runtimes."""
    return list(_dfsim.runtimes())
