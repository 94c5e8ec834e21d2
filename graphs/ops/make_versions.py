#!/usr/bin/env python3
"""Writes standard_versions.cc: the versions of every operator of ONNX's standard domains.

usage: pip install onnx && graphs/ops/make_versions.py graphs/ops/standard_versions.cc
"""
import collections
import sys

import onnx.defs


def main():
    versions = collections.defaultdict(list)
    for schema in onnx.defs.get_all_schemas_with_history():
        versions[(schema.domain, schema.name)].append(schema.since_version)
    lines = [
        f"// Written by make_versions.py from onnx {onnx.__version__} "
        f"(opset {onnx.defs.onnx_opset_version()}); not by hand.",
        '#include "graphs/ops/standard_versions.h"',
        "",
        "namespace dfsim {",
        "namespace {",
        "",
        "constexpr StandardOp kOps[] = {",
    ]
    for (domain, name), since in sorted(versions.items()):
        numbers = ", ".join(str(version) for version in sorted(since))
        lines.append(f'    {{"{domain}", "{name}", "{numbers}"}},')
    lines += [
        "};",
        "",
        "}  // namespace",
        "",
        "std::span<const StandardOp> standard_ops() { return kOps; }",
        "",
        "}  // namespace dfsim",
        "",
    ]
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write("\n".join(lines))


if __name__ == "__main__":
    main()
