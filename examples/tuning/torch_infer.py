"""Inference of a small convolutional network with PyTorch, for dfsim tune to run.

usage: torch_infer.py [--batch N] [--threads N] [--inter N] [--seconds X]
Prints the rate in samples per second, after a warm-up. Needs torch.
"""
import argparse
import time

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=1)
parser.add_argument("--threads", type=int, default=0, help="inside an operator; 0 = PyTorch's choice")
parser.add_argument("--inter", type=int, default=0, help="operators at once; 0 = PyTorch's choice")
parser.add_argument("--seconds", type=float, default=1)
options = parser.parse_args()
if options.threads:
    torch.set_num_threads(options.threads)
if options.inter:
    torch.set_num_interop_threads(options.inter)

layers, channels = [], 3
for width in (32, 64, 128, 256):
    layers += [torch.nn.Conv2d(channels, width, 3, stride=2, padding=1),
               torch.nn.BatchNorm2d(width), torch.nn.ReLU()]
    channels = width
model = torch.nn.Sequential(*layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                            torch.nn.Linear(channels, 1000)).eval()
images = torch.rand(options.batch, 3, 128, 128)
with torch.inference_mode():
    for _ in range(3):
        model(images)
    runs, begin = 0, time.perf_counter()
    while runs < 3 or time.perf_counter() - begin < options.seconds:
        model(images)
        runs += 1
    seconds = time.perf_counter() - begin
print(f"rate: {runs * options.batch / seconds:.3f} samples/s")
