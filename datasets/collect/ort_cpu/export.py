"""Profiles (datasets/SCHEMA.md) and runs files (docs/validation.md) from what collect.py measured."""

import csv
import gzip
import io
import statistics

import rows
from results import RESULTS, BadInput, read_results

RUNS_COLUMNS = ["network", "batch", "dims", "dtype", "device", "runtime", "runtime_version", "time_ms", "spread_ms",
                "samples", "ops_ms", "ops", "arena_bytes", "date", "provenance"]
PROVENANCE = "datasets/collect/ort_cpu"


def device_name(processor, threads):
    """Each number of threads is a device of its own: it has other peaks."""
    return f"{processor}, {threads} thread{'' if threads == 1 else 's'}"


def usual_times(records):
    """Median times of the reference kernels, by number of threads."""
    usual = {}
    for threads in {r["threads"] for r in records}:
        references = [r["reference"] for r in records if r["threads"] == threads]
        usual[threads] = {name: statistics.median(r[name]["us"] for r in references) for name in references[0]}
    return usual


def distance(record, usual):
    """How far the reference kernels were from their usual times."""
    return max(abs(item["us"] / usual[name] - 1) + item["spread"] / 4 for name, item in record["reference"].items())


def by_task(records):
    """Measurements of each task, at the machine's usual speed; of operators only the calmest, of networks all."""
    good = [r for r in records if "error" not in r]
    usual = usual_times(good)
    tasks = {}
    for record in good:
        tasks.setdefault(record["task"], []).append(record)
    for name, repeats in tasks.items():
        if repeats[0]["kind"] == "ops":
            tasks[name] = [min(repeats, key=lambda r: distance(r, usual[r["threads"]]))]
    return tasks, usual


def speed_factor(reference, baseline):
    """What a time would have been at the usual speed: the geometric mean of both kernels' changes."""
    product = 1.0
    for name, item in reference.items():
        product *= baseline[name] / item["us"]
    return product ** (1 / len(reference))


def operator_rows(repeats, usual):
    """The rows of a task: each time is the median over its repetitions."""
    times = {}
    for record in repeats:
        factor = speed_factor(record["reference"], usual)
        for row in record["rows"]:
            key = tuple(row[name] for name in ("op_type", "attributes", "inputs", "outputs")) + (row.get("fed"),)
            times.setdefault(key, (row, []))[1].append(row["time_ns"] * factor)
    return [{**row, "time_ns": max(1, round(statistics.median(values))),
             "samples": row["samples"] * len(values)} for row, values in times.values()]


def belongs(row, record):
    """Views are the host's cost; samples' operators on what the caller feeds are colder than those of networks."""
    return row["op_class"] != "view" and not (record["kind"] == "ops" and row.get("fed", False))


def profile_rows(repeats, processor, usual):
    record = repeats[0]
    for row in operator_rows(repeats, usual):
        yield {**row, "device": device_name(processor, record["threads"]), "runtime": "onnxruntime",
               "runtime_version": record["onnxruntime"], "timing": "in-network",
               "network": record.get("network", ""), "batch": record.get("batch", ""),
               "provenance": PROVENANCE}


def run_row(repeats, processor, usual):
    record = repeats[0]
    walls = [r["wall_us"] * speed_factor(r["wall_reference"], usual) for r in repeats]
    spreads = [r["wall_spread_us"] * speed_factor(r["wall_reference"], usual) for r in repeats]
    ops = [r for r in operator_rows(repeats, usual) if r["op_class"] != "view"]
    dims = {name: value for name, value in record["dims"].items() if name != "batch"}
    return {"network": record["network"], "batch": record["batch"],
            "dims": ";".join(f"{name}={dims[name]}" for name in sorted(dims)), "dtype": record["dtype"],
            "device": device_name(processor, record["threads"]), "runtime": "onnxruntime",
            "runtime_version": record["onnxruntime"], "time_ms": f"{statistics.median(walls) / 1e3:.4f}",
            "spread_ms": f"{statistics.median(spreads) / 1e3:.4f}",
            "samples": sum(r["wall_runs"] for r in repeats),
            "ops_ms": f"{sum(r['time_ns'] * r['count'] for r in ops) / 1e6:.4f}",
            "ops": sum(r["count"] for r in ops), "arena_bytes": arena_bytes(record.get("arena", {})),
            "date": max(r["date"] for r in repeats)[:10], "provenance": PROVENANCE}


def arena_bytes(arena):
    """Peak of activations: what the arena holds at the worst moment, less what it held before the run."""
    if not arena:
        return ""
    return arena["peak"] - arena["first_in_use"] + arena["first_delta"]


def write_csv(path, columns, table):
    """The same rows give the same bytes: gzip without a time stamp."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(table)
    data = text.getvalue().encode()
    if path.suffix == ".gz":
        data = gzip.compress(data, 9, mtime=0)
    path.write_bytes(data)


def export(options):
    records = []
    for folder in options.results:
        if not (folder / RESULTS).exists():
            raise BadInput(f"{folder}: no {RESULTS}; expected a folder that `collect.py run` wrote")
        records += read_results(folder)
    tasks, usual = by_task(records)
    if not tasks:
        raise BadInput("nothing was measured yet; run `collect.py run` first")
    left_out = {path.stem for path in options.leave_out}
    groups = [(repeats, usual[repeats[0]["threads"]]) for _, repeats in sorted(tasks.items())]
    profile = [row for repeats, at in groups if repeats[0].get("network", "") not in left_out
               for row in profile_rows(repeats, options.device, at) if belongs(row, repeats[0])]
    # The order of measurement says nothing here: samples and networks were mixed, drift is taken off.
    write_csv(options.output, rows.COLUMNS, profile)
    print(f"{len(profile)} rows in {options.output}")
    if options.runs:
        table = [run_row(repeats, options.device, at) for repeats, at in groups if repeats[0]["kind"] == "network"]
        write_csv(options.runs, RUNS_COLUMNS, table)
        print(f"{len(table)} runs in {options.runs}")
