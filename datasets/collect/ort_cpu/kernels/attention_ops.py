#!/usr/bin/env python3
"""Measures forms of attention that exported decoders have: keys of an encoder, caches that grow, one token at a time.

usage: attention_ops.py [--held-out] > attention_ops.csv

Needs numpy, onnx and onnxruntime. Each network has one operator; it runs half a second, nine times at least, with the
profiler on; the kernel's fastest run counts, as other work only makes a kernel longer. --held-out: sizes that the laws
(opmodel/model/laws/cpu/decoder_kernels.h) were not made from.

cross: MultiHeadAttention with keys and values by heads, as an encoder left them. cached: MultiHeadAttention that
returns a cache longer by its tokens. masked: DecoderMaskedMultiHeadAttention over a cache in place with room for more;
masked beams: the same with the beams' indirection; masked cross: its keys and values by heads. capped:
GroupQueryAttention with softcap over a cache that grows. standard, standard capped: ONNX's Attention.
"""
import argparse
import csv
import json
import os
import pathlib
import sys
import tempfile

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from decoder_ops import attention_with_cache, normal, value  # noqa: E402
from measure import kernel_times_us, make_session  # noqa: E402

MICROSOFT = "com.microsoft"
# (batch, tokens, keys or cache, heads, size); masked: the cache's room comes last
CROSS = ((1, 1, 1500, 6, 64), (1, 1, 1500, 20, 64), (1, 4, 1500, 12, 64), (4, 1, 512, 8, 64), (1, 64, 1500, 8, 64),
         (1, 16, 128, 12, 64), (4, 128, 512, 12, 64), (1, 256, 256, 16, 64))
CACHED = ((1, 1, 127, 6, 64), (1, 1, 511, 20, 64), (1, 1, 2047, 16, 64), (4, 1, 255, 8, 64), (1, 1, 1023, 32, 128),
          (1, 4, 255, 12, 64), (1, 64, 64, 12, 64), (1, 128, 896, 12, 64))
MASKED = ((1, 1, 63, 6, 64, 448), (1, 1, 223, 20, 64, 448), (5, 1, 223, 8, 64, 448), (4, 1, 15, 12, 64, 448),
          (1, 1, 1023, 16, 64, 2048), (8, 1, 447, 12, 64, 512))
STANDARD = ((1, 128, 128, 12, 64), (1, 512, 512, 12, 64), (8, 64, 64, 12, 64), (1, 64, 512, 16, 64), (1, 1, 512, 16, 64))
HELD_OUT = {"cross": ((1, 1, 1500, 8, 64), (5, 1, 1500, 12, 64), (2, 32, 300, 16, 64)),
            "cached": ((1, 1, 300, 8, 64), (2, 1, 700, 32, 64), (1, 32, 96, 16, 64)),
            "masked": ((1, 1, 127, 8, 64, 448), (4, 1, 300, 20, 64, 448)),
            "masked beams": ((1, 1, 127, 8, 64, 448), (4, 1, 300, 20, 64, 448)),
            "masked cross": ((1, 1, 1500, 8, 64), (5, 1, 1500, 12, 64)),
            "capped": ((1, 1, 300, 16, 64), (1, 96, 96, 8, 128)),
            "standard": ((1, 256, 256, 8, 64), (2, 16, 700, 12, 64)),
            "standard capped": ((1, 256, 256, 8, 64), (2, 16, 700, 12, 64))}
ALL = {"cross": CROSS, "cached": CACHED, "masked": MASKED, "masked beams": MASKED,
       "masked cross": tuple(shape for shape in CROSS if shape[1] == 1), "capped": CACHED, "standard": STANDARD,
       "standard capped": STANDARD}


def network(node, feed, outputs):
    kinds = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int32): TensorProto.INT32}
    inputs = [value(name, x.shape, kinds[x.dtype]) for name, x in feed.items()]
    graph = helper.make_graph([node], "g", inputs, [value(name, extents) for name, extents in outputs])
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), feed


def cross(batch, tokens, keys, heads, size, rng, operator="MultiHeadAttention"):
    feed = {"q": normal(rng, batch, tokens, heads * size), "k": normal(rng, batch, heads, keys, size),
            "v": normal(rng, batch, heads, keys, size)}
    node = helper.make_node(operator, ["q", "k", "v"], ["y"], "a", domain=MICROSOFT, num_heads=heads)
    return network(node, feed, [("y", [batch, tokens, heads * size])])


def cached(batch, tokens, past, heads, size, rng):
    feed = {name: normal(rng, batch, tokens, heads * size) for name in "qkv"}
    feed |= {name: normal(rng, batch, heads, past, size) for name in ("past_k", "past_v")}
    node = helper.make_node("MultiHeadAttention", ["q", "k", "v", "", "", "", "past_k", "past_v"],
                            ["y", "new_k", "new_v"], "a", domain=MICROSOFT, num_heads=heads, unidirectional=1)
    grown = [batch, heads, past + tokens, size]
    return network(node, feed, [("y", [batch, tokens, heads * size]), ("new_k", grown), ("new_v", grown)])


def masked(batch, tokens, past, heads, size, room, rng, beams=1):
    feed = {name: normal(rng, batch, tokens, heads * size) for name in "qkv"}
    feed |= {name: normal(rng, batch, heads, room, size) for name in ("past_k", "past_v")}
    feed["length"] = np.array([past], np.int32)
    names = ["q", "k", "v", "", "", "past_k", "past_v", "length"]
    if beams > 1:
        feed |= {"beams": np.array([beams], np.int32),
                 "rows": rng.integers(0, beams, (batch // beams, beams, room)).astype(np.int32)}
        names += ["beams", "rows"]
    node = helper.make_node("DecoderMaskedMultiHeadAttention", names, ["y", "new_k", "new_v"], "a", domain=MICROSOFT,
                            num_heads=heads, past_present_share_buffer=1)
    cache = [batch, heads, room, size]
    return network(node, feed, [("y", [batch, tokens, heads * size]), ("new_k", cache), ("new_v", cache)])


def standard(batch, tokens, keys, heads, size, rng, **attributes):
    feed = {"q": normal(rng, batch, tokens, heads * size), "k": normal(rng, batch, keys, heads * size),
            "v": normal(rng, batch, keys, heads * size)}
    node = helper.make_node("Attention", ["q", "k", "v"], ["y"], "a", q_num_heads=heads, kv_num_heads=heads,
                            **attributes)
    return network(node, feed, [("y", [batch, tokens, heads * size])])


def case(form, shape, rng):
    """(model, feed)"""
    if form == "capped":
        graph, feed = attention_with_cache(*shape[:4], max(1, shape[3] // 2), shape[4], rng)
        graph.node[0].attribute.append(helper.make_attribute("softcap", 30.0))
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9), feed
    makers = {"cross": cross, "cached": cached, "masked": masked, "standard": standard,
              "masked beams": lambda *s: masked(*s, beams=max(s[0], 1)),
              "masked cross": lambda *s: cross(*s, operator="DecoderMaskedMultiHeadAttention"),
              "standard capped": lambda *s: standard(*s, softcap=30.0)}
    return makers[form](*shape, rng)


def fastest_us(model, feed, threads, folder):
    return sum(us for _, us in kernel_times_us(model, feed, threads, folder, 9, 0.5, min))


def shared_cache_us(model, feed, threads, folder):
    """As fastest_us(), with one buffer for a cache and its result, as beam search has it."""
    session = make_session(model, threads, profile_prefix=os.path.join(folder, "profile"))
    binding = session.io_binding()
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(x) for name, x in feed.items()}
    for name, operand in values.items():
        binding.bind_ortvalue_input(name, operand)
    for past, present in (("past_k", "new_k"), ("past_v", "new_v")):
        binding.bind_ortvalue_output(present, values[past])
    binding.bind_output("y")
    for _ in range(100):
        session.run_with_iobinding(binding)
    path = pathlib.Path(session.end_profiling())
    events = json.loads(path.read_text())
    path.unlink()
    return min(event["dur"] for event in events
               if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--held-out", action="store_true")
    rng = np.random.default_rng(0)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["form", "batch", "tokens", "keys", "heads", "size", "room", "us_1_thread", "us_2_threads"])
    with tempfile.TemporaryDirectory() as folder:
        for form, shapes in (HELD_OUT if parser.parse_args().held_out else ALL).items():
            for shape in shapes:
                model, feed = case(form, shape, rng)
                measure = shared_cache_us if form.startswith("masked") and len(shape) > 5 else fastest_us
                times = [measure(model.SerializeToString(), feed, threads, folder) for threads in (1, 2)]
                room = shape[5] if len(shape) > 5 else ""
                writer.writerow([form, *shape[:5], room] + [f"{time:.1f}" for time in times])
                sys.stdout.flush()


if __name__ == "__main__":
    main()
