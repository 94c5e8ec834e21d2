"""Profiles (datasets/SCHEMA.md) and runs files (docs/validation.md) from what collect.py measured."""

import csv
import gzip
import io
import math
import statistics

import rows
from results import RESULTS, BadInput, read_results

RUNS_COLUMNS = ["network", "batch", "dims", "dtype", "device", "runtime", "runtime_version", "time_ms", "spread_ms",
                "samples", "ops_ms", "ops", "arena_bytes", "date", "provenance"]
PROVENANCE = "datasets/collect/ort_cpu"


def device_name(processor, threads):
    """Each number of threads is a device of its own: it has other peaks."""
    return f"{processor}, {threads} thread{'' if threads == 1 else 's'}"


# How times follow the two reference kernels, where repetitions are too few to fit it: as it was on one machine.
DEFAULT_EXPONENTS = {"arithmetic": 0.9, "memory": 0.15}
LEAST_REPETITIONS = 20  # of networks, to fit the exponents
FIT_ROUNDS = 30
SMALL_RESIDUAL = 0.01  # below it residuals weigh alike
# What is brought to one speed: whole runs, and the operators of a run with the profiler on.
WALL, OPS = "wall", "ops"
REFERENCE_OF = {WALL: "wall_reference", OPS: "reference"}
# Operators of networks this short on average show what the profiler itself adds to each of them.
SHORT_OPS_US = 300
MOST_OVERHEAD = 0.5  # of an operator's time


def usual_times(records):
    """Median times of the reference kernels, by number of threads."""
    usual = {}
    for threads in {r["threads"] for r in records}:
        references = [r["reference"] for r in records if r["threads"] == threads]
        usual[threads] = {name: statistics.median(r[name]["us"] for r in references) for name in references[0]}
    return usual


def distance(record):
    """How far the reference kernels were from their usual times."""
    return max(abs(item["us"] / record["usual"][name] - 1) + item["spread"] / 4
               for name, item in record["reference"].items())


def by_task(campaigns):
    """Measurements of each task, of operators only the calmest, of networks all. campaigns: lists of records of one
    machine, which may have been slower in one than in another; each record gets the `usual` reference times of all."""
    good = [r for records in campaigns for r in records if "error" not in r]
    usual = usual_times(good)
    tasks = {}
    for record in good:
        tasks.setdefault(record["task"], []).append({**record, "usual": usual[record["threads"]]})
    for name, repeats in tasks.items():
        if repeats[0]["kind"] == "ops":
            tasks[name] = [min(repeats, key=distance)]
    for threads, at in usual.items():
        at["exponents"] = {what: fit_exponents(tasks, threads, what) for what in (WALL, OPS)}
    return tasks


def profiler_overheads(tasks):
    """What the profiler adds to each operator, in ns, by threads: the median over networks of short operators of
    (time of their operators with the profiler on - wall time with it off) / operators; never below 0."""
    found = {}
    for repeats in tasks.values():
        for record in repeats:
            count = sum(row["count"] for row in record["rows"])
            if record["kind"] != "network" or not count:
                continue
            ops_ns = 1000 * measured_us(record, OPS) * speed_factor(record, OPS)
            if ops_ns / count < 1000 * SHORT_OPS_US:
                wall_ns = 1000 * measured_us(record, WALL) * speed_factor(record, WALL)
                found.setdefault(record["threads"], []).append((ops_ns - wall_ns) / count)
    return {threads: max(0.0, statistics.median(values)) for threads, values in found.items()}


def less_overhead(time_ns, overhead_ns):
    return max(time_ns - overhead_ns, time_ns * (1 - MOST_OVERHEAD))


def measured_us(record, what):
    """Of whole runs the least time: neighbours and the hypervisor only ever add to it, and add more than a kernel of
    two milliseconds can show. Of operators the sum of their own medians, which a rare delay does not reach."""
    if what == WALL:
        return record["wall_best_us"]
    return sum(row["time_ns"] * row["count"] for row in record["rows"]) / 1000


def speed_factor(record, what):
    """What to multiply a time of the record by to get that at the usual speed."""
    usual = record["usual"]
    exponents = usual.get("exponents", {}).get(what, DEFAULT_EXPONENTS)
    product = 1.0
    for name, item in record[REFERENCE_OF[what]].items():
        product *= (usual[name] / item["us"]) ** exponents[name]
    return product


def centred_changes(tasks, threads, what):
    """Logarithms of both references and of the time, less their means over the repetitions of one network."""
    changes = []
    for repeats in tasks.values():
        logs = [(math.log(r[REFERENCE_OF[what]]["arithmetic"]["us"]), math.log(r[REFERENCE_OF[what]]["memory"]["us"]),
                 math.log(measured_us(r, what)))
                for r in repeats if r["kind"] == "network" and r["threads"] == threads and r["rows"]]
        if len(logs) > 1:
            means = [statistics.fmean(column) for column in zip(*logs)]
            changes += [tuple(value - mean for value, mean in zip(row, means)) for row in logs]
    return changes


def fit_exponents(tasks, threads, what):
    """How networks that were measured several times followed the two reference kernels: least absolute residuals of
    the changes' logarithms, by least squares with new weights. The default where repetitions are few."""
    changes = centred_changes(tasks, threads, what)
    if len(changes) < LEAST_REPETITIONS:
        return DEFAULT_EXPONENTS
    weights = [1.0] * len(changes)
    x = y = 0.0
    for _ in range(FIT_ROUNDS):
        aa, am, mm, at, mt = (sum(w * c[i] * c[j] for w, c in zip(weights, changes))
                              for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2)))
        determinant = aa * mm - am * am
        if determinant <= 1e-3 * aa * mm:
            return DEFAULT_EXPONENTS
        x, y = (at * mm - mt * am) / determinant, (mt * aa - at * am) / determinant
        weights = [1 / max(abs(c[2] - x * c[0] - y * c[1]), SMALL_RESIDUAL) for c in changes]
    return {"arithmetic": round(x, 2), "memory": round(y, 2)}


def operator_rows(repeats, overheads):
    """The rows of a task: each time is the median over its repetitions, less the profiler's overhead."""
    times = {}
    for record in repeats:
        factor = speed_factor(record, OPS)
        overhead = overheads.get(record["threads"], 0.0)
        for row in record["rows"]:
            key = tuple(row[name] for name in ("op_type", "attributes", "inputs", "outputs"))
            if record["kind"] == "ops":
                key += (row.get("fed", False),)  # of these the cold ones are left out
            times.setdefault(key, (row, []))[1].append(less_overhead(row["time_ns"] * factor, overhead))
    # Classes as they are now: dfsim may have learned operators since the measurement.
    return [{**row, "op_class": rows.CLASSES.get(row["op_type"], "opaque"),
             "time_ns": max(1, round(statistics.median(values))), "samples": row["samples"] * len(values)} for row, values in times.values()]


def belongs(row, record):
    """Views are the host's cost; samples' operators on what the caller feeds are colder than those of networks."""
    return row["op_class"] != "view" and not (record["kind"] == "ops" and row.get("fed", False))


def profile_rows(repeats, processor, overheads):
    record = repeats[0]
    for row in operator_rows(repeats, overheads):
        yield {**row, "device": device_name(processor, record["threads"]), "runtime": "onnxruntime",
               "runtime_version": record["onnxruntime"], "timing": "in-network",
               "network": record.get("network", ""), "batch": record.get("batch", ""),
               "provenance": PROVENANCE}


def run_row(repeats, processor, overheads):
    record = repeats[0]
    walls = [measured_us(r, WALL) * speed_factor(r, WALL) for r in repeats]
    spreads = [r["wall_spread_us"] * speed_factor(r, WALL) for r in repeats]
    ops = [r for r in operator_rows(repeats, overheads) if r["op_class"] != "view"]
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
    """Peak of activations, as requested: at the worst moment of a run less what was there before (packed weights)."""
    requested = arena.get("requested")
    return "" if requested is None else requested["peak"] - requested["before"]


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
    campaigns = []
    for folder in options.results:
        if not (folder / RESULTS).exists():
            raise BadInput(f"{folder}: no {RESULTS}; expected a folder that `collect.py run` wrote")
        campaigns.append(read_results(folder))
    tasks = by_task(campaigns)
    if not tasks:
        raise BadInput("nothing was measured yet; run `collect.py run` first")
    left_out = {path.stem for path in options.leave_out}
    exponents = {r["threads"]: r["usual"]["exponents"] for repeats in tasks.values() for r in repeats}
    for threads, fitted in sorted(exponents.items()):
        print(f"exponents of the reference kernels with {threads} threads: {fitted}")
    overheads = profiler_overheads(tasks)
    groups = [repeats for _, repeats in sorted(tasks.items())]
    profile = [row for repeats in groups if repeats[0].get("network", "") not in left_out
               for row in profile_rows(repeats, options.device, overheads) if belongs(row, repeats[0])]
    # The order of measurement says nothing here: samples and networks were mixed, drift is taken off.
    write_csv(options.output, rows.COLUMNS, profile)
    print(f"{len(profile)} rows in {options.output}; taken off each operator for the profiler: " +
          (", ".join(f"{ns / 1000:.1f} us with {t} threads" for t, ns in sorted(overheads.items())) or "nothing"))
    if options.runs:
        table = [run_row(repeats, options.device, overheads) for repeats in groups if repeats[0]["kind"] == "network"]
        write_csv(options.runs, RUNS_COLUMNS, table)
        print(f"{len(table)} runs in {options.runs}")
