#!/usr/bin/env python3
"""Profiles of made-up networks with anomalies on a machine of odd_steps.py: other batch sizes, and
networks that were never profiled.

usage: odd_steps_test.py DFSIM [--print]
"""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ANOMALIES = "resnet50:64,bert:16"


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command}: {done.stderr}")
    return done.stdout


def make(folder, *args):
    run(sys.executable, "-B", HERE / "odd_steps.py", folder, *args)


def train(dfsim, profiles, model):
    return json.loads(run(dfsim, "train", profiles, "-o", model, "--rounds", 150, "--json",
                          "--quiet"))


def evaluate(dfsim, model, profiles):
    result = json.loads(run(dfsim, "evaluate", "--model", model, "--profiles", profiles,
                            "--group-by", "network", "--json"))
    overall = result["overall"]
    worst = max(abs(network["error"]) for network in result["networks"])
    print(f"{profiles.name}: operators {overall['mape']:.3f} ({overall['median']:.3f}), inside "
          f"{overall['interval']:.2f}, networks {result['mean_network_error']:.3f}, worst {worst:.3f}")
    return result


def main():
    dfsim = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        make(folder / "train", 16, 64, "--anomalies", ANOMALIES)
        report = train(dfsim, folder / "train", folder / "model")
        found = {(row["network"], row["batch"]) for row in report["contradictions"]}
        print(len(report["contradictions"]), "rows contradict the rest:", sorted(found))
        assert ("resnet50", 64) in found
        for batch in (32, 128):
            make(folder / f"batch{batch}", batch)
            result = evaluate(dfsim, folder / "model", folder / f"batch{batch}")
            assert result["overall"]["mape"] < 0.09
            assert result["mean_network_error"] < 0.05
            assert 0.7 < result["overall"]["interval"] < 0.9
        for network in ("resnet101", "bert_large"):
            make(folder / f"without_{network}", 16, 32, 64, "--without", network)
            make(folder / network, 32, 128, "--only", network)
            train(dfsim, folder / f"without_{network}", folder / f"model_{network}")
            result = evaluate(dfsim, folder / f"model_{network}", folder / network)
            assert result["mean_network_error"] < 0.15


if __name__ == "__main__":
    main()
