#!/usr/bin/env python3
"""Measures operators and whole networks with ONNX Runtime's CPU provider on this machine.

    collect.py run -o DIR --minutes 20 --networks ../../../graphs/zoo/*.onnx
    collect.py export DIR --device "AMD EPYC" -o profile.csv.gz --runs runs.csv

`run` goes on where an earlier one in the same folder stopped. See README.md.
"""

import argparse
import datetime
import json
import pathlib
import sys
import tempfile
import time

from results import RESULTS, BadInput, Results, has_drifted

HERE = pathlib.Path(__file__).resolve().parent
BUDGETS = {  # seconds of timed runs, least and most runs, warm-up runs
    "ops": {"seconds": 0.35, "least": 5, "most": 60, "warm": 2},
    "network-ops": {"seconds": 0.8, "least": 3, "most": 40, "warm": 1},
    "network": {"seconds": 0.9, "least": 4, "most": 60, "warm": 1},
}
SHARE_OF_NETWORKS = 0.45
STATIC, OPEN = "static", "open"  # dimensions frozen, or as the file has them
ALL = "all"  # ONNX Runtime's default level of graph optimisation
LEVELS = (ALL, "extended", "basic")
DEFAULT_FAMILIES = ("conv", "transformer", "mixture", "blocks", "small", "layouts", "attention", "lines", "forms",
                    "ways", "volumes")
# Every n-th sample of these families is also measured as int8 (QDQ).
INT8_FAMILIES = ("conv", "transformer", "blocks")
INT8_EVERY = 4


def load_libraries():
    """The measuring modules; they need packages that may be missing."""
    try:
        import measure
        import sampler
    except ImportError as error:
        raise BadInput(f"{error}; this collector needs the packages of {HERE / 'requirements.txt'}: make an "
                       "environment with python3 -m venv DIR and DIR/bin/pip install -r requirements.txt") from error
    return measure, sampler


# --- tasks

def network_name(path):
    """NAME of NAME.onnx and NAME.onnx.gz."""
    return path.name.removesuffix(".gz").removesuffix(".onnx")


def network_tasks(paths, batches, threads, dims, shapes=(STATIC,)):
    """shapes: "static" freezes all dimensions before ONNX Runtime sees the file, "open" leaves them as they are."""
    for path in paths:
        if not path.is_file():
            raise BadInput(f"{path}: no such file; --networks takes ONNX files")
    tasks = []
    for batch in batches:
        for path in paths:
            name = network_name(path)
            for kind in shapes:
                suffix = "/open" if kind == OPEN else ""
                tasks += [{"id": f"network/{name}/batch{batch}/threads{t}{suffix}", "kind": "network", "path": str(path),
                           "network": name, "batch": batch, "dims": dims, "threads": t, "dtype": "float32",
                           "shapes": kind} for t in threads]
    return tasks


def sample_task(family, seed, threads, dtype):
    prefix = "int8" if dtype == "int8" else "ops"
    return {"id": f"{prefix}/{family}/{seed}/threads{threads}", "dtype": dtype, "kind": "ops", "family": family,
            "seed": seed, "threads": threads}


def sample_tasks(families, count, threads, seed, adapted):
    """adapted: which seed a sample has is decided when its turn comes."""
    tasks = []
    for i in range(seed, seed + count):
        for family in families:
            dtypes = ("float32", "int8") if i % INT8_EVERY == 0 and family in INT8_FAMILIES else ("float32",)
            for t in threads:
                for dtype in dtypes:
                    task = sample_task(family, i, t, dtype)
                    tasks.append({**task, "id": f"adapted {task['id']}", "number": i} if adapted else task)
    return tasks


def at_level(tasks, level):
    """The same tasks under another level of graph optimisation; their results have names of their own."""
    return tasks if level == ALL else [{**task, "id": f"{task['id']}/{level}", "level": level} for task in tasks]


def load_graph(path):
    """The model without weight data that lies outside; packed files too."""
    import gzip
    import onnx
    data = pathlib.Path(path).read_bytes()
    return onnx.load_model_from_string(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def check_dims(dims, paths):
    """Each dimension given is one of at least one network."""
    sys.path.insert(0, str(HERE.parent / "ort_optimized_ops"))
    import ort_optimized_ops
    names = set()
    for path in paths if dims else []:
        try:
            names |= ort_optimized_ops.open_dims(load_graph(path))
        except Exception:  # of whatever library reads it: its own measurement records the error
            continue
    for name in dims:
        if name not in names:
            raise BadInput(f"--dim: no network has an open dimension '{name}'; found: {', '.join(sorted(names)) or 'none'}")


def has_open_dims(path):
    """False for a file that cannot be read: its one measurement records the error."""
    sys.path.insert(0, str(HERE.parent / "ort_optimized_ops"))
    import ort_optimized_ops
    try:
        return ort_optimized_ops.has_open_dims(load_graph(path))
    except Exception:  # of whatever library reads it
        return False


class Collector:
    def __init__(self, options, libraries):
        self.measure, self.sampler = libraries
        self.options = options
        self.results = Results(options.output)
        self.reference = self.measure.Reference()
        self.chooser = None
        if getattr(options, "adapt", None):
            import adapt
            self.chooser = adapt.Chooser(adapt.read_errors(options.adapt))
        self.chosen = {}  # (family, number of the sample) -> seed
        self.spent = {"ops": 0.0, "network": 0.0}

    def sample(self, task, scratch):
        network = self.sampler.network(task["family"], task["seed"])
        model = network.model()
        if task["dtype"] == "int8":
            import qdq
            qdq.quantise(model)
        model = model.SerializeToString()
        optimised = scratch / "sample.onnx"
        self.measure.make_session(model, 1, optimise=task.get("level", ALL), optimised_path=optimised)
        executed = self.measure.load_executed(optimised)
        record = self.measure.profiled(optimised, executed, task["threads"], self.reference, scratch, optimise=False,
                                       budget=BUDGETS["ops"], dims={"batch": network.batch})
        return {"family": task["family"], "seed": task["seed"], **record}

    def prepare(self, task):
        """Optimises a network once, with synthetic weights. Kept in the scratch folder for the next measurements."""
        sys.path.insert(0, str(HERE.parent / "ort_optimized_ops"))
        import onnx
        import ort_optimized_ops
        opened = task.get("shapes") == OPEN
        # One optimised file serves every batch size when its dimensions are open.
        level = task.get("level", ALL)
        parts = [task["network"], "open" if opened else f"batch{task['batch']}"] + [level] * (level != ALL)
        folder = self.options.scratch / "-".join(parts)
        optimised = folder / "optimised.onnx"
        if not optimised.exists() or self.has_other_dims(folder, task):
            folder.mkdir(parents=True, exist_ok=True)
            optimised.unlink(missing_ok=True)
            model = load_graph(task["path"])
            # A dimension that is given for several networks counts for those that have it.
            names = ort_optimized_ops.open_dims(model)
            given = {name: value for name, value in task["dims"].items() if name in names}
            dims = {**ort_optimized_ops.default_dims(model), **given, "batch": task["batch"]}
            (folder / "dims.json").write_text(json.dumps(dims))
            ort_optimized_ops.invent_weights(model, folder)
            if not opened:
                ort_optimized_ops.fix_dims(model, dims)
            elif not ort_optimized_ops.has_open_dims(model):
                raise BadInput(f"{task['path']}: has no open dimension")
            onnx.save(model, folder / "model.onnx")
            part = folder / "part.onnx"
            self.measure.make_session(folder / "model.onnx", 1, optimise=level, optimised_path=part)
            (folder / "model.onnx").unlink()
            (folder / ort_optimized_ops.WEIGHTS_FILE).unlink(missing_ok=True)
            part.rename(optimised)
        return optimised, {**json.loads((folder / "dims.json").read_text()), "batch": task["batch"]}

    @staticmethod
    def has_other_dims(folder, task):
        """An earlier run with another --dim has optimised the network."""
        known = json.loads((folder / "dims.json").read_text())
        return any(known.get(name, value) != value for name, value in task["dims"].items())

    def network(self, task, scratch):
        optimised, dims = self.prepare(task)
        executed = self.measure.load_executed(optimised)
        threads = task["threads"]
        # Whole runs on both sides of the profiled ones.
        first = self.measure.unprofiled(optimised, threads, self.reference, optimise=False, budget=BUDGETS["network"],
                                        dims=dims)
        ops = self.measure.profiled(optimised, executed, threads, self.reference, scratch, optimise=False,
                                    budget=BUDGETS["network-ops"], dims=dims)
        return {"network": task["network"], "batch": task["batch"], "dims": dims, "shapes": task.get("shapes", STATIC),
                **ops,
                **{k: first[k] for k in ("wall_us", "wall_spread_us", "wall_best_us")},
                "wall_runs": first["runs"], "wall_reference": first["reference"]}

    def run(self, task):
        start = time.monotonic()
        with tempfile.TemporaryDirectory(dir=self.options.scratch) as scratch:
            scratch = pathlib.Path(scratch)
            try:
                record = self.sample(task, scratch) if task["kind"] == "ops" else self.network(task, scratch)
            except Exception as error:  # whatever ONNX Runtime throws at a model: the others go on
                record = {"error": f"{type(error).__name__}: {error}"[:500]}
        baseline = self.results.baseline(task["threads"])
        seconds = time.monotonic() - start
        if "error" not in record:
            drifted = has_drifted(record["reference"], baseline)
            if "wall_reference" in record:
                drifted = drifted or has_drifted(record["wall_reference"], baseline)
            record["drifted"] = drifted
        self.results.add({"task": task["id"], "kind": task["kind"], "threads": task["threads"], "dtype": task["dtype"],
                          "onnxruntime": self.measure.onnxruntime.__version__, "level": task.get("level", ALL),
                          "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
                          "seconds": round(seconds, 2), **record})
        self.spent[task["kind"]] += seconds
        return record

    def resolved(self, task):
        """The task itself, or with --adapt the one of the best of a few seeds."""
        if "number" not in task:
            return task
        import adapt
        family, number = task["family"], task["number"]
        if (family, number) not in self.chosen:
            seeds = range(number * adapt.CANDIDATES, (number + 1) * adapt.CANDIDATES)
            self.chosen[family, number] = self.chooser.choose(
                [(seed, self.sampler.network(family, seed).contents) for seed in seeds])
        chosen = sample_task(family, self.chosen[family, number], task["threads"], task["dtype"])
        return at_level([chosen], task.get("level", ALL))[0]

    def next_task(self, queues):
        """Networks and operators by turns, so that each gets its share of the time."""
        total = sum(self.spent.values()) or 1
        order = ["network", "ops"] if self.spent["network"] / total < self.options.network_share else ["ops", "network"]
        for kind in order:
            while queues[kind]:
                task = self.resolved(queues[kind].pop(0))
                if self.results.wanted(task):
                    return task
        return None

    def campaign(self, tasks):
        queues = {kind: [t for t in tasks if t["kind"] == kind and self.results.wanted(t)]
                  for kind in ("network", "ops")}
        queues["network"].sort(key=self.results.tries)  # the sort is stable: else most valuable first
        deadline = time.monotonic() + 60 * self.options.minutes
        done = 0
        while time.monotonic() < deadline:
            task = self.next_task(queues)
            if task is None:
                break
            record = self.run(task)
            done += 1
            if task["kind"] == "network" or record.get("drifted"):
                queues[task["kind"]].append(task)
            left = deadline - time.monotonic()
            note = record.get("error") or f"{record['nodes']} nodes" + (", drifted" if record["drifted"] else "")
            print(f"{task['id']}: {note}; {len(queues['network'])} networks and {len(queues['ops'])} samples to go, "
                  f"{max(0, left) / 60:.1f} min left", file=sys.stderr, flush=True)
        return done


def parse_list(text, kind):
    values = text.split(",")
    if not all(v.isdigit() and int(v) > 0 for v in values):
        raise BadInput(f"--{kind}: found '{text}', expected positive numbers joined with commas")
    return [int(v) for v in values]


def parse_shapes(text):
    kinds = text.split(",")
    for kind in kinds:
        if kind not in (STATIC, OPEN):
            raise BadInput(f"--shapes: found '{kind}', expected {STATIC}, {OPEN} or both joined with a comma")
    return kinds


def run(options):
    libraries = load_libraries()
    dims = {}
    for item in options.dim:
        name, equals, value = item.rpartition("=")
        if not equals or not value.isdigit():
            raise BadInput(f"--dim: found '{item}', expected NAME=N")
        dims[name] = int(value)
    check_dims(dims, options.networks)
    threads = parse_list(options.threads, "threads")
    for family in options.families.split(","):
        if family not in libraries[1].FAMILIES:
            raise BadInput(f"--families: there is no family '{family}'; valid: {', '.join(libraries[1].FAMILIES)}")
    tasks = [t for t in network_tasks(options.networks, parse_list(options.batches, "batches"), threads, dims,
                                      parse_shapes(options.shapes)) if t["shapes"] == STATIC or has_open_dims(t["path"])]
    tasks += sample_tasks(options.families.split(","), options.samples, threads, options.seed,
                          options.adapt is not None)
    tasks = at_level(tasks, options.level)
    options.output.mkdir(parents=True, exist_ok=True)
    options.scratch = options.scratch or options.output / "scratch"
    options.scratch.mkdir(parents=True, exist_ok=True)
    done = Collector(options, libraries).campaign(tasks)
    print(f"{done} measurements made; all of them are in {options.output / RESULTS}", file=sys.stderr)


def prepare(options):
    """Optimises the networks ahead of time, so that `run` spends its minutes on measuring."""
    libraries = load_libraries()
    options.output.mkdir(parents=True, exist_ok=True)
    options.scratch = options.scratch or options.output / "scratch"
    options.scratch.mkdir(parents=True, exist_ok=True)
    collector = Collector(options, libraries)
    for task in network_tasks(options.networks, parse_list(options.batches, "batches"), [1], {},
                              parse_shapes(options.shapes)):
        try:
            collector.prepare(task)
            print(f"{task['network']} batch {task['batch']}: ready", file=sys.stderr, flush=True)
        except Exception as error:  # ONNX Runtime's; `run` will record it
            print(f"{task['network']} batch {task['batch']}: {error}", file=sys.stderr, flush=True)


def hardware(options):
    """Hardware files of this machine, one for each number of threads."""
    measure, _ = load_libraries()
    import export
    import probe
    threads = parse_list(options.threads, "threads")
    processor = options.device or probe.processor_name()
    names = [options.name if t == max(threads) else f"{options.name}-{t}t" for t in threads]
    paths = probe.write_hardware(measure, options.output, names, lambda t: export.device_name(processor, t), threads,
                                 options.cost_model or options.name, options.runtime or probe.usual_runtime(),
                                 json.loads(options.roofs.read_text())["threads"] if options.roofs else None)
    for path in paths:
        print(path)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (("run", "measure for some minutes"), ("prepare", "optimise the networks ahead of time")):
        command = commands.add_parser(name, help=text)
        command.add_argument("-o", "--output", type=pathlib.Path, required=True, help="folder of the results")
        command.add_argument("--networks", type=pathlib.Path, nargs="*", default=[], help="ONNX files, most valuable first")
        command.add_argument("--batches", default="1,8", help="batch sizes of networks; default: 1,8")
        command.add_argument("--shapes", default=f"{STATIC},{OPEN}",
                             help="measure networks with their dimensions frozen (static), as the file has them (open), "
                                  "or both ways (default); a file without open dimensions counts once")
        command.add_argument("--scratch", type=pathlib.Path, help="folder for models in between; default: in the output")
        if name == "run":
            command.add_argument("--minutes", type=float, required=True, help="stop after about this many minutes")
            command.add_argument("--network-share", type=float, default=SHARE_OF_NETWORKS,
                                 help=f"share of the time for networks; default: {SHARE_OF_NETWORKS}")
            command.add_argument("--dim", action="append", default=[], metavar="NAME=N", help="of networks")
            command.add_argument("--threads", default="1,2", help="threads to measure with; default: 1,2")
            command.add_argument("--families", default=",".join(DEFAULT_FAMILIES),
                                 help="of samples; default: all")
            command.add_argument("--samples", type=int, default=100000, help="samples of each family at most")
            command.add_argument("--seed", type=int, default=1, help="of the first sample")
            command.add_argument("--level", choices=LEVELS, default=ALL,
                                 help="of ONNX Runtime's graph optimisation; below 'all', images keep their layout, and "
                                      "networks count as samples; default: all")
            command.add_argument("--adapt", type=pathlib.Path, metavar="ERRORS.csv",
                                 help="take samples of operators that a model gets wrong: what `dfsim evaluate "
                                      "--rows` wrote")
    command = commands.add_parser("export", help="write profiles and a runs file")
    command.add_argument("results", type=pathlib.Path, nargs="+", help="folders of results")
    command.add_argument("--device", required=True, help="the processor's name; threads are added to it")
    command.add_argument("-o", "--output", type=pathlib.Path, required=True, help="profile to write (.csv, .csv.gz or .csv.xz)")
    command.add_argument("--runs", type=pathlib.Path, help="runs file to write (.csv)")
    command.add_argument("--busy", type=pathlib.Path, nargs="*", default=[],
                         help="those of the folders that were measured while other work ran: only their single-threaded measurements count")
    command.add_argument("--any-handover", action="store_true",
                         help="keep measurements with several threads of minutes in which the cores handed work over slowly")
    command.add_argument("--overheads", type=pathlib.Path,
                         help="file to write what the profiler added to each operator, for dfsim train (.json)")
    command.add_argument("--leave-out", type=pathlib.Path, nargs="*", default=[],
                         help="networks whose operators do not go into the profile (ONNX files)")
    command = commands.add_parser("hardware", help="measure this machine's peaks, write hardware files")
    command.add_argument("-o", "--output", type=pathlib.Path, required=True, help="folder to write to")
    command.add_argument("--device", help="the processor's name; default: what the system says")
    command.add_argument("--name", default="host", help="of the file with most threads; default: host")
    command.add_argument("--threads", default="1,2", help="default: 1,2")
    command.add_argument("--cost-model", help="name or folder of the model of these devices; default: the name")
    command.add_argument("--roofs", type=pathlib.Path, help="roofs.json of dfsim calibrate, for the roofs of dfsim roofline")
    command.add_argument("--runtime", help="default: ort-avx512 where the processor has that, else ort-cpu")
    return parser.parse_args()


def main():
    options = parse_arguments()
    try:
        if options.command == "export":
            import export
            export.export(options)
        else:
            {"run": run, "prepare": prepare, "hardware": hardware}[options.command](options)
    except BadInput as error:
        sys.exit(f"collect.py: {error}")
    except KeyboardInterrupt:
        sys.exit("collect.py: stopped; what was measured is kept, the same command goes on")


if __name__ == "__main__":
    main()
