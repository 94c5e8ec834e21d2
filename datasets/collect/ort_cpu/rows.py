"""Rows of dfsim's profile schema (datasets/profiles/SCHEMA.md) from what ONNX Runtime executed.

ONNX Runtime's profile has times and shapes of each node, its optimised model has operators and attributes;
they meet by the node's name. Operands and attributes are written as dfsim describes the same node of a
graph it lowered itself, so that both are one shape to a cost model.
"""

import collections
import json
import pathlib
import statistics

CLASSES = json.loads((pathlib.Path(__file__).parent / "op_classes.json").read_text())
DTYPES = {"float": "float32", "double": "float64"}
KERNEL_TIME = "_kernel_time"
# The profiler gives whole microseconds, cut off; below this mean times of the middle half say more than medians.
COARSE_US = 40
CUT_OFF_US = 0.5

COLUMNS = ["device", "runtime", "runtime_version", "op_type", "op_class", "attributes", "inputs", "outputs", "time_ns",
           "spread_ns", "samples", "timing", "network", "batch", "count", "name", "provenance"]


def qualified(node):
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"


def attributes_of(node):
    import onnx
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def text_of(values):
    return ",".join(str(int(v)) for v in values)


def from_front(axis, rank):
    return axis + rank if axis < 0 else axis


def activation_attribute(attributes):
    """The function that a fused convolution or product applies to its results."""
    return {"activation": text_of_mode(attributes["activation"])} if attributes.get("activation") else {}


def window_attributes(kind, attributes, weight):
    kernel = list(attributes.get("kernel_shape") or weight[2:])
    n = len(kernel)
    strides = list(attributes.get("strides") or [1] * n)
    dilations = list(attributes.get("dilations") or [1] * n)
    pads = list(attributes.get("pads") or [0] * (2 * n))
    pairs = {"kernel_shape": text_of(kernel), "pads": text_of(pads), "strides": text_of(strides)}
    if kind in ("Conv", "FusedConv", "ConvTranspose", "QLinearConv", "ConvInteger"):
        pairs["dilations"] = text_of(dilations)
        pairs["group"] = str(attributes.get("group", 1))
        pairs.update(activation_attribute(attributes))
        if kind == "ConvTranspose":
            pairs["output_padding"] = text_of(attributes.get("output_padding") or [0] * n)
    else:
        pairs["ceil_mode"] = str(attributes.get("ceil_mode", 0))
        if kind == "MaxPool":
            pairs["dilations"] = text_of(dilations)
    return pairs


def text_of_mode(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def resize_attributes(kind, attributes):
    """Mode and coordinates decide the algorithm."""
    pairs = {"mode": text_of_mode(attributes.get("mode", "nearest"))}
    default = "asymmetric" if kind == "Upsample" else "half_pixel"
    pairs["coordinates"] = text_of_mode(attributes.get("coordinate_transformation_mode", default))
    if attributes.get("antialias", 0):
        pairs["antialias"] = "1"
    return pairs


def reduce_axes(node, attributes, constants, rank):
    axes = attributes.get("axes")
    if axes is None and len(node.input) > 1 and node.input[1] in constants:
        axes = [int(v) for v in constants[node.input[1]].reshape(-1)]
    return sorted(from_front(a, rank) for a in axes) if axes else list(range(rank))


def canonical_attributes(node, shapes, constants, opset):
    """The attributes that datasets/profiles/SCHEMA.md keeps, as text. shapes: of the operands, None where one is left out."""
    kind = node.op_type
    attributes = attributes_of(node)
    rank = len(shapes[0]) if shapes and shapes[0] is not None else 0
    if kind in ("Conv", "FusedConv", "ConvTranspose", "QLinearConv", "ConvInteger", "MaxPool", "AveragePool", "LpPool"):
        weight = shapes[3 if kind == "QLinearConv" else 1] if "Conv" in kind else ()
        pairs = window_attributes(kind, attributes, weight)
    elif kind in ("Gemm", "FusedGemm"):
        pairs = {name: str(attributes.get(name, 0)) for name in ("transA", "transB")}
        pairs.update(activation_attribute(attributes))
    elif kind == "FusedMatMul":
        pairs = {name: str(attributes.get(name, 0)) for name in ("transA", "transB", "transBatchA", "transBatchB")}
    elif kind in ("Softmax", "LogSoftmax", "LayerNormalization", "Concat", "Split", "Gather"):
        softmax = kind in ("Softmax", "LogSoftmax")
        default = 1 if softmax and opset < 13 else -1 if softmax or kind == "LayerNormalization" else 0
        pairs = {"axis": str(from_front(attributes.get("axis", default), rank))}
    elif kind in ("GatherElements", "ScatterElements", "Scatter"):
        axis = from_front(attributes.get("axis", 0), rank)
        pairs = {"axis": str(axis)} if any(extent != 1 for extent in shapes[0][axis + 1:]) else {}
    elif kind in ("QuantizeLinear", "DequantizeLinear"):
        axis = from_front(attributes.get("axis", 1), rank)
        scale = shapes[1]
        several = scale is not None and len(scale) == 1 and scale[0] > 1
        pairs = {"axis": str(axis)} if several and any(extent != 1 for extent in shapes[0][axis + 1:]) else {}
    elif kind == "Transpose":
        pairs = {"perm": text_of(attributes.get("perm") or range(rank)[::-1])}
    elif kind == "Attention" and node.domain == "com.microsoft":
        pairs = {"num_heads": str(attributes.get("num_heads", 0))}
    elif kind == "QuickGelu":
        pairs = {} if attributes.get("alpha", 1.702) == 1 else {"scaled": "1"}
    elif kind == "Gelu" and node.domain != "com.microsoft":
        pairs = {"approximate": "tanh"} if text_of_mode(attributes.get("approximate", "none")) == "tanh" else {}
    elif kind == "MatMulNBits":
        pairs = {"accuracy_level": str(attributes.get("accuracy_level", 0)), "bits": str(attributes.get("bits", 4))}
    elif kind == "RoiAlign":
        pairs = {"sampling_ratio": str(attributes.get("sampling_ratio", 0))}
    elif kind == "Pow":
        exponent = constants.get(node.input[1])
        known = exponent is not None and exponent.size == 1 and float(exponent.reshape(-1)[0]) in (2.0, 3.0)
        pairs = {"exponent": str(int(exponent.reshape(-1)[0]))} if known else {}
    elif kind in ("Resize", "Upsample"):
        pairs = resize_attributes(kind, attributes)
    elif kind == "Pad":
        mode = text_of_mode(attributes.get("mode", "constant"))
        pairs = {} if mode == "constant" else {"mode": mode}
    elif kind.startswith("Reduce"):
        pairs = {"axes": text_of(reduce_axes(node, attributes, constants, rank)),
                 "keepdims": str(attributes.get("keepdims", 1))}
    else:
        pairs = {}
    return ";".join(f"{name}={pairs[name]}" for name in sorted(pairs))


def onnx_dtype(data_type):
    """ONNX Runtime's name of an ONNX type."""
    import onnx
    return onnx.TensorProto.DataType.Name(data_type).lower()


def tensor_text(item):
    (dtype, extents), = item.items()
    return f"{DTYPES.get(dtype, dtype)}[{'x'.join(str(e) for e in extents)}]"


def middle_time_us(durations):
    """Median, or for times near the profiler's resolution the mean of the middle half."""
    ordered = sorted(durations)
    if statistics.median(ordered) < COARSE_US and len(ordered) >= 4:
        quarter = len(ordered) // 4
        ordered = ordered[quarter:len(ordered) - quarter]
        return statistics.fmean(ordered) + CUT_OFF_US
    return statistics.median(ordered) + CUT_OFF_US


def read_profile(path, skip):
    """Durations in us and shapes of every node, without the first `skip` runs; the runs' own times; the arena."""
    events = json.loads(pathlib.Path(path).read_text())
    runs = sorted((e["ts"], e["dur"]) for e in events if e.get("cat") == "Session" and e["name"] == "model_run")
    start = runs[skip][0] if len(runs) > skip else float("inf")
    nodes = collections.OrderedDict()
    in_order = sorted((e for e in events if e.get("cat") == "Node"), key=lambda e: e["ts"])
    second = runs[1][0] if len(runs) > 1 else float("inf")
    arena = arena_of([e["args"] for e in in_order if e["ts"] < second])
    for event in in_order:
        if event["ts"] >= start and event["name"].endswith(KERNEL_TIME):
            name = event["name"][:-len(KERNEL_TIME)]
            entry = nodes.setdefault(name, {"args": event["args"], "us": []})
            entry["us"].append(event["dur"])
    return nodes, [dur for _, dur in runs[skip:]], arena


def arena_of(first_run):
    """Bytes in ONNX Runtime's arena in its first run, later ones take one block for all: as it was before the run,
    and at most, both as requested and as handed out."""
    if not first_run or "mem_bytes_requested_in_use" not in first_run[0]:
        return {}
    arena = {}
    for name, level, change in (("requested", "mem_bytes_requested_in_use", "mem_requested_in_use_delta"),
                                ("in_use", "mem_bytes_in_use", "mem_in_use_delta")):
        arena[name] = {"before": int(first_run[0][level]) - int(first_run[0][change]),
                       "peak": max(int(args[level]) for args in first_run)}
    return arena


class Executed:
    """The optimised model: what each node is, and the constants that attributes may be in."""

    def __init__(self, model):
        from onnx import numpy_helper
        self.nodes = {}
        self.duplicates = 0
        for node in model.graph.node:
            self.duplicates += node.name in self.nodes
            self.nodes[node.name] = node
        self.opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 1)
        self.fed = {v.name for v in model.graph.input}
        self.weights = {t.name: {onnx_dtype(t.data_type): list(t.dims)} for t in model.graph.initializer}
        self.constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer
                          if t.data_location != t.EXTERNAL and (t.data_type in (6, 7) or len(t.dims) == 0)}

    def operands(self, node, profiled):
        """The operands' types and shapes; None stands for one that is left out, or for all when they don't fit.

        The profile skips operands that are left out, and weights that were packed ahead of time.
        """
        names = list(node.input)
        while names and not names[-1]:
            names.pop()
        given = list(profiled)
        present = [n for n in names if n]
        if len(given) < len(present) and len(given) == sum(n not in self.weights for n in present):
            given = [self.weights[n] if n in self.weights else given.pop(0) for n in present]
        elif len(given) < len(present):
            merged = []
            for name in present:
                weight = self.weights.get(name)
                if weight is None or (given and given[0] == weight):
                    merged.append(given.pop(0) if given else None)
                else:
                    merged.append(weight)
            given = merged + given
        if len(given) != len(present) or None in given:
            return None
        return [given.pop(0) if name else None for name in names]

    def describe(self, name, args):
        """op_type, op_class, attributes, inputs, outputs of one profiled node; None when it is not known."""
        node = self.nodes.get(name)
        items = None if node is None else self.operands(node, args["input_type_shape"])
        if items is None:
            return None
        shapes = [None if item is None else next(iter(item.values())) for item in items]
        kind = qualified(node)
        return {
            "op_type": kind,
            "op_class": CLASSES.get(kind, "opaque"),
            "attributes": canonical_attributes(node, shapes, self.constants, self.opset),
            "inputs": ";".join("none" if item is None else tensor_text(item) for item in items),
            "outputs": ";".join(tensor_text(item) for item in args["output_type_shape"]),
            # The caller's inputs were last touched a whole run ago and are in no cache.
            "fed": any(n in self.fed for n in node.input),
        }


def op_rows(nodes, executed):
    """One row per distinct operator and how often it ran: the mean of its nodes' times, in ns."""
    groups = collections.OrderedDict()
    unknown = []
    for name, entry in nodes.items():
        described = executed.describe(name, entry["args"])
        if described is None:
            unknown.append(name)
            continue
        groups.setdefault(tuple(described.values()), (described, []))[1].append((name, entry["us"]))
    rows = []
    for described, members in groups.values():
        times = [middle_time_us(us) for _, us in members]
        spread = statistics.fmean(statistics.pstdev(us) for _, us in members)
        rows.append({**described, "time_ns": round(1000 * statistics.fmean(times)), "spread_ns": round(1000 * spread),
                     "samples": len(members[0][1]) * len(members), "count": len(members), "name": members[0][0]})
    return rows, unknown
