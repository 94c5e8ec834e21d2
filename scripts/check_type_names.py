#!/usr/bin/env python3
"""Checks that no two types of one namespace have one name.

The libraries are linked into one program, where two types `dfsim::Name` make one of each of their
functions and of each std::vector<Name>, whichever the linker meets first: the other's objects are
then destroyed as what they are not. No compiler says so. Types in unnamed namespaces may share names.
The namespace of a folder (dfsim::inline FOLDER) is inline, so its names count as those of dfsim.
Runs as the CTest test `type_names`; prints a line per name that is taken twice and exits with 1.
"""

import argparse
import collections
import pathlib
import re
import sys

FOLDERS = ("base", "hardware", "graphs", "opmodel", "datasets", "partition", "schedulers", "sim", "serving", "study",
           "report", "cli")
# Only text at the beginning of a line is at the level of a namespace, as .clang-format has it.
INLINE = re.compile(r"::inline \w+|inline \w+::")
LINE = re.compile(
    r"^namespace(?P<opened> [\w: ]+)? \{|^(?P<closed>\}  // namespace)"
    r"|^(?:struct|class|union|enum class|enum) (?:alignas\([^)]*\) )?(?P<type>\w+(?:::\w+)*)(?P<rest>[^;{]*)(?:\{.*)?$")


def types_of(text):
    """(line, qualified name) of the types that a file defines outside unnamed namespaces."""
    spaces = []
    for number, line in enumerate(text.splitlines(), 1):
        match = LINE.match(line)
        if not match:
            continue
        if match["type"]:
            if "" not in spaces and not match["rest"].lstrip().startswith("<"):  # no specialisation
                yield number, "::".join([*spaces, match["type"]])
        elif match["closed"]:
            if spaces:
                spaces.pop()
        elif not line.rstrip().endswith("}"):
            spaces.append(INLINE.sub("", (match["opened"] or "").strip()))


def check_tree(root):
    """(number of types, lines about names that are taken twice)."""
    places = collections.defaultdict(list)
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in (".h", ".cc"):
                for line, name in types_of(file.read_text(encoding="utf-8", errors="replace")):
                    places[name].append(f"{file.relative_to(root).as_posix()}:{line}")
    return len(places), [f"{found[1]}: {name} is defined in {found[0]}, too; rename one of them"
                         for name, found in sorted(places.items()) if len(found) > 1]


def main():
    parser = argparse.ArgumentParser(description="Check that types have names of their own.")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[1])
    count, twice = check_tree(parser.parse_args().root)
    for line in twice:
        print(line, file=sys.stderr)
    if count == 0:
        print("no types found", file=sys.stderr)
        return 1
    print(f"{count} types checked, {len(twice)} names taken twice")
    return 1 if twice else 0


if __name__ == "__main__":
    sys.exit(main())
