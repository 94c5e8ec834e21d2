#!/usr/bin/env python3
"""Predicts the servers of datasets/measured/llm-servers/published.csv and prints the errors.

usage: scripts/published_servers.py DFSIM [--source NAME] [--rows]

Each row is one run of `dfsim llm serve`. Throughput runs send all requests at once; the latency
runs of InferenceX draw lengths from 0.8 to 1 times the nominal ones.
"""
import argparse
import csv
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
DATA = os.path.join(ROOT, "datasets", "measured", "llm-servers")
MODELS = os.path.join(ROOT, "examples", "llm")
MOST_REQUESTS = 6000  # the steady state of longer runs is that of this many


def command(dfsim, row):
    """The arguments that simulate a row."""
    requests = min(int(row["requests"]), MOST_REQUESTS)
    users = int(row["users"]) or requests
    scripted = row["source"].startswith("inferencex")
    args = [dfsim, "llm", "serve", os.path.join(MODELS, row["model"] + ".json"), "--json",
            "--system", row["system"], "--framework", row["framework"],
            "--framework-version", row["version"], "--precision", row["precision"],
            "--tp", row["tp"], "--dp", row["dp"], "--ep", row["ep"],
            "--isl", row["isl"], "--osl", row["osl"],
            "--length-range", "0.8,1" if scripted else "1,1",
            "--users", str(users), "--requests", str(requests)]
    if row["framework"] == "trtllm":
        args += ["--no-chunked-prefill", "--memory-share", "0.95", "--max-tokens", str(int(row["isl"]) + 8192)]
        if row["precision"] == "fp8":
            args += ["--kv-dtype", "fp8"]
    if row["source"] == "trtllm-deepseek-r1-guide":
        args += ["--max-num-seqs", "128"]
    return args


def predicted(result, metric):
    """The simulated value of a row's metric."""
    if metric == "ttft_ms":
        return result["ttft_ms"]["mean"]["value"]
    if metric == "tpot_ms":
        return result["tpot_ms"]["mean"]["value"]
    return result[metric]["value"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dfsim")
    parser.add_argument("--source", default="")
    parser.add_argument("--rows", action="store_true", help="one line per row")
    options = parser.parse_args()
    with open(os.path.join(DATA, "published.csv"), encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if options.source in row["source"]]
    answers, groups = {}, {}
    for row in rows:
        args = command(options.dfsim, row)
        key = " ".join(args)
        if key not in answers:
            run = subprocess.run(args, capture_output=True, text=True, check=False)
            answers[key] = json.loads(run.stdout) if run.returncode == 0 else run.stderr.strip()
        answer = answers[key]
        where = "{source} {model} {system} tp {tp} dp {dp} {isl}/{osl} users {users} {metric}"
        where = where.format(**row)
        if isinstance(answer, str):
            print(where, answer)
            continue
        value = predicted(answer, row["metric"])
        error = value / float(row["value"]) - 1
        if options.rows:
            print(f"{where}: published {row['value']}, predicted {value:.4g}, {error:+.1%}")
        group = (row["source"], row["model"], row["system"], row["metric"].split("_per_")[0])
        groups.setdefault(group, []).append(error)
    print("source | model | system | metric | rows | mean error | median | bias")
    for group, errors in groups.items():
        sizes = [abs(error) for error in errors]
        print(" | ".join(group), "|", len(errors), "|", f"{statistics.mean(sizes):.1%} |",
              f"{statistics.median(sizes):.1%} | {statistics.mean(errors):+.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
