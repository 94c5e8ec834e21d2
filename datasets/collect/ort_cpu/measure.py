"""Timing with ONNX Runtime: sessions, the reference kernels, runs with and without the profiler."""

import collections
import json
import os
import pathlib
import statistics
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

import rows

REFERENCE_EVERY_S = 0.08
PROVIDERS = ["CPUExecutionProvider"]
LEVELS = {"all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
          "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
          "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
          True: onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
          False: onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL}


def make_session(model, threads, *, optimise=True, profile_prefix=None, optimised_path=None):
    """model: a path or serialised bytes. One thread dispatches, `threads` compute, as by default.
    optimise: whether at all, or one of LEVELS."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = LEVELS[optimise]
    if profile_prefix is not None:
        options.enable_profiling = True
        options.profile_file_prefix = str(profile_prefix)
    if optimised_path is not None:
        options.optimized_model_filepath = str(optimised_path)
        prefix = "session.optimized_model_external_initializers_"
        options.add_session_config_entry(prefix + "file_name", pathlib.Path(optimised_path).stem + ".bin")
        options.add_session_config_entry(prefix + "min_size_in_bytes", "1024")
    return onnxruntime.InferenceSession(model if isinstance(model, bytes) else str(model), options,
                                        providers=PROVIDERS)


NUMPY_TYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32,
               "tensor(bool)": np.bool_, "tensor(uint8)": np.uint8, "tensor(int8)": np.int8,
               "tensor(double)": np.float64, "tensor(float16)": np.float16}


def made_up_inputs(session, seed=0, dims=None):
    """dims: the extents of open dimensions by name; 1 for others. Values by the inputs' names and types: masks of ones, token ids, positions of 0, anything else at random."""
    rng = np.random.default_rng(seed)
    feeds = {}
    for item in session.get_inputs():
        if item.type not in NUMPY_TYPES:
            raise ValueError(f"input '{item.name}' is a {item.type}; known are {', '.join(sorted(NUMPY_TYPES))}")
        shape = [d if isinstance(d, int) else (dims or {}).get(d, 1) for d in item.shape]
        dtype = NUMPY_TYPES[item.type]
        if "mask" in item.name:
            values = np.ones(shape)
        elif np.issubdtype(dtype, np.floating):
            values = rng.uniform(0.1, 1, shape)
        elif "input_ids" in item.name:
            values = rng.integers(0, 1000, shape)
        else:
            values = np.zeros(shape)
        feeds[item.name] = values.astype(dtype)
    return feeds


class Reference:
    """Two kernels that never change: a matrix product (arithmetic) and a sum of long vectors (memory).

    A machine whose clock or neighbours change shows it in them; every measurement carries their times.
    """

    def __init__(self):
        self.sessions = [self._session("MatMul", [384, 384], 1), self._session("Add", [3 << 20], 1)]

    @staticmethod
    def _session(kind, shape, threads):
        inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in "ab"]
        outputs = [helper.make_tensor_value_info("c", TensorProto.FLOAT, shape)]
        graph = helper.make_graph([helper.make_node(kind, ["a", "b"], ["c"])], "reference", inputs, outputs)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        session = make_session(model.SerializeToString(), threads)
        feeds = made_up_inputs(session)
        binding = session.io_binding()
        for name, value in feeds.items():
            binding.bind_cpu_input(name, value)
        binding.bind_ortvalue_output("c", onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(shape, np.float32)))
        for _ in range(3):
            session.run_with_iobinding(binding)
        return session, binding

    def sample_us(self):
        """(arithmetic, memory)"""
        times = []
        for session, binding in self.sessions:
            start = time.perf_counter_ns()
            session.run_with_iobinding(binding)
            times.append((time.perf_counter_ns() - start) / 1000)
        return tuple(times)


def summary_of(references):
    """Summarises the reference kernels' times during a measurement: medians and interquartile ranges."""
    summary = {}
    for name, column in zip(("arithmetic", "memory"), zip(*references)):
        ordered = sorted(column)
        quarter = len(ordered) // 4
        middle = statistics.median(ordered)
        summary[name] = {"us": round(middle, 1), "samples": len(ordered),
                         "spread": round((ordered[-1 - quarter] - ordered[quarter]) / middle, 4)}
    return summary


def timed_runs(run, reference, *, seconds, least, most, warm):
    """Wall times in us of at least `least` runs, for about `seconds`, and those of the reference."""
    for _ in range(warm):
        run()
    references = [reference.sample_us() for _ in range(3)]
    run()  # the reference has emptied the caches
    times, begin = [], time.perf_counter()
    checked = begin
    while len(times) < least or (time.perf_counter() - begin < seconds and len(times) < most):
        start = time.perf_counter_ns()
        run()
        times.append((time.perf_counter_ns() - start) / 1000)
        if time.perf_counter() - checked > REFERENCE_EVERY_S:
            references.append(reference.sample_us())
            run()
            checked = time.perf_counter()
    references += [reference.sample_us() for _ in range(3)]
    return times, references


def profiled(model, executed, threads, reference, scratch, *, optimise, budget, dims=None):
    """Operator times with the profiler on: rows, the runs' wall time, the arena, the reference."""
    session = make_session(model, threads, optimise=optimise, profile_prefix=pathlib.Path(scratch) / "profile")
    feeds = made_up_inputs(session, dims=dims)
    times, references = timed_runs(lambda: session.run(None, feeds), reference, **budget)
    path = pathlib.Path(session.end_profiling())
    nodes, runs_us, arena = rows.read_profile(path, budget["warm"] + 1)
    path.unlink()
    op_rows, unknown = rows.op_rows(nodes, executed)
    return {"rows": op_rows, "unknown_nodes": len(unknown), "nodes": len(nodes), "runs": len(times),
            "profiled_us": round(statistics.median(runs_us), 1), "arena": arena,
            "reference": summary_of(references)}


def unprofiled(model, threads, reference, *, optimise, budget, dims=None):
    """Wall times of whole runs with the profiler off, as a user has them."""
    session = make_session(model, threads, optimise=optimise)
    feeds = made_up_inputs(session, dims=dims)
    times, references = timed_runs(lambda: session.run(None, feeds), reference, **budget)
    return {"wall_us": round(statistics.median(times), 1), "wall_spread_us": round(statistics.pstdev(times), 1),
            "wall_best_us": round(min(times), 1), "runs": len(times), "reference": summary_of(references)}


def arena(model, scratch, dims=None):
    """The arena of one run on one thread."""
    session = make_session(model, 1, optimise=False, profile_prefix=pathlib.Path(scratch) / "profile")
    feeds = made_up_inputs(session, dims=dims)
    session.run(None, feeds)
    path = pathlib.Path(session.end_profiling())
    _, _, found = rows.read_profile(path, 0)
    path.unlink()
    return found


def load_executed(path):
    return rows.Executed(onnx.load(path, load_external_data=False))


def kernel_times_us(model, feed, threads, folder, runs, seconds=0.0, of=statistics.median):
    """(operator, median) of each kernel over that many runs and seconds or more, with the profiler on.
    of: min for the fastest run, where other work on the machine may take turns."""
    session = make_session(model, threads, profile_prefix=os.path.join(folder, "profile"))
    start, done = time.perf_counter(), 0
    while done < runs or time.perf_counter() - start < seconds:
        session.run(None, feed)
        done += 1
    path = session.end_profiling()
    with open(path, encoding="utf-8") as file:
        events = json.load(file)
    os.remove(path)
    times = collections.defaultdict(list)
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            times[event["name"], event["args"]["op_name"]].append(event["dur"])
    return [(operator, of(kernel)) for (_, operator), kernel in times.items()]
