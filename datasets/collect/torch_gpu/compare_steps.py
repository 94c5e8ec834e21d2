#!/usr/bin/env python3
"""Compares predicted training steps with measured ones.

    compare_steps.py STEPS.csv[.gz] [--hw NAME] [--networks DIR] [--json]

STEPS is a file of `collect.py export --steps`, whose calls are summed by class and compared with the predicted
kernels, or a table of whole steps with the columns network, batch, dtype, optimizer, runtime, hw, time_ms. A dtype
of `amp-float16` means autocast. Networks are looked for in DIR, graphs/zoo and datasets/measured; a file there may be
called NAME.onnx, NAME_old.onnx or the same with .gz. Rows of networks that are not there are counted.
"""

import argparse
import collections
import csv
import gzip
import json
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from networks import held_out  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDERS = [ROOT / "graphs/zoo", ROOT / "datasets/measured/networks", ROOT / "datasets/measured/h100/networks",
           ROOT / "datasets/measured/h200/networks"]
CLASSES = ("conv", "conv grad", "norm", "norm grad", "product", "product grad", "attention", "update", "cast", "other")

CAMPAIGN_LOSS = "elementwise"  # campaign.py takes the mean of the network's result


def read(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def class_of_call(op):
    gradient = " grad" if op.endswith(("Backward0", "Backward1", "Backward")) else ""
    name = op.removeprefix("aten::").lower()
    if "foreach" in name:
        return "update"
    if "attention" in name:
        return "attention"
    if "conv" in name:
        return "conv" + gradient
    if "norm" in name:
        return "norm" + gradient
    if name in ("linear", "matmul", "bmm", "mm", "addmm", "baddbmm") or name.startswith(("addmm", "mmback", "bmmback")):
        return "product" + gradient
    return "cast" if name == "to" or name.startswith("tocopy") else "other"


def class_of_operator(op):
    if op["op_type"] == "Cast":
        return "cast"
    name = {"conv": "conv", "norm": "norm", "matmul": "product", "attention": "attention",
            "optimizer": "update"}.get(op["class"], "other")
    gradient = "gradient" in op["name"] or "Grad" in op["op_type"]
    return name + " grad" if gradient and name in ("conv", "norm", "product") else name


def steps_of(rows):
    """One step per network, batch, dtype and runtime: its options, milliseconds, and milliseconds by class or None."""
    steps = {}
    for row in rows:
        key = row["network"], row["batch"], row["dtype"], row.get("runtime"), row.get("hw")
        if "time_ms" in row:
            steps[key] = {"loss": "cross-entropy", **row}, float(row["time_ms"]), None
            continue
        _, _, classes = steps.setdefault(key, ({**row, "loss": CAMPAIGN_LOSS}, None, collections.Counter()))
        classes[class_of_call(row["op"])] += float(row["us"]) * int(row["count"]) / 1e3
        if "dropout" in row["op"]:
            steps[key][0]["dropout"] = "yes"
        if "scaled_dot_product" in row["op"]:
            steps[key][0]["runtime"] = "torch-sdpa"
    return [(row, time or sum(classes.values()), classes) for row, time, classes in steps.values()]


def find(network, folders):
    names = [f"{network}{middle}.onnx{end}" for middle in ("", "_old") for end in ("", ".gz")]
    return next((folder / name for folder in folders for name in names if (folder / name).exists()), None)


def predict(program, graph, hardware, row):
    command = [program, "predict", graph, "--hw", hardware, "--mode", "train", "--batch", row["batch"], "--optimizer",
               row["optimizer"] or "sgd", "--update-kernels", "foreach", "--loss", row["loss"], "--runtime",
               row.get("runtime", "torch-eager"), "--allow-oversubscription", "--json"]
    for dim in filter(None, (row.get("dims") or "").split(";")):
        command += ["--dim", dim]
    if row["dtype"] != "float32":
        command += ["--precision", "mixed-fp16" if row["dtype"].startswith("amp-") else row["dtype"]]
    if row.get("dropout"):
        command.append("--training-mode")
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"compare_steps.py: {done.stderr.strip()}")
    return json.loads(done.stdout)


def compare(program, graph, hardware, row, measured, classes):
    answer = predict(program, graph, hardware, row)
    found = {"network": row["network"], "batch": int(row["batch"]), "dtype": row["dtype"],
             "runtime": row.get("runtime", "torch-eager"), "half": row.get("half", ""), "measured_ms": measured}
    if classes is None:
        interval = answer["latency_interval_ms"]
        return {**found, "predicted_ms": answer["latency_ms"], "inside": interval["low"] <= measured <= interval["high"]}
    predicted = collections.Counter()
    for op in answer["ops"]:
        predicted[class_of_operator(op)] += op["duration_us"] / 1e3
    return {**found, "predicted_ms": sum(predicted.values()),
            "classes": {name: (predicted[name], classes[name]) for name in CLASSES if predicted[name] or classes[name]}}


def print_summary(rows):
    def group(row):
        return tuple(filter(None, (row["dtype"], row["runtime"] if "classes" not in row else "", row["half"])))

    for name in sorted({group(row) for row in rows}):
        errors = [row["predicted_ms"] / row["measured_ms"] - 1 for row in rows if group(row) == name]
        inside = [row["inside"] for row in rows if group(row) == name and "inside" in row]
        print(f"{' '.join(name)}: {len(errors)} steps, mean error {100 * statistics.mean(map(abs, errors)):.1f} %, median "
              f"{100 * statistics.median(map(abs, errors)):.1f} %, bias {100 * statistics.mean(errors):+.1f} %, worst "
              f"{100 * max(errors, key=abs):+.1f} %" + (f", {100 * statistics.mean(inside):.0f} % inside" if inside else ""))


def print_row(row):
    error = row["predicted_ms"] / row["measured_ms"] - 1
    parts = "  ".join(f"{name} {p:.2f}/{m:.2f}" for name, (p, m) in row.get("classes", {}).items())
    print(f"{row['network']:28} {row['batch']:4} {row['dtype']:12} {row['predicted_ms']:8.2f} / {row['measured_ms']:8.2f} ms"
          f" {100 * error:+6.1f} %  {parts}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", type=pathlib.Path)
    parser.add_argument("--hw", help="the GPU's hardware file or its name; default: the column hw")
    parser.add_argument("--networks", type=pathlib.Path, action="append", default=[], help="more folders with graphs")
    parser.add_argument("--dfsim", default=str(ROOT / "build/release/dfsim"))
    parser.add_argument("--held-out", action="store_true", help="only networks that no model is trained on")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows, missing = [], 0
    table = read(options.steps)
    if not options.hw and not all(row.get("hw") for row in table):
        sys.exit(f"compare_steps.py: {options.steps} has no column hw; name the GPU with --hw")
    if options.held_out:
        table = [row for row in table if row["network"] in held_out()]
    for row, measured, classes in steps_of(table):
        graph = find(row["network"], [*options.networks, *FOLDERS])
        if graph is None:
            missing += 1
        else:
            rows.append(compare(options.dfsim, graph, options.hw or row["hw"], row, measured, classes))
    if not rows:
        sys.exit(f"compare_steps.py: no graph of these {missing} steps was found; name its folder with --networks")
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print_row(row)
    print_summary(rows)
    if missing:
        print(f"{missing} steps left out: no graph of their network")


if __name__ == "__main__":
    main()
