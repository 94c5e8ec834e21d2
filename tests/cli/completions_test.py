#!/usr/bin/env python3
"""Checks the completion scripts in the shells that they are for.

usage: completions_test.py DFSIM

bash is always there: words are completed by the script's function. zsh and fish only check the
syntax, and only where they are installed.
"""

import os
import shutil
import subprocess
import sys
import tempfile

ASK = r"""
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_dfsim
printf '%s\n' "${COMPREPLY[@]}"
"""


def script(program, shell):
    result = subprocess.run([program, "help", "--format", shell], check=True,
                            stdout=subprocess.PIPE)
    return result.stdout.decode("utf-8")


def completed(path, folder, *words):
    """Returns the words that bash offers for the last of `words`."""
    result = subprocess.run(["bash", "-c", ASK, "bash", path, "dfsim", *words], check=True,
                            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if result.stderr:
        raise AssertionError(f"bash says: {result.stderr.decode('utf-8')}")
    return result.stdout.decode("utf-8").split()


def check_bash(program, folder):
    path = os.path.join(folder, "dfsim.bash")
    with open(path, "w", encoding="utf-8") as out:
        out.write(script(program, "bash"))
    open(os.path.join(folder, "net.onnx"), "w", encoding="utf-8").close()
    cases = [
        (["pre"], {"predict"}, set()),
        (["predict", "--batc"], {"--batch"}, set()),
        (["predict", "--hw", "a10"], {"a100-sxm4-80gb"}, {"--batch"}),
        (["predict", "--hw", "ne"], {"net.onnx"}, set()),
        (["predict", "ne"], {"net.onnx"}, set()),
        (["predict", "--mode", ""], {"infer", "train"}, {"--batch", "predict"}),
        (["--log-level", "debug", "profiles", ""], {"import", "check", "stats"}, {"predict"}),
        (["profiles", "import", "--opt"], {"--optimized-model"}, set()),
        (["predict", "--qui"], {"--quiet"}, set()),
        (["predict", "--hw", "=", "a10"], {"a100-sxm4-80gb"}, set()),
    ]
    failures = 0
    for words, expected, absent in cases:
        found = set(completed(path, folder, *words))
        if not expected <= found or found & absent:
            print(f"{' '.join(words)}: found {sorted(found)[:20]}, expected {sorted(expected)}, "
                  f"not {sorted(absent)}")
            failures += 1
    return failures


def check_syntax(program, shell, folder):
    if shutil.which(shell) is None:
        print(f"{shell} is not installed: the syntax of its script was not checked")
        return 0
    path = os.path.join(folder, "dfsim." + shell)
    with open(path, "w", encoding="utf-8") as out:
        out.write(script(program, shell))
    result = subprocess.run([shell, "-n", path], check=False)
    return result.returncode != 0


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        failures = check_bash(program, folder)
        failures += check_syntax(program, "zsh", folder) + check_syntax(program, "fish", folder)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
