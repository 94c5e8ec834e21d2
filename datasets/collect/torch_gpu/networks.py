"""The networks of graphs/zoo and datasets/measured/networks as PyTorch modules, with random weights.

A network has the name of its graph's file, so that a runs file finds the graph. Networks of the lists
"fresh" and "boards" of datasets/measured/networks/lists.json are held out: no model is trained on them, on
any device.
"""

import functools
import importlib.util
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
NETWORKS = ROOT / "datasets" / "measured" / "networks"
SEQUENCE = 128
sys.path[:0] = [str(ROOT / "graphs" / "zoo"), str(NETWORKS)]

ZOO_VISION = ("resnet50", "resnet18", "mobilenet_v2", "vgg16", "efficientnet_b0", "densenet121", "convnext_tiny", "vit_b_16",
              "swin_t", "mobilenet_v3_large", "unet")
ZOO_TEXT = ("bert_base", "bert_large", "distilbert", "gpt2", "gpt2_large", "t5_small_encoder")


@functools.cache
def exporter():
    """datasets/measured/networks/export_lists.py; tests/onnx, which it uses, has a module of the same name."""
    spec = importlib.util.spec_from_file_location("measured_export_lists", NETWORKS / "export_lists.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.exports.prepare_torchvision()
    return module


def lists():
    return {name: entries for name, entries in json.loads((NETWORKS / "lists.json").read_text()).items() if name != "note"}


def file_name(entry):
    """As export_lists.py names the file of an entry."""
    return entry.rpartition("/")[2].removeprefix("segmentation.").replace(".", "_")


HELD_OUT = ("boards", "fresh")


@functools.cache
def held_out():
    return [file_name(e) for name in HELD_OUT for e in lists()[name]]


@functools.cache
def entries():
    """File name -> entry, of all lists whose graphs ship, and of those held out."""
    found = {file_name(e): e for group in lists().values() for e in group}
    return {n: e for n, e in found.items() if n in held_out() or (NETWORKS / f"{n}.onnx.gz").exists()}


def learnt():
    """Networks whose operators may train a model."""
    import make_networks
    names = [*ZOO_VISION, *ZOO_TEXT, *make_networks.NAMES]
    return names + [n for n in entries() if n not in held_out()]


def batched(tensor, batch):
    return tensor[:1].expand(batch, *tensor.shape[1:]).contiguous()


def positional(model, feeds):
    """-> module, function of the batch that returns its operands"""
    return model, lambda batch: [batched(t, batch) for t in feeds]


def image(torch, model, side=(3, 224, 224)):
    return positional(model, [torch.rand(2, *side)])


def text(torch, model, inputs):
    tokens = torch.ones(2, SEQUENCE, dtype=torch.int64)
    return positional(model, [tokens] * inputs)


def text_of_zoo(torch, name):
    import export_text
    model, inputs, _ = export_text.build(name)
    model.model.set_attn_implementation("eager")
    return text(torch, model, len(inputs))


def text_beside(torch, name):
    """A transformer of make_networks.py."""
    import export_text
    import make_networks
    import transformers
    config, kind, options = make_networks.TEXT[name]
    model = getattr(transformers, kind)(getattr(transformers, config)(**options))
    model.set_attn_implementation("eager")
    if name in make_networks.SPEECH:
        encoder = model.encoder
        return positional(FirstResult.of(torch, encoder), [torch.rand(2, 80, 3000)])
    return text(torch, (export_text.Gpt2 if name in make_networks.CAUSAL else export_text.Encoder)(model), 2)


class FirstResult:
    """Calls a model that returns several tensors, and keeps the first."""

    @staticmethod
    def of(torch, model):
        class Wrapped(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = model

            def forward(self, *operands):
                return self.model(*operands, return_dict=False)[0]

        return Wrapped()


def of_lists(entry):
    model, feeds = exporter().build(entry.rpartition(".")[0])
    return positional(exporter().exports.Outputs(model, list(feeds)), list(feeds.values()))


def build(torch, name):
    """-> module, function of the batch that returns its operands; on the CPU, in fp32."""
    exporter()  # it makes torchvision usable, which timm and transformers import
    if name in ZOO_TEXT:
        return text_of_zoo(torch, name)
    if name in entries():
        return of_lists(entries()[name])
    import make_networks
    if name in make_networks.TEXT:
        return text_beside(torch, name)
    if name in make_networks.TIMM:
        import timm
        return image(torch, timm.create_model(name, exportable=True))
    if name == "unet":
        import export_vision
        return image(torch, export_vision.UNet(), (3, 256, 256))
    import torchvision
    options = {"aux_logits": False, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
    return image(torch, torchvision.models.get_model(name, weights=None, **options))


def dims(name):
    """Open dimensions of the graph besides the batch, as a runs file has them."""
    import make_networks
    tokens = name in ZOO_TEXT or (name in make_networks.TEXT and name not in make_networks.SPEECH)
    return f"sequence={SEQUENCE}" if tokens else ""


# Architectures whose training steps are measured, with batch sizes that fit any data-centre GPU.
TRAINED = {"resnet50": 32, "bert_base": 16, "gpt2": 8, "vit_b_16": 16, "vgg16": 16, "mobilenet_v2": 32, "densenet121": 16,
           "efficientnet_b0": 16, "resnet18": 64, "convnext_tiny": 16, "swin_t": 16, "bert_large": 8, "distilbert": 16,
           "resnext50_32x4d": 16, "t5_small_encoder": 16, "unet": 4}
TRAINED_HELD_OUT = {"resnet101d_old": 16, "seresnext50_32x4d_old": 16, "regnety_032_old": 16, "vgg16_bn_old": 16,
                    "efficientnet_b3_old": 16, "repvgg_b0_old": 32, "deit3_base_patch16_224_old": 16,
                    "swin_small_patch4_window7_224_old": 8, "convnextv2_tiny_old": 16, "mobilenetv4_conv_large_old": 16,
                    "roberta_large_old": 8, "gpt_neox_410m_new": 8, "dla60x_old": 16, "resmlp_24_224_old": 16}
COMPILED_HELD_OUT = ("resnet101d_old", "deit3_base_patch16_224_old", "regnety_032_old", "roberta_large_old", "mobilenetv4_conv_large_old",
                     "convnextv2_tiny_old")
COMPILED = ("resnet50", "bert_base", "vit_b_16", "mobilenet_v2", "gpt2", "convnext_tiny", "efficientnet_b0", "distilbert",
            "densenet121", "swin_t")
