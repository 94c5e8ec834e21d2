#!/usr/bin/env python3
"""Checks that what every command of dfsim prints fits a terminal of 80 columns.

Runs the golden cases that print text (not JSON, CSV or drawings), the --help of every command, and
some more commands, with COLUMNS=80.

usage: run_width.py DFSIM
"""

import re
import shlex
import subprocess
import sys
import tempfile

from run_golden import CASES, ROOT, TIMEOUT_S, case_names, clean_environment

WIDTH = 80
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# For programs, or drawings whose width is asked for.
OPS = "datasets/measured/epyc-milan/ops.csv.xz"
# Commands whose golden cases print no tables.
MORE = (
    ["ops"], ["hardware"], ["hardware", "a100"], ["hardware", "8xdgx-a100"],
    ["profiles", "stats", OPS],
    ["evaluate", "--model", "epyc-milan", "--profiles", OPS],
    ["validate", "--runs", "datasets/measured/epyc-milan/known_runs.csv", "--networks",
     "datasets/measured/networks", "--only", "alexnet"],
    ["diff", "tests/golden/data/kineto_small.json", "tests/golden/data/kineto_recompute.json"],
    ["inspect", "graphs/zoo/gpt2.onnx", "--ops"],
    ["predict", "graphs/zoo/bert_base.onnx", "--hw", "pcie-2gpu", "--policy", "heft", "--advice"],
    ["compare", "graphs/zoo/resnet50.onnx", "--hw", "dgx-a100", "--cost-model", "sol",
     "--policies", "heft,first-device,best-single-device,work-stealing"],
)
NOT_FOR_PEOPLE = ("--json", "--csv", "--svg", "--gantt", "--html")


def helps(program):
    """--help of the program and of each of its commands, those inside others included."""
    def below(words):
        text = subprocess.run([program, *words, "--help"], cwd=ROOT, capture_output=True, text=True,
                              env=clean_environment(), timeout=TIMEOUT_S, check=True).stdout
        yield [*words, "--help"]
        listed = text.partition("\nSubcommands:\n")[2].split("\n\n")[0]
        for line in listed.splitlines():
            if line.startswith("  ") and not line.startswith("   "):
                yield from below([*words, line.split()[0]])
    return list(below([]))


def main():
    program = sys.argv[1]
    failures = checked = 0
    cases = [(case, shlex.split((CASES / case / "command").read_text(encoding="utf-8"),
                                comments=True)) for case in case_names()]
    cases += [(" ".join(words), words) for words in (*MORE, *helps(program))]
    for case, arguments in cases:
        # Shell scripts, man pages, Markdown, HTML, imported profiles (CSV) and task graphs (JSON) keep
        # their own line lengths.
        generated = ("--format" in arguments or "--slurm" in arguments or arguments[:1] == ["report"]
                     or arguments[:2] == ["profiles", "import"]
                     or (arguments[:1] == ["generate"] and not {"-o", "--help"} & set(arguments)))
        if generated or any(a.split("=")[0] in NOT_FOR_PEOPLE for a in arguments):
            continue
        with tempfile.TemporaryDirectory(prefix="dfsim_width_") as tmp:
            result = subprocess.run(
                [program, *[a.replace("{tmp}", tmp).replace("{scratch}", tmp) for a in arguments]], cwd=ROOT,
                env=clean_environment() | {"COLUMNS": str(WIDTH)}, stdin=subprocess.DEVNULL,
                capture_output=True, timeout=TIMEOUT_S, check=False)
        checked += 1
        if case not in case_names() and result.returncode != 0:
            failures += 1
            print(f"{case}: exit code {result.returncode}: {result.stderr.decode()}")
        # Colours take no columns.
        text = COLOUR.sub("", result.stdout.decode("utf-8", "replace"))
        for line in text.splitlines():
            if len(line) > WIDTH:
                failures += 1
                print(f"{case}: {len(line)} columns: {line}")
    print(f"{checked} cases, {failures} lines of more than {WIDTH} columns")
    return 1 if failures or checked < 130 else 0


if __name__ == "__main__":
    sys.exit(main())
