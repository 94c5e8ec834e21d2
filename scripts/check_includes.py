#!/usr/bin/env python3
"""Checks who includes whom: the layers of the sources and the places of third-party headers.

A header is public (cmake/public_headers.cmake), shared between the folders of dfsim
(scripts/shared_headers.txt), or, when it stands in neither list, internal: then only its own folder,
tests and benchmarks may include it.
Runs as the CTest test `include_direction`. Prints one line per violation and exits with 1 when
there is one. The tables below are the rules; CONTRIBUTING.md explains them.
"""

import argparse
import fnmatch
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check_public_headers  # noqa: E402

SHARED = "scripts/shared_headers.txt"
# Folders of the program, whose headers are in no list.
PROGRAM = {"report", "server", "cli", "python", "tests", "bench"}
# Folder -> what it may include besides itself: folders, or single headers. Folders of graphs/ count
# one by one; "graphs" stands for all of them.
LOWER = {
    "base": [],
    "hardware": ["base"],
    "graphs/ir": ["base"],
    "graphs/algorithms": ["base", "graphs/ir"],
    "graphs/ops": ["base", "graphs/ir"],
    "graphs/onnx": ["base", "graphs/ir", "graphs/ops", "graphs/algorithms"],
    "graphs/tensorflow": ["base", "graphs/ir", "graphs/ops", "graphs/algorithms"],
    "graphs/taskgraph": ["base", "graphs/ir", "graphs/ops", "graphs/algorithms"],
    "graphs/passes": ["base", "graphs/ir", "graphs/ops", "graphs/algorithms"],
    "graphs/training": ["base", "graphs/ir", "graphs/ops", "graphs/passes"],
    "graphs/llm": ["base", "graphs/ir", "graphs/ops"],
}
LOWER["datasets"] = ["base", "hardware", "graphs"]
LOWER["opmodel"] = ["base", "hardware", "graphs", "datasets"]
LOWER["partition"] = ["base", "hardware", "graphs", "datasets", "opmodel"]
LOWER["schedulers"] = ["base", "hardware", "graphs", "datasets", "opmodel"]
LOWER["sim"] = [
    "base",
    "hardware",
    "graphs/ir/exec_graph.h",
    "opmodel/cost_model.h",
    "schedulers/scheduler.h",
    "schedulers/comm_model.h",  # makes the CommModel that scheduler.h speaks of
]
LOWER["serving"] = ["base", "hardware", "graphs", "datasets", "opmodel"]
LOWER["study"] = LOWER["partition"] + ["partition", "schedulers", "sim", "serving"]
# Views render what studies return: they compute nothing, so they see no layer that computes.
LOWER["report"] = [
    "base",
    "study",
    "graphs/passes/origins.h",
    "datasets/traces/trace.h",
    "sim/listener.h",
    "serving/engine/replica.h",
    # The use cases of servers, whose results are rendered like those of study/.
    "serving/deployment_checks.h",
    "serving/llm_predict.h",
    "serving/search/deployment_search.h",
    "serving/serve.h",
    "serving/step_timeline.h",
    "serving/validation/fit_serving.h",
    "serving/validation/validate_serving.h",
]
# The server answers with what use cases return and report renders.
LOWER["server"] = ["base", "study", "report", "schedulers/registry.h"]
LOWER["cli"] = LOWER["study"] + ["study", "report", "server"]
# The Python module calls the commands of the command line as functions.
LOWER["python"] = LOWER["cli"] + ["cli"]
# Programs around the libraries may include whatever they exercise.
for _folder in ("tests", "bench"):
    LOWER[_folder] = LOWER["cli"] + ["cli", "tests", "bench"]

# Third-party header (regular expression) -> where it may be included (glob patterns; "*" crosses
# folders). A public header shows no third party to those who include it, so most are .cc only; a
# header named *_internal.h counts as a .cc, and only its own folder and tests may include it.
THIRD_PARTY = [
    (r"onnx/|google/protobuf/", ["graphs/onnx/*.cc", "graphs/tensorflow/*.cc", "bench/*.cc"]),
    (r"graphdef\.pb\.h$", ["graphs/tensorflow/*.cc"]),  # generated from graphdef.proto
    (r"xgboost/", ["opmodel/*.cc"]),
    (r"yaml-cpp/", ["hardware/*.cc"]),
    (r"simdjson\.h$", ["base/json/json_value.cc"]),
    (r"sqlite3\.h$|babeltrace2/", ["datasets/traces/*.cc"]),
    (r"lttng/", ["datasets/collect/lttng_tensorflow/provider.h"]),
    (r"expat\.h$", ["graphs/taskgraph/*.cc"]),
    (r"boost/", ["graphs/algorithms/*.cc", "schedulers/planning/ranks.cc", "server/http/http_server.cc"]),
    (r"coin/", ["schedulers/*.cc"]),
    (r"CLI/", ["cli/*"]),
    (r"nanobind/", ["python/*"]),
    (r"(cpuid|immintrin|arm_neon)\.h$", ["study/measuring/roof_kernels_*.cc"]),  # the compilers' own
    (
        r"nlohmann/",
        ["base/json/json_tree.cc", "report/html/*.cc", "study/*.cc", "opmodel/*.cc", "graphs/llm/*.cc",
         "serving/kernels/kernel_set.cc", "bench/tree_bench.cc"],
    ),
    (r"spdlog/|fmt/|zlib\.h$|lzma\.h$", ["*.cc"]),
    (r"catch2/", []),
    (r"benchmark/", ["bench/*"]),
    (r"simgrid/", ["bench/simgrid/*"]),
]
# Tests may look at any third party: they build inputs and read outputs.
EVERYTHING_ALLOWED_IN = ["tests/*"]
# The C and POSIX headers that are not a matter of layers.
SYSTEM = re.compile(
    r"^(cxxabi|dirent|dlfcn|errno|fcntl|glob|malloc|poll|pthread|sched|signal|spawn|stddef|stdint|stdio|stdlib|"
    r"string|time|unistd)\.h$|^(sys|linux)/[a-z_]+\.h$|^sanitizer/[a-z_]+\.h$"
)

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]*)[>"]', re.MULTILINE)
SUFFIXES = {".h", ".cc"}


def matches(path, patterns):
    """Whether `path` fits a pattern, where "*" stands for any text, slashes included."""
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


def folder_of(path):
    """The folder of LOWER that `path` belongs to, or None."""
    parts = path.split("/")[:-1]
    for length in (2, 1):
        folder = "/".join(parts[:length])
        if len(parts) >= length and folder in LOWER:
            return folder
    return None


def may_include(folder, header):
    """Whether a file of `folder` may include the project header `header`."""
    own = folder_of(header)
    if own == folder:
        return True
    for allowed in LOWER[folder]:
        if header == allowed or own == allowed or (own or "").startswith(allowed + "/"):
            return True
    return False


def headers_across_folders(root):
    """Returns the headers that other folders may include: public and shared. None where there are no lists."""
    shared = root / SHARED
    if not shared.is_file():
        return None
    lines = shared.read_text(encoding="utf-8").splitlines()
    names = {line.strip() for line in lines if line.strip() and not line.startswith("#")}
    return names | {header for _, header in check_public_headers.public_headers(root)}


def is_internal(header, across):
    own = folder_of(header)
    return header.endswith("_internal.h") or (
        across is not None and header not in across and own not in PROGRAM)


def check_project_include(root, path, header, across):
    folder = folder_of(path)
    if not (root / header).is_file():
        return f'"{header}" is no file of this project; write the path from the root of the sources'
    own = folder_of(header)
    if own is None:
        return f'"{header}" lies in no folder that the rules know (LOWER in this script)'
    if own != folder and folder not in ("tests", "bench") and is_internal(header, across):
        return (f'"{header}" is internal to {own}/; include a public or shared header instead, or add '
                f"it to {SHARED}")
    if may_include(folder, header):
        return None
    allowed = ", ".join(LOWER[folder]) or "nothing but itself"
    return f'{folder}/ must not include "{header}" (allowed: {allowed})'


def check_system_include(path, header):
    if "/" not in header and "." not in header:
        return None  # the C++ standard library
    if SYSTEM.match(header) or matches(path, EVERYTHING_ALLOWED_IN):
        return None
    for pattern, places in THIRD_PARTY:
        if re.match(pattern, header):
            # A header internal to its folder is seen by that folder's .cc files only.
            as_source = re.sub(r"_internal\.h$", ".cc", path)
            if matches(as_source, places):
                return None
            return f"<{header}> is allowed only in {', '.join(places) or 'tests/*'}"
    return f"<{header}> is neither standard nor a known third party (THIRD_PARTY in this script)"


def check_file(root, path, across):
    """Violations of one file as (line, message)."""
    text = (root / path).read_text(encoding="utf-8", errors="replace")
    for match in INCLUDE.finditer(text):
        quote, header = match.groups()
        if quote == '"':
            message = check_project_include(root, path, header, across)
        else:
            message = check_system_include(path, header)
        if message:
            yield text.count("\n", 0, match.start()) + 1, message


def check_tree(root):
    """(number of files, list of "file:line: message") for all sources under `root`."""
    violations = []
    count = 0
    across = headers_across_folders(root)
    tops = sorted({folder.split("/")[0] for folder in LOWER})
    for top in tops:
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in SUFFIXES or not file.is_file():
                continue
            count += 1
            path = file.relative_to(root).as_posix()
            if folder_of(path) is None:
                violations.append(f"{path}:1: in no folder that the rules know (LOWER)")
                continue
            violations += [f"{path}:{line}: {text}" for line, text in check_file(root, path, across)]
    if across is not None:
        violations += [f"{SHARED}:1: {header} is not a file; remove the line"
                       for header in sorted(across) if not (root / header).is_file()]
    return count, violations


def main():
    parser = argparse.ArgumentParser(description="Check who includes whom.")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[1])
    root = parser.parse_args().root
    count, violations = check_tree(root)
    for violation in violations:
        print(violation, file=sys.stderr)
    if count == 0:
        print(f"{root}: no sources found", file=sys.stderr)
        return 1
    print(f"{count} files checked, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
