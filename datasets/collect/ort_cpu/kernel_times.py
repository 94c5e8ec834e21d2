"""Times of ONNX Runtime's kernels in one small network, for scripts that measure single operators."""

import collections
import json
import os
import statistics
import time

import onnxruntime


def kernel_times_us(model, feed, threads, folder, runs, seconds=0.0):
    """(operator, median) of each kernel over that many runs and seconds or more, with the profiler on."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    options.enable_profiling = True
    options.profile_file_prefix = os.path.join(folder, "profile")
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
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
    return [(operator, statistics.median(kernel)) for (_, operator), kernel in times.items()]
