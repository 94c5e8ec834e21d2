"""Both gradients of convolutions, to measure alone: shapes of the convolutions of networks.

The shapes come from a profile that the repository holds. Items are as those of operators.py.
"""

import csv
import gzip
import pathlib
import random

PROFILE = pathlib.Path(__file__).resolve().parents[2] / "measured" / "h100" / "ops.csv.gz"
MOST_WORK = 2e11  # multiplications


def shape_of(text):
    return tuple(int(e) for e in text.partition("[")[2].rstrip("]").split("x"))


def numbers(attributes, name):
    return [int(v) for v in attributes.partition(f"{name}=")[2].partition(";")[0].split(",")]


def convolutions():
    """(attributes, image, filter, result) of batches of four and more, once each, in a random order."""
    with gzip.open(PROFILE, "rt", encoding="utf-8", newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["op_type"] == "Conv" and r["network"]]
    found = {}
    for row in rows:
        image, weight = (shape_of(t) for t in row["inputs"].split(";")[:2])
        result = shape_of(row["outputs"])
        work = result[0] * result[2] * result[3] * weight[0] * weight[1] * weight[2] * weight[3] if len(result) == 4 else 0
        if len(image) == 4 and image[0] >= 4 and work < MOST_WORK:
            # Measured alone, an image has its channels first.
            found[(row["attributes"].removeprefix("channels_last=1;"), image, weight, result)] = None
    order = list(found)
    random.Random(1).shuffle(order)
    return order


def gradients(torch):
    """The gradient of the image, then that of the filter, of each convolution."""
    for attributes, image, weight, result in convolutions():
        strides, pads, dilations = (numbers(attributes, n) for n in ("strides", "pads", "dilations"))
        groups = numbers(attributes, "group")[0]
        options = [strides, pads[:2], dilations, False, [0, 0], groups]

        def image_gradient(grad, w, image=image, options=options):
            x = torch.empty(image, dtype=grad.dtype, device=grad.device)  # its values do not count
            return torch.ops.aten.convolution_backward(grad, x, w, None, *options, [True, False, False])[0]

        def filter_gradient(x, grad, weight=weight, options=options):
            w = torch.empty(weight, dtype=grad.dtype, device=grad.device)
            return torch.ops.aten.convolution_backward(grad, x, w, None, *options, [False, True, False])[1]

        image_attributes = attributes.replace("kernel_shape=", "input_gradient=1;kernel_shape=")
        image_attributes = image_attributes.replace(";pads=", ";output_padding=0,0;pads=")
        yield "ConvTranspose", "conv", image_attributes, [result, weight], image_gradient
        yield "tensorflow.ConvFilterGrad", "conv", attributes, [image, result], filter_gradient
