"""Measures PyTorch's host time per operator: dispatch, shape checks, allocation, module calls.

usage: dispatch.py [--rounds N] [--json OUT.json]
Each operator runs on tensors so small that its kernel takes next to no time, called through its
nn.Module where models do so, on one thread. A round times a block of calls; the result is the least
block of all rounds, so that other programs on the machine change little. Prints one line per
operator and mode: inference, training (the forward pass that records for autograd), backward (per
operator of the forward pass) and autocast, in microseconds, and its ratio to an addition.
"""

import argparse
import json
import sys
import time

import torch
from torch import nn

BLOCK = 200


def cases():
    """Name (dfsim's operator class, then the operator), a call without arguments."""
    x = torch.randn(1, 4, 8)
    image = torch.randn(1, 4, 4, 4)
    heads = torch.randn(1, 2, 4, 4)
    conv, linear = nn.Conv2d(4, 4, 1, bias=False), nn.Linear(8, 8)
    batch_norm, layer_norm = nn.BatchNorm2d(4).eval(), nn.LayerNorm(8)
    relu, gelu, softmax = nn.ReLU(), nn.GELU(), nn.Softmax(-1)
    pool, embedding = nn.MaxPool2d(2), nn.Embedding(8, 8)
    index = torch.zeros(1, 4, dtype=torch.long)
    table = {
        "conv/conv2d": (conv, image),
        "matmul/linear": (linear, x),
        "matmul/matmul": (lambda t: torch.matmul(t, t.transpose(-1, -2)), heads),
        "norm/batch_norm": (batch_norm, image),
        "norm/layer_norm": (layer_norm, x),
        "elementwise/add": (lambda t: t + t, x),
        "elementwise/mul": (lambda t: t * 0.5, x),
        "elementwise/relu": (relu, x),
        "elementwise/gelu": (gelu, x),
        "softmax/softmax": (softmax, heads),
        "pool/max_pool2d": (pool, image),
        "data_movement/cat": (lambda t: torch.cat([t, t], 1), x),
        "data_movement/contiguous": (lambda t: t.transpose(1, 2).contiguous(), x),
        "reduce/mean": (lambda t: t.mean(-1, keepdim=True), x),
        "attention/sdpa": (lambda t: nn.functional.scaled_dot_product_attention(t, t, t), heads),
        "view/reshape": (lambda t: t.view(1, 32), x),
        "view/transpose": (lambda t: t.transpose(1, 2), x),
    }
    for name, (call, operand) in table.items():
        yield name, call, operand
    yield "gather/embedding", embedding, index


def least(call, rounds):
    """Microseconds of one call in the fastest block."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter_ns()
        for _ in range(BLOCK):
            call()
        best = min(best, time.perf_counter_ns() - start)
    return best / BLOCK / 1e3


def backward_time(call, operand, rounds):
    if not operand.is_floating_point():
        source = None
    else:
        source = operand.clone().requires_grad_()
    best = float("inf")
    for _ in range(rounds):
        results = [call(source if source is not None else operand) for _ in range(BLOCK)]
        gradients = [torch.ones_like(result) for result in results]
        start = time.perf_counter_ns()
        torch.autograd.backward(results, gradients)  # one call: the engine's cost per operator
        best = min(best, time.perf_counter_ns() - start)
    return best / BLOCK / 1e3


def measure(rounds):
    rows = []
    for name, call, operand in cases():
        row = {"name": name}
        with torch.inference_mode():
            row["inference_us"] = least(lambda: call(operand), rounds)
            with torch.autocast("cpu", torch.bfloat16):
                row["autocast_us"] = least(lambda: call(operand), rounds)
        source = operand.clone().requires_grad_() if operand.is_floating_point() else operand
        row["training_us"] = least(lambda: call(source), rounds)
        row["backward_us"] = backward_time(call, operand, max(1, rounds // 4))
        rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = measure(arguments.rounds)
    add = next(row["inference_us"] for row in rows if row["name"] == "elementwise/add")
    print(f"{'operator':28}{'inference':>10}{'ratio':>8}{'autocast':>10}{'training':>10}{'backward':>10}")
    for row in rows:
        print(f"{row['name']:28}{row['inference_us']:10.2f}{row['inference_us'] / add:8.2f}"
              f"{row['autocast_us']:10.2f}{row['training_us']:10.2f}{row['backward_us']:10.2f}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"torch": torch.__version__, "operators": rows}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
