"""Where the operators' events go: LTTng's tracepoints, or a CTF trace that this file writes itself.

Both have operation_start(placement, name), operation_end(placement, name), session_start(name,
count) and session_end(name, count). Every method may be called from any thread.
"""

import ctypes
import itertools
import pathlib
import resource
import struct
import subprocess
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
# The kernel counts these for every thread, and asks for no privilege. The names are of the form of
# LTTng's perf contexts, which the reader knows.
RUSAGE = (("perf_thread_task_clock", lambda use: time.thread_time_ns()),
          ("perf_thread_minor_faults", lambda use: use.ru_minflt),
          ("perf_thread_major_faults", lambda use: use.ru_majflt),
          ("perf_thread_voluntary_switches", lambda use: use.ru_nvcsw),
          ("perf_thread_involuntary_switches", lambda use: use.ru_nivcsw))


class LttngTracer:
    """Calls the tracepoints of provider.c, which it compiles."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="dfsim-lttng-")
        library = pathlib.Path(self.folder.name) / "provider.so"
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-I", str(HERE), "-o", str(library),
                        str(HERE / "provider.c"), "-llttng-ust", "-ldl"], check=True)
        self.library = ctypes.CDLL(str(library))
        for name in ("session_start", "session_end"):
            getattr(self.library, "dfsim_" + name).argtypes = [ctypes.c_char_p, ctypes.c_int64]

    def operation_start(self, placement, name):
        self.library.dfsim_operation_start(placement.encode(), name.encode())

    def operation_end(self, placement, name):
        self.library.dfsim_operation_end(placement.encode(), name.encode())

    def session_start(self, name, count):
        self.library.dfsim_session_start(name.encode(), count)

    def session_end(self, name, count):
        self.library.dfsim_session_end(name.encode(), count)

    def close(self):
        """LTTng's daemon writes the files."""


class CtfTracer:
    """Writes CTF 1.8 itself: no daemon, no privileges, and the counts of getrusage()."""

    HEADER = """/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; };
env { domain = "ust"; tracer_name = "dfsim"; };
clock { name = monotonic; freq = 1000000000; offset = %d; };
stream {
  event.header := struct {
    integer { size = 16; align = 8; signed = false; } id;
    integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } timestamp;
  };
  event.context := struct {
    integer { size = 32; align = 8; signed = true; } vtid;
%s  };
};
"""
    INTEGER = "integer { size = 64; align = 8; signed = true; }"
    CLASSES = (("operation_start", "string cat; string placement; string name;"),
               ("operation_end", "string cat; string placement; string name;"),
               ("session_start", "string cat; string name; " + INTEGER + " count;"),
               ("session_end", "string cat; string name; " + INTEGER + " count;"))

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.events = []  # lists append atomically
        self.order = itertools.count()
        self.offset = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.monotonic_ns()

    def _add(self, number, payload):
        use = resource.getrusage(resource.RUSAGE_THREAD)
        now = time.monotonic_ns()
        data = struct.pack("<HQi", number, now, threading.get_native_id())
        data += struct.pack("<%dq" % len(RUSAGE), *(count(use) for _, count in RUSAGE))
        self.events.append((now, next(self.order), data + payload))

    def operation_start(self, placement, name):
        self._add(0, b"tf_operation\0%s\0%s\0" % (placement.encode(), name.encode()))

    def operation_end(self, placement, name):
        self._add(1, b"tf_operation\0%s\0%s\0" % (placement.encode(), name.encode()))

    def session_start(self, name, count):
        self._add(2, b"tf_session\0%s\0" % name.encode() + struct.pack("<q", count))

    def session_end(self, name, count):
        self._add(3, b"tf_session\0%s\0" % name.encode() + struct.pack("<q", count))

    def close(self):
        contexts = "".join("    %s %s;\n" % (self.INTEGER, name) for name, _ in RUSAGE)
        text = self.HEADER % (self.offset, contexts)
        for number, (name, fields) in enumerate(self.CLASSES):
            text += 'event { name = "tensorflowTracer:%s"; id = %d; fields := struct { %s }; };\n' % (
                name, number, fields)
        (self.folder / "metadata").write_text(text, encoding="utf-8")
        with open(self.folder / "channel0", "wb") as file:
            for event in sorted(self.events):
                file.write(event[2])
