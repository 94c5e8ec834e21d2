#!/usr/bin/env python3
"""Checks that what dfsim prints of traces and rooflines fits a terminal of 80 columns.

Runs the golden cases that print text (not JSON, CSV, drawings or traces) with COLUMNS=80.

usage: run_width.py DFSIM
"""

import shlex
import subprocess
import sys
import tempfile

from run_golden import CASES, ROOT, TIMEOUT_S, case_names, clean_environment

WIDTH = 80
# For programs, or drawings whose width is asked for.
NOT_FOR_PEOPLE = ("--json", "--csv", "--svg", "--gantt", "--help", "--trace", "--html")
COMMANDS = ("analyze", "diff", "replay", "roofline", "tune")


def main():
    program = sys.argv[1]
    failures = checked = 0
    for case in case_names():
        arguments = shlex.split((CASES / case / "command").read_text(encoding="utf-8"),
                                comments=True)
        if arguments[:1] == [] or arguments[0] not in COMMANDS or \
                any(a.split("=")[0] in NOT_FOR_PEOPLE for a in arguments):
            continue
        with tempfile.TemporaryDirectory(prefix="dfsim_width_") as tmp:
            result = subprocess.run(
                [program, *[a.replace("{tmp}", tmp) for a in arguments]], cwd=ROOT,
                env=clean_environment() | {"COLUMNS": str(WIDTH)}, stdin=subprocess.DEVNULL,
                capture_output=True, timeout=TIMEOUT_S, check=False)
        checked += 1
        for line in result.stdout.decode("utf-8", "replace").splitlines():
            if len(line) > WIDTH:
                failures += 1
                print(f"{case}: {len(line)} columns: {line}")
    print(f"{checked} cases, {failures} lines of more than {WIDTH} columns")
    return 1 if failures or checked < 8 else 0


if __name__ == "__main__":
    sys.exit(main())
