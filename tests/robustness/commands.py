"""The commands that the robustness suite runs: each with a file that it reads, and one run that works.

In arguments, {} stands for the file under test, {inputs} for the folder that make_inputs() fills and
{tmp} for an empty folder of the run.
"""

import subprocess

MODEL = "graphs/zoo/mobilenet_v2.onnx"
CONFIG = "examples/llm/qwen3-8b.json"
DATA = "tests/golden/data"
PYTHON = f"{DATA}/stand_in_python"

# Every command that reads files, with the file under test in each place where one may stand.
READERS = {
    "analyze": ["analyze", "{}"],
    "compare": ["compare", "{}", "--hw", "a100"],
    "compare --hw": ["compare", MODEL, "--hw", "{}"],
    "compare --plugin": ["compare", "{inputs}/tasks.json", "--procs", "2", "--plugin", "{}"],
    "diff": ["diff", "{}", "{}"],
    "evaluate --profiles": ["evaluate", "--model", "a100", "--profiles", "{}"],
    "evaluate --model": ["evaluate", "--model", "{}", "--profiles", f"{DATA}/profile_matmul.csv"],
    "evaluate --collectives": ["evaluate", "--collectives", "{}", "--hw", "dgx-a100"],
    "hardware": ["hardware", "{}"],
    "inspect": ["inspect", "{}"],
    "inspect --runtime": ["inspect", MODEL, "--runtime", "{}"],
    "llm inspect": ["llm", "inspect", "{}"],
    "llm predict": ["llm", "predict", "{}"],
    "llm search": ["llm", "search", "{}"],
    "llm serve": ["llm", "serve", "{}"],
    "llm serve --trace": ["llm", "serve", CONFIG, "--trace", "{}"],
    "llm train": ["llm", "train", "--system", "h100_sxm", "--framework", "vllm",
                  "--framework-version", "0.24.0", "{}", "-o", "{tmp}/kernels"],
    "llm validate": ["llm", "validate", "{}", "--models", "examples/llm"],
    "partition": ["partition", "{}", "--hw", "dgx-a100"],
    "predict": ["predict", "{}", "--hw", "a100"],
    "predict --hw": ["predict", MODEL, "--hw", "{}"],
    "predict --runtime": ["predict", MODEL, "--hw", "a100", "--runtime", "{}"],
    "predict --precision": ["predict", MODEL, "--hw", "a100", "--precision", "{}"],
    "predict --cost-model": ["predict", MODEL, "--hw", "a100", "--cost-model", "{}"],
    "profiles check": ["profiles", "check", "{}"],
    "profiles import": ["profiles", "import", "--format", "kineto", "{}", "-o", "{tmp}/out.csv"],
    "profiles stats": ["profiles", "stats", "{}"],
    "replay": ["replay", "{}"],
    "report": ["report", "{}", "-o", "{tmp}/report.html"],
    "roofline": ["roofline", "{}", "--hw", "a100"],
    "sweep": ["sweep", "{}"],
    "sweep --models": ["sweep", "--models", "{}", "--hw", "a100", "--batch", "1"],
    "sweep --prices": ["sweep", "--models", MODEL, "--hw", "a100", "--batch", "1", "--prices", "{}"],
    "train": ["train", "{}", "-o", "{tmp}/model"],
    "tune": ["tune", "{}", "--host", "--hw", "epyc-milan", "--threads", "1", "--dir", "{tmp}/t",
             "--python", PYTHON, "--no-install"],
    "validate": ["validate", "--runs", "{}"],
}

# Exit codes of readers that are not 2: a sweep keeps going when a point fails, and fails with all.
CODES = {"sweep --models": 1}

# One short run of every command that works and prints to stdout.
WORKING = {
    "analyze": ["analyze", "{inputs}/trace.json"],
    "compare": ["compare", "{inputs}/tasks.json", "--procs", "2", "--policies", "heft,cpop",
                "--no-planning-time"],
    "diff": ["diff", "{inputs}/trace.json", "{inputs}/trace.json"],
    "evaluate": ["evaluate", "--model", "epyc-milan", "--profiles", f"{DATA}/profile_matmul.csv"],
    "generate": ["generate", "--shape", "layered", "--tasks", "50"],
    "hardware": ["hardware", "a100"],
    "help": ["help", "--format", "markdown"],
    "inspect": ["inspect", MODEL],
    "llm inspect": ["llm", "inspect", CONFIG],
    "llm predict": ["llm", "predict", CONFIG],
    "llm serve": ["llm", "serve", CONFIG, "--users", "2", "--requests", "8"],
    "ops": ["ops"],
    "partition": ["partition", MODEL, "--hw", "dgx-a100", "--strategy", "dp", "--batch", "8"],
    "predict": ["predict", MODEL, "--hw", "a100"],
    "profiles check": ["profiles", "check", f"{DATA}/profile_matmul.csv"],
    "profiles import": ["profiles", "import", "--format", "dfsim", f"{DATA}/profile_matmul.csv"],
    "profiles stats": ["profiles", "stats", f"{DATA}/profile_matmul.csv"],
    "replay": ["replay", "{inputs}/trace.json"],
    "report": ["report", "{inputs}/result.json", "-o", "-"],
    "roofline": ["roofline", MODEL, "--hw", "a100"],
    "sweep": ["sweep", "--models", MODEL, "--hw", "a100", "--batch", "1:2"],
    "validate": ["validate", "--runs", f"{DATA}/runs.csv", "--only", "resnet18"],
    "version": ["version"],
}
# Commands that measure for minutes, train or serve: their readers and tests of their own cover them.
LONG = {"calibrate", "llm search", "llm train", "llm validate", "serve-api", "train", "tune"}
READS_NO_FILE = {"calibrate", "serve-api"}
NO_OUTPUT_OPTION = {"help", "version", "profiles check", "sweep", "report"}


def filled(arguments, **places):
    """The arguments with {} (as `file`), {tmp} and {inputs} replaced."""
    return [argument.replace("{}", str(places.get("file", "")))
            .replace("{tmp}", str(places.get("tmp", "")))
            .replace("{inputs}", str(places.get("inputs", ""))) for argument in arguments]


def make_inputs(dfsim, root, folder):
    """A task graph, a saved result and a trace, made by dfsim itself."""
    for arguments in (
            ["generate", "--shape", "layered", "--tasks", "60", "-o", folder / "tasks.json"],
            ["predict", MODEL, "--hw", "a100", "--json", "-o", folder / "result.json",
             "--trace", folder / "trace.json"]):
        subprocess.run([dfsim, *map(str, arguments)], cwd=root, check=True, timeout=120,
                       stdout=subprocess.DEVNULL)
