#!/usr/bin/env python3
"""Compiles each source alone, without making object files: every source includes what it uses.

  cmake --preset alone && scripts/compile_alone.py build/alone

Prints the errors of each source that does not compile; exit code 1 when there are any.
"""
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys


def compile_alone(entry):
    command = shlex.split(entry["command"])
    output = command.index("-o")
    del command[output : output + 2]
    done = subprocess.run(
        [*command, "-fsyntax-only"], cwd=entry["directory"], text=True, capture_output=True, check=False
    )
    return done.returncode, done.stderr


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = os.path.realpath(sys.argv[1])
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = [e for e in json.load(file) if not e["file"].startswith(build)]
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for code, errors in pool.map(compile_alone, entries):
            if code != 0:
                failures += 1
                print(errors, end="")
    print(f"{len(entries)} sources, {failures} do not compile alone")
    sys.exit(1 if failures or not entries else 0)


if __name__ == "__main__":
    main()
