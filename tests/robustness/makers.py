"""Inputs that cost much or mean nothing, written byte by byte: no package is needed."""

import csv
import json


def varint(number):
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    """A field of a protobuf message: a number, text or the bytes of a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def node(op_type, inputs, outputs, name="", domain=""):
    fields = [(1, text) for text in inputs] + [(2, text) for text in outputs]
    fields += [(3, name)] * bool(name) + [(4, op_type)] + [(7, domain)] * bool(domain)
    return b"".join(field(number, value) for number, value in fields)


def value_info(name):
    dims = field(1, field(1, 4))
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, dims)))


def write_model(path, nodes, last, functions=()):
    graph = b"".join(field(1, each) for each in nodes) + field(2, "made")
    graph += field(11, value_info("x")) + field(12, value_info(last))
    model = field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17))
    model += b"".join(field(25, each) for each in functions)
    model += field(8, field(1, "local") + field(2, 1)) * bool(functions)
    path.write_bytes(model)


def calls_of_calls(path, levels, calls):
    """Functions of `calls` calls of the next one each: calls ** levels nodes if they were inlined."""
    functions = []
    for level in range(levels):
        inner = f"f{level + 1}" if level + 1 < levels else "Relu"
        domain = "local" if level + 1 < levels else ""
        values = ["a"] + [f"v{i}" for i in range(calls - 1)] + ["b"]
        body = b"".join(field(7, node(inner, [values[i]], [values[i + 1]], domain=domain))
                        for i in range(calls))
        functions.append(field(1, f"f{level}") + field(4, "a") + field(5, "b") + body +
                         field(9, field(1, "") + field(2, 17)) +
                         field(9, field(1, "local") + field(2, 1)) + field(10, "local"))
    write_model(path, [node("f0", ["x"], ["y"], "call", "local")], "y", functions)


def long_name_model(path, length):
    name = "n" * length
    write_model(path, [node("Relu", ["x"], [name]), node("Relu", [name], ["y"])], "y")


def nested_spans(path, count):
    """A thread whose spans nest in each other like the skins of an onion."""
    events = [{"ph": "X", "name": f"f{i}", "ts": i, "dur": 2 * (count - i), "pid": 1, "tid": 1}
              for i in range(count)]
    path.write_text(json.dumps({"traceEvents": events}))


def profile_with(path, cells):
    """A profile of one row; a surrogate in a cell becomes its byte, which is not UTF-8."""
    row = {"device": "NVIDIA A100-PCIE-40GB", "op_type": "MatMul", "op_class": "matmul",
           "inputs": "float32[64x64];float32[64x64]", "outputs": "float32[64x64]",
           "time_ns": "2000", "spread_ns": "10", "name": "product", **cells}
    with open(path, "w", newline="", encoding="utf-8", errors="surrogateescape") as out:
        writer = csv.DictWriter(out, fieldnames=list(row))
        writer.writeheader()
        writer.writerow(row)
