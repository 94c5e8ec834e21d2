#!/usr/bin/env python3
"""Exports networks of timm and transformers with both of PyTorch's ONNX exporters, and checks what
`dfsim inspect` makes of them: everything resolved, MACs as PyTorch's own counter has them, shapes of
all inner tensors as ONNX Runtime produces them.

Networks have random weights and are made from their configuration, so nothing is downloaded.

usage: DFSIM=build/release/dfsim export_networks.py [--only NAME,...] [--exporter old|new|both]
                                                    [--keep FOLDER] [--no-runtime]
Packages: torch, onnx, onnxruntime, onnxscript, timm, transformers, pillow. torchvision may be
missing: timm needs its transforms for training only. Exit code 77: torch or onnx is missing.
"""

import argparse
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import pathlib
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

MACS_TOLERANCE = 0.02
OPSET = {"old": 17, "new": 18}

# Image networks of timm, each of a family of its own.
TIMM = """
resnet18 resnet50 resnext50_32x4d wide_resnet50_2 seresnet50 resnest14d res2net50_26w_4s skresnet18
densenet121 dla34 vgg11 inception_v3 inception_v4 xception41 mobilenetv2_100 mobilenetv3_small_100
mobilenetv4_conv_small efficientnet_b0 tf_efficientnet_b0 tf_efficientnetv2_b0 tf_mobilenetv3_small_100
tf_mixnet_s mnasnet_100 fbnetc_100 ghostnet_100 hardcorenas_a regnetx_002 regnety_002 rexnet_100
repvgg_a0 cspresnet50 cspdarknet53 darknet53 hrnet_w18_small selecsls42 nfnet_l0 dm_nfnet_f0
eca_nfnet_l0 convnext_atto convnextv2_atto convmixer_768_32 convit_tiny coat_lite_tiny coatnet_0_rw_224
maxvit_rmlp_pico_rw_256 crossvit_9_240 deit_tiny_patch16_224 vit_tiny_patch16_224 beit_base_patch16_224
cait_xxs24_224 xcit_nano_12_p8_224 swin_tiny_patch4_window7_224 swinv2_tiny_window8_256
swin_s3_tiny_224 twins_pcpvt_small twins_svt_small pit_ti_224 levit_128s visformer_tiny tnt_s_patch16_224
volo_d1_224 poolformer_s12 poolformerv2_s12 pvt_v2_b0 edgenext_xx_small mobilevit_xxs mobilevitv2_050
mobileone_s0 fastvit_t8 efficientformer_l1 efficientformerv2_s0 efficientvit_b0 efficientvit_m0 focalnet_tiny_srf
gcvit_xxtiny davit_tiny nest_tiny mixer_s32_224 resmlp_12_224 gmlp_s16_224 gernet_s lcnet_050
tinynet_e inception_next_tiny repghostnet_050 repvit_m0_9 vovnet39a ese_vovnet19b_dw mvitv2_tiny
sequencer2d_s tiny_vit_5m_224 eva02_tiny_patch14_224 hgnet_tiny starnet_s1
""".split()

# Configurations of transformers, made small: class, changed fields, inputs.
TEXT = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 256,
        "vocab_size": 1000}
TRANSFORMERS = {
    "bert": ("BertConfig", "BertModel", TEXT),
    "distilbert": ("DistilBertConfig", "DistilBertModel",
                   {"dim": 128, "n_layers": 2, "n_heads": 4, "hidden_dim": 256, "vocab_size": 1000}),
    "roberta": ("RobertaConfig", "RobertaModel", TEXT),
    "albert": ("AlbertConfig", "AlbertModel", {**TEXT, "embedding_size": 64}),
    "electra": ("ElectraConfig", "ElectraModel", {**TEXT, "embedding_size": 64}),
    "mpnet": ("MPNetConfig", "MPNetModel", TEXT),
    "xlnet": ("XLNetConfig", "XLNetModel",
              {"d_model": 128, "n_layer": 2, "n_head": 4, "d_inner": 256, "vocab_size": 1000}),
    "gpt2": ("GPT2Config", "GPT2Model", {"n_embd": 128, "n_layer": 2, "n_head": 4, "vocab_size": 1000}),
    "opt": ("OPTConfig", "OPTModel",
            {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 256,
             "vocab_size": 1000, "word_embed_proj_dim": 128}),
}


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


def image_network(name):
    if importlib.util.find_spec("torchvision") is None:
        sys.meta_path.append(WithoutTorchvision())
    import timm
    model = timm.create_model(name, pretrained=False, exportable=True).eval()
    side = model.default_cfg.get("input_size", (3, 224, 224))
    return model, {"x": torch.randn(2, *side)}


def text_network(name):
    import transformers
    config_type, model_type, fields = TRANSFORMERS[name]
    config = getattr(transformers, config_type)(**fields)
    config.use_cache = False
    config.return_dict = False
    config._attn_implementation = "eager"
    model = getattr(transformers, model_type)(config).eval()
    return model, {"input_ids": torch.randint(0, 999, (2, 32))}


class FirstOutput(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *inputs):
        result = self.model(*inputs)
        while isinstance(result, (tuple, list)):
            result = result[0]
        return result


def export(model, feeds, exporter, path):
    """Writes the network with a dynamic batch."""
    names = list(feeds)
    arguments = {"input_names": names, "output_names": ["y"], "opset_version": OPSET[exporter]}
    if exporter == "old":
        torch.onnx.export(model, tuple(feeds.values()), str(path), dynamo=False,
                          dynamic_axes={n: {0: "batch"} for n in [*names, "y"]}, **arguments)
    else:
        batch = torch.export.Dim("batch", min=1, max=64)
        # One entry, for *inputs of FirstOutput.
        torch.onnx.export(model, tuple(feeds.values()), str(path), dynamo=True, verbose=False,
                          dynamic_shapes=[tuple({0: batch} for _ in names)], **arguments)


def counted_macs(model, feeds):
    """Multiply-adds of one run by PyTorch's counter, which knows products and convolutions."""
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
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
    subprocess.run([program, "inspect", str(path), "--batch", "2", "--save", str(saved), "--quiet"],
                   check=True, stdout=subprocess.DEVNULL)
    model = onnx.load(str(saved), load_external_data=False)
    return {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim]
            for v in [*model.graph.value_info, *model.graph.output]
            if v.type.tensor_type.HasField("shape")}


def check(program, model, feeds, exporter, path, with_runtime):
    """A line of findings, and whether all is well."""
    run = subprocess.run([program, "inspect", str(path), "--batch", "2", "--json", "--quiet"],
                         capture_output=True, text=True)
    if run.returncode != 0:
        return f"refused: {run.stderr.strip()}", False
    facts = json.loads(run.stdout)
    findings, fine = [], True
    if facts["unresolved"]:
        first = facts["unresolved"][0]
        findings.append(f"{len(facts['unresolved'])} unresolved, the first {first['op_type']}: {first['reason']}")
        fine = False
    macs = counted_macs(model, feeds)
    error = facts["macs"] / macs - 1 if macs else 0
    findings.append(f"MACs {facts['macs']:.4g} ({error:+.2%} of PyTorch's)")
    fine = fine and abs(error) <= MACS_TOLERANCE
    if with_runtime:
        found = dfsim_shapes(program, path, path.with_suffix(".saved.onnx"))
        real = runtime_shapes(path, feeds)
        wrong = [n for n in real if n in found and found[n] != real[n]]
        both = sum(n in found for n in real)
        findings.append(f"{both} of {len(real)} tensors known, {len(wrong)} of other shapes {wrong[:3]}")
        fine = fine and not wrong
    return ", ".join(findings), fine


def main():
    parser = argparse.ArgumentParser(description="Export networks and check dfsim inspect on them.")
    parser.add_argument("--only", default="")
    parser.add_argument("--exporter", choices=["old", "new", "both"], default="both")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--no-runtime", action="store_true")
    options = parser.parse_args()
    program = os.environ["DFSIM"]
    wanted = [n for n in options.only.split(",") if n] or [*TIMM, *TRANSFORMERS]
    exporters = ["old", "new"] if options.exporter == "both" else [options.exporter]
    counts = {"fine": 0, "other": 0, "not exported": 0}
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for name in wanted:
            torch.manual_seed(0)
            try:
                model, feeds = (text_network if name in TRANSFORMERS else image_network)(name)
            except Exception as error:
                print(f"{name}: cannot be made: {str(error).splitlines()[0][:100]}", flush=True)
                counts["not exported"] += len(exporters)
                continue
            model = FirstOutput(model).eval()
            for exporter in exporters:
                path = folder / f"{name}.{exporter}.onnx"
                try:
                    export(model, feeds, exporter, path)
                except Exception as error:
                    print(f"{name} ({exporter}): not exported: {str(error).splitlines()[0][:100]}", flush=True)
                    counts["not exported"] += 1
                    continue
                line, fine = check(program, model, feeds, exporter, path, not options.no_runtime)
                counts["fine" if fine else "other"] += 1
                print(f"{name} ({exporter}): {line}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    sys.exit(1 if counts["other"] or not counts["fine"] else 0)


if __name__ == "__main__":
    main()
