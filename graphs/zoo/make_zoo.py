#!/usr/bin/env python3
"""Makes the weight-free ONNX graphs of this folder, and expected_macs.json. See README.md.

usage: make_zoo.py [--vision-python PYTHON] [--scratch DIR] [--out DIR] [NAME...]

Without names: everything. The text models are exported by the Python that runs this script, the others by
--vision-python (default: /usr/bin/python3), which needs torch 1.13 and torchvision 0.14.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import onnx

import count_macs
import strip_graph

HERE = os.path.dirname(os.path.abspath(__file__))

PUBLISHED = ("published by torchvision for these weights' architecture, in billions (it calls them GFLOPS; they are "
             "multiply-accumulates of convolutions and matrix products)")

# Published multiply-accumulates, in 1e9, at 3x224x224 and batch 1.
VISION = {
    "resnet18": 1.814, "resnet50": 4.089, "mobilenet_v2": 0.301, "mobilenet_v3_large": 0.217,
    "efficientnet_b0": 0.386, "convnext_tiny": 4.456, "densenet121": 2.834, "vgg16": 15.470, "vit_b_16": 17.564,
    "swin_t": 4.491,
}


def encoder(layers, d, f, s):
    return layers * (s * (4 * d * d + 2 * d * f) + 2 * s * s * d)


def unet():
    """Each convolution's output positions x its kernel's elements."""
    widths, size, total = [64, 128, 256, 512, 1024], 256, 0
    for level, w in enumerate(widths):
        p = (size >> level) ** 2
        c = 3 if level == 0 else widths[level - 1]
        total += p * 9 * (c * w + w * w)  # going down
        if level < 4:
            total += (p // 4) * 4 * (2 * w) * w + p * 9 * (2 * w * w + w * w)  # going up: 2x2 transposed, two 3x3
    return total + size * size * 64 * 2


# name: multiply-accumulates, the formula in words, default dims
CLOSED = {
    "unet": (unet(), "sum over the 3x3, 2x2 transposed and 1x1 convolutions of positions x kernel elements; level "
             "l = 0..4 has P = (256/2^l)^2 positions and w = 64*2^l channels, c in (c = 3 at level 0, else w/2): down "
             "P*9*(c*w + w*w); up, l < 4: (P/4)*4*(2w)*w + P*9*(2w*w + w*w); last 256^2*64*2", {"batch": 1}),
    "lstm": (35 * (2 * 4 * 650 * (650 + 650) + 650 * 10000), "batch*sequence*(layers*4*H*(I+H) + H*V), I = H = 650, "
             "layers = 2, V = 10000", {"batch": 1, "sequence": 35}),
    "bert_base": (encoder(12, 768, 3072, 128) + 768 * 768, "batch*(L*(S*(4*d*d + 2*d*f) + 2*S*S*d) + d*d), L = 12, "
                  "d = 768, f = 3072, S = sequence; d*d is the pooler", {"batch": 1, "sequence": 128}),
    "bert_large": (encoder(24, 1024, 4096, 128) + 1024 * 1024, "batch*(L*(S*(4*d*d + 2*d*f) + 2*S*S*d) + d*d), "
                   "L = 24, d = 1024, f = 4096, S = sequence; d*d is the pooler", {"batch": 1, "sequence": 128}),
    "distilbert": (encoder(6, 768, 3072, 128), "batch*L*(S*(4*d*d + 2*d*f) + 2*S*S*d), L = 6, d = 768, f = 3072, "
                   "S = sequence", {"batch": 1, "sequence": 128}),
    "gpt2": (encoder(12, 768, 3072, 512) + 512 * 768 * 50257, "batch*(L*(S*(4*d*d + 2*d*f) + 2*S*S*d) + S*d*V), "
             "L = 12, d = 768, f = 3072, V = 50257, S = sequence; attention counted in full, though half of it is "
             "masked", {"batch": 1, "sequence": 512}),
    "gpt2_large": (encoder(36, 1280, 5120, 512) + 512 * 1280 * 50257, "batch*(L*(S*(4*d*d + 2*d*f) + 2*S*S*d) + "
                   "S*d*V), L = 36, d = 1280, f = 5120, V = 50257, S = sequence; attention counted in full, though "
                   "half of it is masked", {"batch": 1, "sequence": 512}),
    "t5_small_encoder": (encoder(6, 512, 2048, 128), "batch*L*(S*(4*d*d + 2*d*f) + 2*S*S*d), L = 6, d = 512, "
                         "f = 2048, S = sequence", {"batch": 1, "sequence": 128}),
}


def llama(s, t):
    d, f, kv, v = 2048, 8192, 512, 128256
    return 16 * (s * (2 * d * d + 2 * d * kv + 3 * d * f) + 2 * s * t * d) + s * d * v


LLAMA = ("batch*(L*(S*(2*d*d + 2*d*k + 3*d*f) + 2*S*T*d) + S*d*V), L = 16, d = 2048, k = 512 (8 KV heads of "
         "64), f = 8192, V = 128256, {}; attention counted in full, and the logits of all S positions")
CLOSED["llama_1b_prefill"] = (llama(512, 512), LLAMA.format("S = T = sequence"), {"batch": 1, "sequence": 512})
CLOSED["llama_1b_decode"] = (llama(1, 513), LLAMA.format("S = 1, T = past_sequence + 1"),
                             {"batch": 1, "past_sequence": 512})

FROM_VISION_PYTHON = list(VISION) + ["unet", "lstm"]
NAMES = FROM_VISION_PYTHON + [n for n in CLOSED if n not in FROM_VISION_PYTHON]


def finish(name, raw, out):
    """Strips one exported model, checks it, writes it; returns its entry of expected_macs.json."""
    with open(os.path.join(raw, name + ".json")) as file:
        info = json.load(file)
    if name in VISION:
        expected, dims = round(VISION[name] * 1e9), {"batch": 1}
        entry = {"macs": expected, "source": PUBLISHED}
    else:
        expected, formula, dims = CLOSED[name]
        entry = {"macs": expected, "source": "closed formula", "formula": formula}
    model = onnx.load(os.path.join(raw, name + ".onnx"), load_external_data=False)
    metadata = {"dfsim.source": info["source"]}
    metadata.update({"dfsim.dim." + k: str(v) for k, v in dims.items()})
    weights = set(info["parameter_names"]) | set(info["buffer_names"])
    strip_graph.strip(model, weights, metadata, fold_transposes=name not in FROM_VISION_PYTHON)
    path = os.path.join(out, name + ".onnx")
    with open(path, "wb") as file:
        file.write(model.SerializeToString(deterministic=True))

    model = onnx.load(path, load_external_data=False)
    stripped = [t for t in model.graph.initializer if strip_graph.is_stripped(t) and
                t.data_type in strip_graph.FLOATS]
    parameters = sum(strip_graph.elements(t) for t in stripped if t.name not in info["buffer_names"])
    assert parameters == info["parameters"], (name, parameters, info["parameters"])
    by_op = count_macs.macs(model, dims)
    counted = sum(by_op.values())
    assert abs(counted - expected) <= 0.005 * expected, (name, counted, expected)
    if name in CLOSED:
        assert counted == expected, (name, counted, expected)
    entry.update(counted_macs=counted, macs_by_op=by_op, dims=dims, parameters=parameters,
                 stored_weights=sum(strip_graph.elements(t) for t in stripped), nodes=len(model.graph.node),
                 opset=model.opset_import[0].version)
    print(f"{name}: {len(model.graph.node)} nodes, {os.path.getsize(path)} bytes, {parameters} parameters, "
          f"{counted} MACs ({counted / expected - 1:+.3%})", flush=True)
    return entry


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--vision-python", default="/usr/bin/python3")
    parser.add_argument("--scratch", help="keep the exports, weights and all, here; reuse those that are there")
    parser.add_argument("--out", default=HERE)
    args = parser.parse_args()
    names = args.names or NAMES
    for name in names:
        if name not in NAMES:
            sys.exit(f"make_zoo.py: no model {name!r}; there are: {' '.join(NAMES)}")
    os.makedirs(args.out, exist_ok=True)
    table = os.path.join(args.out, "expected_macs.json")
    entries = {}
    if os.path.exists(table):
        with open(table) as file:
            entries = json.load(file)
    with tempfile.TemporaryDirectory() as temporary:
        raw = args.scratch or temporary
        os.makedirs(raw, exist_ok=True)
        for name in names:
            export = os.path.join(raw, name + ".onnx")
            if not os.path.exists(export):
                vision = name in FROM_VISION_PYTHON
                python = args.vision_python if vision else sys.executable
                script = os.path.join(HERE, "export_vision.py" if vision else "export_text.py")
                subprocess.run([python, script, raw, name], check=True, env=dict(os.environ, PYTHONHASHSEED="0"))
            entries[name] = finish(name, raw, args.out)
            if not args.scratch:
                os.remove(export)
    with open(table, "w") as file:
        json.dump({n: entries[n] for n in sorted(entries)}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
