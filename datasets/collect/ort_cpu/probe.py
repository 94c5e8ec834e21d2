"""This machine as a hardware file (docs/reference/hardware.md): what it is, and the peaks that it was seen to reach."""

import datetime
import os
import pathlib
import platform
import re
import threading
import time

import numpy as np
from onnx import helper

PROBE_S = 1.5
PROBE_REPEATS = 20
GEMM = 1024
STREAM = 1 << 24  # elements of each of three vectors: more than any cache holds
SETTLE_RUNS = 2


def processor_name():
    """As the kernel names it."""
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
        found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
        if found:
            return re.sub(r"\s+", " ", found.group(1)).strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def usual_runtime():
    """Which of dfsim's runtimes ONNX Runtime is on this processor: the size of its blocks of channels differs."""
    try:
        flags = pathlib.Path("/proc/cpuinfo").read_text().split()
    except OSError:
        flags = []
    return "ort-avx512" if "avx512f" in flags else "ort-cpu"


def cores():
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_gib():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def last_cache_mib():
    """The largest cache of the first core, or None."""
    sizes = []
    for path in pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        found = re.fullmatch(r"(\d+)([KMG])", path.read_text().strip())
        if found:
            sizes.append(int(found.group(1)) * {"K": 2**-10, "M": 1, "G": 2**10}[found.group(2)])
    return max(sizes) if sizes else None


def caches():
    """[(name, bytes, cores that share it)] of the first core's caches of data, nearest first."""
    found = {}
    for path in pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            size = re.fullmatch(r"(\d+)([KMG])", (path / "size").read_text().strip())
            if (path / "type").read_text().strip() == "Instruction" or not size:
                continue
            sharing = 0
            for part in (path / "shared_cpu_list").read_text().strip().split(","):
                low, _, high = part.partition("-")
                sharing += int(high or low) - int(low) + 1
            found[int((path / "level").read_text())] = (
                int(size.group(1)) * {"K": 2**10, "M": 2**20, "G": 2**30}[size.group(2)], sharing)
        except (OSError, ValueError):
            continue
    return [(f"L{level}", *found[level]) for level in sorted(found)]


def add_rate(total_bytes, threads):
    """Bytes/s of threads that each add two vectors to a third, of total_bytes together, again and again."""
    n = max(64, total_bytes // 12)
    passes = max(1, (1 << 26) // n)
    seconds, barrier = np.zeros((PROBE_REPEATS, threads)), threading.Barrier(threads)

    def work(index):
        again = np.lib.stride_tricks.as_strided  # rows that are all the same vector
        a, b, c = (again(np.full(n, 0.5, np.float32), (passes, n), (0, 4)) for _ in range(3))
        for repeat in range(PROBE_REPEATS):
            barrier.wait()
            start = time.perf_counter()
            np.add(a, b, out=c)
            seconds[repeat, index] = time.perf_counter() - start

    workers = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return threads * 12 * n * passes / seconds.max(axis=1).min()


def cache_rates(threads):
    """[(name, bytes/s, bytes)] of each cache, all threads together, each on half of its part."""
    rates = []
    for name, size, sharing in caches():
        together = min(threads, sharing)
        rates.append((name, add_rate(size // 2 // together, threads), size * -(-threads // sharing)))
    # A small cache ends its vectors before the loop around them pays: then it looks slower than the next.
    return [rate for rate, behind in zip(rates, rates[1:] + [(None, 0, 0)]) if rate[1] > behind[1]]


def best_seconds(measure, kind, inputs, output, threads):
    """Least time of one operator over about PROBE_S."""
    import onnxruntime
    values = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
              for n, a in zip("ab", inputs)]
    result = helper.make_tensor_value_info("c", helper.np_dtype_to_tensor_dtype(output.dtype), output.shape)
    graph = helper.make_graph([helper.make_node(kind, ["a", "b"], ["c"])], "probe", values, [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = measure.make_session(model.SerializeToString(), threads)
    binding = session.io_binding()
    for name, value in zip("ab", inputs):
        binding.bind_cpu_input(name, value)
    binding.bind_ortvalue_output("c", onnxruntime.OrtValue.ortvalue_from_numpy(output))
    best, begin, runs = float("inf"), time.perf_counter(), 0
    while runs < SETTLE_RUNS + 2 or time.perf_counter() - begin < PROBE_S:
        start = time.perf_counter()
        session.run_with_iobinding(binding)
        if runs >= SETTLE_RUNS:
            best = min(best, time.perf_counter() - start)
        runs += 1
    return best


def peaks(measure, threads, with_caches=True):
    """FLOP/s of a matrix product in fp32 and int8, bytes/s of a sum of long vectors."""
    n = GEMM
    square = np.full((n, n), 0.5, np.float32)
    signed, unsigned = np.full((n, n), 3, np.int8), np.full((n, n), 3, np.uint8)
    fp32 = best_seconds(measure, "MatMul", [square, square], square.copy(), threads)
    int8 = best_seconds(measure, "MatMulInteger", [unsigned, signed], np.zeros((n, n), np.int32), threads)
    vector = np.full(STREAM, 0.5, np.float32)
    stream = best_seconds(measure, "Add", [vector, vector.copy()], vector.copy(), threads)
    return {"fp32": 2 * n**3 / fp32, "int8": 2 * n**3 / int8, "bytes_per_s": 3 * 4 * STREAM / stream,
            "caches": cache_rates(threads) if with_caches else []}


SHORT = {"float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "int8": "int8"}


def roof_lines(roofs):
    """(`roofs` of a hardware file, [(level, bytes/s, bytes)]) of what `dfsim calibrate` measured with bare loops."""
    peaks = ", ".join(f"{SHORT[peak['dtype']]}: {peak['flops_per_s'] / 1e12:.4f}" for peak in roofs["peaks"])
    *caches, memory = roofs["bandwidths"]
    text = (f"    roofs:\n      vector_tflops: {{{peaks}}}\n"
            f"      memory_bandwidth_gb_per_s: {memory['bytes_per_s'] / 1e9:.2f}\n")
    return text, [(level["level"], level["bytes_per_s"], level["bytes"]) for level in caches]


def hardware_yaml(name, device, threads, measured, cost_model, runtime, date, roofs=None):
    """Text of a hardware file. measured: of peaks(); roofs: of `dfsim calibrate` at that number of threads."""
    cache = last_cache_mib()
    roof_text, roof_source = "", ""
    if roofs:
        roof_text, caches = roof_lines(roofs)
        measured = dict(measured, caches=caches)
        roof_source = f'''  bare: "measured by dfsim calibrate, {date}: best runs of multiply-adds in registers, triads and sums in each cache"\n'''
    levels = "".join(f"      - {{name: {level}, bandwidth_gb_per_s: {rate / 1e9:.1f}, mib: {size / 2**20:g}}}\n"
                     for level, rate, size in measured.get("caches", []))
    levels = "    cache_levels:\n" + levels if levels else ""
    return f"""name: {name}
description: {processor_name()}, ONNX Runtime with {threads} thread{'' if threads == 1 else 's'}, as measured on this machine
runtime: {runtime}

sources:
  measured: "datasets/collect/ort_cpu probe, {date}: best of a {GEMM}-cubed matrix product and of a sum of vectors of {STREAM * 4 >> 20} MiB{'' if roofs else '; caches: of sums of vectors that fill half of one'}"
{roof_source}  system: "what the operating system says of the machine"
  estimate: "estimate of this project, not measured"

devices:
  - name: cpu0
    model: {device}
    type: cpu
    vector_tflops: {{fp32: {measured['fp32'] / 1e12:.4f}, int8: {measured['int8'] / 1e12:.4f}}}
    memory_gib: {memory_gib():.1f}
    memory_bandwidth_gb_per_s: {measured['bytes_per_s'] / 1e9:.2f}
    l2_mib: {cache if cache is not None else 8}
    compute_units: {threads}
    launch_overhead_us: 1
    queues: 1
    copy_engines: 0
    cost_model: {cost_model}
{levels}{roof_text}    cite:
      default: system
      vector_tflops: measured
      memory_bandwidth_gb_per_s: measured
      l2_mib: {'system' if cache is not None else 'estimate'}
{f"      cache_levels: {'bare' if roofs else 'measured'}" + chr(10) if levels else ""}{"      roofs: bare" + chr(10) if roofs else ""}      launch_overhead_us: estimate
      queues: estimate
      copy_engines: estimate
"""


def write_hardware(measure, folder, names, device, threads, cost_model, runtime, roofs=None):
    """One file for each number of threads; gives their paths. names: of the files, without .yaml.

    roofs: {"1": {...}}, of `dfsim calibrate`, for some of the numbers of threads.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, t in zip(names, threads):
        bare = (roofs or {}).get(str(t))
        text = hardware_yaml(name, device(t), t, peaks(measure, t, not bare), cost_model, runtime,
                             datetime.date.today().isoformat(), bare)
        path = folder / f"{name}.yaml"
        path.write_text(text)
        paths.append(path)
    return paths
