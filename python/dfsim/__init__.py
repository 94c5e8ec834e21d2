"""dfsim: how long a deep-learning model takes on a machine, and why.

    import dfsim
    model = dfsim.load("resnet50.onnx")
    result = model.predict("a100", batch=8)
    print(result.latency_ms, result.interval)

Times are milliseconds where a name ends in _ms and nanoseconds where it ends in _ns, sizes are
bytes, rates are per second. Each function gives the same JSON as the command of the same name
with --json. Work runs without the interpreter's lock and stops at Ctrl-C.
"""

from ._api import (
    Model,
    analyze,
    compare,
    evaluate,
    load,
    machines,
    partition,
    predict,
    roofline,
    runtimes,
    sweep,
    train,
)
from ._errors import Error, FailedError, InvalidInputError, NotFoundError, UnsupportedError
from ._native._dfsim import __version__
from ._results import Prediction, Result, Sweep
from ._support import Hardware

__all__ = [
    "Error",
    "FailedError",
    "Hardware",
    "InvalidInputError",
    "Model",
    "NotFoundError",
    "Prediction",
    "Result",
    "Sweep",
    "UnsupportedError",
    "__version__",
    "analyze",
    "compare",
    "evaluate",
    "load",
    "machines",
    "partition",
    "predict",
    "roofline",
    "runtimes",
    "sweep",
    "train",
]
