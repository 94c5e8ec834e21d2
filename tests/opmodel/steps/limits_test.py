#!/usr/bin/env python3
"""No lower limit lies above a measured time: the speed-of-light bound of every measured network.

usage: limits_test.py DFSIM

Runs of datasets/measured whose graphs ship, published training steps (published_steps.csv), and,
where DFSIM_SHARED is set, the latencies that datasets/collect/published_runs.py reads. A bound may
exceed a measured time by NOISE, by which repeated runs of one network differ. Prints the errors of
the default cost model for training steps, too: those of the last releases must lie inside its
interval.
"""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
NOISE = 1.03
# Runs of networks whose graphs do not ship (docs/reference/validation.md): nothing to bound here.
WITHOUT_GRAPHS = {"cascade_lake_busy_runs.csv", "check_runs.csv", "final_runs.csv", "later_runs.csv",
                  "neusight_opt_runs.csv", "newest_runs.csv", "newest_runs_again.csv", "turin_runs.csv",
                  "winter_runs.csv"}
# Runs of networks whose graphs lie next to the file; held-out networks of an H200 are also those of the H100.
WITH_GRAPHS = ("attention_", "held_out_", "seresnext101_", "unet_")
# Runs by runtimes that fuse, in the precision that they ran in.
OPTIONS = {"rtx4090_compiled": ["--runtime", "torch-compile", "--precision", "mixed-fp16"],
           "rtx5090_compiled": ["--runtime", "torch-compile", "--precision", "mixed-fp16"],
           "tensorrt_int8": ["--runtime", "tensorrt", "--precision", "int8"],
           "ort_cuda": ["--runtime", "ort-cuda"], "_tf32_": ["--precision", "tf32"],
           "unet_fp16": ["--runtime", "torch-sdpa", "--precision", "fp16"],
           "unet_compiled": ["--precision", "fp16", "--runtime", "torch-compile"],
           "seresnext101_amp": ["--precision", "mixed-fp16", "--runtime", "torch-channels-last"],
           "bert_amp": ["--precision", "mixed-fp16"], "torchscript_fp16": ["--precision", "fp16"],
           "tensorrt_bert_int8": ["--runtime", "tensorrt", "--precision", "int8"],
           "tensorrt_bert_fp16": ["--runtime", "tensorrt", "--precision", "fp16"],
           "tensorrt_volta_fp16": ["--runtime", "tensorrt-volta", "--precision", "fp16"]}
# TorchInductor fuses these further than dfsim does, so their graphs move bytes that the runs do not: global response
# normalisation, a padded pool under autocast, tokens that a convolution takes for an image with its channels last.
FUSED_FURTHER = {"convnextv2_femto_new", "vit_tiny_r_s16_p8_224_old", "pvt_v2_b0"}
H100_GRAPHS = ["--networks", ROOT / "datasets/measured/h100/networks"]


def run(dfsim, *args):
    done = subprocess.run([dfsim, *map(str, args)], capture_output=True, text=True, check=False,
                          cwd=ROOT)
    if done.returncode != 0:
        sys.exit(f"{args}: {done.stderr}")
    return json.loads(done.stdout)


def runs_above(dfsim, path):
    graphs = ["--networks", path.parent / "networks", *H100_GRAPHS] if path.name.startswith(WITH_GRAPHS) else []
    options = [option for name, given in OPTIONS.items() if name in path.name for option in given]
    runs = run(dfsim, "validate", "--runs", path, "--model", "sol", "--json", *graphs, *options)["runs"]
    above = [(r["network"], r["batch"], r["device"], r["predicted_ns"] / r["measured_ns"])
             for r in runs if r["predicted_ns"] and r["predicted_ns"] > NOISE * r["measured_ns"]
             and not ("compiled" in path.name and r["network"] in FUSED_FURTHER)]
    closest = max(r["predicted_ns"] / r["measured_ns"] for r in runs if r["predicted_ns"])
    print(f"{path}: {len(runs)} runs, {len(above)} limits above, closest {closest:.2f}")
    return above


def steps_above(dfsim):
    above = []
    for row in csv.DictReader(open(HERE / "published_steps.csv", encoding="utf-8")):
        command = ["predict", f"graphs/zoo/{row['network']}.onnx", "--hw", row["hw"], "--mode",
                   "train", "--json", *row["options"].split()]
        measured = float(row["measured_ms"])
        for extra in ([], ["--precision", "fp32"]):
            bound = run(dfsim, *command, "--cost-model", "sol", *extra)
            limit = bound["latency_ms"] or bound["latency_at_least_ms"]
            print(f"{row['network']} {row['options']} {extra}: limit {limit:.1f}, measured {measured}")
            # fp32 throughout moves more bytes than the measured mixed precision.
            if limit > NOISE * measured and not extra:
                above.append((row["network"], row["options"], limit / measured))
        expected = run(dfsim, *command)
        interval = expected["latency_interval_ms"]
        print(f"  expected {expected['latency_ms']:.1f}, interval {interval}")
        if "0.2.0" not in row["source"] and not (interval["low"] <= measured
                                                     <= interval["high"]):
            above.append((row["network"], row["options"], "outside of the interval"))
    return above


def main():
    dfsim = pathlib.Path(sys.argv[1]).resolve()
    above = steps_above(dfsim)
    for path in sorted((ROOT / "datasets/measured").glob("*/*_runs.csv")):
        if path.name in WITHOUT_GRAPHS:
            print(f"{path.relative_to(ROOT)}: skipped, its graphs do not ship")
            continue
        above += runs_above(dfsim, path.relative_to(ROOT))
    shared = os.environ.get("DFSIM_SHARED")
    if shared:
        with tempfile.TemporaryDirectory() as folder:
            runs = pathlib.Path(folder) / "published.csv"
            notes = pathlib.Path(shared) / "notes/cost-models.md"
            done = subprocess.run([sys.executable, ROOT / "datasets/collect/published_runs.py", notes,
                                   runs], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                above += runs_above(dfsim, runs)
            else:
                print("published_runs.py:", done.stderr.strip())
    assert not above, above


if __name__ == "__main__":
    main()
