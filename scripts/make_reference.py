#!/usr/bin/env python3
"""Writes docs/reference/json.md, the fields of every --json output, from docs/schemas.

usage: make_reference.py            write the page
       make_reference.py --check    exit 1 when the page differs from what would be written
"""

import argparse
import difflib
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/reference/json.md"
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


def main():
    parser = argparse.ArgumentParser(description="Writes docs/reference/json.md from docs/schemas.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when it is not up to date")
    options = parser.parse_args()
    text = json_page(sorted((ROOT / "docs/schemas").glob("*.schema.json")))
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    if old == text:
        return 0
    if not options.check:
        PAGE.write_text(text, encoding="utf-8")
        print(f"{PAGE.relative_to(ROOT)}: written")
        return 0
    print(f"{PAGE.relative_to(ROOT)}: not up to date; run scripts/make_reference.py")
    print("\n".join(list(difflib.unified_diff(old.splitlines(), text.splitlines(), "page", "generated",
                                              lineterm=""))[:40]))
    return 1


if __name__ == "__main__":
    sys.exit(main())
