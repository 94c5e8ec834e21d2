#!/usr/bin/env python3
"""Compares predicted training steps with published ones: forward and backward pass, PyTorch 2.1 eager, fp32.

usage: training_steps.py [--program DFSIM] [--networks DIR] [--rows published_training.csv]
The rows are labels of NeuSight (ASPLOS 2025; MIT licence; scripts/asplos/label of its repository): one step
without an optimizer, dropout on, cross entropy whose forward pass is not part of the time. Each of
NeuSight's steps began with an empty caching allocator: where the A100 host's cudaMalloc was slower than the
kernels, the forward pass took that time (backward passes find the memory that the forward pass left). The
column `cold` marks steps whose forward pass took more than 0.7 of the backward pass, half of which it takes
otherwise; the mean without them is printed as well.
gpt2_large is in graphs/zoo; `python3 graphs/zoo/export_text.py DIR bert_large_pretraining opt_1b3` writes the
other networks. Rows of networks that are not there are left out, and counted.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPTIONS = ["--mode", "train", "--training-mode", "--loss", "cross-entropy", "--optimizer", "none", "--json",
           "--allow-oversubscription"]
COLD = 0.7
LOSS = ("LogSoftmax", "NegativeLogLikelihoodLoss")


def predict(program, network, row):
    """Milliseconds of the forward and of the backward pass."""
    command = [program, "predict", str(network), "--hw", row["hardware"], "--batch", row["batch"],
               "--dim", row["dims"], *OPTIONS]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise RuntimeError(run.stderr.strip())
    result = json.loads(run.stdout)
    start = next(op["start_us"] for op in result["ops"] if op["op_type"].endswith("LossGrad"))
    loss = sum(op["duration_us"] for op in result["ops"] if "/loss" in op["name"] and op["op_type"] in LOSS)
    return (start - loss) / 1e3, result["latency_ms"] - start / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/dfsim"))
    parser.add_argument("--networks", type=pathlib.Path, default=ROOT / "graphs/zoo")
    parser.add_argument("--rows", type=pathlib.Path, default=pathlib.Path(__file__).with_name("published_training.csv"))
    arguments = parser.parse_args()
    with open(arguments.rows, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    errors, missing = [], 0
    print(f"{'network':24} {'batch':>5} {'hardware':16} {'forward':>17} {'backward':>17} {'step':>17}  cold")
    for row in rows:
        places = [folder / f"{row['network']}.onnx" for folder in (arguments.networks, ROOT / "graphs/zoo")]
        network = next((place for place in places if place.exists()), None)
        if network is None:
            missing += 1
            continue
        predicted = predict(arguments.program, network, row)
        measured = float(row["forward_ms"]), float(row["backward_ms"])
        cold = measured[0] > COLD * measured[1]
        cells = [f"{m:8.1f} ms {p / m - 1:+6.1%}"
                 for m, p in (*zip(measured, predicted), (sum(measured), sum(predicted)))]
        print(f"{row['network']:24} {row['batch']:>5} {row['hardware']:16} {' '.join(cells)}  {'yes' if cold else ''}")
        errors.append((abs(sum(predicted) / sum(measured) - 1), abs(predicted[1] / measured[1] - 1), cold))
    warm = [error for error in errors if not error[2]]
    for name, kept in (("all steps", errors), ("without cold ones", warm)):
        if kept:
            print(f"{name}: {len(kept)}, mean error of the step {sum(e[0] for e in kept) / len(kept):.1%}, "
                  f"of the backward pass {sum(e[1] for e in kept) / len(kept):.1%}")
    if missing:
        print(f"{missing} rows left out: no file of the network in {arguments.networks}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
