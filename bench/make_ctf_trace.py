#!/usr/bin/env python3
"""Writes a large trace in the Common Trace Format, for docs/benchmarks.md.

  python3 bench/make_ctf_trace.py FOLDER [MEGABYTES]
  /usr/bin/time -v ./dfsim analyze FOLDER

User space (tensorflowTracer, cuptiTracer) and the kernel (sched_switch, read) of one process, as
LTTng writes them: sessions of four operators with a kernel each, a copy to the host, one allocation,
two switches of the CPU and one system call. Packets of 512 kB have a context, as LTTng's have.
"""
import os
import struct
import sys

INT64 = "integer { size = 64; align = 8; signed = true; }"
PACKET_BYTES = 1 << 19

HEAD = """/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le;
  packet.header := struct { integer { size = 32; align = 8; signed = false; } magic; };
};
clock { name = monotonic; freq = 1000000000; offset = 0; };
stream {
  packet.context := struct {
    integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } timestamp_begin;
    integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } timestamp_end;
    integer { size = 64; align = 8; signed = false; } content_size;
    integer { size = 64; align = 8; signed = false; } packet_size;
    integer { size = 32; align = 8; signed = false; } cpu_id;
  };
  event.header := struct {
    integer { size = 16; align = 8; signed = false; } id;
    integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } timestamp;
  };
  event.context := struct { integer { size = 32; align = 8; signed = true; } %s; };
};
"""

USER_EVENTS = [
    ("tensorflowTracer:operation_start", "string cat; string placement; string name;"),
    ("tensorflowTracer:operation_end", "string cat; string placement; string name;"),
    ("cuptiTracer:runtime_api_entry", f"string cat; string name; {INT64} timestamp; {INT64} threadId;"),
    ("cuptiTracer:runtime_api_exit", f"string cat; string name; {INT64} timestamp; {INT64} threadId;"),
    ("cuptiTracer:kernel_begin", f"string cat; string name; {INT64} timestamp;"),
    ("cuptiTracer:kernel_end", f"string cat; string name; {INT64} timestamp;"),
    ("tensorflowTracer:memory_allocate", f"string device; string ptr; {INT64} bytes;"),
    ("tensorflowTracer:memory_deallocate", f"string device; string ptr; {INT64} bytes;"),
    ("cuptiTracer:memcpy_begin", f"string cat; string name; string details; {INT64} timestamp;"),
    ("cuptiTracer:memcpy_end", f"string cat; string name; string details; {INT64} timestamp;"),
]
KERNEL_EVENTS = [
    ("sched_switch", f"{INT64} cpu_id; string prev_comm; {INT64} prev_tid; {INT64} prev_state; "
                     f"string next_comm; {INT64} next_tid;"),
    ("syscall_entry_read", f"{INT64} fd; {INT64} count;"),
    ("syscall_exit_read", f"{INT64} ret;"),
]
US = 1000
SESSION_NS = 4000 * US
TID = 1001


class Template:
    """The events of one session, with the places where times stand."""

    def __init__(self):
        self.bytes = bytearray()
        self.times = []  # (place, nanoseconds after the session's begin)

    def event(self, number, at_ns, tid, *fields):
        self.bytes += struct.pack("<H", number)
        self.time(at_ns)
        self.bytes += struct.pack("<i", tid)
        for field in fields:
            if isinstance(field, str):
                self.bytes += field.encode() + b"\0"
            elif isinstance(field, tuple):
                self.time(field[0])
            else:
                self.bytes += struct.pack("<q", field)

    def time(self, at_ns):
        self.times.append((len(self.bytes), at_ns))
        self.bytes += b"\0" * 8

    def session(self, begin_ns):
        for place, at_ns in self.times:
            struct.pack_into("<Q", self.bytes, place, begin_ns + at_ns)
        return self.bytes


def user_session():
    session, gpu, ops = Template(), "/job:localhost/replica:0/task:0/device:GPU:0", []
    session.event(6, 0, TID, "GPU_0_bfc", "0x7f3a00000000", 1 << 20)
    for i in range(4):
        begin = (20 + 800 * i) * US
        name = f"resnet/block{i}/Conv2D"
        session.event(0, begin, TID, "Conv2D", gpu, name)
        session.event(2, begin + 10 * US, TID, "runtime", "cudaLaunchKernel", (begin + 10 * US,), TID)
        session.event(3, begin + 20 * US, TID, "runtime", "cudaLaunchKernel", (begin + 20 * US,), TID)
        session.event(4, begin + 30 * US, TID, "kernel", "implicit_convolve_sgemm", (begin + 30 * US,))
        session.event(5, begin + 530 * US, TID, "kernel", "implicit_convolve_sgemm", (begin + 530 * US,))
        session.event(1, begin + 560 * US, TID, "Conv2D", gpu, name)
    session.event(8, 3300 * US, TID, "memcpy", "memcpy", "DtoH 1048576", (3300 * US,))
    session.event(9, 3400 * US, TID, "memcpy", "memcpy", "DtoH 1048576", (3400 * US,))
    session.event(7, 3500 * US, TID, "GPU_0_bfc", "0x7f3a00000000", 1 << 20)
    return session


def kernel_session():
    session = Template()
    session.event(1, 3600 * US, TID, 7, 4096)
    session.event(0, 3610 * US, TID, 0, "python", TID, 1, "swapper/0", 0)
    session.event(0, 3690 * US, 0, 0, "swapper/0", 0, 0, "python", TID)
    session.event(2, 3700 * US, TID, 4096)
    return session


def write_stream(folder, events, template, context, sessions):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "metadata"), "w") as out:
        out.write(HEAD % context)
        for number, (name, fields) in enumerate(events):
            out.write(f'event {{ name = "{name}"; id = {number}; fields := struct {{ {fields} }}; }};\n')
    per_packet = max(1, (PACKET_BYTES - 40) // len(template.bytes))
    with open(os.path.join(folder, "channel0_0"), "wb") as out:
        for first in range(0, sessions, per_packet):
            last = min(sessions, first + per_packet)
            begin = (first + 1) * SESSION_NS
            bits = (40 + (last - first) * len(template.bytes)) * 8
            out.write(struct.pack("<IQQQQI", 0xC1FC1FC1, begin, (last + 1) * SESSION_NS, bits, bits, 0))
            for number in range(first, last):
                out.write(template.session((number + 1) * SESSION_NS))


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    megabytes = float(sys.argv[2]) if len(sys.argv) == 3 else 1000
    user, kernel = user_session(), kernel_session()
    sessions = max(1, int(megabytes * 1e6 / (len(user.bytes) + len(kernel.bytes))))
    write_stream(os.path.join(sys.argv[1], "ust"), USER_EVENTS, user, "vtid", sessions)
    write_stream(os.path.join(sys.argv[1], "kernel"), KERNEL_EVENTS, kernel, "tid", sessions)
    print(f"{sessions} sessions")


if __name__ == "__main__":
    main()
