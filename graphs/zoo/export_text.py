#!/usr/bin/env python3
"""Exports the transformers of the zoo to a scratch folder, without weights: the models are made of fake tensors.

Needs the packages of requirements.txt. make_zoo.py runs it and finishes the graphs afterwards; nothing is downloaded.

usage: export_text.py OUT_DIR NAME...
"""
import json
import logging
import os
import sys
import warnings

import onnx_ir as ir
import torch
import transformers
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from transformers import (BertConfig, BertForPreTraining, BertModel, DistilBertConfig, DistilBertModel, DynamicCache,
                          GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, OPTConfig, OPTForCausalLM,
                          T5Config, T5EncoderModel)

OPSET = 18

# The published configurations.
BERT_LARGE = dict(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)
GPT2_LARGE = dict(n_embd=1280, n_layer=36, n_head=20)
OPT_1B3 = dict(vocab_size=50272, hidden_size=2048, ffn_dim=8192, num_hidden_layers=24, num_attention_heads=32,
               word_embed_proj_dim=2048, max_position_embeddings=2048)
T5_SMALL = dict(vocab_size=32128, d_model=512, d_kv=64, d_ff=2048, num_layers=6, num_heads=8)
LLAMA_1B = dict(vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16,
                num_attention_heads=32, num_key_value_heads=8, head_dim=64, max_position_embeddings=131072,
                rms_norm_eps=1e-5, tie_word_embeddings=True,
                rope_parameters=dict(rope_type="llama3", rope_theta=500000.0, factor=32.0, high_freq_factor=4.0,
                                     low_freq_factor=1.0, original_max_position_embeddings=8192))
LLAMA_LAYERS = LLAMA_1B["num_hidden_layers"]


class Encoder(nn.Module):
    """input_ids, attention_mask[, token_type_ids] -> the last hidden state[, the pooled one]"""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *inputs):
        return self.model(*inputs[:2], **({"token_type_ids": inputs[2]} if len(inputs) > 2 else {}),
                          return_dict=False)


class Gpt2(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids, attention_mask=attention_mask, use_cache=False).logits


class Pretraining(nn.Module):
    """input_ids, attention_mask, token_type_ids -> the logits of the masked words"""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.model(input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).prediction_logits


class Prefill(nn.Module):
    """input_ids, attention_mask -> logits, then each layer's keys and values"""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        out = self.model(input_ids, attention_mask=attention_mask, use_cache=True)
        return (out.logits, *present(out.past_key_values))


class Decode(nn.Module):
    """one token, its position and the keys and values before it -> logits, then each layer's keys and values"""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, position_ids, *past):
        cache = DynamicCache(list(zip(past[::2], past[1::2])))
        out = self.model(input_ids, position_ids=position_ids, past_key_values=cache, use_cache=True)
        return (out.logits, *present(out.past_key_values))


def present(cache):
    return [t for layer in cache.layers for t in (layer.keys, layer.values)]


def text(*names):
    """inputs [batch, sequence] of token ids, masks..."""
    ids = torch.ones(2, 16, dtype=torch.int64)
    return {name: (ids.clone(), {0: "batch", 1: "sequence"}) for name in names}


def presents():
    return [f"present.{i}.{kind}" for i in range(LLAMA_LAYERS) for kind in ("key", "value")]


CONFIGS = {
    "bert_base": (BertConfig, {}),
    "bert_large": (BertConfig, BERT_LARGE),
    "distilbert": (DistilBertConfig, {}),
    "t5_small_encoder": (T5Config, T5_SMALL),
    "gpt2": (GPT2Config, {}),
    "gpt2_large": (GPT2Config, GPT2_LARGE),
    "llama_1b_prefill": (LlamaConfig, LLAMA_1B),
    "llama_1b_decode": (LlamaConfig, LLAMA_1B),
    # Not in the zoo: for datasets/collect/training_steps.py.
    "bert_large_pretraining": (BertConfig, BERT_LARGE),
    "opt_1b3": (OPTConfig, OPT_1B3),
}


def build(name):
    """-> wrapped model, {input: (example, dynamic axes)}, output names"""
    kind, options = CONFIGS[name]
    config = kind(**options)
    if name in ("bert_base", "bert_large"):
        return (Encoder(BertModel(config)), text("input_ids", "attention_mask", "token_type_ids"),
                ["last_hidden_state", "pooler_output"])
    if name == "distilbert":
        return Encoder(DistilBertModel(config)), text("input_ids", "attention_mask"), ["last_hidden_state"]
    if name == "t5_small_encoder":
        return Encoder(T5EncoderModel(config)), text("input_ids", "attention_mask"), ["last_hidden_state"]
    if name in ("gpt2", "gpt2_large"):
        return Gpt2(GPT2LMHeadModel(config)), text("input_ids", "attention_mask"), ["logits"]
    if name == "bert_large_pretraining":
        return (Pretraining(BertForPreTraining(config)), text("input_ids", "attention_mask", "token_type_ids"),
                ["logits"])
    if name == "opt_1b3":
        return Gpt2(OPTForCausalLM(config)), text("input_ids", "attention_mask"), ["logits"]
    if name == "llama_1b_prefill":
        return Prefill(LlamaForCausalLM(config)), text("input_ids", "attention_mask"), ["logits"] + presents()
    inputs = {n: (torch.ones(2, 1, dtype=torch.int64), {0: "batch"}) for n in ("input_ids", "position_ids")}
    for n in presents():
        inputs[n.replace("present", "past")] = (torch.ones(2, 8, 24, 64), {0: "batch", 2: "past_sequence"})
    return Decode(LlamaForCausalLM(config)), inputs, ["logits"] + presents()


def export(name, out):
    kind, options = CONFIGS[name]
    config = ", ".join(f"{k}={v}" for k, v in options.items())
    with FakeTensorMode():
        model, inputs, outputs = build(name)
        model.eval()
        model.model.set_attn_implementation("eager")
        examples = tuple(v for v, _ in inputs.values())
        axes = [a for _, a in inputs.values()]
        variadic = any(n.startswith("past.") for n in inputs) or isinstance(model, Encoder)
        fixed = 2 if isinstance(model, Decode) else 0
        shapes = (*axes[:fixed], tuple(axes[fixed:])) if variadic else tuple(axes)
        program = torch.onnx.export(model, examples, dynamo=True, opset_version=OPSET, dynamic_shapes=shapes,
                                    input_names=list(inputs), output_names=outputs, optimize=False, verbose=False)
        for value in program.model.graph.initializers.values():
            if isinstance(value.const_value.raw, FakeTensor):
                value.const_value = None
        program.optimize()
        for value in list(program.model.graph.initializers.values()):
            value.name = value.name.removeprefix("model.")  # the wrapper's
            if value.const_value is None:
                value.const_value = ir.ExternalTensor("weights-not-shipped.bin", None, None, value.dtype,
                                                      shape=value.shape, name=value.name)
        ir.save(program.model, os.path.join(out, name + ".onnx"))
        info = {
            "source": f"transformers {transformers.__version__}, "
                      f"{type(model.model).__name__}({kind.__name__}({config})), eager attention, no weights; "
                      f"torch.onnx.export(dynamo=True) of torch {torch.__version__.split('+')[0]}, opset {OPSET}",
            "parameters": sum(p.numel() for p in model.parameters()),
            "parameter_names": [n for n, _ in model.model.named_parameters(remove_duplicate=False)],
            "buffer_names": [n for n, _ in model.model.named_buffers()],
        }
    with open(os.path.join(out, name + ".json"), "w") as file:
        json.dump(info, file)
    print("exported", name, flush=True)


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(2)
    for name in sys.argv[2:]:
        export(name, sys.argv[1])


if __name__ == "__main__":
    main()
