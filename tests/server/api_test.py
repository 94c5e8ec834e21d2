#!/usr/bin/env python3
"""Asks `dfsim serve-api` as clients do: answers equal the command line's byte for byte, bad requests are
refused by their documented status, slow and vanished clients and many at once do no harm.

usage: api_test.py DFSIM
"""

import concurrent.futures
import contextlib
import gzip
import http.client
import io
import json
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ZOO = ROOT / "graphs/zoo"
BYTES = {"Content-Type": "application/octet-stream"}
# Under AddressSanitizer, whose shadow takes terabytes of addresses, no limit of memory can be set, and
# its figures say nothing.
SANITIZED = "--sanitized" in sys.argv
MEMORY_OPTIONS = ["--max-memory-gb", "0"] if SANITIZED else []
JSON = {"Content-Type": "application/json"}


def check(condition, text):
    if not condition:
        raise AssertionError(str(text)[:2000])


class Server:
    def __init__(self, program, *options):
        self.program = program
        self.process = subprocess.Popen([program, "serve-api", "--port", "0", *MEMORY_OPTIONS, *options],
                                        cwd=ROOT,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
        check(found, line)
        self.port = int(found[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(timeout=30)
        finally:
            self.process.kill()
        check(status == 0, f"exit status {status}")

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers or {})
            reply = connection.getresponse()
            return reply.status, reply.read(), reply.headers

    def question(self, kind, **fields):
        return self.ask("POST", f"/v1/{kind}", json.dumps(fields), JSON)

    def refused(self, status, method, path, body=None, headers=None, words=""):
        got, answer, _ = self.ask(method, path, body, headers)
        check(got == status, f"{method} {path}: {got} instead of {status}: {answer}")
        error = json.loads(answer)["error"]
        check(error["status"] == status and words in error["message"], answer)
        # The server keeps a sent model in a temporary file, which errors must not name.
        check("/tmp" not in error["message"].replace(str(ROOT), ""), answer)

    def metric(self, name):
        text = self.ask("GET", "/metrics")[1].decode()
        values = re.findall(rf"^{re.escape(name)} (\S+)$", text, re.M)
        return float(values[0]) if values else 0.0

    def memory_bytes(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", text)[1]) * 1024


def command_line(program, *arguments):
    return subprocess.run([program, *arguments, "--json"], cwd=ROOT, check=True,
                          stdin=subprocess.DEVNULL, capture_output=True).stdout


def check_same_bytes(server):
    resnet = str(ZOO / "resnet18.onnx")
    cases = [
        (("predict", resnet, "--hw", "a100", "--batch", "8"), {"hw": "a100", "batch": 8}),
        (("predict", resnet, "--hw", "t4", "--mode", "train", "--optimizer", "sgd", "--batch", "4",
          "--precision", "mixed-fp16"),
         {"hw": "t4", "mode": "train", "optimizer": "sgd", "batch": 4, "precision": "mixed-fp16"}),
        (("predict", resnet, "--hw", "epyc-milan", "--runtime", "ort-cpu", "--requests", "50",
          "--rate", "100", "--seed", "3", "--cost-model", "sol", "--advice"),
         {"hw": "epyc-milan", "runtime": "ort-cpu", "requests": 50, "rate": 100, "seed": 3,
          "cost_model": "sol", "advice": True}),
        (("inspect", resnet, "--batch", "2"), {"batch": 2}),
        (("compare", resnet, "--hw", "dgx-a100", "--policies", "heft,first-device",
          "--no-planning-time", "--batch", "4"),
         {"hw": ["dgx-a100"], "policies": "heft,first-device", "no_planning_time": True,
          "batch": 4}),
        (("roofline", resnet, "--hw", "a100", "--sweep", "batch=1,8"),
         {"hw": "a100", "sweep": "batch=1,8"}),
        (("partition", resnet, "--hw", "dgx-a100", "--devices", "2", "--batch", "8", "--strategy",
          "dp"), {"hw": "dgx-a100", "devices": 2, "batch": 8, "strategy": "dp"}),
    ]
    status, answer, _ = server.ask("POST", "/v1/models?name=resnet18.onnx",
                                   (ZOO / "resnet18.onnx").read_bytes(), BYTES)
    check(status == 201, answer)
    upload = json.loads(answer)["model"]
    for arguments, fields in cases:
        expected = command_line(server.program, *arguments)
        for model in ("resnet18", upload):
            status, answer, _ = server.question(arguments[0], model=model, **fields)
            check(status == 200 and answer == expected, f"{arguments} of {model}: {answer[:300]}")
    status, answer, _ = server.ask("POST", "/v1/predict?hw=a100&batch=8&name=resnet18.onnx",
                                   (ZOO / "resnet18.onnx").read_bytes(), BYTES)
    check(answer == command_line(server.program, *cases[0][0]), "a model in the body")
    graph = "examples/taskgraphs/heft_paper.json"
    status, answer, _ = server.ask("POST", "/v1/compare?no_planning_time=true&policies=heft,cpop"
                                   "&name=heft_paper.json", (ROOT / graph).read_bytes(), BYTES)
    check(status == 200 and answer == command_line(server.program, "compare", graph, "--policies",
                                                   "heft,cpop", "--no-planning-time"), answer[:300])
    check(server.ask("GET", "/v1/hardware")[1] == command_line(server.program, "hardware"),
          "machines")
    check(server.ask("GET", "/v1/hardware/a100")[1] == command_line(server.program, "hardware",
                                                                   "a100"), "one machine")
    status, page, headers = server.ask("POST", "/v1/predict", json.dumps(
        {"model": "resnet18", "hw": "a100"}), {**JSON, "Accept": "text/html"})
    check(status == 200 and page.startswith(b"<!DOCTYPE html>")
          and headers["Content-Type"].startswith("text/html"), page[:100])
    check(server.ask("DELETE", f"/v1/models/{upload}")[0] == 200, "removal")
    server.refused(404, "POST", "/v1/inspect", json.dumps({"model": upload}), JSON, "found none")
    print(f"{2 * len(cases) + 4} answers equal the command line's")


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def model_parts(weight_bytes):
    """A Relu behind an Add of a large initializer, as the bytes before, of and after the weights."""
    count = weight_bytes // 4
    dims = varint(1 << 3) + varint(count) + varint(2 << 3) + varint(1) + field(8, b"w")
    raw = varint(9 << 3 | 2) + varint(weight_bytes)
    tensor_bytes = len(dims) + len(raw) + weight_bytes
    shape = field(1, varint(1 << 3) + varint(count))
    value = field(1, varint(1 << 3) + varint(1) + field(2, shape))

    def info(name):
        return field(1, name) + field(2, value)

    node = field(1, b"x") + field(1, b"w") + field(2, b"y") + field(4, b"Add")
    rest = field(11, info(b"x")) + field(12, info(b"y"))
    start = field(1, node) + field(2, b"g") + varint(5 << 3 | 2) + varint(tensor_bytes) + dims + raw
    graph_bytes = len(start) + weight_bytes + len(rest)
    head = varint(1 << 3) + varint(8) + field(8, varint(2 << 3) + varint(17))
    return head + varint(7 << 3 | 2) + varint(graph_bytes) + start, rest


def check_streamed_weights(server):
    """A model of 600 MB: its weights are neither stored nor in memory."""
    size = 600_000_000
    before, after = model_parts(size)

    def pieces():
        yield before
        block = bytes(1 << 20)
        for begin in range(0, size, len(block)):
            yield block[:min(len(block), size - begin)]
        yield after

    length = {"Content-Length": str(len(before) + size + len(after)), **BYTES}
    for headers in (length, BYTES):  # with a known length, and chunked
        status, answer, _ = server.ask("POST", "/v1/inspect?name=large.onnx", pieces(), headers)
        check(status == 200, answer)
        check(json.loads(answer)["parameters"] == size // 4, answer[:500])
    uploaded, kept = (server.metric(f"dfsim_{name}_bytes_total") for name in ("uploaded", "kept"))
    check(uploaded > 2 * size and kept < uploaded - 2 * size + 100_000, (uploaded, kept))
    memory = server.memory_bytes()
    check(SANITIZED or memory < 400e6, f"{memory / 1e6:.0f} MB of memory")
    print(f"models of {size / 1e6:.0f} MB: the server has used {memory / 1e6:.0f} MB at most")


def check_bad_requests(server):
    refused = server.refused
    good = {"model": "resnet18", "hw": "a100"}
    refused(404, "GET", "/nothing", words="no such route")
    refused(404, "GET", "/../../etc/passwd")
    refused(404, "GET", "/v1/hardware/no-such", words="no-such")
    refused(404, "GET", "/v1/hardware/..%2f..%2fetc%2fpasswd", words="ships with dfsim")
    refused(405, "PUT", "/v1/predict", "{}", JSON, "POST")
    refused(405, "GET", "/v1/predict", words="POST")
    refused(400, "POST", "/v1/predict", "{", JSON, "is not JSON")
    refused(400, "POST", "/v1/predict", "[1]", JSON, "expected an object")
    refused(400, "POST", "/v1/predict", "", JSON)
    refused(400, "POST", "/v1/predict", json.dumps({"model": "resnet18"}), JSON, "hw")
    refused(400, "POST", "/v1/predict", json.dumps({**good, "batch": 0}), JSON, "batch")
    refused(400, "POST", "/v1/predict", json.dumps({**good, "batch": "8"}), JSON, "batch")
    refused(400, "POST", "/v1/predict", json.dumps({**good, "bach": 8}), JSON, "batch")
    refused(400, "POST", "/v1/predict", json.dumps({**good, "requests": 10**9}), JSON, "requests")
    refused(404, "POST", "/v1/predict", json.dumps({**good, "hw": "a1000"}), JSON, "a100")
    refused(400, "POST", "/v1/predict", json.dumps({**good, "hw": "../x.yaml"}), JSON)
    refused(400, "POST", "/v1/predict", json.dumps({**good, "hw": "README.md"}), JSON)
    refused(400, "POST", "/v1/predict", json.dumps({**good, "model": "/etc/passwd"}), JSON)
    refused(404, "POST", "/v1/predict", json.dumps({**good, "model": "nothing"}), JSON)
    refused(400, "POST", "/v1/partition", json.dumps({**good, "strategy": "/etc/passwd"}), JSON)
    refused(422, "POST", "/v1/predict", json.dumps({**good, "dim": ["nosuch=3"]}), JSON)
    refused(400, "POST", "/v1/predict?hw=a100", json.dumps(good), JSON, "query")
    refused(400, "POST", "/v1/predict?hw=%zz", b"x", BYTES)
    refused(415, "POST", "/v1/models", b"x", {"Content-Type": "multipart/form-data; boundary=x"})
    refused(400, "POST", "/v1/models", b"", BYTES, "empty")
    refused(413, "POST", "/v1/predict", "{" + " " * 2_000_000 + "}", JSON)
    refused(413, "GET", "/health", "body", BYTES)
    for name, body in (("text.onnx", b"hello"), ("cut.onnx", (ZOO / "resnet18.onnx").read_bytes()[:999]),
                       ("zip.onnx", b"PK\x03\x04" + b"\0" * 50), ("gz.onnx", b"\x1f\x8b\x08\0")):
        refused(422, "POST", f"/v1/inspect?name={name}", body, BYTES, name)
    print("bad requests: each refused by its documented status")


def check_archives(server):
    model = (ZOO / "resnet18.onnx").read_bytes()
    expected = json.loads(server.question("inspect", model="resnet18")[1])["flops"]
    escape = io.BytesIO()
    with zipfile.ZipFile(escape, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../../../tmp/dfsim_escaped.onnx", model)
    for body in (gzip.compress(model), escape.getvalue()):
        status, answer, _ = server.ask("POST", "/v1/inspect?name=..%2f..%2fpacked.onnx", body,
                                       BYTES)
        check(status == 200 and json.loads(answer)["flops"] == expected, answer[:300])
    check(not pathlib.Path("/tmp/dfsim_escaped.onnx").exists(), "nothing is unpacked to a path")
    print("archives: read in memory, whatever the paths in them")


def reshape_by_file(location):
    """A Reshape of 24 numbers whose target shape is in a file, an external tensor of 16 bytes."""
    def number(key, value):
        return varint(key << 3) + varint(value)

    def info(name, extents):
        shape = b"".join(field(1, number(1, extent)) for extent in extents)
        return field(1, name) + field(2, field(1, number(1, 1) + field(2, shape)))

    entries = {b"location": location.encode(), b"offset": b"0", b"length": b"16"}
    target = (number(1, 2) + number(2, 7) + field(8, b"s") + number(14, 1)
              + b"".join(field(13, field(1, key) + field(2, value)) for key, value in entries.items()))
    node = field(1, b"x") + field(1, b"s") + field(2, b"y") + field(4, b"Reshape")
    graph = (field(1, node) + field(2, b"g") + field(5, target) + field(11, info(b"x", [24]))
             + field(12, field(1, b"y") + field(2, field(1, number(1, 1)))))
    return number(1, 8) + field(8, number(2, 17)) + field(7, graph)


def check_weights_elsewhere(server):
    """Tensors of an upload that point to files of the server stay unread."""
    with tempfile.TemporaryDirectory() as folder:
        secret = pathlib.Path(folder, "shape.bin")
        secret.write_bytes(struct.pack("<qq", 4, 6))
        local = pathlib.Path(folder, "model.onnx")
        local.write_bytes(reshape_by_file("shape.bin"))
        read = command_line(server.program, "inspect", str(local))
        check(json.loads(read)["outputs"][0]["shape"] == [4, 6], "next to its model the file counts")
        places = [str(secret), "../" * 12 + str(secret)[1:], "shape.bin"]
        answers = [server.ask("POST", "/v1/inspect?name=model.onnx", reshape_by_file(place), BYTES)[:2]
                   for place in places]
        check(answers[0] == answers[1] == answers[2], answers)
        check(json.loads(answers[0][1])["outputs"][0]["shape"] == [None, None], answers[0])
    print("files of the server that a model names: not read")


def raw(server, data, wait=30.0, pause=0.0):
    """The first bytes of the answer to bytes that are sent slowly."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=wait) as link:
        for byte in data:
            link.sendall(bytes([byte]))
            if pause:
                time.sleep(pause)
        return link.recv(4096)


def check_bad_clients(server):
    answer = raw(server, b"NONSENSE\r\n\r\n")
    check(answer.startswith(b"HTTP/1.1 400"), answer)
    answer = raw(server, b"GET /health HTTP/1.1\r\nHost: x\r\nA: " + b"y" * 20_000 + b"\r\n\r\n")
    check(answer.startswith(b"HTTP/1.1 431"), answer)
    answer = raw(server, b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n", pause=0.01)
    check(answer.startswith(b"HTTP/1.1 200"), answer)
    # Two requests on one connection.
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as link:
        for _ in range(2):
            link.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            check(link.recv(4096).startswith(b"HTTP/1.1 200"), "keep-alive")
    # Clients that vanish: in the header, in the body, while the answer is made.
    for data in (b"POST /v1/pre", b"POST /v1/models HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\nab"):
        with socket.create_connection(("127.0.0.1", server.port)) as link:
            link.sendall(data)
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    body = json.dumps({"model": "gpt2_large", "hw": "dgx-a100", "batch": 8, "strategy": "search"})
    with socket.create_connection(("127.0.0.1", server.port)) as link:
        link.sendall(f"POST /v1/partition HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                     f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        time.sleep(0.2)
    for _ in range(100):
        if server.metric("dfsim_requests_in_flight") <= 1:  # the one for the metrics
            break
        time.sleep(0.1)
    check(server.metric("dfsim_requests_in_flight") <= 1, "no request is left behind")
    check(server.ask("GET", "/health")[0] == 200, "the server goes on")
    print("bad and vanished clients: no harm")


def check_many(server):
    expected = server.question("predict", model="resnet50", hw="a100", batch=4)[1]
    model = (ZOO / "resnet50.onnx").read_bytes()

    def one(index):
        if index % 3 == 0:
            return server.ask("POST", "/v1/predict?hw=a100&batch=4&name=resnet50.onnx", model, BYTES)
        return server.question("predict", model="resnet50", hw="a100", batch=4)

    with concurrent.futures.ThreadPoolExecutor(20) as threads:
        answers = list(threads.map(one, range(100)))
    check(all(status == 200 and answer == expected for status, answer, _ in answers),
          [status for status, _, _ in answers])
    print("100 questions of 20 clients at once: the same answer")


def check_cancelled_inside(program):
    """Long work ends inside its loops: the only worker is free again right after the 504."""
    limit = 20 if SANITIZED else 5
    with Server(program, "--time-limit", str(limit), "--workers", "1") as server:
        # Ten million moves take minutes, and no step begins after the first.
        server.refused(504, "POST", "/v1/compare", json.dumps(
            {"model": "gpt2_large", "hw": ["dgx-a100"], "policies": "anneal",
             "iterations": 10_000_000}), JSON, f"{limit}")
        status, answer, _ = server.question("predict", model="resnet18", hw="a100")
        check(status == 200, "the worker still works for a caller that left: " + str(status))
    print("work ends soon after its time limit")


def check_limits(program):
    with Server(program, "--time-limit", "0.05", "--workers", "1", "--waiting", "1",
                "--max-model-mb", "0.05", "--connections", "30") as server:
        server.refused(413, "POST", "/v1/models", b"\xff" * 60_000, BYTES, "50000")
        server.refused(504, "POST", "/v1/partition", json.dumps(
            {"model": "gpt2_large", "hw": "dgx-a100", "batch": 8, "strategy": "search"}), JSON,
            "50 ms")
        heavy = json.dumps({"model": "gpt2_large", "hw": "dgx-a100", "batch": 8})

        def one(_):
            return server.ask("POST", "/v1/partition", heavy, JSON)[0]

        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            found = set(threads.map(one, range(8)))
        check(found <= {503, 504} and 503 in found, found)
        links = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(40)]
        links[-1].settimeout(30)
        check(links[-1].recv(100).startswith(b"HTTP/1.1 503"), "too many connections")
        for link in links:
            link.close()
    check_cancelled_inside(program)
    if SANITIZED:
        print("not checked: the limit of memory, which the sanitizer does not allow")
        return
    with Server(program, "--max-memory-gb", "0.15") as server:
        status, answer, _ = server.question("predict", model="resnet18", hw="a100", repeat=100000,
                                            requests=100000)
        check(status in (200, 503), answer)
        check(server.ask("GET", "/health")[0] == 200, "the server survives")
    print("limits of time, memory, waiting requests and connections hold")


def check_description(server):
    description = json.loads(server.ask("GET", "/openapi.json")[1])
    check(description["openapi"].startswith("3."), description["openapi"])
    for path, methods in description["paths"].items():
        asked = path.replace("{name}", "a100").replace("{id}", "m-0")
        for method in ("get", "post", "delete", "put"):
            status, _, headers = server.ask(method.upper(), asked)
            if method in methods:
                check(status != 405, f"{method} {path}")
                check(str(status) in methods[method]["responses"], f"{method} {path}: {status}")
            else:
                check(status == 405 and method.upper() not in headers["Allow"], f"{method} {path}")
    print(f"OpenAPI: {len(description['paths'])} paths, answered as described")


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    refused = subprocess.run([program, "serve-api", "--address", "nowhere"], capture_output=True)
    check(refused.returncode == 2 and b"expected an IP address" in refused.stderr, refused.stderr)
    with Server(program) as server:
        taken = subprocess.run([program, "serve-api", "--port", str(server.port)],
                               capture_output=True)
        check(taken.returncode == 1 and b"cannot be listened on" in taken.stderr, taken.stderr)
        check_same_bytes(server)
        check_bad_requests(server)
        check_archives(server)
        check_weights_elsewhere(server)
        check_bad_clients(server)
        check_many(server)
        check_description(server)
        check_streamed_weights(server)
    with tempfile.TemporaryDirectory() as folder:
        environment = {"TMPDIR": folder, "PATH": "/usr/bin:/bin"}
        process = subprocess.Popen([program, "serve-api", "--port", "0", *MEMORY_OPTIONS],
                                   env=environment, cwd=ROOT,
                                   stderr=subprocess.PIPE, text=True)
        process.stderr.readline()
        check(len(list(pathlib.Path(folder).iterdir())) == 1, "a directory of its own")
        process.send_signal(signal.SIGINT)
        check(process.wait(timeout=30) == 0, "Ctrl-C")
        check(not list(pathlib.Path(folder).iterdir()), "the directory is removed")
    check_limits(program)
    return 0


if __name__ == "__main__":
    sys.exit(main())
