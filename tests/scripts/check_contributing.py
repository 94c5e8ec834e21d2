#!/usr/bin/env python3
"""Checks that CONTRIBUTING.md shows lines that are in the sources, and counts them right.

In a block of C++ a line `// path` names a file; the lines behind it must be in that file. The text in
front of the block says their number: (8 lines).
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"\((\d+) lines?\)[^`]*?```cpp\n(.*?)```", re.DOTALL)
PLACE = re.compile(r"// ([a-z_/0-9]+\.(?:cc|h))$")


def problems(text, read):
    found = []
    blocks = BLOCK.findall(text)
    if text.count("```cpp") != len(blocks):
        found.append("a block of C++ without its number of lines in front")
    for count, block in blocks:
        place, source, lines = None, set(), 0
        for line in block.splitlines():
            match = PLACE.match(line)
            if match:
                place = match.group(1)
                source = set(read(place).splitlines())
            elif line.strip():
                lines += 1
                if line not in source:
                    found.append(f"{place}: has no line `{line.strip()}`")
        if lines != int(count):
            found.append(f"{place}: {lines} lines are shown, {count} are promised")
    return found


def main():
    # The check itself: a line that is not there, and a wrong number.
    planted = "(2 lines):\n```cpp\n// a.cc\nint x;\n```\n"
    assert len(problems(planted, lambda path: "int y;\n")) == 2
    found = problems((ROOT / "CONTRIBUTING.md").read_text(), lambda path: (ROOT / path).read_text())
    for problem in found:
        print(f"CONTRIBUTING.md: {problem}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
