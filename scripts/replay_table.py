#!/usr/bin/env python3
"""The table of docs/commands/replay.md: every trace below a folder that can be replayed, as Markdown.

Of traces with device work that is linked to its launches, and of runs of ONNX Runtime and
TensorFlow. `kept` is the share of the span that is decided by gaps that are kept as measured, which
no dependency explains.

usage: replay_table.py DFSIM FOLDER
"""

import json
import pathlib
import subprocess
import sys


def time(us):
    for unit, scale in (("s", 1e6), ("ms", 1e3), ("us", 1)):
        if us >= scale:
            return f"{us / scale:.3g} {unit}" if us / scale < 1000 else f"{us / scale:.0f} {unit}"
    return f"{us * 1000:.0f} ns"


def folders_of_traces(root):
    """Files, and the folders that are traces as a whole."""
    whole = {p.parent for p in root.rglob("metadata")}
    return sorted(whole | {p for p in root.rglob("*") if p.is_file() and p.parent not in whole})


def main():
    program, root = sys.argv[1], pathlib.Path(sys.argv[2])
    print("| trace | format | launched work | measured | replayed | error | kept |")
    print("|---|---|---:|---:|---:|---:|---:|")
    worst, count = 0, 0
    for path in folders_of_traces(root):
        result = subprocess.run([program, "replay", path, "--json"], capture_output=True,
                                stdin=subprocess.DEVNULL, check=False)
        if result.returncode not in (0, 2):
            sys.exit(f"{path}: exit code {result.returncode}: {result.stderr.decode()}")
        if result.returncode != 0:
            continue
        r = json.loads(result.stdout)
        if r["launched"] == 0 and r["format"] not in ("onnxruntime", "tensorflow", "stepstats"):
            continue
        kept = r["path_us"]["same"]
        gaps = sum(v for k, v in kept.items() if k in ("gap", "queue-gap"))
        count += 1
        worst = max(worst, abs(r["error"]))
        print(f"| {path.relative_to(root)} | {r['format']} | {r['launched']} | "
              f"{time(r['measured_us'])} | {time(r['same_us'])} | {100 * r['error']:+.2f} % | "
              f"{100 * gaps / max(r['same_us'], 1e-9):.0f} % |")
    print(f"\n{count} traces, the worst is {100 * worst:.2f} % off")


if __name__ == "__main__":
    main()
