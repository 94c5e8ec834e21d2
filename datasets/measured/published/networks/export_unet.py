#!/usr/bin/env python3
"""Exports Stable Diffusion 1.5's UNet without weights: sd15_unet.onnx.gz, as `diffusers` configures it.

Random weights, nothing is downloaded. Packages: torch, diffusers, onnx (4 GB of memory, a minute).

usage: export_unet.py OUT.onnx.gz
"""
import gzip
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "graphs" / "zoo"))

from diffusers import UNet2DConditionModel  # noqa: E402
import onnx  # noqa: E402
import strip_graph  # noqa: E402
import torch  # noqa: E402

TOKENS, TEXT = 77, 768


class Unet(torch.nn.Module):
    """latents, timestep, text -> noise"""

    def __init__(self):
        super().__init__()
        self.model = UNet2DConditionModel(sample_size=64, cross_attention_dim=TEXT, attention_head_dim=8)

    def forward(self, sample, timestep, text):
        return self.model(sample, timestep, text, return_dict=False)[0]


def main():
    given = (torch.randn(2, 4, 64, 64), torch.tensor([10]), torch.randn(2, TOKENS, TEXT))
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "unet.onnx"
        torch.onnx.export(Unet().eval(), given, str(file), input_names=["sample", "timestep", "text"],
                          dynamic_axes={"sample": {0: "batch"}, "text": {0: "batch"}}, opset_version=17,
                          dynamo=False, do_constant_folding=False)
        model = onnx.load(file, load_external_data=False)
    strip_graph.strip(model, {tensor.name for tensor in model.graph.initializer}, {}, fold_transposes=True)
    pathlib.Path(sys.argv[1]).write_bytes(gzip.compress(model.SerializeToString(), 9, mtime=0))


if __name__ == "__main__":
    main()
