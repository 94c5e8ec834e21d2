#!/usr/bin/env python3
"""Holds what `--json` of every command prints against docs/schemas/.

Every command that has --json has a schema, every output fits its schema, with no field that the
schema does not know, and every field of a schema occurs in some output (but those of commands that
are not run here). Knows the part of JSON Schema (2020-12) that the schemas use, and refuses others.

usage: check_schemas.py DFSIM
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "docs" / "schemas"
TIMEOUT_S = 300

LSTM = ["graphs/zoo/lstm.onnx", "--cost-model", "sol"]
HEFT = "examples/taskgraphs/heft_paper.json"
# A model whose shapes depend on the value of an input, so a part of its work is not known.
UNKNOWN = "tests/golden/data/partly_unknown.onnx"
PEFT = "examples/taskgraphs/peft_paper.json"
KINETO = "tests/golden/data/kineto_small.json"
LLM = "examples/llm/qwen3-8b.json"
OPS = "datasets/measured/epyc-milan/unseen_ops.csv.gz"

MODEL = ROOT / "opmodel" / "pretrained" / "epyc-milan"

# Schema -> commands whose output it describes; {tmp} is an empty folder, {tmp}/epyc-milan a copy of
# that model.
CASES = {
    "analyze": [
        ["analyze", KINETO],
        ["analyze", KINETO, "tests/fuzz/corpus/trace/ort.json", "--timeline"],
        ["analyze", "tests/golden/data/kineto_recompute.json"],
        ["analyze", "tests/golden/data/ctf_states"],
        ["analyze", "tests/golden/data/ctf_tracers"],
        ["analyze", "tests/golden/data/ctf_workers"],
    ],
    "compare": [
        ["compare", HEFT, "--policies", "heft,cpop"],
        ["compare", HEFT, "--policies", "heft,donf", "--repeat", "5", "--noise", "0.1",
         "--charge-decisions", "100"],
        ["compare", LSTM[0], "--cost-model", "sol", "--hw", "pcie-2gpu", "--policies", "heft"],
        ["compare", UNKNOWN, "--hw", "a100", "--policies", "heft"],
        ["compare", LSTM[0], "--cost-model", "sol", "--hw", "pcie-2gpu", "--policies", "heft",
         "--split", "auto"],
    ],
    "compare-many": [
        ["compare", HEFT, PEFT, "--policies", "heft,peft"],
        ["compare", HEFT, PEFT, "--policies", "heft,donf", "--repeat", "5", "--noise", "0.1",
         "--charge-decisions", "100"],
        ["compare", UNKNOWN, "--hw", "a100", "--hw", "mi210", "--policies", "heft"],
        ["compare", LSTM[0], "--cost-model", "sol", "--hw", "pcie-2gpu", "--hw", "pcie-2gpu",
         "--policies", "heft", "--split", "auto"],
    ],
    "diff": [["diff", KINETO, KINETO, "--nodes"]],
    "hardware": [["hardware", "l4"], ["hardware", "dgx-a100"], ["hardware", "epyc-milan"]],
    "hardware-list": [["hardware"]],
    "inspect": [
        ["inspect", LSTM[0], "--batch", "2", "--dim", "sequence=7"],
        ["inspect", "tests/golden/data/hits.onnx"],
        ["inspect", LSTM[0], "--runtime", "ort-cpu"],
        ["inspect", "tests/golden/data/branches.onnx"],
    ],
    "llm-inspect": [["llm", "inspect", LLM]],
    "llm-predict": [["llm", "predict", LLM, "--system", "l40s"]],
    "llm-search": [["llm", "search", LLM, "--system", "l40s", "--gpus", "1", "--aggregated-only",
                    "--isl", "256", "--osl", "32", "--sla", "ttft=2000,tpot=100",
                    "--batch-limits", "32", "--price", "1"],
                   # longer than the model's context
                   ["llm", "search", LLM, "--system", "l40s", "--gpus", "1", "--aggregated-only",
                    "--isl", "40000", "--osl", "2000"],
                   # limits that none keeps
                   ["llm", "search", LLM, "--system", "l40s", "--gpus", "1", "--aggregated-only",
                    "--isl", "256", "--osl", "32", "--sla", "tpot=1"]],
    "llm-serve": [["llm", "serve", LLM, "--system", "l40s", "--users", "4", "--sla", "tpot=100",
                   "--price", "1", "--html", "{tmp}/page.html"]],
    "ops": [["ops"]],
    "partition": [
        ["partition", *LSTM, "--hw", "dgx-a100"],
        ["partition", "graphs/zoo/resnet18.onnx", "--cost-model", "sol", "--hw", "dgx-a100",
         "--batch", "8", "--strategy", "dp", "--mode", "train"],
        ["partition", UNKNOWN, "--hw", "dgx-a100", "--batch", "8", "--strategy", "dp"],
    ],
    "predict": [
        ["predict", *LSTM, "--hw", "l4"],
        ["predict", LSTM[0], "--hw", "a100", "--runtime", "torch-eager", "--advice"],
        ["predict", *LSTM, "--hw", "pcie-2gpu", "--policy", "mct", "--requests", "20",
         "--in-flight", "2", "--repeat", "5"],
        ["predict", UNKNOWN, "--hw", "a100", "--requests", "5", "--repeat", "5"],
        ["predict", "graphs/zoo/gpt2.onnx", "--cost-model", "sol", "--hw", "t4", "--batch", "512"],
    ],
    "profiles-check": [["profiles", "check", OPS, "tests/golden/data/profile_bad_row.csv"]],
    "profiles-stats": [["profiles", "stats", OPS]],
    "replay": [
        ["replay", KINETO, "--scale", "copy=0"],
        ["replay", "tests/golden/data/kernels_a.json", "--hw", "h100-sxm"],
        ["replay", KINETO, "--hw", "h100-sxm", "--from", "a100", "--cost-model", "sol",
         "--policy", "heft"],
    ],
    "roofline": [["roofline", "graphs/zoo/resnet18.onnx", "--hw", "xeon-8380", "--sweep",
                  "threads=1,40"],
                 ["roofline", *LSTM, "--hw", "l4"], ["roofline", *LSTM, "--hw", "a100"],
                 ["roofline", UNKNOWN, "--hw", "a100"]],
    "evaluate": [["evaluate", "--model", "epyc-milan", "--profiles", OPS]],
    "profiles-import": [
        ["profiles", "import", "tests/golden/data/kineto_recompute.json", "--format", "kineto",
         "-o", "{tmp}/p.csv"],
    ],
    "validate": [
        ["validate", "--runs", "datasets/measured/epyc-milan/known_runs.csv", "--networks",
         "datasets/measured/networks", "--only", "alexnet"],
        ["validate", "--runs", "datasets/measured/epyc-milan/int8_runs.csv", "--fit-intervals",
         "--model", "{tmp}/epyc-milan"],
        ["validate", "--runs", "tests/golden/data/runs_partly_unknown.csv", "--networks",
         "tests/golden/data"],
    ],
    "sweep": [["sweep", "--models", "graphs/zoo/bert_base.onnx,missing.onnx", "--hw", "a100,t4",
               "--param", "sequence=16,32", "--prices", "examples/sweeps/prices.yaml",
               "--max-latency-ms", "100", "--max-memory-gb", "10", "--max-price", "100"]],
    "tune-command": [["tune", "--quiet", "--vary", "threads=1", "--vary", "processes=1", "--vary",
                      "placement=free", "--vary", "batch=1,8", "--vary", "FAKE_MODE=slow,fast",
                      "--metric", "latency: ([0-9.]+)", "--", "python3",
                      "tests/golden/data/fake_inference.py", "{batch}"]],
    "train": [["train", OPS, "--rounds", "3", "-o", "{tmp}/model"]],
}
# Not run here, as they measure, or need data that does not ship: their schemas are only checked in
# themselves.
NOT_RUN = {"calibrate", "evaluate-collectives", "llm-fit", "llm-validate", "tune"}
# The --json of these is a file format of its own: docs/reference/task-graphs.md.
OWN_FORMAT = {"generate"}

KEYWORDS = {"$schema", "$id", "$defs", "$ref", "title", "description", "type", "properties",
            "required", "additionalProperties", "items", "const", "enum", "anyOf"}
TYPES = {
    "null": lambda v: v is None,
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "string": lambda v: isinstance(v, str),
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
}


class Validator:
    """One schema, and which of its properties were ever seen."""

    def __init__(self, schema):
        self.schema = schema
        self.seen = set()

    def resolve(self, node):
        if "$ref" in node:
            return self.schema["$defs"][node["$ref"].removeprefix("#/$defs/")]
        return node

    def problems(self, value, node=None, where="$"):
        node = self.resolve(self.schema if node is None else node)
        if "anyOf" in node:
            results = [list(self.problems(value, option, where)) for option in node["anyOf"]]
            if all(results):
                yield from min(results, key=len)
            return
        if "const" in node and value != node["const"]:
            yield f"{where}: {value!r}, expected {node['const']!r}"
        if "enum" in node and value not in node["enum"]:
            yield f"{where}: {value!r}, expected one of {node['enum']}"
        if "type" in node:
            names = [node["type"]] if isinstance(node["type"], str) else node["type"]
            if not any(TYPES[name](value) for name in names):
                yield f"{where}: {str(value)[:40]!r} is not of type {' or '.join(names)}"
                return
        if isinstance(value, dict):
            yield from self.object_problems(value, node, where)
        elif isinstance(value, list) and "items" in node:
            for i, item in enumerate(value):
                yield from self.problems(item, node["items"], f"{where}[{i}]")

    def object_problems(self, value, node, where):
        properties = node.get("properties", {})
        others = node.get("additionalProperties", True)
        for name in node.get("required", []):
            if name not in value:
                yield f"{where}: '{name}' is missing"
        for name, item in value.items():
            if name in properties:
                self.seen.add(id(properties[name]))
                yield from self.problems(item, properties[name], f"{where}.{name}")
            elif others is False:
                yield f"{where}: '{name}' is not in the schema"
            elif isinstance(others, dict):
                yield from self.problems(item, others, f"{where}.{name}")

    def unseen(self, node=None, where="$"):
        """Properties that no output had."""
        for name, item in self.walk(self.schema if node is None else node, where):
            if id(item) not in self.seen:
                yield name

    def walk(self, node, where):
        for name, item in node.get("properties", {}).items():
            yield f"{where}.{name}", item
            yield from self.walk(item, f"{where}.{name}")
        for key in ("items", "additionalProperties"):
            if isinstance(node.get(key), dict):
                yield from self.walk(node[key], where)
        for option in node.get("anyOf", []):
            yield from self.walk(option, where)
        for name, item in node.get("$defs", {}).items():
            yield from self.walk(item, f"#{name}")

    def flaws(self, node=None, where="$"):
        """Lists the errors in the schema itself."""
        node = self.schema if node is None else node
        for keyword in node.keys() - KEYWORDS:
            yield f"{where}: keyword '{keyword}' is not known here"
        if "$ref" in node and node["$ref"].removeprefix("#/$defs/") not in self.schema["$defs"]:
            yield f"{where}: {node['$ref']} does not exist"
        for name in node.get("required", []):
            if name not in node.get("properties", {}):
                yield f"{where}: '{name}' is required and not described"
        for name, item in node.get("properties", {}).items():
            if "description" not in item:
                yield f"{where}.{name}: has no description"
            yield from self.flaws(item, f"{where}.{name}")
        for key in ("items", "additionalProperties"):
            if isinstance(node.get(key), dict):
                yield from self.flaws(node[key], f"{where}/{key}")
        for option in node.get("anyOf", []):
            yield from self.flaws(option, where)
        for name, item in node.get("$defs", {}).items():
            yield from self.flaws(item, f"#{name}")


def run(program, arguments):
    result = subprocess.run([program, *arguments], cwd=ROOT, capture_output=True, check=False,
                            stdin=subprocess.DEVNULL, timeout=TIMEOUT_S)
    return result.returncode, result.stdout.decode(), result.stderr.decode()


def commands_with_json(program):
    """Names of (sub)commands that have --json: "predict", "profiles check"."""
    found = set()
    _, text, _ = run(program, ["--help"])
    names = re.findall(r"^  ([a-z][a-z-]+) {2,}\S", text.split("Subcommands:")[-1], re.MULTILINE)
    for name in names:
        _, text, _ = run(program, [name, "--help"])
        inner = []
        if "Subcommands:" in text:
            inner = re.findall(r"^  ([a-z][a-z-]+) {2,}\S", text.split("Subcommands:")[-1],
                               re.MULTILINE)
        if re.search(r"^ {2,8}--json\b", text.split("Subcommands:")[0], re.MULTILINE):
            found.add(name)
        for sub in inner:
            if re.search(r"^ {2,8}--json\b", run(program, [name, sub, "--help"])[1], re.MULTILINE):
                found.add(f"{name}-{sub}")
    return found


def check(program):
    failures = []
    validators = {}
    for path in sorted(SCHEMAS.glob("*.schema.json")):
        name = path.name.removesuffix(".schema.json")
        validators[name] = Validator(json.loads(path.read_text(encoding="utf-8")))
        failures += [f"{path.name}: {flaw}" for flaw in validators[name].flaws()]
    documented = {name.split("-")[0] if name.startswith(("compare", "hardware", "evaluate"))
                  else name for name in validators}
    for command in sorted(commands_with_json(program) - OWN_FORMAT - documented):
        failures.append(f"{command} has --json and no file docs/schemas/{command}.schema.json")
    for name in sorted(validators.keys() - CASES.keys() - NOT_RUN):
        failures.append(f"{name}: no command here makes such output")
    for name, cases in CASES.items():
        if name not in validators:
            failures.append(f"docs/schemas/{name}.schema.json is missing")
            continue
        for arguments in cases:
            with tempfile.TemporaryDirectory(prefix="dfsim_schema_") as tmp:
                if f"{{tmp}}/{MODEL.name}" in arguments:
                    shutil.copytree(MODEL, pathlib.Path(tmp) / MODEL.name)
                arguments = [a.replace("{tmp}", tmp) for a in arguments]
                # Behind "--" are the words of another command.
                own = arguments.index("--") if "--" in arguments else len(arguments)
                code, output, errors = run(
                    program, [*arguments[:own], "--json", *arguments[own:]])
            shown = " ".join(arguments)
            # Profiles with rows that cannot be used are an error, said in JSON all the same.
            if code != 0 and not output.startswith("{"):
                failures.append(f"{shown}: exit code {code}: {errors.strip()}")
                continue
            problems = list(validators[name].problems(json.loads(output)))
            failures += [f"{name}: {shown}: {problem}" for problem in problems[:10]]
        failures += [f"{name}: {field} is in no output" for field in validators[name].unseen()]
    return failures


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    failures = check(sys.argv[1])
    for failure in failures:
        print(failure)
    print(f"{len(CASES)} schemas checked against output, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
