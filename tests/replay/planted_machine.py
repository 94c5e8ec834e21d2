"""A small machine that runs a program and writes what a profiler would have recorded.

The machine has host threads and queues of one device. A program is a Python function that makes
operators, launches and waits; the machine decides when each begins, by the rules of CUDA: a launch
returns at once, work begins once its launch has reached the device and its queue is free, and a
wait ends when the queue is empty. The clock counts nanoseconds; traces have microseconds. The same
program without its planted problem gives the time that the problem costs: the answer that dfsim's
advice must come near to.
"""

import json
import struct
from contextlib import contextmanager


class Machine:
    """Times in microseconds."""

    def __init__(self, delay=4.0, call=5.0, device_name="", round_up_ns=0):
        self.delay = delay  # of a launch to the device
        self.call = call  # host time of a launch
        self.now = {1: 0.0}  # by thread
        self.free = {}  # by queue
        self.events = []
        self.ids = 0
        self.ops = []  # open operators
        self.device_name = device_name
        self.aside = 0.0  # time of initialisation, which no advice is about
        # Profilers round: a child may seem to end after its parent.
        self.round_up_us = round_up_ns / 1000

    def emit(self, category, name, pid, tid, start, duration, **args):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid,
                            "ts": round(start, 3), "dur": round(duration, 3), "args": args})

    @contextmanager
    def op(self, name, before=0.0, after=0.0, thread=1, dims=None, category="cpu_op", **args):
        """An operator of the framework: host time before and after what it calls."""
        self.ids += 1
        own = self.ids
        self.ops.append(own)
        start = self.now[thread]
        self.now[thread] += before
        yield
        self.now[thread] += after
        self.ops.pop()
        if dims is not None:
            args["Input Dims"] = dims
            args["Input type"] = ["float"] * len(dims)
        if category == "cpu_op":
            args["External id"] = own
        self.emit(category, name, 1, thread, start, self.now[thread] - start, **args)

    def host(self, us, thread=1):
        """Python between operators."""
        self.now[thread] += us

    def launch(self, name, us, queue=7, call=None, category="kernel", thread=1, size=1000,
               api=None, waits=False):
        """Device work; with `waits` its call returns only when it is done."""
        self.ids += 1
        correlation = self.ids
        call = self.call if call is None else call
        start = self.now[thread]
        begin = max(start + self.delay, self.free.get(queue, 0.0))
        self.free[queue] = begin + us
        self.now[thread] = max(start + call, begin + us) if waits else start + call
        api = api or ("cudaLaunchKernel" if category == "kernel" else "cudaMemcpyAsync")
        external = {"External id": self.ops[-1]} if self.ops else {}
        self.emit("cuda_runtime", api, 1, thread, start, self.now[thread] - start + self.round_up_us,
                  correlation=correlation, **external)
        self.emit(category, name, 0, queue, begin, us, correlation=correlation, device=0,
                  stream=queue, bytes=size, **external)
        return begin + us

    def api(self, name, us, thread=1):
        """A call of the device's runtime."""
        self.ids += 1
        if us > 0:
            external = {"External id": self.ops[-1]} if self.ops else {}
            self.emit("cuda_runtime", name, 1, thread, self.now[thread], us, correlation=self.ids,
                      **external)
        self.now[thread] += us

    def wait(self, name="cudaDeviceSynchronize", rest=3.0, queues=None, thread=1):
        """A call that returns when the queues are empty."""
        start = self.now[thread]
        done = max([self.free.get(q, 0.0) for q in (queues or self.free)] + [start])
        self.now[thread] = done + rest
        self.emit("cuda_runtime", name, 1, thread, start, self.now[thread] - start,
                  correlation=self.next_id())

    def next_id(self):
        self.ids += 1
        return self.ids

    def memory(self, address, size, total, reserved, thread=1):
        self.events.append({"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1,
                            "tid": thread, "ts": round(self.now[thread], 3), "s": "t",
                            "args": {"Addr": address, "Bytes": size, "Total Allocated": total,
                                     "Total Reserved": reserved, "Device Type": 1,
                                     "Device Id": 0}})

    def span(self):
        """From the first event to the last, as dfsim's replay takes it."""
        shown = [e for e in self.events if e["ph"] == "X" and e["cat"] != "python_function"
                 and e["cat"] != "user_annotation"]
        return (max(e["ts"] + e["dur"] for e in shown) - min(e["ts"] for e in shown)
                - self.aside)

    def write(self, path):
        head = {"schemaVersion": 1, "displayTimeUnit": "ms"}
        if self.device_name:
            head["deviceProperties"] = [{"id": 0, "name": self.device_name}]
        head["traceEvents"] = sorted(self.events, key=lambda e: e["ts"])
        with open(path, "w", encoding="utf-8") as file:
            json.dump(head, file, separators=(",", ":"))


CTF_HEADER = """/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; };
clock { name = monotonic; freq = 1000000000; offset = 0; };
stream {
  event.header := struct {
    integer { size = 16; align = 8; signed = false; } id;
    integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } timestamp;
  };
  event.context := struct { integer { size = 32; align = 8; signed = true; } %s; };
};
"""

INTEGER = "integer { size = 64; align = 8; signed = true; }"


class CtfStream:
    """One trace of the Common Trace Format, written by hand."""

    def __init__(self, thread_field="vtid"):
        self.thread_field = thread_field
        self.classes = {}
        self.events = []

    def event(self, name, us, thread, /, **fields):
        """Fields are texts or integers."""
        layout = " ".join(("string %s;" if isinstance(value, str) else INTEGER + " %s;") % key
                          for key, value in fields.items())
        number = self.classes.setdefault(name, (len(self.classes), layout))[0]
        data = struct.pack("<HQi", number, round(us * 1000), thread)
        for value in fields.values():
            data += value.encode() + b"\0" if isinstance(value, str) else struct.pack("<q", value)
        self.events.append((us, len(self.events), data))

    def write(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        text = CTF_HEADER % self.thread_field
        for name, (number, layout) in self.classes.items():
            text += 'event { name = "%s"; id = %d; fields := struct { %s }; };\n' % (
                name, number, layout)
        (folder / "metadata").write_text(text, encoding="utf-8")
        (folder / "channel0").write_bytes(b"".join(e[2] for e in sorted(self.events)))
