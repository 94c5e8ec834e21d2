"""Profiles (datasets/profiles/SCHEMA.md) and runs files (docs/reference/validation.md) from what collect.py measured."""

import csv
import gzip
import io
import json
import lzma
import math
import pathlib
import statistics

import rows
from results import RESULTS, BadInput, read_results, without_slow

RUNS_COLUMNS = ["network", "batch", "dims", "shapes", "dtype", "device", "runtime", "runtime_version", "time_ms", "spread_ms",
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
# Times that are normalised to one speed: whole runs, and the operators of a run with the profiler
# on.
WALL, OPS = "wall", "ops"
REFERENCE_OF = {WALL: "wall_reference", OPS: "reference"}
LEAST_NETWORKS = 8  # to tell what the profiler adds to each operator from what it adds to all of them
LEAST_NET_SHARE = 0.1  # of an operator's time: as dfsim takes the overhead off


def usual_times(records):
    """Median times of the reference kernels, by number of threads."""
    usual = {}
    for threads in {r["threads"] for r in records}:
        references = [r["reference"] for r in records if r["threads"] == threads]
        usual[threads] = {name: statistics.median(r[name]["us"] for r in references) for name in references[0]}
    return usual


def by_task(campaigns):
    """Measurements of each task. campaigns: lists of records of one machine, which may have been slower in one than in
    another; each record gets the `usual` reference times of all."""
    good = [r for records in campaigns for r in records if "error" not in r]
    usual = usual_times(good)
    tasks = {}
    for record in good:
        tasks.setdefault(record["task"], []).append({**record, "usual": usual[record["threads"]]})
    for threads, at in usual.items():
        at["exponents"] = {what: fit_exponents(tasks, threads, what) for what in (WALL, OPS)}
    return tasks


def profiler_costs(tasks):
    """By threads, (share, ns): operators with the profiler on take (1 + share) x the wall time of the whole run with
    it off, and that many ns more each. Fitted to all networks, their medians: least absolute relative residuals."""
    points = {}
    for repeats in tasks.values():
        for record in repeats[:1]:
            count = sum(row["count"] for row in record["rows"])
            if record["kind"] == "network" and count:
                ops_ns, wall_ns = (1000 * statistics.median(measured_us(r, what) * speed_factor(r, what)
                                                            for r in repeats) for what in (OPS, WALL))
                points.setdefault(record["threads"], []).append((1.0, count / wall_ns, ops_ns / wall_ns - 1))
    costs = {}
    for threads, found in points.items():
        # Where networks are few or say no, all of it is what operators cost each.
        solution = fit_plane(found) if len(found) >= LEAST_NETWORKS else None
        if solution is None or min(solution) < 0:
            solution = (0.0, max(0.0, weighted_median((c / b, b) for _, b, c in found)))
        costs[threads] = solution
    return costs


def weighted_median(items):
    """The value of (value, weight) below and above which lies half of the weight: of least absolute residuals."""
    ordered = sorted(items)
    half = sum(weight for _, weight in ordered) / 2
    for value, weight in ordered:
        half -= weight
        if half <= 0:
            return value
    return ordered[-1][0]


def fit_plane(points):
    """x and y of least sum of |c - x a - y b| over points (a, b, c), or None where a and b say the same."""
    weights = [1.0] * len(points)
    x = y = 0.0
    for _ in range(FIT_ROUNDS):
        aa, ab, bb, ac, bc = (sum(w * p[i] * p[j] for w, p in zip(weights, points))
                              for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2)))
        determinant = aa * bb - ab * ab
        if determinant <= 1e-3 * aa * bb:
            return None
        x, y = (ac * bb - bc * ab) / determinant, (bc * aa - ac * ab) / determinant
        weights = [1 / max(abs(p[2] - x * p[0] - y * p[1]), SMALL_RESIDUAL) for p in points]
    return x, y


def measured_us(record, what):
    """Of whole runs the least time: neighbours and the hypervisor only ever add to it, and add more than a kernel of
    two milliseconds can show. Of operators the sum of their own medians, which a rare delay does not reach."""
    if what == WALL:
        return record["wall_best_us"]
    return sum(row["time_ns"] * row["count"] for row in record["rows"]) / 1000


def speed_factor(record, what):
    """Returns the factor from a time of the record to the time at the usual speed."""
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
    solution = fit_plane(changes)
    if solution is None:
        return DEFAULT_EXPONENTS
    return {"arithmetic": round(solution[0], 2), "memory": round(solution[1], 2)}


def scatter(tasks, threads):
    """Standard deviation of logarithms of networks' whole runs measured again, at the usual speed: over all, and of
    half of them at most."""
    variances = []
    for repeats in tasks.values():
        logs = [math.log(measured_us(r, WALL) * speed_factor(r, WALL)) for r in repeats
                if r["kind"] == "network" and r["threads"] == threads]
        if len(logs) > 1:
            variances.append(statistics.variance(logs))
    return (math.sqrt(statistics.fmean(variances)), math.sqrt(statistics.median(variances))) if variances else None


def times_by_operator(repeats, costs):
    """Operator -> its first row and its times in all repetitions, as the profiler gave them but for drift and for the
    share by which the profiler made all of them longer."""
    times = {}
    for record in repeats:
        share, _ = costs.get(record["threads"], (0.0, 0.0))
        factor = speed_factor(record, OPS) / (1 + share)
        for row in record["rows"]:
            key = tuple(row[name] for name in ("op_type", "attributes", "inputs", "outputs"))
            if record["kind"] == "ops":
                key += (row.get("fed", False),)  # of these the cold ones are left out
            times.setdefault(key, (row, []))[1].append(row["time_ns"] * factor)
    return times


def operator_scatter(tasks, threads):
    """By how much one measurement of an operator in a network misses the next, at the usual speed: mean and median."""
    misses = []
    for repeats in tasks.values():
        if repeats[0]["kind"] == "network" and repeats[0]["threads"] == threads:
            for _, values in times_by_operator(repeats, {}).values():
                misses += [abs(a / b - 1) for a, b in zip(values, values[1:])]
    return (statistics.fmean(misses), statistics.median(misses)) if misses else None


def operator_rows(repeats, costs):
    """The rows of a task: each time is the median over its repetitions, as the profiler gave it but for the share by
    which all of them were longer; what the profiler added to each is told beside it."""
    share, overhead = costs.get(repeats[0]["threads"], (0.0, 0.0))
    times = times_by_operator(repeats, costs)
    overhead_ns = round(overhead / (1 + share))
    # Classes as they are now: dfsim may have learned operators since the measurement.
    return [{**row, "op_class": rows.CLASSES.get(row["op_type"], "opaque"), "overhead_ns": overhead_ns,
             "time_ns": max(1, round(statistics.median(values))), "samples": row["samples"] * len(values)}
            for row, values in times.values()]


def belongs(row, record):
    """Views are the host's cost; samples' operators on what the caller feeds are colder than those of networks."""
    return row["op_class"] != "view" and not (record["kind"] == "ops" and row.get("fed", False))


def significant(value, digits):
    return round(value, digits - len(str(int(value))) if value >= 1 else 0)


def is_usual(record):
    """As users run it: networks under another level of optimisation than the default count as samples."""
    return record.get("level", "all") == "all"


def profile_rows(repeats, processor, costs):
    record = repeats[0]
    named = "network" in record and is_usual(record)
    for row in operator_rows(repeats, costs):
        # Names tell operators of a network apart; four digits are more than any clock here is good for.
        yield {**row, "name": row["name"] if named else "", "time_ns": significant(row["time_ns"], 4),
               "spread_ns": significant(row["spread_ns"], 2), "device": device_name(processor, record["threads"]), "runtime": "onnxruntime",
               "runtime_version": record["onnxruntime"], "timing": "in-network",
               "network": record["network"] if named else "", "batch": record["batch"] if named else "",
               "provenance": PROVENANCE}


def net_ns(row):
    return max(row["time_ns"] - row["overhead_ns"], row["time_ns"] * LEAST_NET_SHARE)


def run_row(repeats, processor, costs):
    record = repeats[0]
    walls = [measured_us(r, WALL) * speed_factor(r, WALL) for r in repeats]
    spreads = [r["wall_spread_us"] * speed_factor(r, WALL) for r in repeats]
    ops = [r for r in operator_rows(repeats, costs) if r["op_class"] != "view"]
    dims = {name: value for name, value in record["dims"].items() if name != "batch"}
    return {"network": record["network"], "batch": record["batch"],
            "dims": ";".join(f"{name}={dims[name]}" for name in sorted(dims)),
            "shapes": record.get("shapes", "static"), "dtype": record["dtype"],
            "device": device_name(processor, record["threads"]), "runtime": "onnxruntime",
            "runtime_version": record["onnxruntime"], "time_ms": f"{statistics.median(walls) / 1e3:.4f}",
            "spread_ms": f"{statistics.median(spreads) / 1e3:.4f}",
            "samples": sum(r["wall_runs"] for r in repeats),
            "ops_ms": f"{sum(net_ns(r) * r['count'] for r in ops) / 1e6:.4f}",
            "ops": sum(r["count"] for r in ops), "arena_bytes": arena_bytes(record.get("arena", {})),
            "date": max(r["date"] for r in repeats)[:10], "provenance": PROVENANCE}


def arena_bytes(arena):
    """Peak of activations, as requested: at the worst moment of a run less what was there before (packed weights)."""
    requested = arena.get("requested")
    return "" if requested is None else requested["peak"] - requested["before"]


def read_text(path):
    """A text file, packed as its name says: .gz, .xz or not at all."""
    data = pathlib.Path(path).read_bytes()
    suffix = pathlib.Path(path).suffix
    if suffix == ".gz":
        data = gzip.decompress(data)
    elif suffix == ".xz":
        data = lzma.decompress(data)
    return data.decode()


def write_text(path, text):
    """The same text gives the same bytes."""
    data = text.encode()
    suffix = pathlib.Path(path).suffix
    if suffix == ".gz":
        data = gzip.compress(data, 9, mtime=0)  # no time stamp
    elif suffix == ".xz":
        data = lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)
    pathlib.Path(path).write_bytes(data)


def write_csv(path, columns, table):
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(table)
    write_text(path, text.getvalue())


def export(options):
    campaigns = []
    for folder in options.busy:
        if folder not in options.results:
            raise BadInput(f"--busy {folder}: not one of the folders of results")
    for folder in options.results:
        if not (folder / RESULTS).exists():
            raise BadInput(f"{folder}: no {RESULTS}; expected a folder that `collect.py run` wrote")
        busy = folder in options.busy
        campaigns.append([r for r in read_results(folder) if r["threads"] == 1 or not busy])
    if not options.any_handover:
        campaigns, slow = without_slow(campaigns)
        if slow:
            print(f"{slow} measurements with several threads left out: the cores handed work over slowly")
    tasks = by_task(campaigns)
    if not tasks:
        raise BadInput("nothing was measured yet; run `collect.py run` first")
    left_out = {path.name.removesuffix(".gz").removesuffix(".onnx") for path in options.leave_out}
    exponents = {r["threads"]: r["usual"]["exponents"] for repeats in tasks.values() for r in repeats}
    for threads, fitted in sorted(exponents.items()):
        print(f"exponents of the reference kernels with {threads} threads: {fitted}")
    for threads in sorted(exponents):
        found = scatter(tasks, threads)
        if found:
            print(f"networks measured again with {threads} threads scatter by {100 * found[0]:.1f} %, half of them by "
                  f"{100 * found[1]:.1f} % at most")
        found = operator_scatter(tasks, threads)
        if found:
            print(f"their operators differ by {100 * found[0]:.1f} %, half of them by {100 * found[1]:.1f} % at most")
    # Networks held out as the test set do not count for the profiler either.
    costs = profiler_costs({name: repeats for name, repeats in tasks.items()
                            if repeats[0].get("network", "") not in left_out})
    groups = [repeats for _, repeats in sorted(tasks.items())]
    profile = [row for repeats in groups if repeats[0].get("network", "") not in left_out
               for row in profile_rows(repeats, options.device, costs) if belongs(row, repeats[0])]
    # The order of measurement says nothing here: samples and networks were mixed, drift is taken off.
    write_csv(options.output, rows.COLUMNS, profile)
    print(f"{len(profile)} rows in {options.output}")
    for threads, (share, overhead) in sorted(costs.items()):
        print(f"with {threads} threads the profiler made operators {100 * share:.1f} % and {overhead / 1000:.1f} us longer")
    if options.overheads:
        options.overheads.write_text(json.dumps(
            {device_name(options.device, t): round(overhead / (1 + share) / 1000, 3)
             for t, (share, overhead) in sorted(costs.items())}, indent=1) + "\n")
        print(f"what the profiler added is in {options.overheads}")
    if options.runs:
        table = [run_row(repeats, options.device, costs) for repeats in groups
                 if repeats[0]["kind"] == "network" and is_usual(repeats[0])]
        write_csv(options.runs, RUNS_COLUMNS, table)
        print(f"{len(table)} runs in {options.runs}")
