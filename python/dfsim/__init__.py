"""dfsim: how long a deep-learning model takes on a machine, and why.

    import dfsim
    model = dfsim.load("resnet50.onnx")
    result = model.predict("a100", batch=8)
    print(result.latency_ms, result.interval)

Times are milliseconds where a name ends in _ms and nanoseconds where it ends in _ns, sizes are
bytes, rates are per second. Each function gives the same JSON as the command of the same name
with --json. Work runs without the interpreter's lock and stops at Ctrl-C.
"""

from . import llm, profiles
from ._api import Model, cost_models, load, machines, runtimes, set_log_level
from ._commands import (
    analyze,
    calibrate,
    compare,
    diff,
    evaluate,
    generate,
    hardware,
    inspect,
    ops,
    partition,
    predict,
    replay,
    roofline,
    sweep,
    train,
    tune,
    validate,
)
from ._errors import (
    DoesNotFitError,
    Error,
    FailedError,
    IncompleteError,
    InvalidInputError,
    NotFoundError,
    UnsupportedError,
)
from ._native._dfsim import version as __version__
from ._policies import Scheduler, SchedulingProblem
from ._results import Prediction, Result, Sweep
from ._support import Hardware
from ._table import Table

__all__ = [
    "DoesNotFitError",
    "Error",
    "FailedError",
    "Hardware",
    "IncompleteError",
    "InvalidInputError",
    "Model",
    "NotFoundError",
    "Prediction",
    "Result",
    "Scheduler",
    "SchedulingProblem",
    "Sweep",
    "Table",
    "UnsupportedError",
    "__version__",
    "analyze",
    "calibrate",
    "compare",
    "cost_models",
    "diff",
    "evaluate",
    "generate",
    "hardware",
    "inspect",
    "llm",
    "load",
    "machines",
    "ops",
    "partition",
    "predict",
    "profiles",
    "replay",
    "roofline",
    "runtimes",
    "set_log_level",
    "sweep",
    "train",
    "tune",
    "validate",
]
