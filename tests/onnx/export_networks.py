#!/usr/bin/env python3
"""Exports networks of timm, torchvision and transformers with both of PyTorch's ONNX exporters, and
checks what `dfsim inspect` makes of them: everything resolved, MACs as PyTorch's own counter has
them, shapes of all inner tensors as ONNX Runtime produces them.

Networks have random weights and are made from their configuration, so nothing is downloaded. Every
file has a dynamic batch, is checked at batch 2 and deleted after its check.

usage: DFSIM=build/release/dfsim export_networks.py [--only NAME,...] [--exporter old|new|both]
                  [--table FILE.csv] [--page FILE.md] [--keep FOLDER] [--no-runtime] [--seconds N]
A run with --table goes on where an earlier one stopped; --page writes the table as a page and keeps
the page's rows of exports that the table lacks.
export_exceptions.txt lists the exports that cannot be as checked here, with the reason.
Packages: torch, onnx, onnxruntime, onnxscript, timm, torchvision, transformers, pillow, scipy. Exit
code 77: torch or onnx is missing. Exit code 1: an export is neither fine nor listed.
"""

import argparse
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import types
import warnings

warnings.filterwarnings("ignore")

try:
    import numpy
    import onnx
    import onnx.helper
    import torch
    from torch.utils.flop_counter import FlopCounterMode
except ImportError as missing:
    print(f"skipped: {sys.executable} has no package {missing.name}")
    sys.exit(77)

from export_lists import INPUTS, SEQ2SEQ, TIMM, TORCHVISION, TRANSFORMERS
from export_page import (COLUMNS, MACS_TOLERANCE, OPSET, append_row, page, read_exceptions, read_page, read_table,
                         summary)


class WithoutTorchvision(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Replaces torchvision, of whose transforms timm only needs the names."""

    class Module(types.ModuleType):
        __path__ = []

        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            kind = type("Names", (type,), {"__getattr__": lambda cls, key: key})
            return kind(name, (), {"__init__": lambda self, *args, **kwargs: None})

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torchvision":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return self.Module(spec.name)

    def exec_module(self, module):
        module.__version__ = "0"


def prepare_torchvision():
    """torchvision as it is, without its compiled operators, or its names only."""
    if importlib.util.find_spec("torchvision") is None:
        sys.meta_path.append(WithoutTorchvision())
        return
    try:
        importlib.import_module("torchvision")
    except RuntimeError:  # built for another variant of torch: its operators are not even declared
        for name in [n for n in sys.modules if n.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        for operator in ("nms", "qnms"):
            torch.library.define(f"torchvision::{operator}",
                                 "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        importlib.import_module("torchvision")


def torchvision_network(name):
    module, _, function = name.rpartition(".")
    models = importlib.import_module(f"torchvision.models.{module}".rstrip("."))
    options = {"weights_backbone": None} if module == "segmentation" else {}
    if name == "googlenet":
        options = {"init_weights": False, "aux_logits": False}
    model = getattr(models, function)(weights=None, **options).eval()
    return model, {"x": torch.randn(2, 3, 4, 112, 112) if module == "video" else torch.randn(2, 3, 224, 224)}


def image_network(name):
    import timm
    model = timm.create_model(name, pretrained=False, exportable=True).eval()
    side = model.default_cfg.get("input_size", (3, 224, 224))
    return model, {"x": torch.randn(2, *side)}


def text_network(name):
    import transformers
    config_type, model_type, fields = TRANSFORMERS[name]
    config = getattr(transformers, config_type)(**fields)
    config.use_cache = False
    config._attn_implementation = "eager"
    config._experts_implementation = "batched_mm"  # neither exporter knows the default, grouped products
    module = transformers
    if model_type == "WhisperEncoder":
        module = importlib.import_module("transformers.models.whisper.modeling_whisper")
    model = getattr(module, model_type)(config).eval()
    if name in INPUTS:
        key, shape = INPUTS[name]
        return model, {key: torch.randn(*shape)}
    # Without a mask, decoders look for several texts packed into one, with aten::diff, which the old
    # exporter does not know.
    feeds = {"input_ids": torch.randint(0, 999, (2, 32)), "attention_mask": torch.ones(2, 32, dtype=torch.int64)}
    if fields is SEQ2SEQ:
        feeds["decoder_input_ids"] = torch.randint(0, 999, (2, 16))
    return model, feeds


class Outputs(torch.nn.Module):
    """The network with its inputs by position and all tensors that it returns as outputs."""

    def __init__(self, model, names):
        super().__init__()
        self.model = model
        self.names = names if len(names) > 1 else []  # one input goes by position

    def forward(self, *inputs):
        result = self.model(**dict(zip(self.names, inputs))) if self.names else self.model(*inputs)
        return tuple(tensors_of(result))


def tensors_of(result):
    """The different tensors in a result of tuples, lists and dictionaries, in their order."""
    if isinstance(result, torch.Tensor):
        return [result]
    parts = result.values() if isinstance(result, dict) else result if isinstance(result, (tuple, list)) else []
    tensors = [tensor for part in parts for tensor in tensors_of(part)]
    return [tensor for i, tensor in enumerate(tensors) if all(tensor is not other for other in tensors[:i])]


def export(model, feeds, exporter, path, **more):
    """Writes the network with a dynamic batch."""
    names = list(feeds)
    arguments = {"input_names": names, "output_names": ["y"], "opset_version": OPSET[exporter], **more}
    if exporter == "old":
        torch.onnx.export(model, tuple(feeds.values()), str(path), dynamo=False,
                          dynamic_axes={n: {0: "batch"} for n in [*names, "y"]}, **arguments)
    else:
        batch = torch.export.Dim("batch", min=1, max=64)
        # One entry, for *inputs of Outputs.
        torch.onnx.export(model, tuple(feeds.values()), str(path), dynamo=True, verbose=False,
                          dynamic_shapes=[tuple({0: batch} for _ in names)], **arguments)


def counted_macs(model, feeds):
    """Multiply-adds of one run by PyTorch's counter, which knows products and convolutions. It knows no
    fused recurrence: without oneDNN, PyTorch runs the products of an LSTM one by one."""
    fused = not any(isinstance(module, torch.nn.RNNBase) for module in model.modules())
    with torch.no_grad(), torch.backends.mkldnn.flags(enabled=fused), FlopCounterMode(display=False) as counter:
        model(*feeds.values())
    return counter.get_total_flops() / 2


def runtime_shapes(path, feeds):
    """The shape of every tensor that ONNX Runtime produces with its rewriting switched off."""
    import onnxruntime
    model = onnx.load(str(path))
    known = {o.name for o in model.graph.output}
    names = [o for node in model.graph.node for o in node.output if o and o not in known]
    for name in names:
        model.graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    results = session.run(None, {n: v.numpy() for n, v in feeds.items()})
    return {o.name: list(r.shape) for o, r in zip(session.get_outputs(), results)
            if isinstance(r, numpy.ndarray)}


def dfsim_shapes(program, path, saved):
    """The shapes of the tensors of which dfsim knows every dimension."""
    subprocess.run([program, "inspect", str(path), "--batch", "2", "--save", str(saved), "--quiet"],
                   check=True, stdout=subprocess.DEVNULL)
    model = onnx.load(str(saved), load_external_data=False)
    return {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim]
            for v in [*model.graph.value_info, *model.graph.output]
            if v.type.tensor_type.HasField("shape") and
            all(d.HasField("dim_value") for d in v.type.tensor_type.shape.dim)}


def refusal(message, path, feeds):
    """The finding on a file that dfsim refuses: what it said, and whether ONNX Runtime refuses it, too."""
    verdict = ""
    if feeds:
        try:
            runtime_shapes(path, feeds)
            verdict = " by dfsim alone"
        except Exception:
            verdict = " by ONNX Runtime, too"
    return f"refused{verdict}: {message.strip().rpartition(f'{path}: ')[2]}"


def check(program, model, feeds, path, with_runtime):
    """The row of one export; its `finding` is empty when all is well."""
    run = subprocess.run([program, "inspect", str(path), "--batch", "2", "--json", "--quiet"],
                         capture_output=True, text=True)
    if run.returncode != 0:
        return {"finding": refusal(run.stderr, path, feeds if with_runtime else None)}
    facts = json.loads(run.stdout)
    findings = []
    row = {"ops": len(facts["ops"]), "unresolved": len(facts["unresolved"]), "macs": round(facts["macs"])}
    if facts["unresolved"]:
        first = facts["unresolved"][0]
        findings.append(f"{first['op_type']} unresolved: {first['reason']}")
    try:
        macs = counted_macs(model, feeds)
    except Exception as error:
        macs = 0
        findings.append(f"PyTorch's counter failed: {first_line(error)}")
    row["counted_macs"] = round(macs)
    if macs and abs(facts["macs"] / macs - 1) > MACS_TOLERANCE:
        findings.append(f"MACs {facts['macs'] / macs - 1:+.1%}")
    if with_runtime:
        found = dfsim_shapes(program, path, path.with_suffix(".saved.onnx"))
        try:
            real = runtime_shapes(path, feeds)
        except Exception as error:
            real = {}
            findings.append(f"ONNX Runtime does not run it: {first_line(error)}")
        known = [n for n in real if n in found]
        wrong = [n for n in known if found[n] != real[n]]
        row |= {"tensors": len(real), "known": len(known), "different": len(wrong)}
        if len(known) < len(real):
            findings.append(f"{len(real) - len(known)} tensors without a known shape")
        if wrong:
            findings.append(f"{wrong[0]} is {found[wrong[0]]}, ONNX Runtime has {real[wrong[0]]}")
    return row | {"finding": "; ".join(findings)}


def first_line(error):
    while error.__cause__:  # the new exporter only names the step that failed
        error = error.__cause__
    plain = re.sub(r"\x1b\[[0-9;]*m", "", str(error))  # the new exporter colours its messages
    line = (plain.strip().splitlines() or [type(error).__name__])[0]
    return re.split(r"\. (?=[A-Z])", line)[0][:140]


def maker(name):
    if name in TRANSFORMERS:
        return text_network
    return torchvision_network if name in TORCHVISION else image_network


def too_long(signum, frame):
    raise TimeoutError("takes more time than --seconds allows")


def export_and_check(program, name, exporter, folder, options):
    row = {"network": name, "exporter": exporter, "opset": OPSET[exporter]}
    torch.manual_seed(0)
    signal.alarm(options.seconds)
    path = folder / f"{name}.{exporter}.onnx"
    try:
        model, feeds = maker(name)(name)
        model = Outputs(model, list(feeds)).eval().requires_grad_(False)
        export(model, feeds, exporter, path)
    except Exception as error:
        return row | {"finding": f"not exported: {first_line(error)}"}
    finally:
        signal.alarm(0)
    row |= check(program, model, feeds, path, not options.no_runtime)
    if not options.keep:
        for file in folder.iterdir():
            file.unlink()
    return row


def main():
    parser = argparse.ArgumentParser(description="Export networks and check dfsim inspect on them.")
    parser.add_argument("--only", default="")
    parser.add_argument("--exporter", choices=["old", "new", "both"], default="both")
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--no-runtime", action="store_true")
    parser.add_argument("--seconds", type=int, default=240, help="of one export, by the clock")
    options = parser.parse_args()
    program = os.environ["DFSIM"]
    prepare_torchvision()
    # The fused attention of inference has neither an ONNX form nor an entry in PyTorch's counter.
    torch.backends.mha.set_fastpath_enabled(False)
    signal.signal(signal.SIGALRM, too_long)
    wanted = [n for n in options.only.split(",") if n] or [*TIMM, *TORCHVISION, *TRANSFORMERS]
    rows = read_table(options.table)
    done = {(r["network"], r["exporter"]) for r in rows}
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for exporter in ["old", "new"] if options.exporter == "both" else [options.exporter]:
            for name in wanted:
                if (name, exporter) in done:
                    continue
                found = export_and_check(program, name, exporter, folder, options)
                row = {column: str(found.get(column, "")) for column in COLUMNS}
                rows.append(row)
                if options.table:
                    append_row(options.table, row)
                print(f"{name} ({exporter}): {row['ops']} operators, MACs {row['macs']} and "
                      f"{row['counted_macs']}, {row['known']} of {row['tensors']} tensors known. "
                      f"{row['finding'] or 'fine'}", flush=True)
                gc.collect()
    exceptions = read_exceptions()
    if options.page:
        rows += [row for row in read_page(options.page)
                 if (row["network"], row["exporter"]) not in {(r["network"], r["exporter"]) for r in rows}]
    lines, open_rows = summary(rows, exceptions)
    print("\n".join(lines))
    if options.page:
        options.page.write_text(page(rows, exceptions), encoding="utf-8")
    sys.exit(1 if open_rows or not rows else 0)


if __name__ == "__main__":
    main()
