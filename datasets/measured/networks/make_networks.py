#!/usr/bin/env python3
"""Makes the weight-free ONNX graphs of this folder: networks measured beside those of graphs/zoo.

README.md says which of them a cost model may be trained on and which are held out. Needs what graphs/zoo/README.md
says under "Making them again", whose scripts do the work; nothing is downloaded.

usage: make_networks.py [--vision-python PYTHON] [--out DIR] [NAME...]
"""
import argparse
import gzip
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
          "inception_v3", "convnext_small", "vit_b_32",
          "wide_resnet50_2", "regnet_x_800mf", "mnasnet0_5", "vgg13", "squeezenet1_0", "shufflenet_v2_x0_5",
          "efficientnet_b1",
          "regnet_y_800mf", "shufflenet_v2_x1_5", "densenet201"]
# These come from the timm library, in the same Python.
TIMM = ["ghostnet_100", "mobilevit_xs", "deit_tiny_patch16_224", "mixer_s32_224", "poolformer_s12", "repvgg_a0",
        "dla34", "mobilenetv4_conv_small", "resnet26d", "edgenext_xx_small",
        "fbnetc_100", "lcnet_100", "rexnet_100", "ese_vovnet19b_dw", "resmlp_12_224", "pvt_v2_b0",
        "vit_small_patch32_224", "convnext_atto", "hrnet_w18_small", "efficientvit_b0", "tinynet_b",
        "xcit_nano_12_p16_224"]

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
    "bert_small": ("BertConfig", "BertModel", dict(hidden_size=512, num_hidden_layers=4, num_attention_heads=8,
                                                   intermediate_size=2048)),
    "distilroberta": ("RobertaConfig", "RobertaModel", dict(vocab_size=50265, num_hidden_layers=6, type_vocab_size=1,
                                                            max_position_embeddings=514, pad_token_id=1)),
    "mpnet_base": ("MPNetConfig", "MPNetModel", {}),
    "pythia_70m": ("GPTNeoXConfig", "GPTNeoXForCausalLM", dict(vocab_size=50304, hidden_size=512, num_hidden_layers=6,
                                                               num_attention_heads=8, intermediate_size=2048)),
    "whisper_tiny_encoder": ("WhisperConfig", "WhisperModel", dict(d_model=384, encoder_layers=4, decoder_layers=4,
                                                                   encoder_attention_heads=6, encoder_ffn_dim=1536,
                                                                   decoder_attention_heads=6, decoder_ffn_dim=1536)),
    "bert_mini": ("BertConfig", "BertModel", dict(hidden_size=256, num_hidden_layers=4, num_attention_heads=4,
                                                  intermediate_size=1024)),
    "squeezebert": ("SqueezeBertConfig", "SqueezeBertModel", {}),
    "t5_mini_encoder": ("T5Config", "T5EncoderModel", dict(vocab_size=32128, d_model=384, d_kv=64, d_ff=1536,
                                                           num_layers=4, num_heads=6)),
    "gpt2_mini": ("GPT2Config", "GPT2LMHeadModel", dict(n_embd=384, n_layer=4, n_head=6)),
}
CAUSAL = ("distilgpt2", "opt_125m", "pythia_70m", "gpt2_mini")
SPEECH = ("whisper_tiny_encoder",)
PLAIN = ("googlenet", "inception_v3", "fbnetc_100")  # that documents and tests open by name; the others are packed
SHORT_NAMES = ("mobilevit_xs",)  # whose operators' names make half of the file
NAMES = VISION + TIMM + list(TEXT)


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
    torchvision_build = zoo.build

    def build(name):
        if name not in TIMM:
            return torchvision_build(name)
        import timm
        batch = {0: "batch"}
        return (timm.create_model(name, exportable=True), (zoo.torch.zeros(1, 3, 224, 224),), ["input"], ["logits"],
                {"input": batch, "logits": batch}, False, f"timm {timm.__version__}, timm.create_model('{name}')")

    zoo.build = build
    sys.argv = ["export_vision.py", folder, *names]
    zoo.main()


def export_text(folder, names):
    import export_text as zoo
    import transformers
    class Speech(zoo.nn.Module):
        """input_features -> the encoder's last hidden state"""

        def __init__(self, model):
            super().__init__()
            self.model = model.encoder

        def forward(self, input_features):
            return self.model(input_features, return_dict=False)[0]

    for name in names:
        config, model, options = TEXT[name]
        zoo.CONFIGS[name] = (getattr(transformers, config), options)
        build = getattr(transformers, model)
        wrap = zoo.Gpt2 if name in CAUSAL else Speech if name in SPEECH else zoo.Encoder
        inputs = zoo.text("input_ids", "attention_mask")
        if name in SPEECH:
            inputs = {"input_features": (zoo.torch.zeros(2, 80, 3000), {0: "batch"})}
        outputs = ["logits"] if name in CAUSAL else ["last_hidden_state"]
        if model in ("BertModel", "AlbertModel", "RobertaModel", "MPNetModel", "SqueezeBertModel"):
            outputs.append("pooler_output")
        zoo.build = lambda n, c=getattr(transformers, config)(**options), b=build, w=wrap, i=inputs, o=outputs: (
            w(b(c)), i, o)
        zoo.export(name, folder)


def finish(name, raw, out):
    import onnx
    import strip_graph
    info = json.loads((raw / f"{name}.json").read_text())
    dims = {"batch": 1} if name in VISION + TIMM + list(SPEECH) else {"batch": 1, "sequence": 128}
    model = onnx.load(raw / f"{name}.onnx", load_external_data=False)
    metadata = {"dfsim.source": info["source"], **{"dfsim.dim." + k: str(v) for k, v in dims.items()}}
    weights = set(info["parameter_names"]) | set(info["buffer_names"])
    strip_graph.strip(model, weights, metadata, fold_transposes=name in TEXT)
    if name in SHORT_NAMES:
        for index, node in enumerate(model.graph.node):
            node.name = f"n{index}"
    data = model.SerializeToString(deterministic=True)
    path = out / (f"{name}.onnx" if name in PLAIN else f"{name}.onnx.gz")
    path.write_bytes(data if name in PLAIN else gzip.compress(data, 9, mtime=0))
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
            if name in VISION + TIMM:
                subprocess.run([args.vision_python, __file__, "--raw", raw, name], check=True,
                               env=dict(os.environ, PYTHONHASHSEED="0"))
            else:
                export_text(raw, [name])
            finish(name, pathlib.Path(raw), args.out)


if __name__ == "__main__":
    main()
