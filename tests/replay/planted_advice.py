"""Checks dfsim's advice on runs in which one problem was planted.

    planted_advice.py DFSIM [--each N] [--kind KIND] [--keep FOLDER] [--seed S]

Makes N runs of every kind of problem (planted_kinds.py) and asserts for each of them that the first
advice names the problem, and that its simulated gain is within 15 % of what removing the problem
saves.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import planted_kinds

TOLERANCE = 0.15


def make(kind, seed, path):
    """Writes the trace; returns the spans with and without the problem, in microseconds."""
    if kind in planted_kinds.CTF:
        program = planted_kinds.CTF[kind]
        return (program(random.Random(seed), True, path), program(random.Random(seed), False, None))
    program = planted_kinds.KINETO[kind]
    machine = program(random.Random(seed), True)
    machine.write(path.with_suffix(".json"))
    return machine.span(), program(random.Random(seed), False).span()


def check(dfsim, kind, seed, folder):
    """Returns what is wrong, or ""."""
    path = folder / ("%s_%d" % (kind, seed))
    with_problem, without = make(kind, seed, path)
    trace = path if kind in planted_kinds.CTF else path.with_suffix(".json")
    done = subprocess.run([dfsim, "analyze", "--json", str(trace)], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        return "%s: dfsim says %s" % (trace.name, done.stderr.strip())
    advice = json.loads(done.stdout)["traces"][0]["advice"]["list"]
    said = ["%s %.1f %%" % (one["kind"], 100 * one["gain"]) for one in advice]
    planted = 1 - without / with_problem
    wanted = "%s: planted %s, which costs %.1f %%" % (trace.name, kind, 100 * planted)
    if not advice or advice[0]["kind"] != kind:
        return "%s; the advice is %s" % (wanted, said or "none")
    if abs(advice[0]["gain"] - planted) > TOLERANCE * planted:
        return "%s; the simulated gain is %.1f %%" % (wanted, 100 * advice[0]["gain"])
    if kind != "launch-overhead" and any(one["kind"] == "launch-overhead" for one in advice):
        return "%s; a graph is advised where launches are not the problem: %s" % (wanted, said)
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dfsim")
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--kind")
    parser.add_argument("--keep")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    kinds = [*planted_kinds.KINETO, *planted_kinds.CTF]
    wrong = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for kind in [options.kind] if options.kind else kinds:
            found = [check(options.dfsim, kind, options.seed + i, folder)
                     for i in range(options.each)]
            found = [text for text in found if text]
            print("%-18s %d of %d" % (kind, options.each - len(found), options.each))
            wrong += found
    for text in wrong:
        print(text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
