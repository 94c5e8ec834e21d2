#!/usr/bin/env python3
"""Exports the networks of lists.json with an open batch, with the exporter that the list names.

Random weights, nothing is downloaded. Writes weight-free graphs, packed (NAME.onnx.gz): a static batch is the same
file with its dimensions frozen. Packages: torch, torchvision, timm, transformers, onnx, onnxscript.

usage: export_lists.py LIST [NAME...] -o FOLDER [--keep-batch-norms]      LIST: test, fresh, boards, check, later,
newest, final, turin, milan, winter, tune or train
"""

import argparse
import gc
import gzip
import json
import pathlib
import signal
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT / "graphs" / "zoo"), str(ROOT / "tests" / "onnx")]

import export_networks as exports  # noqa: E402
import onnx  # noqa: E402
from onnx import inliner  # noqa: E402
import strip_graph  # noqa: E402
import torch  # noqa: E402

SEQUENCE = 128
MOST_SECONDS = 900

SMALL = {"hidden_size": 384, "num_attention_heads": 6, "intermediate_size": 1536}
MEDIUM = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16}
# name: configuration class, model class, fields that differ from the defaults
TRANSFORMERS = {
    "mobilebert": ("MobileBertConfig", "MobileBertModel", {"num_hidden_layers": 12}),
    "convbert_small": ("ConvBertConfig", "ConvBertModel",
                       {"hidden_size": 256, "embedding_size": 128, "num_hidden_layers": 8, "num_attention_heads": 4,
                        "intermediate_size": 1024}),
    "roformer_small": ("RoFormerConfig", "RoFormerModel",
                       {**SMALL, "num_hidden_layers": 6, "embedding_size": 384, "max_position_embeddings": 512}),
    "deberta_v3_xsmall": ("DebertaV2Config", "DebertaV2Model",
                          {**SMALL, "num_hidden_layers": 6, "relative_attention": True, "position_buckets": 256,
                           "norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": "p2c|c2p",
                           "position_biased_input": False, "type_vocab_size": 0}),
    "bart_encoder": ("BartConfig", "models.bart.modeling_bart.BartEncoder",
                     {"d_model": 512, "encoder_layers": 6, "encoder_attention_heads": 8, "encoder_ffn_dim": 2048}),
    "gpt_neo_small": ("GPTNeoConfig", "GPTNeoModel",
                      {"hidden_size": 512, "num_layers": 6, "num_heads": 8, "attention_types": [[["global", "local"], 3]],
                       "window_size": 64}),
    "qwen3_small": ("Qwen3Config", "Qwen3Model",
                    {"hidden_size": 512, "num_hidden_layers": 6, "num_attention_heads": 8, "num_key_value_heads": 4,
                     "head_dim": 64, "intermediate_size": 1536, "vocab_size": 32000}),
    "roberta_4": ("RobertaConfig", "RobertaModel", {**SMALL, "num_hidden_layers": 4}),
    "opt_small": ("OPTConfig", "OPTModel",
                  {"hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8, "ffn_dim": 2048,
                   "word_embed_proj_dim": 512}),
    "xlnet_small": ("XLNetConfig", "XLNetModel", {"d_model": 512, "n_layer": 4, "n_head": 8, "d_inner": 2048}),
    "bert_4": ("BertConfig", "BertModel", {**SMALL, "num_hidden_layers": 4}),
    "distilbert_3": ("DistilBertConfig", "DistilBertModel", {"dim": 512, "n_layers": 3, "n_heads": 8, "hidden_dim": 2048}),
    "llama_small": ("LlamaConfig", "LlamaModel",
                    {"hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 4,
                     "intermediate_size": 1376}),
    "bloom_small": ("BloomConfig", "BloomModel", {"hidden_size": 512, "n_layer": 4, "n_head": 8, "vocab_size": 32000}),
    "dinov2_small": ("Dinov2Config", "Dinov2Model",
                     {"hidden_size": 384, "num_hidden_layers": 4, "num_attention_heads": 6, "image_size": 224,
                      "patch_size": 14}),
    "segformer_b0": ("SegformerConfig", "SegformerModel", {}),
    "wav2vec2_small": ("Wav2Vec2Config", "Wav2Vec2Model", {**SMALL, "num_hidden_layers": 3}),
    "deberta_v2_small": ("DebertaV2Config", "DebertaV2Model", {**SMALL, "num_hidden_layers": 3}),
    "albert_small": ("AlbertConfig", "AlbertModel", {**SMALL, "num_hidden_layers": 4}),
    "gpt_neox_small": ("GPTNeoXConfig", "GPTNeoXModel", {**SMALL, "num_hidden_layers": 4}),
    "clip_vision_small": ("CLIPVisionConfig", "CLIPVisionModel", {**SMALL, "num_hidden_layers": 4}),
    "phi_small": ("PhiConfig", "PhiModel",
                  {"hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8, "intermediate_size": 2048,
                   "vocab_size": 32000}),
    "megatron_bert_small": ("MegatronBertConfig", "MegatronBertModel", {**SMALL, "num_hidden_layers": 4}),
    "funnel_small": ("FunnelConfig", "FunnelBaseModel",
                     {"d_model": 384, "n_head": 6, "d_head": 64, "d_inner": 1536, "block_sizes": [2, 2, 2]}),
    "xlm_small": ("XLMConfig", "XLMModel", {"emb_dim": 384, "n_layers": 4, "n_heads": 6, "n_langs": 1}),
    "ernie_small": ("ErnieConfig", "ErnieModel", {**SMALL, "num_hidden_layers": 4}),
    "biogpt_small": ("BioGptConfig", "BioGptModel", {**SMALL, "num_hidden_layers": 4, "vocab_size": 32000}),
    "rembert_small": ("RemBertConfig", "RemBertModel",
                      {**SMALL, "num_hidden_layers": 4, "vocab_size": 32000, "input_embedding_size": 128}),
    "falcon_small": ("FalconConfig", "FalconModel",
                     {"hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8, "vocab_size": 32000}),
    "big_bird_small": ("BigBirdConfig", "BigBirdModel",
                       {**SMALL, "num_hidden_layers": 4, "vocab_size": 32000, "attention_type": "original_full"}),
    "yolos_small": ("YolosConfig", "YolosModel", {**SMALL, "num_hidden_layers": 4, "image_size": [224, 224]}),
    "squeezebert_small": ("SqueezeBertConfig", "SqueezeBertModel",
                          {**SMALL, "num_hidden_layers": 4, "embedding_size": 384, "q_groups": 4, "k_groups": 4}),
    "mpnet_small": ("MPNetConfig", "MPNetModel", {**SMALL, "num_hidden_layers": 4}),
    "stablelm_small": ("StableLmConfig", "StableLmModel",
                       {"hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 8,
                        "intermediate_size": 1376, "vocab_size": 32000}),
    "codegen_small": ("CodeGenConfig", "CodeGenModel",
                      {"n_embd": 512, "n_layer": 4, "n_head": 8, "rotary_dim": 32, "vocab_size": 32000}),
    "olmo_small": ("OlmoConfig", "OlmoModel",
                   {"hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 8,
                    "intermediate_size": 1376, "vocab_size": 32000}),
    "nystromformer_small": ("NystromformerConfig", "NystromformerModel", {**SMALL, "num_hidden_layers": 4}),
    "vit_mae_small": ("ViTMAEConfig", "ViTMAEModel", {**SMALL, "num_hidden_layers": 4}),
    "gpt_bigcode_small": ("GPTBigCodeConfig", "GPTBigCodeModel",
                          {"n_embd": 512, "n_layer": 4, "n_head": 8, "vocab_size": 32000}),
    "roberta_large": ("RobertaConfig", "RobertaModel", {**MEDIUM, "intermediate_size": 4096}),
    "gpt_neox_410m": ("GPTNeoXConfig", "GPTNeoXModel", {**MEDIUM, "intermediate_size": 4096}),
    "llama_1b": ("LlamaConfig", "LlamaModel",
                 {"hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8,
                  "intermediate_size": 8192}),
    "qwen3_600m": ("Qwen3Config", "Qwen3Model",
                   {"hidden_size": 1024, "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8,
                    "head_dim": 128, "intermediate_size": 3072, "vocab_size": 32000}),
    "electra_base": ("ElectraConfig", "ElectraModel",
                     {"embedding_size": 768, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}),
}
INPUTS = {
    "dinov2_small": ("pixel_values", (2, 3, 224, 224)),
    "segformer_b0": ("pixel_values", (2, 3, 224, 224)),
    "yolos_small": ("pixel_values", (2, 3, 224, 224)),
    "vit_mae_small": ("pixel_values", (2, 3, 224, 224)),
    "clip_vision_small": ("pixel_values", (2, 3, 224, 224)),
    "wav2vec2_small": ("input_values", (2, 16000)),
}


def transformer(name):
    import importlib
    import transformers
    config_type, model_type, fields = TRANSFORMERS[name]
    config = getattr(transformers, config_type)(**fields)
    config.use_cache = False
    config.return_dict = False
    config._attn_implementation = "eager"
    module, _, kind = model_type.rpartition(".")
    model = getattr(importlib.import_module(f"transformers.{module}".rstrip(".")), kind)(config).eval()
    if name in INPUTS:
        key, shape = INPUTS[name]
        return model, {key: torch.randn(*shape)}
    return model, {"input_ids": torch.randint(0, 999, (2, SEQUENCE))}


def build(entry):
    library, _, name = entry.rpartition("/")
    if library == "transformers":
        return transformer(name)
    return exports.torchvision_network(name) if library == "torchvision" else exports.image_network(name)


def file_name(entry):
    """The name of its file, and of the network in runs files."""
    return entry.rpartition("/")[2].removeprefix("segmentation.").replace(".", "_")


def shorten(model):
    """Names of nodes and values in the graph become numbers: they are most of a file without weights."""
    for index, node in enumerate(model.graph.node):
        node.name = f"n{index}"
    names = {t.name: f"w{index}" for index, t in enumerate(model.graph.initializer)}
    for tensor in model.graph.initializer:
        tensor.name = names[tensor.name]
    for node in model.graph.node:
        for index, name in enumerate(node.input):
            node.input[index] = names.get(name, name)


class FirstOutput(exports.Outputs):
    """The network with its first output alone."""

    def forward(self, *inputs):
        return super().forward(*inputs)[0]


def export(entry, folder, keep_batch_norms=False):
    base, _, exporter = entry.rpartition(".")
    options = {}
    if keep_batch_norms:  # only the old exporter can
        exporter, options = "old", {"training": torch.onnx.TrainingMode.PRESERVE, "do_constant_folding": False}
    torch.manual_seed(0)
    model, feeds = build(base)
    model = FirstOutput(model, list(feeds)).eval().requires_grad_(False)
    weights = {n for n, _ in (*model.named_parameters(), *model.named_buffers())}
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "model.onnx"
        exports.export(model, feeds, exporter, path, **options)
        del model
        gc.collect()
        graph = onnx.load(path)
    if graph.functions:
        graph = inliner.inline_local_functions(graph)
    strip_graph.strip(graph, weights, {"dfsim.dim.batch": "1", "dfsim.source": f"export_lists.py {entry}"}, False)
    shorten(graph)
    target = folder / f"{file_name(entry)}.onnx.gz"
    target.write_bytes(gzip.compress(graph.SerializeToString(deterministic=True), 9, mtime=0))
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("list", choices=["test", "fresh", "boards", "check", "later", "newest", "final", "turin", "milan",
                                         "winter", "tune", "train"])
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--from-the-end", action="store_true", help="in reverse order, next to another process")
    parser.add_argument("--keep-batch-norms", action="store_true",
                        help="leave batch normalisation as it is, as PyTorch runs it; with the old exporter")
    parser.add_argument("names", nargs="*", metavar="NAME", help="as in the list; default: all of it")
    options = parser.parse_intermixed_args()  # names may follow options
    exports.prepare_torchvision()
    signal.signal(signal.SIGALRM, exports.too_long)
    options.output.mkdir(parents=True, exist_ok=True)
    failed = 0
    entries = options.names or json.loads((HERE / "lists.json").read_text())[options.list]
    for entry in reversed(entries) if options.from_the_end else entries:
        target = options.output / f"{file_name(entry)}.onnx.gz"
        if target.exists():
            continue
        signal.alarm(MOST_SECONDS)
        try:
            target = export(entry, options.output, options.keep_batch_norms)
            print(f"{entry}: {target.stat().st_size} bytes", flush=True)
        except Exception as error:  # whatever an exporter throws at a network: the others go on
            failed += 1
            print(f"{entry}: not exported: {exports.first_line(error)}", flush=True)
        finally:
            signal.alarm(0)
        gc.collect()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
