#!/usr/bin/env python3
"""How many rows of the measured CPUs take less than a floor, or longer than a limit, of opmodel/model/laws.

usage: check_limits.py [CPU...]      CPU: a folder of datasets/measured; default: all four

Needs PyYAML. Computes kernel_floors.h (GRU, RNN, copies of right operands that are not weights, Transposes element by element) and small_slices.h from
the shapes in ops.csv.xz and the rates in the hardware files. Times of slices are without what the profiler added.
"""
import csv
import json
import lzma
import math
import pathlib
import re
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[4]
CPUS = ("epyc-genoa", "epyc-milan", "epyc-turin", "xeon-cascade-lake")
MEASURED_FP32 = 91.9e9
BYTES = {"float16": 2, "int64": 8, "uint8": 1, "int8": 1, "bool": 1}


def operands(text):
    """(type, extents) of "float32[2x3];int64[]"."""
    return [(kind, [int(extent) for extent in extents.split("x") if extent])
            for kind, extents in re.findall(r"(\w+)\[([\dx]*)\]", text)]


class Device:
    def __init__(self, cpu, threads):
        name = cpu if threads > 1 else f"{cpu}-1t"
        described = yaml.safe_load((ROOT / f"hardware/platforms/cpu/{name}.yaml").read_text())["devices"][0]
        self.threads = threads
        self.flops = described["vector_tflops"]["fp32"] * 1e12
        self.bandwidth = described["memory_bandwidth_gb_per_s"] * 1e9
        self.speed = min(max(self.flops / threads / MEASURED_FP32, 0.9), 2.5)

    def shared(self, us):
        return us * (0.02 + 0.98 / self.threads) if self.threads > 1 else us


def recurrence_us(inputs, device, each_ns):
    (_, x), _, (_, r) = inputs[:3]
    rows = x[0] * x[1] * r[0]
    return rows * r[2] * each_ns / 1e3 + 2 * rows * r[1] * (x[2] + r[2]) / device.flops * 1e6


def packing_us(inputs, device):
    (_, left), (_, right) = inputs[:2]
    if min(len(left), len(right)) < 3 or math.prod(right[:-2]) < 2 or left[-2] < 2:
        return None  # a weight, perhaps, or one row
    large = 4 * right[-2] * right[-1] > 1 << 20
    return device.shared(math.prod(right) * (0.28 if large else 0.13) / 1e3)


def element_copies_us(attributes, inputs, device):
    perm = [int(axis) for axis in re.search(r"perm=([\d,]+)", attributes)[1].split(",")] if "perm=" in attributes else []
    _, x = inputs[0]
    if sorted(perm) != list(range(len(x))):
        return None
    in_order = [axis for axis in perm if x[axis] != 1]
    single = any([a for a in perm if a != axis] == [a for a in range(len(x)) if a != axis] for axis in perm)
    kept = len(perm)
    while kept and perm[kept - 1] == kept - 1:
        kept -= 1
    rotated = perm == [(perm[0] + i) % len(perm) for i in range(len(perm))]
    if in_order == sorted(in_order) or single or rotated or math.prod(x[kept:]) > 1:
        return None
    return math.prod(x) * 3.2e-3 / math.sqrt(device.speed)


def slice_us(inputs, outputs, device):
    (kind, x), (_, y) = inputs[0], outputs[0]
    results = math.prod(y)
    if len(x) != len(y) or not results or results >= 0.25 * math.prod(x):
        return None
    run = 1
    for before, behind in zip(reversed(x), reversed(y)):
        run *= behind
        if before != behind:
            break
    copied = 2 * results * BYTES.get(kind, 4) / (0.5 * device.bandwidth) * 1e6
    return (20 + results / run * 0.02) / device.speed + copied


def ratios(cpu):
    """(law, measured time over its limit) for each row that has one."""
    devices = {threads: Device(cpu, threads) for threads in (1, 2)}
    overheads = json.loads((ROOT / f"datasets/measured/{cpu}/overheads.json").read_text())
    with lzma.open(ROOT / f"datasets/measured/{cpu}/ops.csv.xz", "rt") as file:
        for row in csv.DictReader(file):
            op, us = row["op_type"], float(row["time_ns"]) / 1e3
            if op not in ("GRU", "RNN", "MatMul", "Slice", "Transpose"):
                continue
            device = devices[1 if "1 thread" in row["device"] else 2]
            inputs, outputs = operands(row["inputs"]), operands(row["outputs"])
            if op == "Slice":
                limit, us = slice_us(inputs, outputs, device), us - overheads.get(row["device"], 0)
            elif op == "Transpose":
                limit = element_copies_us(row["attributes"], inputs, device)
            elif op == "MatMul":
                limit = packing_us(inputs, device)
            else:
                limit = recurrence_us(inputs, device, 4 if op == "GRU" else 8)
            if limit:
                yield op, us / limit


def main():
    print("cpu,law,rows,below_0.9,above_1")
    for cpu in sys.argv[1:] or CPUS:
        found = {}
        for op, ratio in ratios(cpu):
            found.setdefault(op, []).append(ratio)
        for op, all_of_op in sorted(found.items()):
            below = sum(ratio < 0.9 for ratio in all_of_op)
            print(f"{cpu},{op},{len(all_of_op)},{below},{sum(ratio > 1 for ratio in all_of_op)}")


if __name__ == "__main__":
    main()
