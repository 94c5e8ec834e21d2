#!/usr/bin/env python3
"""Checks that what the README and docs/ show is what dfsim prints.

A fenced block marked `console` holds commands and their output. A line that begins with
`$ ./dfsim` is run in the root of the sources; the lines up to the next command or the end of the
block are its output. A line that is only `...` stands for any lines that are left out.

usage: run_docs.py DFSIM             check all blocks
       run_docs.py --update DFSIM    write the outputs again; each part between two `...` keeps its
                                     length and the place where most of its lines stand now
"""

import difflib
import pathlib
import re
import shlex
import subprocess
import sys

from run_golden import ROOT, clean_environment

PROMPT = "$ ./dfsim "
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TIMEOUT_S = 120
# Pages that the program writes as a whole.
WRITTEN = {"docs/reference/options.md": "help --format markdown"}


def output_of(program, line):
    result = subprocess.run(
        [program, *shlex.split(line[len(PROMPT):])], cwd=ROOT, env=clean_environment(),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        timeout=TIMEOUT_S, check=False)
    return result.stdout.decode("utf-8").splitlines()


def commands_of(block):
    """(command line, shown output lines) of each command in a block."""
    found = []
    for line in block.splitlines():
        if line.startswith(PROMPT):
            found.append((line, []))
        elif found:
            found[-1][1].append(line)
    return found


def trimmed(lines):
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


def matches(shown, actual):
    pattern = "".join("(?:.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in shown)
    return re.fullmatch(pattern, "".join(line + "\n" for line in actual)) is not None


def without_numbers(line):
    return re.sub(r"[-\s]+", " ", re.sub(r"[0-9.]+", "0", line))


def place_of(part, actual, begin, end):
    """Where the lines of `part` stand in actual[begin:end]: the first place where most of them are
    alike but for numbers and spaces."""
    wanted = [without_numbers(line) for line in part]
    found = [without_numbers(line) for line in actual]
    places = range(begin, max(begin, end - len(part)) + 1)
    return max(places, key=lambda place: sum(map(str.__eq__, wanted, found[place:place + len(part)])))


def updated(shown, actual):
    """`actual` with the lines left out that `shown` leaves out; every part keeps its length."""
    if "..." not in shown:
        return actual
    parts = [[]]
    for line in shown:
        if line == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    begin, end = len(parts[0]), len(actual) - len(parts[-1])
    kept = actual[:begin] + ["..."]
    for part in parts[1:-1]:
        begin = place_of(part, actual, begin, end)
        kept += actual[begin:begin + len(part)] + ["..."]
        begin += len(part)
    return kept + actual[end:]


def process(path, program, update):
    """Returns the number of outputs that differ; rewrites the file under --update."""
    failures = 0
    text = path.read_text(encoding="utf-8")

    def replace(match):
        nonlocal failures
        lines = []
        for command, shown in commands_of(match.group(1)):
            shown, actual = trimmed(shown), trimmed(output_of(program, command))
            if not matches(shown, actual):
                failures += 1
                if not update:
                    print(f"{path.relative_to(ROOT)}: {command}: shows something else:")
                    print("\n".join(list(difflib.unified_diff(
                        shown, actual, "shown", "printed", lineterm=""))[:60]))
            lines += [command] + (updated(shown, actual) if update else shown)
        return "```console\n" + "".join(line + "\n" for line in lines) + "```"

    new_text = BLOCK.sub(replace, text)
    if update and new_text != text:
        path.write_text(new_text, encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: updated")
    return failures


def process_written(name, command, program, update):
    """Returns 1 when a page that the program writes differs from what it prints."""
    path, actual = ROOT / name, output_of(program, PROMPT + command)
    shown = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    if shown == actual:
        return 0
    if update:
        path.write_text("".join(line + "\n" for line in actual), encoding="utf-8")
        print(f"{name}: updated")
    else:
        print(f"{name}: `dfsim {command}` prints something else (run_docs.py --update writes it)")
        print("\n".join(list(difflib.unified_diff(shown, actual, "shown", "printed",
                                                  lineterm=""))[:60]))
    return 1


def main():
    arguments = sys.argv[1:]
    update = arguments[:1] == ["--update"]
    program = str(pathlib.Path(arguments[-1]).resolve())
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    blocks = sum(len(BLOCK.findall(p.read_text(encoding="utf-8"))) for p in pages)
    failures = sum(process(page, program, update) for page in pages)
    failures += sum(process_written(name, command, program, update)
                    for name, command in WRITTEN.items())
    print(f"{blocks} blocks, {failures} outputs differ")
    return 1 if blocks == 0 or (failures and not update) else 0


if __name__ == "__main__":
    sys.exit(main())
