"""The campaign: a list of tasks in order, and the workers that measure them."""

import contextlib
import datetime
import hashlib
import itertools
import json
import os
import pathlib
import sys
import time

import networks
from gradients import gradients
from operators import operators, products, work_of
from timing import Lock, Timer, summary

CHUNK = 100
FIRST_CHUNKS = 30  # of operators, measured in turn with the first networks
DTYPES = ("float32", "tf32", "float16", "bfloat16", "amp-float16", "amp-bfloat16")
# Operators measured per type; the first chunks of all types have the same shapes.
OPERATORS = {"float16": 5000, "float32": 1200, "bfloat16": 400, "tf32": 600}
PRODUCTS, GRADIENTS = 2000, {"float16": 900, "float32": 900}
HEAVY = ("Gemm", "MatMul", "Conv", "ConvTranspose", "Attention")
MOST_WORK = {"float32": 8e10, "tf32": 1.5e11}  # multiplications; 16-bit types: as drawn
BATCHES = (8, 32, 16, 64, 4, 128)


def stored(dtype):
    return "float32" if dtype == "tf32" or dtype.startswith("amp-") else dtype


# Kinds of operators that are measured alone, CHUNK at a time: how they are drawn, and how many.
CHUNKED = {"ops": (operators, max(OPERATORS.values())), "products": (products, PRODUCTS),
           "gradients": (lambda torch, _: gradients(torch), max(GRADIENTS.values()))}


def any_of(items, *key):
    """One of the items, the same in every run."""
    return items[int(hashlib.sha256("/".join(map(str, key)).encode()).hexdigest(), 16) % len(items)]


def interleaved(*lists):
    """One of each list in turn."""
    return [item for items in itertools.zip_longest(*lists) for item in items if item is not None]


def chunks_of(kind, dtype, count, options):
    wanted = options.dtypes if kind != "products" else [d for d in options.dtypes if d == "bfloat16"]
    return [f"{kind}/{dtype}/{i}" for i in range(min(options.most_ops, count) // CHUNK or 1)] if dtype in wanted else []


def tasks(options):
    """The most valuable first: names of what to measure, without repetition."""
    wanted = lambda names: [n for n in names if options.networks is None or n in options.networks]  # noqa: E731
    learnt, held = wanted(networks.learnt()), wanted(networks.held_out())
    batch = lambda n, d: min(options.most_batch, any_of(BATCHES, n, d, options.seed))  # noqa: E731
    net = lambda names, dtype, of=batch, kind="network": [f"{kind}/{n}/{of(n, dtype)}/{dtype}" for n in names]  # noqa: E731
    one = lambda *_: 1  # noqa: E731
    ops = interleaved(*[chunks_of("ops", d, count, options) for d, count in OPERATORS.items()])
    special = interleaved(*[chunks_of("gradients", d, count, options) for d, count in GRADIENTS.items()],
                          chunks_of("products", "bfloat16", PRODUCTS, options))
    trained = [f"train/{n}/{min(b, options.most_batch)}/{d}"
               for n, b in {**networks.TRAINED_HELD_OUT, **networks.TRAINED}.items() if n in (*learnt, *held)
               for d in ("float32", "amp-float16")]
    first = interleaved(net(held, "float16"), net(held, "float32"), net(learnt, "float16"), ops[:FIRST_CHUNKS])
    second = interleaved(trained, net(learnt, "float32"), net(held, "amp-float16"), special, ops[FIRST_CHUNKS:2 * FIRST_CHUNKS])
    vision, text = ([n for n in learnt if n in zoo] for zoo in (networks.ZOO_VISION, networks.ZOO_TEXT))
    third = interleaved(net(vision, "float16", kind="channels-last"), net(text, "float16", kind="sdpa"),
                        net(held, "bfloat16"), net(learnt, "float16", one), ops[2 * FIRST_CHUNKS:])
    fourth = interleaved(net(learnt, "amp-float16"), net(learnt[::2], "tf32"), net(learnt[::3], "bfloat16"),
                         net(learnt[::3], "float32", one))
    everything = ["copies", *first, *second, *third, *fourth]
    if options.kind == "host":
        everything = ["ops/float16/0", "ops/float32/0",
                      *interleaved(net([*vision, *text], "float16", one, "host"), net(held, "float16", one, "host"),
                                   net([*vision, *text], "amp-float16", one, "host"))]
    return [t for t in dict.fromkeys(everything) if dtype_of(t) in (None, *options.dtypes)]


def dtype_of(task):
    parts = task.split("/")
    return None if len(parts) == 1 else parts[1] if parts[0] in CHUNKED else parts[-1]


def compiled_tasks(options):
    names = [n for n in (*networks.COMPILED_HELD_OUT, *networks.COMPILED) if options.networks is None or n in options.networks]
    return [f"compiled/{n}/{b}/float16" for b in (16, 1) for n in names] if "float16" in options.dtypes else []


def read_results(folder):
    """Records of all workers; a line that a stop cut off is dropped from its file."""
    records = []
    for path in sorted(folder.glob("results*.jsonl")):
        data = path.read_bytes()
        whole = data[:data.rfind(b"\n") + 1]
        if whole != data:
            path.write_bytes(whole)
        records += [json.loads(line) for line in whole.splitlines() if line]
    return records


class Worker:
    """Claims tasks until none is left or the time is over."""

    def __init__(self, torch, options, deadline):
        self.torch, self.options, self.deadline = torch, options, deadline
        self.path = options.output / f"results{options.worker}.jsonl"
        self.claims = options.output / "claims"
        self.timer = Timer(torch, options.device, options.runs)
        self.lock = Lock(options.output / "lock")
        self.cuda = options.device == "cuda"
        self.name = torch.cuda.get_device_name() if self.cuda else "CPU"
        self.sampled = {}  # kind -> operators, drawn when the first of them is measured

    def run(self, names):
        for task in names:
            if time.time() > self.deadline:
                return
            if self.claim(task):
                self.measure(task)

    def claim(self, task):
        try:
            os.close(os.open(self.claims / task.replace("/", "_"), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def measure(self, task):
        start = time.time()
        try:
            records = self.records(*task.split("/")) or [{"kind": "none", "error": "nothing measured"}]
        except Exception as error:  # out of memory, an operator without a kernel for the type: the others go on
            records = [{"kind": "none", "error": f"{type(error).__name__}: {error}"[:300]}]
        if self.cuda:
            with contextlib.suppress(RuntimeError):
                self.torch.cuda.empty_cache()
        self.record(task, records)
        outcome = records[0].get("error", "measured")
        if "CUDA error" in outcome:  # this process can use the GPU no more: a new one takes its place
            os.execv(sys.executable, [sys.executable, *sys.argv])
        spent, left = time.time() - start, max(0.0, self.deadline - time.time())
        print(f"{task}: {outcome}; took {spent:.1f} s, {left:.0f} s left", file=sys.stderr, flush=True)

    def record(self, task, records):
        common = {"task": task, "kernel_time": "union", "device": self.name, "torch": self.torch.__version__, "date": datetime.date.today().isoformat()}
        with self.path.open("ab") as file:
            for values in records:
                file.write(json.dumps({**common, **values}, separators=(",", ":")).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def records(self, kind, *rest):
        if kind == "copies":
            return self.copies()
        if kind in CHUNKED:
            return self.operators(kind, rest[0], int(rest[1]))
        return [self.network(kind, rest[0], int(rest[1]), rest[2])]

    def set_dtype(self, name):
        tf32 = name == "tf32"
        self.torch.backends.cuda.matmul.allow_tf32 = tf32
        self.torch.backends.cudnn.allow_tf32 = tf32
        return getattr(self.torch, stored(name))

    # --- copies

    def copies(self):
        powers = range(10, 31 if self.cuda else 23, 2)
        with self.lock:
            return [self.copy(d, 1 << p) for d, p in itertools.product(("h2d", "d2h", "d2d"), powers)]

    def copy(self, direction, size):
        here, there = {"h2d": ("cpu", self.options.device), "d2h": (self.options.device, "cpu"),
                       "d2d": (self.options.device,) * 2}[direction]
        make = lambda at: self.torch.empty(size, dtype=self.torch.uint8, device=at,  # noqa: E731
                                           pin_memory=self.cuda and at == "cpu")
        source, target = make(here), make(there)
        return {"kind": "copy", "direction": direction, "bytes": size,
                "times": {"launch-inclusive": self.timer.eager(lambda: target.copy_(source, non_blocking=True))}}

    # --- operators alone

    def drawn(self, kind):
        if kind not in self.sampled:
            draw, count = CHUNKED[kind]
            self.sampled[kind] = list(itertools.islice(draw(self.torch, self.options.seed), count))
        return self.sampled[kind]

    def operators(self, of, dtype, chunk):
        kind = self.set_dtype(dtype)
        chosen = self.drawn(of)[chunk * CHUNK:(chunk + 1) * CHUNK]
        if dtype == "tf32":
            chosen = [o for o in chosen if o[0] in HEAVY]
        most = (1e13 if of == "gradients" else MOST_WORK.get(dtype, 1e13)) if self.cuda else 1e8
        chosen = [o for o in chosen if work_of(o) < most or (self.cuda and o[0] not in HEAVY)][:self.options.most_ops]
        with self.lock, self.torch.no_grad():
            # The profiler slows the host down: what includes the host is timed before, for few operators.
            host = self.each(chosen, kind, self.host_times) if of == "ops" and chunk < 2 else {}
            with self.timer.profiled() as calls:
                outputs = self.each(chosen, kind, self.labelled_runs)
        kernels = {}
        for call in calls:
            if call["op"].startswith("dfsim:"):
                kernels.setdefault(int(call["op"].split(":")[1]), []).append(call)
        return [self.operator_record(chosen[i], dtype, shape, host.get(i, {}), kernels.get(i, []))
                for i, shape in outputs.items()]

    def each(self, chosen, kind, measure):
        """Index -> measure(index, function that runs the operator), of those that have a kernel for the type."""
        results = {}
        for index, (*_, shapes, function) in enumerate(chosen):
            with contextlib.suppress(RuntimeError):
                tensors = [self.torch.rand(s, device=self.options.device, dtype=kind) - 0.5 for s in shapes]
                results[index] = measure(index, lambda t=tensors, f=function: f(*t))
        return results

    def host_times(self, _, run):
        return {"launch-inclusive": self.timer.eager(run), "host": self.timer.host(run)}

    def labelled_runs(self, index, run):
        out = run()
        run()
        for _ in range(8):
            with self.timer.label(str(index)):
                run()
        return tuple(out.shape)

    def operator_record(self, operator, dtype, outputs, host, calls):
        op, op_class, attributes, shapes, _ = operator
        times = dict(host)
        if calls and self.cuda:
            times["kernel-only"] = summary([c["ns"] for c in calls])
        return {"kind": "op", "dtype": dtype, "op_type": op, "op_class": op_class, "attributes": attributes,
                "inputs": shapes, "outputs": [outputs], "times": {k: t for k, t in times.items() if t},
                "kernels": calls[0]["kernels"] if calls else []}

    # --- whole networks

    def network(self, kind, name, batch, dtype):
        self.torch.manual_seed(0)
        model, operands = networks.build(self.torch, name)
        stored_type = self.set_dtype(dtype)
        model = model.to(self.options.device).to(stored_type)
        feeds = [x.to(self.options.device) for x in operands(batch)]
        feeds = [x.to(stored_type) if x.is_floating_point() else x for x in feeds]
        if kind == "channels-last":
            model = model.to(memory_format=self.torch.channels_last)
            feeds = [x.contiguous(memory_format=self.torch.channels_last) for x in feeds]
        if kind == "sdpa":
            model.model.set_attn_implementation("sdpa")
        record = {"kind": kind, "network": name, "batch": batch, "dtype": dtype, "dims": networks.dims(name)}
        if kind == "train":
            return {**record, **self.training(model, feeds, dtype)}
        model.eval().requires_grad_(False)
        if kind == "compiled":
            self.torch._dynamo.reset()  # networks in one wrapper count as recompilations of it, and eight are the most
            model = self.torch.compile(model, dynamic=False)

        def run():
            with self.precision(dtype):  # its cache of cast weights lives as long as one run
                return model(*feeds)

        with self.torch.no_grad():
            return {**record, **(self.host_alone(run) if kind == "host" else self.timed(run, kind != "compiled"))}

    def precision(self, dtype):
        if not dtype.startswith("amp-"):
            return contextlib.nullcontext()
        return self.torch.autocast(self.options.device, dtype=getattr(self.torch, dtype.removeprefix("amp-")))

    def timed(self, run, inference):
        run()
        self.timer.synchronize()
        with self.lock:
            eager = self.timer.eager(run, 2)
            times, calls, problems = {"eager": eager}, [], {}
            short = eager["time_ns"] < 3e7
            if short:
                times["host"] = self.timer.host(run)
            try:
                calls = self.timer.network_calls(run, min(5, self.timer.runs_of(eager["time_ns"])))
            except RuntimeError as error:
                problems["profile_error"] = str(error)[:200]
            if inference and short:
                try:
                    times["graph"] = self.timer.graph(run)
                except RuntimeError as error:  # some models read results back while they run
                    problems["graph_error"] = str(error)[:200]
        if self.cuda and calls:
            times["kernels"] = {"time_ns": round(sum(c["ns"] for c in calls)), "samples": 1, "spread_ns": 0}
        return {"times": {k: t for k, t in times.items() if t}, "calls": merged(calls), **problems}

    def host_alone(self, run):
        """The host's share without the profiler, for a campaign of one worker, whose host is idle otherwise."""
        for _ in range(3):
            run()
        return {"times": {k: t for k, t in {"eager": self.timer.eager(run), "host": self.timer.host(run)}.items() if t}, "calls": []}

    def training(self, model, feeds, dtype):
        model.train()
        adam = feeds[0].dtype == self.torch.int64
        optimizer = (self.torch.optim.Adam(model.parameters()) if adam
                     else self.torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9))

        def step():
            optimizer.zero_grad(set_to_none=True)
            with self.precision(dtype):
                out = model(*feeds)
                while not hasattr(out, "backward"):
                    out = out[0]
                loss = out.float().mean()
            loss.backward()
            optimizer.step()

        return {**self.timed(step, False), "optimizer": "adam" if adam else "momentum"}


def merged(calls):
    """Equal calls once, with their number and mean time."""
    found = {}
    for call in calls:
        key = json.dumps([call["op"], call["shapes"], call["types"], call["values"]], default=str)
        entry = found.setdefault(key, {"op": call["op"], "shapes": call["shapes"], "types": call["types"],
                                       "values": json.loads(json.dumps(call["values"], default=str)), "ns": 0, "count": 0,
                                       "kernels": call["kernels"][:4]})
        entry["ns"] += call["ns"]
        entry["count"] += 1
    return [{**e, "ns": round(e["ns"] / e["count"])} for e in found.values()]


def prepare(folder):
    """Frees claims of what was not measured, keeps those of what was."""
    claims = pathlib.Path(folder) / "claims"
    claims.mkdir(parents=True, exist_ok=True)
    done = {r["task"].replace("/", "_") for r in read_results(folder)}
    for claim in claims.iterdir():
        if claim.name not in done:
            claim.unlink()
    for name in done:
        (claims / name).touch()
