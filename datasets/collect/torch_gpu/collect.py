#!/usr/bin/env python3
"""Measures operators, copies and whole networks with PyTorch on a CUDA GPU, or on the CPU to try the script out.

    collect.py run -o campaign --minutes 25            # most valuable first; resumes where it stopped
    collect.py export campaign -o ops.csv.gz --runs runs.csv

See README.md.
"""

import argparse
import csv
import datetime
import gzip
import io
import itertools
import json
import os
import pathlib
import statistics
import sys
import time

RESULTS = "results.jsonl"
DTYPES = ("float32", "tf32", "float16", "bfloat16")
VISION = ["resnet50", "resnet18", "mobilenet_v2", "vgg16", "efficientnet_b0", "densenet121", "resnext50_32x4d",
          "convnext_tiny", "vit_b_16", "swin_t", "alexnet", "squeezenet1_1", "googlenet", "inception_v3", "mnasnet1_0",
          "shufflenet_v2_x1_0", "mobilenet_v3_large", "mobilenet_v3_small", "resnet34", "resnet101", "resnet152",
          "wide_resnet50_2", "densenet169", "densenet201", "vgg11", "vgg19", "efficientnet_b2", "efficientnet_b4",
          "efficientnet_v2_s", "regnet_y_400mf", "regnet_y_8gf", "regnet_x_3_2gf", "convnext_small", "convnext_base",
          "vit_b_32", "vit_l_16", "swin_s", "swin_b", "maxvit_t"]
TEXT = {"bert_base": ("BertConfig", "BertModel", {}),
        "bert_large": ("BertConfig", "BertModel", dict(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
                                                       intermediate_size=4096)),
        "distilbert": ("DistilBertConfig", "DistilBertModel", {}),
        "gpt2": ("GPT2Config", "GPT2Model", {}),
        "gpt2_medium": ("GPT2Config", "GPT2Model", dict(n_embd=1024, n_layer=24, n_head=16)),
        "t5_small_encoder": ("T5Config", "T5EncoderModel", dict(d_model=512, d_kv=64, d_ff=2048, num_layers=6)),
        "opt_125m": ("OPTConfig", "OPTModel", {}),
        "electra_small": ("ElectraConfig", "ElectraModel", dict(hidden_size=256, num_attention_heads=4,
                                                                intermediate_size=1024)),
        "albert_base": ("AlbertConfig", "AlbertModel", dict(hidden_size=768, num_attention_heads=12,
                                                            intermediate_size=3072))}
BATCHES = (1, 8, 64, 16, 2, 4, 32)
SEQUENCE = 128


class BadInput(Exception):
    """An error to report to the user without a traceback."""


def import_torch():
    try:
        import torch
    except ImportError as error:
        raise BadInput(f"{error}; install the packages of {pathlib.Path(__file__).with_name('requirements.txt')}") from error
    return torch


class Timer:
    """Times in ns: eager with events, kernels alone with the profiler, a captured graph; on the CPU the clock."""

    def __init__(self, torch, device, runs):
        self.torch, self.device, self.runs = torch, device, runs
        self.cuda = device == "cuda"

    def once(self, run):
        if not self.cuda:
            start = time.perf_counter_ns()
            run()
            return time.perf_counter_ns() - start
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.torch.cuda.synchronize()
        start.record()
        run()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e6

    def sampled(self, run):
        for _ in range(3):
            run()
        times = [self.once(run) for _ in range(self.runs)]
        return {"time_ns": max(1, round(statistics.median(times))), "spread_ns": round(statistics.pstdev(times)),
                "samples": len(times)}

    def eager(self, run):
        return self.sampled(run)

    def graph(self, run):
        """None where nothing can be captured."""
        if not self.cuda:
            return None
        stream = self.torch.cuda.Stream()
        stream.wait_stream(self.torch.cuda.current_stream())
        with self.torch.cuda.stream(stream):
            for _ in range(3):
                run()
        self.torch.cuda.current_stream().wait_stream(stream)
        captured = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(captured):
            run()
        return self.sampled(captured.replay)

    def kernels(self, run):
        """Device time of the kernels of one run; None on a CPU."""
        if not self.cuda:
            return None
        activity = self.torch.profiler.ProfilerActivity.CUDA
        run()
        with self.torch.profiler.profile(activities=[activity]) as profile:
            for _ in range(self.runs):
                run()
            self.torch.cuda.synchronize()
        total = sum(getattr(e, "self_device_time_total", getattr(e, "self_cuda_time_total", 0))
                    for e in profile.key_averages())
        return {"time_ns": max(1, round(total * 1000 / self.runs)), "spread_ns": "", "samples": self.runs}

    def host(self, run):
        """Host time to launch, the device left to itself."""
        if not self.cuda:
            return None
        times = []
        for _ in range(self.runs):
            self.torch.cuda.synchronize()
            start = time.perf_counter_ns()
            run()
            times.append(time.perf_counter_ns() - start)
        return {"time_ns": round(statistics.median(times)), "spread_ns": round(statistics.pstdev(times)),
                "samples": len(times)}


# --- operators: (op type, class, attributes, shapes of operands, function of the tensors)

def operators(torch):
    f = torch.nn.functional
    for m, n, k in itertools.product((1, 16, 64, 128, 512, 2048, 8192), (128, 768, 1024, 3072, 4096), (64, 768, 1024, 4096)):
        yield "Gemm", "matmul", "transA=0;transB=1", [(m, k), (n, k), (n,)], f.linear
    for b, m, n, k in itertools.product((12, 96, 768), (64, 128, 512), (64, 128, 512), (64, 128)):
        yield "MatMul", "matmul", "", [(b, m, k), (b, k, n)], torch.bmm
    for n, c, size, out, kernel, stride, group in itertools.product(
            (1, 8, 64), (3, 32, 64, 128, 256, 512), (7, 14, 28, 56, 112, 224), (32, 64, 256, 512), (1, 3, 7), (1, 2), (1, 0)):
        if (c == 3) != (size == 224) or c * size > 8192 or (group == 0 and (out != c or kernel == 1)):
            continue
        groups, pad = group or c, kernel // 2
        attributes = (f"dilations=1,1;group={groups};kernel_shape={kernel},{kernel};pads={pad},{pad},{pad},{pad};"
                      f"strides={stride},{stride}")
        yield ("Conv", "conv", attributes, [(n, c, size, size), (out, c // groups, kernel, kernel), (out,)],
               lambda x, w, b, s=stride, p=pad, g=groups: f.conv2d(x, w, b, s, p, 1, g))
    for rows, columns in itertools.product((16, 128, 1024, 8192, 65536), (64, 256, 768, 1024, 4096)):
        shape = (rows, columns)
        yield "Softmax", "softmax", "axis=1", [shape], lambda x: f.softmax(x, -1)
        yield ("LayerNormalization", "norm", "axis=1", [shape, (columns,), (columns,)],
               lambda x, w, b: f.layer_norm(x, x.shape[-1:], w, b))
        for name, function in (("Relu", torch.relu), ("Gelu", f.gelu), ("Tanh", torch.tanh), ("Sigmoid", torch.sigmoid)):
            yield name, "elementwise", "", [shape], function
        for name, function in (("Add", torch.add), ("Mul", torch.mul), ("Div", torch.div)):
            yield name, "elementwise", "", [shape, shape], function
            yield name, "elementwise", "", [shape, (columns,)], function
        yield "ReduceMean", "reduce", "axes=1;keepdims=1", [shape], lambda x: x.mean(-1, keepdim=True)
        yield "Transpose", "data_movement", "perm=1,0", [shape], lambda x: x.t().contiguous()
        yield "Concat", "data_movement", "axis=1", [shape, shape], lambda x, y: torch.cat((x, y), 1)
    for n, c, size in itertools.product((1, 8, 64), (64, 256), (14, 56, 112)):
        attributes = "ceil_mode=0;dilations=1,1;kernel_shape=3,3;pads=1,1,1,1;strides=2,2"
        yield "MaxPool", "pool", attributes, [(n, c, size, size)], lambda x: f.max_pool2d(x, 3, 2, 1)
        yield "GlobalAveragePool", "pool", "", [(n, c, size, size)], lambda x: f.adaptive_avg_pool2d(x, 1)
        yield ("BatchNormalization", "norm", "", [(n, c, size, size), (c,), (c,), (c,), (c,)],
               lambda x, w, b, m, v: f.batch_norm(x, m, v, w, b))
    for b, heads, s, size in itertools.product((1, 8, 32), (12, 16), (64, 128, 512), (64, 128)):
        if hasattr(f, "scaled_dot_product_attention"):
            yield ("Attention", "attention", f"causal=0;kind=encoder;kv_heads={heads}", [(b, heads, s, size)] * 3,
                   f.scaled_dot_product_attention)


def spread_out(items):
    """Most informative first: every 16th, then those between."""
    items = list(items)
    return [item for start in (0, 8, 4, 12, 2, 6, 10, 14, *range(1, 16, 2)) for item in items[start::16]]


def text_of(shapes, dtype):
    return ";".join(f"{dtype}[{'x'.join(map(str, s))}]" for s in shapes)


class Campaign:
    def __init__(self, options):
        self.torch = import_torch()
        self.options = options
        if options.device == "cuda" and not self.torch.cuda.is_available():
            raise BadInput("--device cuda: PyTorch sees no CUDA GPU; expected one (--device cpu tries the script out)")
        options.output.mkdir(parents=True, exist_ok=True)
        self.path = options.output / RESULTS
        self.done = {r["task"] for r in read_results(self.path)}
        self.timer = Timer(self.torch, options.device, options.runs)
        self.name = self.torch.cuda.get_device_name() if options.device == "cuda" else "CPU"
        self.deadline = time.monotonic() + 60 * options.minutes

    def record(self, task, **values):
        line = {"task": task, "device": self.name, "torch": self.torch.__version__,
                "date": datetime.date.today().isoformat(), **values}
        with self.path.open("ab") as file:
            file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self.done.add(task)
        left = max(0.0, self.deadline - time.monotonic()) / 60
        print(f"{task}: {values.get('error', 'measured')}; {left:.1f} min left", file=sys.stderr, flush=True)

    def measure(self, task, function):
        if task in self.done or time.monotonic() > self.deadline:
            return
        try:
            self.record(task, **function())
        except Exception as error:  # out of memory, an operator without a kernel for the type: the others go on
            if self.options.device == "cuda":
                self.torch.cuda.empty_cache()
            self.record(task, error=f"{type(error).__name__}: {error}"[:300])

    def dtype(self, name):
        tf32 = name == "tf32"
        self.torch.backends.cuda.matmul.allow_tf32 = tf32
        self.torch.backends.cudnn.allow_tf32 = tf32
        return self.torch.float32 if tf32 else getattr(self.torch, name)

    def operator(self, op, dtype):
        kind, op_class, attributes, shapes, function = op
        tensors = [self.torch.rand(s, device=self.options.device).to(self.dtype(dtype)) for s in shapes]
        with self.torch.no_grad():
            run = lambda: function(*tensors)  # noqa: E731
            out = run()
            times = {"launch-inclusive": self.timer.eager(run), "kernel-only": self.timer.kernels(run),
                     "host": self.timer.host(run)}
        stored = "float32" if dtype == "tf32" else dtype
        return {"kind": "op", "dtype": dtype, "op_type": kind, "op_class": op_class, "attributes": attributes,
                "inputs": text_of(shapes, stored), "outputs": text_of([tuple(out.shape)], stored), "times": times}

    def copy(self, direction, size):
        here, there = {"h2d": ("cpu", self.options.device), "d2h": (self.options.device, "cpu"),
                       "d2d": (self.options.device,) * 2}[direction]
        pin = self.options.device == "cuda"
        make = lambda at: self.torch.empty(size, dtype=self.torch.uint8, device=at,  # noqa: E731
                                           pin_memory=pin and at == "cpu")
        source, target = make(here), make(there)
        return {"kind": "copy", "direction": direction, "bytes": size,
                "times": {"launch-inclusive": self.timer.eager(lambda: target.copy_(source, non_blocking=True))}}

    def build(self, name):
        if name in TEXT:
            import transformers
            config, model, options = TEXT[name]
            built = getattr(transformers, model)(getattr(transformers, config)(**options))
            return built, lambda b: (self.torch.ones(b, SEQUENCE, dtype=self.torch.int64),)
        import torchvision
        options = {"aux_logits": False, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
        return (torchvision.models.get_model(name, weights=None, **options),
                lambda b: (self.torch.rand(b, 3, 224, 224),))

    def network(self, name, batch, dtype):
        self.torch.manual_seed(0)
        model, inputs = self.build(name)
        kind = self.dtype(dtype)
        model = model.eval().to(self.options.device).to(kind)
        feeds = [x.to(self.options.device) for x in inputs(batch)]
        feeds = [x.to(kind) if x.is_floating_point() else x for x in feeds]
        with self.torch.no_grad():
            run = lambda: model(*feeds)  # noqa: E731
            times = {"eager": self.timer.eager(run), "host": self.timer.host(run), "kernels": self.timer.kernels(run)}
            try:
                times["graph"] = self.timer.graph(run)
            except RuntimeError as error:  # some models read results back while they run
                times["graph_error"] = str(error)[:200]
        self.export(name, model, feeds)
        return {"kind": "network", "network": name, "batch": batch, "dtype": dtype,
                "dims": f"sequence={SEQUENCE}" if name in TEXT else "", "times": times}

    def export(self, name, model, feeds):
        """The graph without weights, once; graphs/zoo/strip_graph.py takes the weights out."""
        path = self.options.output / "networks" / f"{name}.onnx"
        if path.exists() or not self.options.onnx:
            return
        try:
            import onnx
            sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "graphs" / "zoo"))
            import strip_graph
            path.parent.mkdir(exist_ok=True)
            raw = path.with_suffix(".raw")
            names = ["input_ids" if name in TEXT else "input"]
            axes = {0: "batch", 1: "sequence"} if name in TEXT else {0: "batch"}
            options = {"dynamo": False} if int(self.torch.__version__.split(".")[0]) > 1 else {}
            self.torch.onnx.export(model.float(), tuple(x.float() if x.is_floating_point() else x for x in feeds), str(raw),
                                   input_names=names, output_names=["output"], dynamic_axes={names[0]: axes},
                                   opset_version=17 if options else 13, training=self.torch.onnx.TrainingMode.PRESERVE,
                                   do_constant_folding=False, **options)
            graph = onnx.load(raw)
            weights = {n for n, _ in model.named_parameters()} | {n for n, _ in model.named_buffers()}
            dims = {"dfsim.dim.batch": "1", **({"dfsim.dim.sequence": str(SEQUENCE)} if name in TEXT else {})}
            strip_graph.strip(graph, weights, dims, fold_transposes=False)
            path.write_bytes(graph.SerializeToString(deterministic=True))
            raw.unlink()
        except Exception as error:  # the measurement is what counts
            print(f"{name}: not exported: {error}", file=sys.stderr)

    def run(self):
        """Most valuable first: copies and a thin sweep, networks at batch 1, the rest."""
        dtypes = [d for d in self.options.dtypes if self.options.device == "cuda" or d != "tf32"]
        ops = spread_out(operators(self.torch))[:self.options.most_ops]
        names = self.options.networks if self.options.networks is not None else list(TEXT)[:4] + VISION + list(TEXT)[4:]
        for direction, power in itertools.product(("h2d", "d2h", "d2d"), range(10, 31 if self.options.device == "cuda" else 23, 2)):
            self.measure(f"copy/{direction}/{1 << power}", lambda d=direction, p=power: self.copy(d, 1 << p))
        first = len(ops) // 16 + 1
        for part, batches in ((ops[:first], BATCHES[:1]), (ops[first:4 * first], BATCHES[1:3]), (ops[4 * first:], BATCHES[3:])):
            for dtype, batch, name in itertools.product(dtypes, batches, names):
                if batch <= self.options.most_batch:
                    self.measure(f"network/{name}/{batch}/{dtype}",
                                 lambda n=name, b=batch, d=dtype: self.network(n, b, d))
            for op, dtype in itertools.product(part, dtypes):
                shapes = text_of(op[3], "")
                self.measure(f"op/{op[0]}/{shapes}/{op[2]}/{dtype}", lambda o=op, d=dtype: self.operator(o, d))


def read_results(path):
    """Whole lines; one that a stop cut off is dropped from the file."""
    if not path.exists():
        return []
    data = path.read_bytes()
    whole = data[:data.rfind(b"\n") + 1]
    if whole != data:
        path.write_bytes(whole)
    return [json.loads(line) for line in whole.splitlines() if line]


def write_csv(path, columns, table):
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(table)
    data = text.getvalue().encode()
    path.write_bytes(gzip.compress(data, 9, mtime=0) if path.suffix == ".gz" else data)


def export(options):
    records = [r for folder in options.results for r in read_results(folder / RESULTS) if "error" not in r]
    if not records:
        raise BadInput(f"no measurement in {', '.join(map(str, options.results))}; run `collect.py run` first")
    common = lambda r: {"device": r["device"], "runtime_version": r["torch"],  # noqa: E731
                        "provenance": "datasets/collect/torch_gpu"}
    rows = [{**r, **common(r), "runtime": "pytorch", "timing": timing, **r["times"][timing]}
            for r in records if r["kind"] == "op" for timing in ("launch-inclusive", "kernel-only") if r["times"].get(timing)]
    write_csv(options.output, ["device", "runtime", "runtime_version", "op_type", "op_class", "attributes", "inputs",
                               "outputs", "time_ns", "spread_ns", "samples", "timing", "provenance"], rows)
    print(f"{len(rows)} rows in {options.output}")
    if options.runs:
        table = [{**r, **common(r), "runtime": runtime, "samples": t["samples"], "time_ms": f"{t['time_ns'] / 1e6:.4f}",
                  "spread_ms": f"{t['spread_ns'] / 1e6:.4f}", "dtype": r["dtype"].replace("tf32", "float32")}
                 for r in records if r["kind"] == "network"
                 for key, runtime in (("eager", "torch-eager"), ("graph", "cuda-graph")) if (t := r["times"].get(key))]
        write_csv(options.runs, ["network", "batch", "dims", "dtype", "device", "runtime", "runtime_version", "time_ms",
                                 "spread_ms", "samples", "date", "provenance"], table)
        print(f"{len(table)} runs in {options.runs}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("run", help="measure for some minutes")
    command.add_argument("-o", "--output", type=pathlib.Path, required=True, help="folder of the results")
    command.add_argument("--minutes", type=float, required=True, help="budget; the last measurement may go beyond")
    command.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    command.add_argument("--dtypes", type=lambda s: s.split(","), default=list(DTYPES), help="default: " + ",".join(DTYPES))
    command.add_argument("--networks", nargs="*", choices=VISION + list(TEXT), metavar="NAME", help="default: all")
    command.add_argument("--runs", type=int, default=20, help="timed runs of each; default: 20")
    command.add_argument("--most-ops", type=int, default=100000, help="operators at most")
    command.add_argument("--most-batch", type=int, default=64)
    command.add_argument("--no-onnx", dest="onnx", action="store_false", help="do not export the networks")
    command = commands.add_parser("export", help="write a profile and a runs file")
    command.add_argument("results", type=pathlib.Path, nargs="+")
    command.add_argument("-o", "--output", type=pathlib.Path, required=True)
    command.add_argument("--runs", type=pathlib.Path)
    return parser.parse_args()


def main():
    options = parse_arguments()
    try:
        if options.command == "export":
            export(options)
        else:
            for dtype in options.dtypes:
                if dtype not in DTYPES:
                    raise BadInput(f"--dtypes: there is no '{dtype}'; valid: {', '.join(DTYPES)}")
            Campaign(options).run()
    except BadInput as error:
        sys.exit(f"collect.py: {error}")
    except KeyboardInterrupt:
        sys.exit("collect.py: stopped; what was measured is kept, the same command goes on")


if __name__ == "__main__":
    main()
