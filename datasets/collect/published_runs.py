#!/usr/bin/env python3
"""Writes a runs file for `dfsim validate` from published latencies that a page of notes lists.

A sentence of the page is `PyTorch VERSION eager DTYPE[, ...] [DEVICE] (SOURCE): RUNS.`, and RUNS is
`NETWORK [IMAGE] [sequence N] batch B: TIME ms, ...`, where a time follows a batch size or a device.
Sentences about several devices at once are no runs of one network on one device; a message on
stderr lists them. A run that this script cannot read is an error.
"""
import argparse
import csv
import re
import sys

NETWORKS = {"ResNet-50": "resnet50", "BERT-base": "bert_base", "BERT-large": "bert_large"}
DEVICES = {"A100-40GB": "NVIDIA A100-PCIE-40GB", "V100": "Tesla V100-PCIE-32GB"}
DTYPES = {"fp32": "float32", "fp16": "float16"}
COLUMNS = ("network", "batch", "dims", "dtype", "device", "runtime", "runtime_version", "time_ms", "provenance")
SENTENCE = re.compile(r"PyTorch (?P<version>[\d.]+) eager (?P<dtype>\w+)(?P<conditions>[^(:]*)\((?P<source>[^)]*)\): (?P<runs>.*)")
RUN = re.compile(r"(?P<network>\S+)(?: \d+²)?(?: sequence (?P<sequence>\d+))? batch (?P<batch>\d+): (?P<times>.*)")
TIME = re.compile(r"(?:batch (?P<batch>\d+): )?(?:(?P<device>[\w-]+) )?(?P<ms>[\d.]+) ms")


class Unreadable(Exception):
    pass


def known(names, name, kind):
    if name not in names:
        raise Unreadable(f"{kind} '{name}' is not known; expected one of {', '.join(names)}")
    return names[name]


def device_in(conditions):
    """The device that the head of a sentence names, or None."""
    words = [word for part in conditions.split(",") for word in part.split()]
    named = [word for word in words if word in DEVICES]
    return named[0] if named else None


def runs_of(sentence):
    head = SENTENCE.fullmatch(sentence)
    if head is None:
        raise Unreadable(f"expected 'PyTorch VERSION eager DTYPE (SOURCE): RUNS', found '{sentence[:60]}'")
    for part in head["runs"].rstrip(".").split("; "):
        run = RUN.fullmatch(part)
        if run is None:
            raise Unreadable(f"expected 'NETWORK batch B: TIME ms', found '{part[:60]}'")
        batch = run["batch"]
        for item in run["times"].split(", "):
            time = TIME.fullmatch(item)
            if time is None:
                raise Unreadable(f"expected '[DEVICE] TIME ms', found '{item[:60]}'")
            batch = time["batch"] or batch
            yield {
                "network": known(NETWORKS, run["network"], "network"),
                "batch": batch,
                "dims": f"sequence={run['sequence']}" if run["sequence"] else "",
                "dtype": known(DTYPES, head["dtype"], "dtype"),
                "device": known(DEVICES, time["device"] or device_in(head["conditions"]), "device"),
                "runtime": "pytorch",
                "runtime_version": head["version"],
                "time_ms": time["ms"],
                "provenance": head["source"],
            }


def read(text):
    """The runs of a page, and the sentences with latencies of several devices."""
    runs, others = [], []
    for line in text.splitlines():
        if " ms" not in line or "eager" not in line or not line.startswith("PyTorch"):
            continue
        for sentence in re.split(r"(?<=ms)\. ", line):
            if sentence.startswith("PyTorch"):
                runs.extend(runs_of(sentence))
            else:
                others.append(sentence)
    return runs, others


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("notes", help="page of notes, Markdown")
    parser.add_argument("runs", help="runs file to write, .csv")
    arguments = parser.parse_args()
    try:
        with open(arguments.notes, encoding="utf-8") as notes:
            runs, others = read(notes.read())
        if not runs:
            raise Unreadable("no sentence 'PyTorch VERSION eager DTYPE (SOURCE): RUNS' was found")
    except (OSError, UnicodeDecodeError, Unreadable) as error:
        print(f"{arguments.notes}: {getattr(error, 'strerror', None) or error}", file=sys.stderr)
        return 2
    with open(arguments.runs, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(runs)
    print(f"{len(runs)} runs")
    for sentence in others:
        print(f"left out, several devices: {sentence}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
