"""The functions that users of dfsim call, on top of the compiled module."""

from __future__ import annotations

import os
import tempfile
import weakref
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from ._errors import NotFoundError
from ._native import _dfsim
from ._results import Prediction, Result, Sweep
from ._support import (
    Hardware,
    PredictOps,
    Progress,
    Texts,
    assignments,
    call,
    machine_options,
    text,
    texts,
)

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
            raise NotFoundError(f"{path}: no such file")
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


def _model_options(model: ModelLike, dims: Optional[Mapping[str, int]],
                   input_shapes: Optional[Mapping[str, Sequence[int]]],
                   trip_counts: Optional[Mapping[str, int]]) -> Tuple[Model, Dict[str, Any]]:
    loaded = load(model)
    return loaded, {"model": loaded.path, "dims": assignments(dims),
                    "input_shapes": assignments(input_shapes),
                    "trip_counts": assignments(trip_counts)}


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
    chosen.update(machine_options(hardware, runtime), batch=batch, **options)
    predict_native = _dfsim.predict
    if callable(cost_model):
        predict_ops = cost_model

        def predict_native(given: Dict[str, Any], tell: Any) -> Any:
            return _dfsim.predict_with_costs(given, tell, predict_ops)
    elif cost_model is not None:
        chosen["cost_model"] = text(cost_model)
    result = Prediction(call(predict_native, chosen, progress), chosen, predict_native)
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
        chosen.update(machine_options(hardware, runtime))
    chosen.update(batch=batch, policies=",".join(texts(policies) or []), **options)
    return Result(call(_dfsim.compare, chosen, progress))


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
    chosen.update(machine_options(hardware, runtime), strategy=strategy, batch=batch, **options)
    return Result(call(_dfsim.partition, chosen, progress))


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
    chosen.update(machine_options(hardware, runtime), sweep=texts(sweep), batch=batch, **options)
    return Result(call(_dfsim.roofline, chosen, progress))


def analyze(traces: Union[Texts, os.PathLike], *, advice: bool = True, timeline: bool = False,
            progress: Progress = None) -> Result:
    """Where the time and memory of recorded runs went. timeline: also the spans."""
    return Result(call(_dfsim.analyze, {"traces": texts(traces), "advice": advice,
                                         "timeline": timeline}, progress))


def train(profiles: Union[Texts, os.PathLike], directory: Union[str, os.PathLike], *,
          hardware: Optional[Texts] = None, progress: Progress = None, **options: Any) -> Result:
    """Trains a cost model from profiles of measured operators and writes it to `directory`.

    Further options: name, extend, format, only_devices, only_ops, device, overheads, seed, threads,
    rounds.
    """
    chosen = {"profiles": texts(profiles), "directory": os.fspath(directory),
              "hardware": texts(hardware), "dfsim_version": _dfsim.__version__, **options}
    return Result(call(_dfsim.train, chosen, progress))


def evaluate(model: Union[str, os.PathLike], profiles: Union[Texts, os.PathLike], *,
             use_lookup: bool = True, progress: Progress = None, **options: Any) -> Result:
    """How far a cost model, a directory or a built-in name, is from measured operator times.

    Further options: format, only_devices, only_ops, device.
    """
    return Result(call(_dfsim.evaluate, {"model": text(model), "profiles": texts(profiles),
                                          "use_lookup": use_lookup, **options}, progress))


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
    machines_given = hardware if isinstance(hardware, (list, tuple)) else [hardware]
    if any(isinstance(machine, Hardware) and machine.given_runtime for machine in machines_given):
        raise TypeError("sweep: found Hardware with a runtime of its own, expected machines without "
                        "one; give the runtimes with runtime=")
    loaded = [source if isinstance(source, (str, os.PathLike)) else load(source)
              for source in sources]
    native = call(_dfsim.sweep, {
        "models": [text(model) for model in loaded], "hardware": texts(hardware),
        "batches": texts(batch), "runtimes": texts(runtime), "modes": texts(mode),
        "precisions": texts(precision), "policies": texts(policy), "params": assignments(params),
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
