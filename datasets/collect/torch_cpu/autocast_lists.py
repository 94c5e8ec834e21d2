"""Prints the operators that PyTorch's autocast treats specially: the source of
graphs/passes/precision/autocast_ops.inc.

usage: autocast_lists.py
One line per device type with the ATen operators that have a kernel of their own under its autocast
key. aten/src/ATen/autocast_mode.h says of each whether it computes in the lower precision or in fp32.
"""

import torch

for key in ("AutocastCUDA", "AutocastCPU"):
    registered = torch._C._dispatch_get_registrations_for_dispatch_key(key)
    names = sorted(name[len("aten::"):] for name in registered if name.startswith("aten::"))
    print(f"{key} ({len(names)}): {' '.join(names)}")
