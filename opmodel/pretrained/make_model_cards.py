#!/usr/bin/env python3
"""Writes MODEL_CARD.md of each pretrained model from its manifest.json.
"""
import argparse
import datetime
import json
import math
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = {
    "neusight": (
        "NeuSight operator measurements (Lee, Phanishayee, Mahajan: ASPLOS 2025), MIT licence, "
        "github.com/sitar-lab/NeuSight. PyTorch 2.1 eager, FP32 with TF32 off, CUDA events around "
        "one op, mean of the 5 fastest of 25: launch included."),
    "aiconfigurator": (
        "aiconfigurator tables, Apache-2.0 licence, github.com/ai-dynamo/aiconfigurator commit "
        "095f58a (2026-08-21). vLLM and TensorRT-LLM kernels in CUDA graphs: kernel time only."),
    "vidur": (
        "Vidur's layer profiles (Agrawal et al.: MLSys 2024), MIT licence, github.com/microsoft/vidur. "
        "vLLM kernels in fp16: kernel time only."),
    "tinynas": (
        "TinyNAS convolution tables, Apache-2.0 licence, github.com/alibaba/lightweight-neural-architecture-search. "
        "TensorRT on a V100, fp16: kernel time only."),
    "measured": (
        "Measured for this project, datasets/measured/{name}: ONNX Runtime {version}'s executed "
        "operators in sampled and real networks, fp32 and int8, profiler on, normalised to one speed by "
        "reference kernels (datasets/collect/ort_cpu). A virtual machine of two cores, {state}. The errors "
        "include the profiler's overhead of each operator (overheads.json); dfsim subtracts it from predictions."),
    "gpu": (
        "Measured for this project, datasets/measured/h100 and h200: PyTorch 2.11's operators alone and in "
        "networks, eager, on an H100 SXM5 and an H200 SXM, in fp32, tf32, fp16 and bf16: kernel time by the profiler "
        "(datasets/collect/torch_gpu)."),
}
MEASURED = {
    "epyc-milan": {"version": "1.31.1 and 1.32.0", "state": "idle part of the time, with a speed that changed by half within the hour; other programs were stopped while the operators of open graphs were measured, half of which were disturbed all the same"},
    "epyc-genoa": {"version": "1.32.0", "state": "almost idle otherwise"},
    "epyc-turin": {"version": "1.32.0", "state": "with an editor as the only other load; the reference kernels stayed within 5 % of their usual time"},
    "xeon-cascade-lake": {"version": "1.32.0", "state": "on a host whose other guests use the second halves of its cores most of the time: products of matrices run at 59 % of the best rate then"},
}


def source_of(file):
    if file.startswith("neusight"):
        return "neusight"
    if file.startswith("mlp"):
        return "vidur"
    if file.startswith("conv_data"):
        return "tinynas"
    return "measured" if file.startswith("ops.csv") else "aiconfigurator"


def sources_of(manifest):
    """The sources of its files, in the order of SOURCES."""
    measured = "measured" if manifest["name"] in MEASURED else "gpu"
    used = {source_of(f["file"]) for f in manifest["data"]}
    return [k for k in SOURCES if k in {measured if name == "measured" else name for name in used}]


def percent(value):
    return f"{100 * value:.2f}"


def error_rows(manifest):
    for part in manifest["parts"]:
        held, base = part["held_out"], part["held_out_baseline"]
        kind = "any other" if part["kind"] == "*" else part["kind"]
        errors = ["-"] * 6
        if held["n"]:
            errors = [percent(held[k]) for k in ("mape", "median", "p90", "bias")]
            errors += [f"{100 * held['interval']:.0f}", percent(base["mape"])]
        yield [part["class"], kind, "/".join(part["dtypes"]), part["timing"], str(part["rows"]),
               str(held["n"]), *errors]


def drift_lines(manifest):
    for part in manifest["parts"]:
        for device, end_us in part["drifts_us"]:
            yield (f"- {part['class']} {part['kind']} on {device}: measured times grew by "
                   f"{end_us:.0f} us in the order of measurement; dfsim estimated this drift and "
                   "subtracted it before training and before computing the errors above.")


def recording_lines(manifest):
    for part in manifest["parts"]:
        for effect in part.get("recordings", []):
            if effect["throttled"]:
                slower = math.exp(effect["log_effect"]) - 1
                yield (f"- {part['class']} {part['kind']} on {effect['device']}: the board of "
                       f"{effect['recording'].rsplit(', ', 1)[-1]} was {100 * slower:.0f} % slower "
                       "than the other recording's (throttled). Predictions are for the healthy board.")


def left_out_lines(manifest):
    parts = [part for part in manifest["parts"] if part.get("left_out")]
    alone = [part for part in manifest["parts"]
             if manifest.get("prior") and not part.get("left_out") and part["held_out"]["n"]]
    if not parts:
        return []
    lines = ["", "## Errors on devices that were left out", "",
             "Mean and median in percent on each device, with the trees fitted to the other devices and "
             "the rates that the left-out device's data sheet suggests. The interval comes from these errors.", "",
             "| class | kind | timing | device | shapes | MAPE | median | bias |", "|---|---|---|---|---|---|---|---|"]
    for part in parts:
        kind = "any other" if part["kind"] == "*" else part["kind"]
        for entry in part["left_out"]:
            e = entry["errors"]
            lines.append(f"| {part['class']} | {kind} | {part['timing']} | {entry['device']} | {e['n']} | "
                         f"{percent(e['mape'])} | {percent(e['median'])} | {percent(e['bias'])} |")
    if alone:
        lines += ["", "Kinds that one device alone has, on shapes that were left out; on other devices nothing "
                  "tests them, so their interval is twice as wide (in ln) as these errors:", "",
                  "| class | kind | timing | device | shapes | MAPE | median | bias |", "|---|---|---|---|---|---|---|---|"]
    for part in alone:
        e, kind = part["held_out"], "any other" if part["kind"] == "*" else part["kind"]
        names = ", ".join(device["model"] for device in part["devices"])
        lines.append(f"| {part['class']} | {kind} | {part['timing']} | {names} | {e['n']} | "
                     f"{percent(e['mape'])} | {percent(e['median'])} | {percent(e['bias'])} |")
    return lines


def coverage_lines(manifest):
    """The forms of operators that the rows have, most shapes first."""
    forms = {}
    for part in manifest["parts"]:
        for form, shapes in part.get("forms", []):
            key = part["class"], form
            forms[key] = max(forms.get(key, 0), shapes)  # the part of any kind has those of the others, too
    if not forms:
        return []
    unseen = manifest.get("unseen_forms")
    lines = ["", "## Coverage", "",
             "Distinct shapes that were measured of each form of an operator. A form is whatever makes another "
             "kernel run: mode, axis, dtype, dilation, groups, fused or not. Operators in other forms, and in forms "
             "with fewer than five shapes, are marked extrapolated."]
    if unseen:
        span = ", ".join(f"{low:.2f} to {high:.2f}" for low, high in zip(unseen["low"], unseen["high"]))
        lines[-1] += (f" Their 80 % interval comes from leaving whole forms out of training: {span} times the "
                      "prediction, from short to long ones.")
    lines += ["", "| class | forms with their shapes |", "|---|---|"]
    for name in sorted({key[0] for key in forms}):
        own = sorted(((shapes, form) for (kind, form), shapes in forms.items() if kind == name), key=lambda e: (-e[0], e[1]))
        lines.append(f"| {name} | " + ", ".join(f"{form} {shapes}" for shapes, form in own) + " |")
    return lines


def card(manifest, date):
    devices = ", ".join(d["model"] for d in manifest["devices"])
    files = manifest["data"]
    used = sources_of(manifest)
    elsewhere = any(name not in ("measured", "gpu") for name in used)
    lines = [
        f"# Model card: {manifest['name']}", "",
        f"Operator times of {devices}. Trained on {date} by "
        f"`opmodel/pretrained/build_pretrained.sh` with dfsim {manifest['dfsim_version']} and "
        f"XGBoost {manifest['xgboost_version']}, seed {manifest['seed']}, from "
        f"{manifest['rows_used']} rows ({manifest['rows_dropped']} left out as impossibly fast).",
        "", "## Data", ""]
    about = {"name": manifest["name"], **MEASURED.get(manifest["name"], {})}
    lines += ["- " + (SOURCES[name].format(**about) if name == "measured" else SOURCES[name]) for name in used]
    lines += ["", ("This repository contains the measured data alone. The" if elsewhere and "gpu" in used else
                   "This repository does not contain the data. The" if elsewhere else "The") +
              " model keeps trees and, in `lookup.bin`, hashed shapes with their times.", "",
              "| file | checksum | rows |", "|---|---|---|"]
    lines += [f"| {f['file']} | {f['checksum']} | {f['rows']} |" for f in files]
    prior = bool(manifest.get("prior"))
    lines += left_out_lines(manifest)
    lines += [] if prior else ["", "## Errors on held-out shapes", "",
              "Errors in percent on 15 % of the shapes, grouped so that no shape (for matrix products: "
              "no weight shape) is on both sides. `bound` is the MAPE of bound x constant, `in 80 %` "
              "the share inside the 80 % interval. The shipped trees were then fitted to all rows.", "",
              "| class | kind | dtypes | timing | rows | test | MAPE | median | p90 | bias | "
              "in 80 % | bound |", "|---|---|---|---|---|---|---|---|---|---|---|---|"]
    lines += [] if prior else ["| " + " | ".join(row) + " |" for row in error_rows(manifest)]
    lines += coverage_lines(manifest)
    lines += ["", "## Limits", "",
              "- Answers for other dtypes, other devices, larger or smaller sizes and other classes "
              "are marked extrapolated, prior or bound-only.",
              "- Launch-inclusive parts: for device time, dfsim subtracts the launch (the part's "
              "floor less the device's shortest kernel time); short ops are therefore uncertain by "
              "about a microsecond.",
              "- Each shape was measured on one machine with one version of the libraries."]
    lines += list(drift_lines(manifest)) + list(recording_lines(manifest))
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("date", type=lambda text: datetime.date.fromisoformat(text).isoformat(),
                        help="the day the models were trained, YYYY-MM-DD")
    parser.add_argument("models", nargs="*", help="all of them by default")
    arguments = parser.parse_args()
    date, names = arguments.date, arguments.models
    for path in sorted(HERE.glob("*/manifest.json")):
        if not names or path.parent.name in names:
            manifest = json.loads(path.read_text())
            (path.parent / "MODEL_CARD.md").write_text(card(manifest, date))


if __name__ == "__main__":
    main()
