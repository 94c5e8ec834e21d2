#!/usr/bin/env python3
"""Checks that the examples in CONTRIBUTING.md are in the sources.

A ```cpp block: a line `// path` names a file, and the lines after it must be in that file.
A ```diff block shows how to add something: `+++ path` or `+++ path (new file)` names a file, and
the lines after it, without their `+`, must be in that file. It has at most one new file, and adds
one entry (a statement, a table row) to at most one existing file. Each thing in EXTENSIONS has a
section with such a block.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXTENSIONS = ["operator", "policy", "pass", "reader", "strategy", "feature family", "hardware file",
              "command"]
BLOCK = re.compile(r"^```(cpp|diff)\n(.*?)^```", re.DOTALL | re.MULTILINE)
CPP_PLACE = re.compile(r"// ([a-z_/0-9]+\.(?:cc|h|inc))$")
DIFF_PLACE = re.compile(r"\+\+\+ ([\w/.-]+)( \(new file\))?$")


def entries(lines):
    """How many statements or table rows these lines are: each ends where its brackets are closed."""
    count, depth = 0, 0
    for line in lines:
        count += depth == 0
        depth += sum(line.count(c) for c in "({[") - sum(line.count(c) for c in ")}]")
    return count


def files_of(kind, block):
    """(path, whether it is new, its lines) of each file in a block."""
    found = []
    for line in block.splitlines():
        place = (CPP_PLACE if kind == "cpp" else DIFF_PLACE).match(line)
        if place:
            found.append((place.group(1), kind == "diff" and bool(place.group(2)), []))
        elif line.strip() and not found:
            found.append(("", False, [line]))
        elif line.strip():
            found[-1][2].append(line[1:] if kind == "diff" else line)
    return found


def block_problems(kind, block, read):
    found = []
    files = files_of(kind, block)
    for path, _, lines in files:
        try:
            source = set(read(path).splitlines()) if path else set()
        except FileNotFoundError:
            found.append(f"{path}: there is no such file")
            continue
        found += [f"{path or '?'}: has no line `{line.strip()}`" for line in lines if line not in source]
    if kind == "diff":
        changed = [(path, lines) for path, new, lines in files if not new]
        if len(files) - len(changed) > 1 or len(changed) > 1:
            found.append(f"{files[0][0]}: more than one new and one changed file")
        found += [f"{path}: {entries(lines)} entries are added, one is allowed"
                  for path, lines in changed if entries(lines) != 1]
    return found


def problems(text, read, extensions=()):
    found = []
    sections = re.split(r"^## ", text, flags=re.MULTILINE)
    for section in sections:
        for kind, block in BLOCK.findall(section):
            found += block_problems(kind, block, read)
    with_diff = {s.splitlines()[0] for s in sections if "```diff" in s}
    for name in extensions:
        article = "an" if name[0] in "aeiou" else "a"
        if f"Add {article} {name}" not in with_diff:
            found.append(f"has no section 'Add {article} {name}' with a diff")
    return found


def test_itself():
    sources = {"a.cc": "int y;\nint x;\n", "t.inc": "ROW(1,\n    2)\nROW(3)\n"}

    def check(block, *extensions):
        return problems(f"## Add a row\n{block}\n", sources.__getitem__, extensions)

    good = "```diff\n+++ a.cc (new file)\n+int y;\n+++ t.inc\n+ROW(1,\n+    2)\n```"
    assert check(good, "row") == []
    assert check("```cpp\n// a.cc\nint y;\n```") == []
    assert len(check("```cpp\n// a.cc\nint z;\n```")) == 1  # not in the file
    assert len(check("```cpp\nint y;\n```")) == 1  # of no file
    assert len(check("```diff\n+++ t.inc\n+ROW(1,\n+    2)\n+ROW(3)\n```")) == 1  # two rows
    assert len(check("```diff\n+++ a.cc\n+int y;\n+++ t.inc\n+ROW(3)\n```")) == 1  # two changed files
    assert len(check("```diff\n+++ a.cc (new file)\n+++ t.inc (new file)\n```")) == 1
    assert len(check(good, "other")) == 1  # no such section


def main():
    test_itself()
    found = problems((ROOT / "CONTRIBUTING.md").read_text(), lambda path: (ROOT / path).read_text(), EXTENSIONS)
    for problem in found:
        print(f"CONTRIBUTING.md: {problem}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
