"""Times several settings of ONNX Runtime on one model, interleaved: what `dfsim tune` runs.

usage: tune.py REQUEST.json RESULT.json
The request has "model", "precision" (precision.py), "seconds" (per setting), "rounds", and
"settings": a list of objects with intra, inter, pinned, level (0 none, 1 basic, 2 extended, 3 all)
and dims (names of free dimensions to extents). With "static" true these are fixed before ONNX
Runtime optimises the graph, otherwise it sees them in each run only. The result has "onnxruntime", its version, and "times_ms": per setting, the times of all
runs. A model without weights, as dfsim inspect -o writes them, gets made-up ones. A setting that
ONNX Runtime refuses ends the program with its message and code 3.
"""

import json
import os
import pathlib
import sys
import tempfile
import time

import numpy as np
import onnxruntime

from measure import NUMPY_TYPES, PROVIDERS
from precision import converted


def with_weights(path, folder):
    """The model itself, or a copy in `folder` with synthetic weights where it has none."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "ort_optimized_ops"))
    import onnx
    import ort_optimized_ops
    model = onnx.load(path, load_external_data=False)
    beside = pathlib.Path(path).parent
    files = [entry.value for tensor in model.graph.initializer for entry in tensor.external_data
             if entry.key == "location"]
    if all(ort_optimized_ops.has_data(t) or t.external_data for t in model.graph.initializer) and \
            all((beside / file).exists() for file in files):
        return str(path)
    ort_optimized_ops.invent_weights(model, pathlib.Path(folder))
    onnx.save(model, pathlib.Path(folder) / "model.onnx")
    return str(pathlib.Path(folder) / "model.onnx")


def session_of(model, setting, static):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = setting["intra"]
    options.inter_op_num_threads = setting["inter"]
    if setting["inter"] > 1:
        options.execution_mode = onnxruntime.ExecutionMode.ORT_PARALLEL
    options.log_severity_level = 3
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = [level.ORT_DISABLE_ALL, level.ORT_ENABLE_BASIC,
                                        level.ORT_ENABLE_EXTENDED, level.ORT_ENABLE_ALL][setting["level"]]
    if setting["pinned"] and setting["intra"] > 1:
        cpus = sorted(os.sched_getaffinity(0))
        # One entry for each thread but the caller's; processors count from 1.
        entries = [str(cpus[i % len(cpus)] + 1) for i in range(1, setting["intra"])]
        options.add_session_config_entry("session.intra_op_thread_affinities", ";".join(entries))
    if static:
        for name, extent in setting["dims"].items():
            options.add_free_dimension_override_by_name(name, extent)
    return onnxruntime.InferenceSession(model, options, providers=PROVIDERS)


def inputs_of(session, dims):
    rng = np.random.default_rng(0)
    feeds = {}
    for item in session.get_inputs():
        if item.type not in NUMPY_TYPES:
            raise ValueError(f"input '{item.name}' is a {item.type}")
        shape = [d if isinstance(d, int) else dims.get(d, 1) for d in item.shape]
        dtype = NUMPY_TYPES[item.type]
        if "mask" in item.name:  # hides nothing, as in measure.py
            values = np.ones(shape)
        else:
            values = rng.uniform(0.1, 1, shape) if np.issubdtype(dtype, np.floating) else np.zeros(shape)
        feeds[item.name] = values.astype(dtype)
    return feeds


def block(session, feeds, seconds):
    """Times of runs one after the other, after one that warms up the caches and the threads."""
    session.run(None, feeds)
    times, begin = [], time.perf_counter()
    while len(times) < 2 or time.perf_counter() - begin < seconds:
        start = time.perf_counter_ns()
        session.run(None, feeds)
        times.append((time.perf_counter_ns() - start) / 1e6)
    return times


def measured(request, model):
    sessions = []
    for setting in request["settings"]:
        session = session_of(model, setting, request.get("static", False))
        sessions.append((session, inputs_of(session, setting["dims"])))
    times = [[] for _ in sessions]
    # Round by round, so that what changes about the machine changes for all.
    for _ in range(request["rounds"]):
        for index, (session, feeds) in enumerate(sessions):
            times[index] += block(session, feeds, request["seconds"] / request["rounds"])
            time.sleep(0.005)  # the session's threads stop spinning
    return times


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        request = json.load(file)
    try:
        with tempfile.TemporaryDirectory(prefix="dfsim_tune_") as folder:
            model = with_weights(request["model"], folder)
            dims = request["settings"][0]["dims"]
            times = measured(request, converted(model, request.get("precision", ""), dims, folder))
    except Exception as error:  # ONNX Runtime has many kinds, all with a message for people
        print(f"ONNX Runtime: {error}", file=sys.stderr)
        return 3
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump({"onnxruntime": onnxruntime.__version__, "times_ms": times}, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
