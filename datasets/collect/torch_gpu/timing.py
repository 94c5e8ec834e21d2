"""Times of a function on a GPU: eager with events, kernels alone with the profiler, a captured graph.

Several processes share the GPU, so that building one network overlaps with timing another. A process
holds the lock while it times; nothing else runs on the GPU then, except the first run of a network
elsewhere, which a median over the runs leaves out.
"""

import bisect
import contextlib
import fcntl
import statistics
import time

LABEL = "dfsim:"


class Lock:
    """Exclusive between processes. The kernel frees the lock of one that dies."""

    def __init__(self, path):
        self.file = path.open("w")

    def __enter__(self):
        fcntl.flock(self.file, fcntl.LOCK_EX)
        return self

    def __exit__(self, *_):
        fcntl.flock(self.file, fcntl.LOCK_UN)


def summary(times):
    return {"time_ns": max(1, round(statistics.median(times))), "spread_ns": round(statistics.pstdev(times)),
            "samples": len(times)}


class Timer:
    """Times in ns; on the CPU the clock gives them, and what needs a GPU is None."""

    def __init__(self, torch, device, runs):
        self.torch, self.device, self.runs = torch, device, runs
        self.cuda = device == "cuda"

    def synchronize(self):
        if self.cuda:
            self.torch.cuda.synchronize()

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

    def eager(self, run, warm_up=3):
        """Median time of one run, the queue empty before; runs of more than 50 ms are repeated less often."""
        for _ in range(warm_up):
            run()
        first = self.once(run)
        return summary([first, *(self.once(run) for _ in range(self.runs_of(first) - 1))])

    def runs_of(self, time_ns):
        return max(3, min(self.runs, int(5e8 / max(1, time_ns))))

    def graph(self, run):
        """A replay of the captured kernels; None where nothing can be captured."""
        if not self.cuda:
            return None
        stream = self.torch.cuda.Stream()
        stream.wait_stream(self.torch.cuda.current_stream())
        with self.torch.cuda.stream(stream):
            run()
        self.torch.cuda.current_stream().wait_stream(stream)
        captured = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(captured):
            run()
        return self.eager(captured.replay)

    def host(self, run):
        """Host time to launch one run, the device left to itself."""
        if not self.cuda:
            return None
        times = []
        for _ in range(self.runs):
            self.torch.cuda.synchronize()
            start = time.perf_counter_ns()
            run()
            times.append(time.perf_counter_ns() - start)
        self.torch.cuda.synchronize()
        return summary(times)

    @contextlib.contextmanager
    def profiled(self):
        """Yields a list that holds the calls of the block afterwards, as calls_of() has them."""
        calls = []
        options = {"use_device": "cuda", "use_kineto": True} if self.cuda else {}
        self.synchronize()
        with self.torch.autograd.profiler.profile(record_shapes=True, **options) as profile:
            yield calls
            self.synchronize()
        calls.extend(calls_of(profile.kineto_results.events()))

    def label(self, text):
        return self.torch.autograd.profiler.record_function(LABEL + text)

    def network_calls(self, run, runs):
        """Outermost calls of one run, each with the median of its kernel times over the runs."""
        with self.profiled() as calls:
            for _ in range(runs):
                run()
        size = len(calls) // runs
        if size * runs != len(calls) or any(c["op"] != calls[i % size]["op"] for i, c in enumerate(calls)):
            raise RuntimeError(f"{len(calls)} calls in {runs} runs: the runs differ")
        return [{**calls[i], "ns": statistics.median(c["ns"] for c in calls[i::size])} for i in range(size)]


def calls_of(events):
    """The outermost calls of the main thread in order: name, operands, what their kernels took.

    A call is an aten operator, or a block that was named with label(). `ns` is the time in which its kernels,
    copies or fills ran. A kernel names the innermost call that launched it, or else shares a correlation number with
    the runtime's function that did, cudaLaunchKernel, say.
    """
    events = list(events)
    on_host = [e for e in events if "CPU" in str(e.device_type())]
    calls, of_id, spans = [], {}, []
    for event in sorted((e for e in on_host if is_call(e)), key=lambda e: (e.start_ns(), -e.duration_ns())):
        outer = next((s for s in reversed(spans[-4:]) if s[0] == event.start_thread_id() and event.start_ns() < s[2]), None)
        if outer is None:
            calls.append(call_of(event))
            outer = (event.start_thread_id(), event.start_ns(), event.start_ns() + event.duration_ns(), calls[-1])
            spans.append(outer)
        of_id[event.correlation_id()] = outer[3]
    launches = {e.correlation_id(): e.start_ns() for e in on_host if not is_call(e)}
    starts = [s[1] for s in spans]
    for event in events:
        if "CUDA" not in str(event.device_type()) or event.name().startswith(LABEL):
            continue
        call = of_id.get(event.linked_correlation_id())
        if call is None and event.correlation_id() in launches:
            at = launches[event.correlation_id()]
            index = bisect.bisect_right(starts, at) - 1
            call = spans[index][3] if index >= 0 and at < spans[index][2] else None
        if call is not None:
            call["kernels"].append(event.name()[:60])
            call["spans"].append((event.start_ns(), event.start_ns() + event.duration_ns()))
    for call in calls:
        call["ns"] = length(call.pop("spans"))
    return calls


def length(spans):
    """The length of the union: kernels of one call may run at the same time, on streams of their own."""
    total, end = 0, 0
    for start, stop in sorted(spans):
        total += max(0, stop - max(start, end))
        end = max(end, stop)
    return total


def is_call(event):
    return "CPU" in str(event.device_type()) and event.name().startswith(("aten::", LABEL, "autograd::"))


def call_of(event):
    return {"op": event.name(), "start": event.start_ns(), "shapes": event.shapes(), "types": event.dtypes(),
            "values": event.concrete_inputs(), "ns": 0, "kernels": [], "spans": []}
