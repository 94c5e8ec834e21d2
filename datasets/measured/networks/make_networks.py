#!/usr/bin/env python3
"""Makes the weight-free ONNX graphs of this folder: networks that no cost model is trained on.

They are what `dfsim validate` judges by, so none of them is in graphs/zoo. Needs what graphs/zoo/README.md
says under "Making them again", whose scripts do the work; nothing is downloaded.

usage: make_networks.py [--vision-python PYTHON] [--out DIR] [NAME...]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ZOO = HERE.parents[2] / "graphs" / "zoo"
sys.path.insert(0, str(ZOO))

VISION = ["alexnet", "squeezenet1_1", "resnet34", "resnet101", "resnext50_32x4d", "googlenet", "mnasnet1_0",
          "shufflenet_v2_x1_0", "vgg11", "densenet169", "efficientnet_b2", "regnet_y_400mf", "mobilenet_v3_small",
          "inception_v3", "convnext_small", "vit_b_32"]

# name: configuration class, model class, options that differ from the defaults
TEXT = {
    "minilm_l6": ("BertConfig", "BertModel", dict(hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
                                                  intermediate_size=1536)),
    "bert_medium": ("BertConfig", "BertModel", dict(hidden_size=512, num_hidden_layers=8, num_attention_heads=8,
                                                    intermediate_size=2048)),
    "electra_small": ("ElectraConfig", "ElectraModel", dict(embedding_size=128, hidden_size=256, num_hidden_layers=12,
                                                            num_attention_heads=4, intermediate_size=1024)),
    "albert_base": ("AlbertConfig", "AlbertModel", dict(hidden_size=768, num_hidden_layers=12, num_attention_heads=12,
                                                        intermediate_size=3072)),
    "t5_base_encoder": ("T5Config", "T5EncoderModel", dict(vocab_size=32128, d_model=768, d_kv=64, d_ff=3072,
                                                           num_layers=12, num_heads=12)),
    "distilgpt2": ("GPT2Config", "GPT2LMHeadModel", dict(n_layer=6)),
    "opt_125m": ("OPTConfig", "OPTForCausalLM", {}),
}
CAUSAL = ("distilgpt2", "opt_125m")
NAMES = VISION + list(TEXT)


def export_vision(folder, names):
    """Run by the Python that has torchvision."""
    import export_vision as zoo
    import torchvision
    get_model = torchvision.models.get_model

    def without_auxiliaries(name, weights):
        options = {"aux_logits": False, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
        return get_model(name, weights=weights, **options)

    torchvision.models.get_model = without_auxiliaries
    zoo.CLASSIFIERS = VISION
    sys.argv = ["export_vision.py", folder, *names]
    zoo.main()


def export_text(folder, names):
    import export_text as zoo
    import transformers
    for name in names:
        config, model, options = TEXT[name]
        zoo.CONFIGS[name] = (getattr(transformers, config), options)
        build = getattr(transformers, model)
        wrap = zoo.Gpt2 if name in CAUSAL else zoo.Encoder
        outputs = ["logits"] if name in CAUSAL else ["last_hidden_state"]
        if model in ("BertModel", "AlbertModel"):
            outputs.append("pooler_output")
        zoo.build = lambda n, c=getattr(transformers, config)(**options), b=build, w=wrap, o=outputs: (
            w(b(c)), zoo.text("input_ids", "attention_mask"), o)
        zoo.export(name, folder)


def finish(name, raw, out):
    import onnx
    import strip_graph
    info = json.loads((raw / f"{name}.json").read_text())
    dims = {"batch": 1} if name in VISION else {"batch": 1, "sequence": 128}
    model = onnx.load(raw / f"{name}.onnx", load_external_data=False)
    metadata = {"dfsim.source": info["source"], **{"dfsim.dim." + k: str(v) for k, v in dims.items()}}
    weights = set(info["parameter_names"]) | set(info["buffer_names"])
    strip_graph.strip(model, weights, metadata, fold_transposes=name in TEXT)
    path = out / f"{name}.onnx"
    path.write_bytes(model.SerializeToString(deterministic=True))
    print(f"{name}: {len(model.graph.node)} nodes, {path.stat().st_size} bytes", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--vision-python", default="/usr/bin/python3")
    parser.add_argument("--out", type=pathlib.Path, default=HERE)
    parser.add_argument("--raw", help=argparse.SUPPRESS)  # export into this folder, no more
    args = parser.parse_args()
    names = args.names or NAMES
    for name in names:
        if name not in NAMES:
            sys.exit(f"make_networks.py: no network {name!r}; there are: {' '.join(NAMES)}")
    if args.raw:
        export_vision(args.raw, names)
        return
    for name in names:
        with tempfile.TemporaryDirectory() as raw:
            if name in VISION:
                subprocess.run([args.vision_python, __file__, "--raw", raw, name], check=True,
                               env=dict(os.environ, PYTHONHASHSEED="0"))
            else:
                export_text(raw, [name])
            finish(name, pathlib.Path(raw), args.out)


if __name__ == "__main__":
    main()
