#!/usr/bin/env python3
"""Exports the transformers of datasets/measured/published/a100_train_steps.csv in training mode, without weights.

    export_steps.py FOLDER [NAME...]

Those steps ran with transformers of early 2023, whose layers differ from today's, so this wants release 4.27.4 (with
tokenizers 0.13.3 and huggingface-hub before 0.20; an environment of its own is best), torch and onnx. Default
configurations and random weights; nothing is downloaded. The batch is open, the sequence as measured.
"""

import gc
import gzip
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "graphs" / "zoo"))

import onnx  # noqa: E402
import strip_graph  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

OPSET = 17
# network: configuration, model, sequence
NETWORKS = {
    "albert_xxlarge_lm": ("Albert", "ForMaskedLM", 512),
    "albert_xxlarge_qa": ("Albert", "ForQuestionAnswering", 512),
    "bart_large": ("Bart", "ForConditionalGeneration", 1024),
    "convbert_base_lm": ("ConvBert", "ForMaskedLM", 512),
    "deberta_v2_xlarge_lm": ("DebertaV2", "ForMaskedLM", 512),
    "deberta_v2_xlarge_qa": ("DebertaV2", "ForQuestionAnswering", 512),
    "distilbert_qa": ("DistilBert", "ForQuestionAnswering", 128),
    "mbart_large": ("MBart", "ForConditionalGeneration", 1024),
    "megatron_bert_qa": ("MegatronBert", "ForQuestionAnswering", 512),
    "pegasus_large": ("Pegasus", "ForConditionalGeneration", 128),
    "trocr_large_decoder": ("TrOCR", "ForCausalLM", 256),
    "xlnet_large_lm": ("XLNet", "LMHeadModel", 512),
}


class Step(torch.nn.Module):
    """token ids, of a decoder as well where there is one -> what the loss is computed from"""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *ids):
        options = {"decoder_input_ids": ids[1], "use_cache": False} if len(ids) > 1 else {}
        out = self.model(input_ids=ids[0], **options)
        return (out.start_logits, out.end_logits) if hasattr(out, "start_logits") else out.logits


def export(name, folder):
    family, head, sequence = NETWORKS[name]
    config = getattr(transformers, family + "Config")(use_cache=False)
    step = Step(getattr(transformers, family + head)(config)).train().requires_grad_(False)
    weights = {n for n, _ in (*step.named_parameters(), *step.named_buffers())}
    inputs = ["input_ids", "decoder_input_ids"][:2 if head == "ForConditionalGeneration" else 1]
    outputs = ["start", "end"] if head == "ForQuestionAnswering" else ["logits"]
    examples = tuple(torch.randint(0, 999, (2, sequence)) for _ in inputs)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:  # weights of gigabytes
        path = pathlib.Path(scratch) / "model.onnx"
        torch.onnx.export(step, examples, str(path), dynamo=False, training=torch.onnx.TrainingMode.TRAINING,
                          do_constant_folding=False, opset_version=OPSET, input_names=inputs, output_names=outputs,
                          dynamic_axes={n: {0: "batch"} for n in (*inputs, *outputs)})
        del step
        gc.collect()
        graph = onnx.load(path)
    source = f"export_steps.py {name}, transformers {transformers.__version__}"
    strip_graph.strip(graph, weights, {"dfsim.dim.batch": "1", "dfsim.source": source}, False)
    packed = gzip.compress(graph.SerializeToString(deterministic=True), 9, mtime=0)
    (folder / f"{name}.onnx.gz").write_bytes(packed)
    print(f"exported {name}", flush=True)


def main():
    if len(sys.argv) < 2 or set(sys.argv[2:]) - set(NETWORKS):
        sys.exit(__doc__.strip() + "\n\nnetworks: " + " ".join(NETWORKS))
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or NETWORKS:
        export(name, folder)


if __name__ == "__main__":
    main()
