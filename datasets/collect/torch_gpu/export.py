"""Writes the measurements of a campaign as a profile and a runs file."""

import csv
import gzip
import io
import statistics

import aten_rows
import campaign
import networks
from campaign import read_results


class BadInput(Exception):
    """An error to report to the user without a traceback."""


COLUMNS = ["device", "runtime", "runtime_version", "op_type", "op_class", "attributes", "inputs", "outputs", "compute_dtype",
           "time_ns", "spread_ns", "samples", "timing", "network", "batch", "count", "provenance"]
MOST_GAP_NS = 1500  # between two kernels of a captured graph; a tenth of them is above 740
MOST_OVER_WALL = 1.05  # the run and its profile were measured one after the other
RUN_COLUMNS = ["network", "batch", "dims", "dtype", "device", "runtime", "runtime_version", "time_ms", "spread_ms", "samples",
               "ops_ms", "ops", "date", "provenance"]
STEP_COLUMNS = ["network", "batch", "dims", "dtype", "optimizer", "op", "shapes", "type", "groups", "us", "count"]


def text_of(shapes, dtype):
    return ";".join(f"{dtype}[{'x'.join(map(str, s))}]" for s in shapes)


def write_csv(path, columns, table):
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(table)
    data = text.getvalue().encode()
    path.write_bytes(gzip.compress(data, 9, mtime=0) if path.suffix == ".gz" else data)


def typed(dtype):
    """Columns of the type: tf32 is float32 with other arithmetic."""
    return {"compute_dtype": "tf32"} if dtype == "tf32" else {}


def operator_rows(records, timings):
    for r in records:
        if r["kind"] != "op":
            continue
        dtype = campaign.stored(r["dtype"])
        if counts_overlap_twice(r) and is_grouped(r["attributes"], r["inputs"]) and has_kernels_per_group(r):
            continue  # no time of the whole says by how much the groups overlap
        for timing in timings:
            if r["times"].get(timing):
                yield {**r, "timing": timing, "inputs": text_of(r["inputs"], dtype),
                       "outputs": text_of(r["outputs"], dtype), **typed(r["dtype"]), **r["times"][timing]}


def with_strides(call, row):
    """A row, marked where the image had its channels last, which the kernels' names tell. None where the call is not
    the operator alone: a dense convolution whose operands had their channels last, and a product that copied its
    operands because their strides fit no kernel (dfsim predicts these copies as operators of their own)."""
    names = call["kernels"]
    if row and row[0] == "MatMul":
        return None if len(names) > 1 and names[0].startswith("void at::native::elementwise_kernel") else row
    if row is None or row[1] != "conv":
        return row
    if any("nhwc_specialized" in name for name in names):
        return row[0], row[1], f"channels_last=1;{row[2]}", *row[3:]
    copies = len(names) > 1 and names[0].startswith("void at::native::elementwise_kernel")
    converts = any("nchwTo" in name for name in names)
    return None if copies and not converts and any("nhwckrsc" in name or "5x_cudnn" in name for name in names) else row


def counts_overlap_twice(record):
    """Campaigns before the union of kernels was taken summed them, also those that ran at the same time."""
    return record.get("kernel_time") != "union"


def has_kernels_per_group(record):
    return len(record["kernels"]) >= record["inputs"][0][1] // record["inputs"][1][1]


def is_grouped(attributes, inputs):
    """A convolution in groups of several channels: cuDNN may run its groups on streams of their own."""
    groups = int(attributes.partition("group=")[2].split(";")[0]) if "group=" in attributes else 1
    return groups > 1 and not (inputs[1][1] == 1 and inputs[1][0] == groups)


def overlap(record, rows):
    """How much shorter grouped convolutions are than the sum of their kernels; None: other kernels disturbed the run.

    Kernels of one run cannot sum to more than its time. Where they do, groups ran at the same time, if the
    campaign counted such a time twice.
    """
    wall = min(t["time_ns"] for k, t in record["times"].items() if k in ("eager", "graph"))
    grouped = sum(c["ns"] * c["count"] for c, row in rows if row and row[1] == "conv" and is_grouped(row[2], row[3]))
    grouped = grouped if counts_overlap_twice(record) else 0
    others = record["times"]["kernels"]["time_ns"] - grouped
    if others + grouped <= MOST_OVER_WALL * wall:
        return 1
    return max(0.25, (wall - others) / grouped) if grouped and others + 0.25 * grouped <= wall else None


def network_rows(records):
    """Operators inside networks, equal ones once: the median over the networks, and the first one's name.

    Networks that are held out have no rows, nor have those under autocast or with channels last, whose
    calls contain casts and copies that an operator of the graph has not.
    """
    found = {}
    for r in records:
        if r["kind"] not in ("network", "sdpa") or r["dtype"].startswith("amp-") or r["network"] in networks.held_out():
            continue
        rows = [(c, with_strides(c, aten_rows.row_of(c))) for c in r["calls"] if c["ns"] > 0]
        factor = overlap(r, rows) if rows else None
        if factor is None:
            continue
        for call, row in rows:
            if row:
                op, op_class, attributes, inputs, out = row
                shorter = factor if op_class == "conv" and is_grouped(attributes, inputs) else 1
                found.setdefault((op, op_class, attributes, operands(call, inputs), text_of([out], aten_rows.dtype_of(call)),
                                  r["dtype"]), []).append((call["ns"] * shorter, r, call["count"]))
    for (op, op_class, attributes, inputs, outputs, dtype), times in found.items():
        first = times[0][1]
        yield {**first, "op_type": op, "op_class": op_class, "attributes": attributes, "inputs": inputs, "outputs": outputs,
               "timing": "kernel-only", **typed(dtype), "time_ns": max(1, round(statistics.median(t for t, *_ in times))),
               "spread_ns": "", "samples": 5 * len(times), "count": times[0][2]}


def operands(call, shapes):
    if call["op"] == "aten::embedding":
        return f"{text_of(shapes[:1], aten_rows.dtype_of(call))};{text_of(shapes[1:], 'int64')}"
    return text_of(shapes, aten_rows.dtype_of(call))


def is_disturbed(record):
    """Another process used the GPU during the run: it took much longer than its kernels and the gaps between them."""
    kernels = sum(c["count"] * len(c["kernels"]) for c in record["calls"] if c["ns"] > 0)
    alone = record["times"]["kernels"]["time_ns"]
    time = record["times"]["graph"]["time_ns"]
    return time > 1.1 * alone and time > alone + MOST_GAP_NS * kernels


def run_rows(records, options):
    """Networks whose run has that type and execution. A runs file has one of each: validate asks for them once.

    Eager runs are those of an idle host (`run --kind host`), and captured ones those that nothing disturbed.

    Graphs of the other lists lack the batch normalisation that PyTorch runs: their export folded it.
    """
    key = {"torch-eager": "eager", "cuda-graph": "graph"}[options.runs_runtime]
    kind = "channels-last" if options.channels_last else "host" if key == "eager" else "network"
    wanted = networks.held_out() if options.held_out else [n for n in networks.learnt() if n not in networks.entries()]
    for r in records:
        if r["kind"] != kind or r["dtype"] != options.runs_dtype or r["network"] not in wanted or key not in r["times"]:
            continue
        if key == "graph" and is_disturbed(r):
            print(f"{r['task']}: left out, another process used the GPU during the run")
            continue
        t = r["times"][key]
        kernels = r["times"].get("kernels")
        yield {**r, "runtime": options.runs_runtime, "samples": t["samples"], "time_ms": f"{t['time_ns'] / 1e6:.4f}",
               "spread_ms": f"{t['spread_ns'] / 1e6:.4f}", "dtype": r["dtype"].removeprefix("amp-") if r["dtype"].startswith("amp-") else campaign.stored(r["dtype"]),
               "ops_ms": f"{kernels['time_ns'] / 1e6:.4f}" if kernels else "",
               "ops": sum(c["count"] for c in r["calls"] if c["ns"] > 0) if kernels else "",
               "dims": networks.dims(r["network"])}


def step_rows(records):
    """Calls of training steps: microseconds of one, how many, the first operands' shapes. Gradients have no shapes, and
    their time is the mean over all of their kind: the autograd engine does not record more. Steps whose kernels sum
    to more than the step took have kernels that ran at the same time, and are left out."""
    for r in records:
        if r["kind"] == "train" and r["times"]["kernels"]["time_ns"] <= MOST_OVER_WALL * r["times"]["eager"]["time_ns"]:
            for call in r["calls"]:
                if call["ns"] > 0:
                    yield {**r, "op": call["op"].rpartition(": ")[2], "shapes": text_of([s for s in call["shapes"][:2] if s], ""),
                           "type": {"c10::Half": "float16", "float": "float32"}.get((call["types"] or [""])[0], ""),
                           "groups": groups_of(call), "us": f"{call['ns'] / 1e3:.1f}", "count": call["count"]}


def groups_of(call):
    return call["values"][-1] if call["op"] == "aten::conv2d" else ""


def write(options):
    records = [{**r, "runtime": "pytorch", "runtime_version": r["torch"], "provenance": "datasets/collect/torch_gpu"}
               for folder in options.results for r in read_results(folder) if "error" not in r]
    if not records:
        raise BadInput(f"no measurement in {', '.join(map(str, options.results))}; run `collect.py run` first")
    rows = [*operator_rows(records, options.timing), *(network_rows(records) if "kernel-only" in options.timing else ())]
    write_csv(options.output, COLUMNS, rows)
    print(f"{len(rows)} rows in {options.output}")
    if options.host:
        runtimes = {"network": "torch-eager", "host": "torch-eager", "compiled": "torch-compile"}
        rows = [{**r, "runtime": runtimes[r["kind"]], "host_ms": f"{r['times']['host']['time_ns'] / 1e6:.3f}"} for r in records
                if r["kind"] in runtimes and "host" in r["times"] and not r["dtype"].startswith("amp-")]
        write_csv(options.host, ["network", "batch", "dtype", "runtime", "host_ms"], rows)
        print(f"{len(rows)} host times in {options.host}")
    if options.steps:
        rows = list(step_rows(records))
        write_csv(options.steps, STEP_COLUMNS, rows)
        print(f"{len(rows)} calls of training steps in {options.steps}")
    if options.runs:
        table = list(run_rows(records, options))
        write_csv(options.runs, RUN_COLUMNS, table)
        print(f"{len(table)} runs in {options.runs}")
