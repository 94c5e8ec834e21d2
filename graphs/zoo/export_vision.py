#!/usr/bin/env python3
"""Exports the image models, the U-Net and the LSTM of the zoo, weights and all, to a scratch folder.

Needs torch 1.13 and torchvision 0.14 (Debian 12: python3-torch, python3-torchvision). make_zoo.py runs it
and strips the weights afterwards; nothing is downloaded, all weights are random.

usage: export_vision.py OUT_DIR NAME...
"""
import json
import os
import sys
import warnings

import torch
import torchvision
from torch import nn

SEED = 20240229
OPSET = 13

CLASSIFIERS = ["resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_large", "efficientnet_b0", "convnext_tiny",
               "densenet121", "vgg16", "vit_b_16", "swin_t"]


class DoubleConv(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(),
                         nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU())


class UNet(nn.Module):
    """Ronneberger et al. 2015: four levels, 64 to 1024 channels; padded convolutions and batch norm, as usual now."""

    def __init__(self, channels=3, classes=2, widths=(64, 128, 256, 512, 1024)):
        super().__init__()
        self.inc = DoubleConv(channels, widths[0])
        self.down = nn.ModuleList(DoubleConv(a, b) for a, b in zip(widths, widths[1:]))
        self.pool = nn.MaxPool2d(2)
        up = list(zip(widths[:0:-1], widths[-2::-1]))
        self.up = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, stride=2) for a, b in up)
        self.conv = nn.ModuleList(DoubleConv(2 * b, b) for _, b in up)
        self.outc = nn.Conv2d(widths[0], classes, 1)

    def forward(self, image):
        x = self.inc(image)
        skips = []
        for down in self.down:
            skips.append(x)
            x = down(self.pool(x))
        for up, conv, skip in zip(self.up, self.conv, reversed(skips)):
            x = conv(torch.cat([skip, up(x)], dim=1))
        return self.outc(x)


class LstmLm(nn.Module):
    """The medium language model of Zaremba et al. 2014: 10,000 words, two LSTM layers of 650."""

    def __init__(self, vocab=10000, hidden=650, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden)
        self.lstm = nn.LSTM(hidden, hidden, layers)
        self.decoder = nn.Linear(hidden, vocab)

    def forward(self, input_ids, h0, c0):
        x = self.embedding(input_ids)  # input_ids: [sequence, batch]
        x, (hn, cn) = self.lstm(x, (h0, c0))
        return self.decoder(x), hn, cn


def build(name):
    """-> model, args, input names, output names, dynamic axes, constant folding, what made it"""
    batch = {0: "batch"}
    if name in CLASSIFIERS:
        model = torchvision.models.get_model(name, weights=None)
        return (model, (torch.zeros(1, 3, 224, 224),), ["input"], ["logits"], {"input": batch, "logits": batch}, False,
                f"torchvision.models.{name}")
    if name == "unet":
        return (UNet(), (torch.zeros(1, 3, 256, 256),), ["input"], ["logits"], {"input": batch, "logits": batch}, False,
                "UNet of export_vision.py (channels=3, classes=2, widths=64..1024)")
    if name == "lstm":
        seq = {0: "sequence", 1: "batch"}
        state = {1: "batch"}
        args = (torch.zeros(35, 1, dtype=torch.int64), torch.zeros(2, 1, 650), torch.zeros(2, 1, 650))
        # Folding packs the gate weights into the layout of the LSTM operator; without it every run
        # would slice and concatenate them again.
        return (LstmLm(), args, ["input_ids", "h0", "c0"], ["logits", "hn", "cn"],
                {"input_ids": seq, "logits": seq, "h0": state, "c0": state, "hn": state, "cn": state}, True,
                "LstmLm of export_vision.py (vocab=10000, hidden=650, layers=2)")
    sys.exit(f"export_vision.py: no model {name!r}")


def main():
    out, names = sys.argv[1], sys.argv[2:]
    warnings.simplefilter("ignore")
    torch.set_num_threads(2)
    for name in names:
        torch.manual_seed(SEED)
        model, args, inputs, outputs, axes, folding, what = build(name)
        model.eval()
        # No two weights may be alike, or the exporter shares them through Identity nodes.
        with torch.no_grad():
            for tensor in list(model.parameters()) + [b for b in model.buffers() if b.dtype.is_floating_point]:
                tensor.uniform_(0.5, 1.0)
        # PRESERVE, not EVAL: EVAL would merge each BatchNormalization into the convolution before it.
        torch.onnx.export(model, args, os.path.join(out, name + ".onnx"), input_names=inputs, output_names=outputs,
                          dynamic_axes=axes, opset_version=OPSET, do_constant_folding=folding,
                          training=torch.onnx.TrainingMode.PRESERVE)
        version = torchvision.__version__ if name in CLASSIFIERS else torch.__version__
        library = "torchvision" if name in CLASSIFIERS else "torch"
        info = {
            "source": f"{library} {version.replace('a0', '')}, {what}, random weights; torch.onnx.export of torch "
                      f"{torch.__version__.replace('a0', '')}, opset {OPSET}",
            "parameters": sum(p.numel() for p in model.parameters()),
            "parameter_names": [n for n, _ in model.named_parameters()],
            "buffer_names": [n for n, _ in model.named_buffers()],
        }
        with open(os.path.join(out, name + ".json"), "w") as file:
            json.dump(info, file)
        print("exported", name, flush=True)


if __name__ == "__main__":
    main()
