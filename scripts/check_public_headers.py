#!/usr/bin/env python3
"""Checks the list of public headers (cmake/public_headers.cmake), which is what gets installed.

- each entry is a file, named once, and none is internal (`*_internal.h`);
- the list is closed: a public header includes public headers, besides the standard library;
- what the examples include is public: they use the installed libraries as strangers do;
- each public header begins with a comment that says what it is for.

Runs as the CTest test `public_headers`, prints one line per violation and exits with 1.
"""

import argparse
import pathlib
import re
import sys

LIST = "cmake/public_headers.cmake"
SET = re.compile(r"set\(DFSIM_PUBLIC_HEADERS(.*?)\n\)", re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]*)[>"]', re.MULTILINE)


def public_headers(root):
    """The entries of the list, with the line of each."""
    text = (root / LIST).read_text(encoding="utf-8")
    match = SET.search(text)
    if match is None:
        return []
    first = text.count("\n", 0, match.start(1)) + 1
    return [(number, line.split("#")[0].strip())
            for number, line in enumerate(match[1].split("\n"), first) if line.split("#")[0].strip()]


def includes_of(path):
    text = path.read_text(encoding="utf-8", errors="replace")
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[1], match[2]


def check_header(root, header, public):
    """Violations of one public header as (line, message)."""
    text = (root / header).read_text(encoding="utf-8", errors="replace")
    if not text.startswith("// "):
        yield 1, "a public header must begin with a comment that says what it is for"
    for line, quote, name in includes_of(root / header):
        if quote == '"' and name not in public:
            yield line, f'"{name}" is not public; add it to {LIST}, or declare what is needed of it'
        elif quote == "<" and ("/" in name or "." in name):
            yield line, f"<{name}> belongs to no standard library; a public header shows no third party"


def check_tree(root):
    """(number of public headers, violations)."""
    entries = public_headers(root)
    lines, public = [], set()
    for number, header in entries:
        place = f"{LIST}:{number}"
        if header in public:
            lines.append(f"{place}: {header} is named twice")
        elif not (root / header).is_file():
            lines.append(f"{place}: {header} is not a file")
        elif header.endswith("_internal.h"):
            lines.append(f"{place}: {header} is internal; it cannot be public")
        public.add(header)
    for _, header in entries:
        if (root / header).is_file():
            lines += [f"{header}:{line}: {text}" for line, text in check_header(root, header, public)]
    for example in sorted((root / "examples").rglob("*.cc")):
        for line, quote, name in includes_of(example):
            if quote == '"' and name not in public and not (example.parent / name).is_file():
                lines.append(f'{example.relative_to(root)}:{line}: "{name}" is not public ({LIST})')
    return len(public), lines


def main():
    parser = argparse.ArgumentParser(description="Check the list of public headers.")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[1])
    root = parser.parse_args().root
    count, lines = check_tree(root)
    for line in lines:
        print(line, file=sys.stderr)
    if count == 0:
        print(f"{root / LIST}: no public headers found", file=sys.stderr)
        return 1
    print(f"{count} public headers checked, {len(lines)} violations")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
