#!/usr/bin/env python3
"""Writes the generated pages of docs/reference: json.md from docs/schemas, options.md from dfsim.

usage: make_reference.py --program DFSIM            write both pages
       make_reference.py --program DFSIM --check    exit 1 when a page differs from what would be written
Without --program, only json.md.
"""

import argparse
import difflib
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs/reference"
HEAD = """# JSON fields

`scripts/make_reference.py` writes this page from the [schemas](../schemas/README.md). `a.b` is the field `b`
of the object `a`, `a[].b` is a field of each element of the list `a`, and `a.*` is each value of an object with
arbitrary keys. Times end in their unit (`_ns`, `_us`, `_ms`), sizes in `_bytes`, rates in `_per_s`; shares and
errors are fractions of 1.
"""


def resolved(node, schema):
    if "$ref" in node:
        target = schema
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        return {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    return node


def type_name(node):
    if "const" in node:
        return f"`{node['const']}`"
    kinds = node.get("type", "any")
    return " or ".join(kinds) if isinstance(kinds, list) else kinds


def rows(node, schema, path=""):
    """(path, type, description) of every field below `node`, in the schema's order."""
    for name, field in node.get("properties", {}).items():
        yield from field_rows(field, schema, f"{path}.{name}" if path else name)


def field_rows(field, schema, path):
    field = resolved(field, schema)
    yield path, type_name(field), field.get("description") or "each entry"
    yield from rows(field, schema, path)
    if isinstance(field.get("items"), dict):
        item = resolved(field["items"], schema)
        nested = f"{path}[]"
        while isinstance(item.get("items"), dict):
            item, nested = resolved(item["items"], schema), nested + "[]"
        yield from rows(item, schema, nested)
        if isinstance(item.get("additionalProperties"), dict):
            yield from field_rows(item["additionalProperties"], schema, nested + ".*")
    if isinstance(field.get("additionalProperties"), dict):
        yield from field_rows(field["additionalProperties"], schema, path + ".*")


def json_page(schemas):
    text = HEAD
    for path in schemas:
        schema = json.loads(path.read_text(encoding="utf-8"))
        text += f"\n## {path.name.removesuffix('.schema.json')}\n\n`{schema['title']}`\n\n"
        text += "| field | type | meaning |\n|---|---|---|\n"
        for field, kind, about in rows(resolved(schema, schema), schema):
            text += f"| `{field}` | {kind} | {about.replace('|', chr(92) + '|')} |\n"
    return text


def pages(program):
    found = {"json.md": json_page(sorted((ROOT / "docs/schemas").glob("*.schema.json")))}
    if program:
        result = subprocess.run([program, "help", "--format", "markdown"], capture_output=True, text=True,
                                cwd=ROOT, check=True)
        found["options.md"] = result.stdout
    return found


def main():
    parser = argparse.ArgumentParser(description="Writes the generated pages of docs/reference.")
    parser.add_argument("--program", help="the dfsim whose options are listed")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page is not up to date")
    options = parser.parse_args()
    outdated = 0
    for name, text in pages(options.program).items():
        page = REFERENCE / name
        old = page.read_text(encoding="utf-8") if page.exists() else ""
        if old == text:
            continue
        outdated += 1
        if options.check:
            print(f"docs/reference/{name}: not up to date; run scripts/make_reference.py --program DFSIM")
            print("\n".join(list(difflib.unified_diff(old.splitlines(), text.splitlines(), "page", "generated",
                                                      lineterm=""))[:40]))
        else:
            page.write_text(text, encoding="utf-8")
            print(f"docs/reference/{name}: written")
    return 1 if outdated and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
