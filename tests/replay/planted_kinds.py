"""Programs with one problem each, with and without it: what dfsim's advice is checked against.

Every function takes a random number generator and whether the problem is there, and returns the
Machine that ran the program (or writes a CTF trace). Called twice with equal generators, the two
runs differ in the problem only, so the difference of their spans is what removing it saves.
"""

from planted_machine import CtfStream, Machine

SHAPE = [[64, 256, 56, 56]]


def warm_up(machine, rng):
    """Initialisation, which must not hide what comes after it, in half of the runs."""
    if rng.random() < 0.5:
        machine.aside = rng.uniform(5000, 60000)
        machine.api("cudaFree", machine.aside)
        machine.host(100)


def machine_for(rng, **options):
    return Machine(delay=rng.uniform(3, 6), call=rng.uniform(4, 7), round_up_ns=rng.choice([0, 1]),
                   **options)


def compute(machine, name, us, host=20.0, dims=None, **options):
    with machine.op("aten::" + name, before=host / 2, after=host / 2, dims=dims):
        machine.launch(options.pop("kernel", "sm80_gemm_" + name), us, **options)


def launch_overhead(rng, planted):
    machine = machine_for(rng)
    kernels, us, host = rng.randint(20, 80), rng.uniform(1.5, 4), rng.uniform(8, 16)
    for _ in range(rng.randint(6, 15)):
        if planted:
            for i in range(kernels):
                compute(machine, "mul%d" % (i % 7), us, host=host)
        else:  # one launch of a graph
            for i in range(kernels):
                machine.launch("g%d" % i, us, call=machine.call if i == 0 else 0)
        machine.wait("cudaStreamSynchronize", rest=2)
    return machine


def fusion(rng, planted):
    machine = machine_for(rng)
    chain, longest = rng.randint(3, 6), rng.uniform(150, 400)
    parts = [longest] + [longest * rng.uniform(0.6, 1.0) for _ in range(chain - 1)]
    for _ in range(rng.randint(6, 15)):
        for _ in range(3):
            compute(machine, "mm", rng.uniform(100, 200), host=10, dims=SHAPE)
            for i, us in enumerate(parts if planted else parts[:1]):
                compute(machine, "add" if i % 2 else "relu", us, host=10, dims=SHAPE,
                        kernel="vectorized_elementwise_kernel%d" % i)
        machine.wait(rest=2)
    return machine


def synchronisation(rng, planted):
    machine = machine_for(rng)
    ops, us, host = rng.randint(5, 12), rng.uniform(60, 200), rng.uniform(30, 60)
    for _ in range(rng.randint(6, 15)):
        for i in range(ops):
            compute(machine, "conv%d" % i, us, host=host, kernel="sm80_conv_fprop")
            if planted:
                with machine.op("aten::item", before=3, after=3):
                    with machine.op("aten::_local_scalar_dense", before=3, after=3):
                        machine.launch("Memcpy DtoH (Device -> Pageable)", 2, category="gpu_memcpy")
                        machine.wait("cudaStreamSynchronize", rest=4)
        machine.wait(rest=2)
    return machine


def allocator_growth(rng, planted):
    machine = machine_for(rng)
    warm_up(machine, rng)
    ops, malloc, free = rng.randint(4, 8), rng.uniform(400, 1200), rng.uniform(300, 900)
    for _ in range(rng.randint(6, 15)):
        for i in range(ops):
            with machine.op("aten::conv2d", before=15, after=10):
                machine.api("cudaMalloc", malloc if planted else 0)
                machine.launch("sm80_conv_fprop", rng.uniform(100, 250))
            if i % 2:
                machine.wait(rest=3)
                machine.api("cudaFree", free if planted else 0)
        machine.wait(rest=2)
    return machine


def input_stalls(rng, planted):
    machine = machine_for(rng)
    stall, ops = rng.uniform(3000, 9000), rng.randint(5, 12)
    for _ in range(rng.randint(6, 15)):
        with machine.op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                        before=stall if planted else 0.001):
            pass
        for i in range(ops):
            compute(machine, "linear%d" % i, rng.uniform(200, 400), host=20)
        machine.wait(rest=2)
    return machine


def pageable_copies(rng, planted):
    machine = machine_for(rng)
    copy, us = rng.uniform(800, 2500), rng.uniform(150, 300)
    for _ in range(rng.randint(6, 15)):
        for i in range(3):
            with machine.op("aten::copy_", before=5, after=5):
                machine.launch("Memcpy HtoD (Pageable -> Device)", copy, category="gpu_memcpy",
                               queue=9, waits=planted, size=int(copy * 6000))
            for j in range(4):
                compute(machine, "mm%d" % j, us, host=150)
        machine.wait(rest=2)
    return machine


def layout_copies(rng, planted):
    machine = machine_for(rng)
    copy, us = rng.uniform(80, 250), rng.uniform(120, 250)
    for _ in range(rng.randint(6, 15)):
        for i in range(6):
            compute(machine, "conv%d" % i, us, host=10, kernel="sm80_conv_fprop")
            if planted:
                with machine.op("aten::contiguous", before=2, after=2):
                    with machine.op("aten::clone", before=2, after=2):
                        machine.launch("copy_device_to_device", copy)
        machine.wait(rest=2)
    return machine


def placement(rng, planted):
    machine = machine_for(rng)
    host, copy = rng.uniform(2000, 8000), rng.uniform(50, 300)
    on_device = host / rng.uniform(20, 80)
    ops = rng.randint(4, 9)
    name = rng.choice(["torchvision::nms", "aten::unique", "aten::multinomial", "roi_align_host"])
    for _ in range(rng.randint(6, 15)):
        for i in range(ops):
            compute(machine, "conv%d" % i, rng.uniform(200, 400), host=20, kernel="sm80_conv")
        if planted:
            with machine.op("aten::to", before=3, after=3):
                machine.launch("Memcpy DtoH (Device -> Pinned)", copy, category="gpu_memcpy",
                               size=int(copy * 12000))
                machine.wait("cudaStreamSynchronize", rest=3)
            with machine.op(name, before=host):
                pass
            with machine.op("aten::to", before=3, after=3):
                machine.launch("Memcpy HtoD (Pinned -> Device)", copy, category="gpu_memcpy",
                               size=int(copy * 12000))
        else:
            with machine.op(name, before=10, after=10):
                machine.launch("moved_kernel", on_device)
        compute(machine, "cat", 40, host=20)
        machine.wait(rest=2)
    return machine


def communication(rng, planted):
    machine = machine_for(rng)
    reduce_us, us = rng.uniform(300, 900), rng.uniform(250, 400)
    for _ in range(rng.randint(6, 15)):
        for i in range(8):
            compute(machine, "mm%d" % i, us, host=20)
            if i % 2:
                # A stream of its own still waits for the gradients.
                machine.free[20] = max(machine.free.get(20, 0), machine.free[7])
                with machine.op("c10d::allreduce_", before=5, after=5):
                    machine.launch("ncclDevKernel_AllReduce_Sum_f32", reduce_us,
                                   queue=7 if planted else 20)
        machine.wait(rest=2)
    return machine


def serial_section(rng, planted):
    machine = Machine()
    threads = rng.randint(2, 4)
    for thread in range(1, threads + 1):
        machine.now[thread] = 0.0
    alone, us = rng.uniform(2000, 6000), rng.uniform(800, 1500)
    for _ in range(rng.randint(6, 15)):
        with machine.op("Gather", before=alone if planted else alone / threads):
            pass
        start = machine.now[1]
        for thread in range(1, threads + 1):
            machine.now[thread] = start
            for _ in range(2):
                with machine.op("MatMul", before=us, thread=thread):
                    pass
        machine.now[1] = max(machine.now.values())
    return machine


def recomputation(rng, planted):
    machine = machine_for(rng)
    us, layers = rng.uniform(200, 400), rng.randint(4, 8)
    for _ in range(rng.randint(4, 8)):
        for i in range(layers):
            compute(machine, "mm", us, host=10)
        for i in range(layers):
            if planted:
                start = machine.now[1]
                machine.host(1)
                compute(machine, "mm", us, host=10)
                machine.emit("python_function", "torch/utils/checkpoint.py(1): recompute_fn", 1, 1,
                             start, machine.now[1] - start + 0.5)
                machine.host(1)
            with machine.op("MmBackward0", before=6, after=6):
                machine.launch("sm80_gemm_backward", 2 * us)
        machine.wait(rest=2)
    return machine


def threads(rng, planted):
    machine = Machine()
    alone, slow = rng.uniform(500, 1500), rng.uniform(2.4, 4)
    machine.now[2] = 0.0
    for _ in range(rng.randint(6, 12)):
        with machine.op("MatMul", before=alone):
            pass
        machine.now[2] = machine.now[1]
        for _ in range(6):
            if planted:
                for thread in (1, 2):
                    with machine.op("MatMul", before=alone * slow, thread=thread):
                        pass
            else:
                for _ in (1, 2):
                    with machine.op("MatMul", before=alone):
                        pass
        machine.now[1] = max(machine.now.values()) if planted else machine.now[1]
    return machine


# Traces of LTTng. They return the span in microseconds.


def op(stream, name, start, end, thread, placement="/device:CPU:0"):
    stream.event("tensorflowTracer:operation_start", start, thread, cat="op", placement=placement,
                 name=name)
    stream.event("tensorflowTracer:operation_end", end, thread, cat="op", placement=placement,
                 name=name)


def switch(stream, at, old, state, new, names):
    stream.event("sched_switch", at, old, cpu_id=0, prev_comm=names.get(old, "swapper"),
                 prev_tid=old, prev_state=state, next_comm=names.get(new, "swapper"), next_tid=new)


def kernel_trace(rng, planted, folder, problem):
    """ReadFile, DecodeJpeg and MatMul on a CPU, one of them held up by the operating system."""
    user, kernel = CtfStream(), CtfStream("tid")
    names = {10: "python", 77: rng.choice(["backup", "updatedb", "stress-ng"])}
    held = rng.uniform(2000, 9000)
    held = held if planted else 0
    times = [rng.uniform(300, 800), rng.uniform(800, 1500), rng.uniform(1000, 2500)]
    now = first = 1000.0
    for _ in range(rng.randint(8, 20)):
        for name, us in zip(("ReadFile", "DecodeJpeg", "MatMul"), times):
            pause = held if name == ("ReadFile" if problem == "blocked" else "MatMul") else 0
            op(user, name, now, now + us + pause, 10)
            if problem == "blocked" and name == "ReadFile":
                kernel.event("syscall_entry_read", now + 50, 10, fd=3, count=4096)
                if pause:
                    switch(kernel, now + 60, 10, 1, 0, names)
                    kernel.event("sched_wakeup", now + 60 + pause, 0, cpu_id=0, comm="python",
                                 tid=10, target_cpu=0)
                    switch(kernel, now + 60 + pause, 0, 0, 10, names)
                kernel.event("syscall_exit_read", now + 70 + pause, 10, ret=4096)
            elif pause:
                switch(kernel, now + 100, 10, 0, 77, names)
                switch(kernel, now + 100 + pause, 77, 0, 10, names)
            end = now + us + pause
            now = end + 20
    if folder is not None:
        user.write(folder / "ust")
        kernel.write(folder / "kernel")
    return end - first


def blocking_calls(rng, planted, folder):
    return kernel_trace(rng, planted, folder, "blocked")


def preemption(rng, planted, folder):
    return kernel_trace(rng, planted, folder, "preempted")


def worker_placement(rng, planted, folder):
    """Two workers; the second one waits for a tensor of the first."""
    stream = CtfStream()
    travel = rng.uniform(2000, 8000)
    big, small = rng.uniform(2000, 5000), rng.uniform(300, 900)
    answered = rng.random() < 0.5  # gRPC says when the answer came back
    workers = ["/job:worker/task:%d/device:CPU:0" % i for i in (0, 1)]
    key = "edge_%d_big" % rng.randint(1, 99)
    now = 1000.0
    first = now + 10
    for step in range(rng.randint(8, 20)):
        stream.event("tensorflowTracer:session_start", now, 10, cat="session", name="run",
                     count=step)
        made = now + 10 + big
        op(stream, "w0/big/MatMul", now + 10, made, 10, workers[0])
        used = made + (travel if planted else 0)
        if planted:
            fields = {"rendezvous_key": key, "src_device": workers[0], "dst_device": workers[1]}
            stream.event("tensorflowTracer:rdv_recv", now + 20, 20, cat="rdv", name=key)
            if answered:
                stream.event("grpcTracer:send_request_tensor_start", now + 20, 20, cat="grpc",
                             name="request", rendezvous_key=key)
            stream.event("grpcTracer:send_RecvTensor_request", now + 20, 20, cat="grpc",
                         name="RecvTensor", **fields)
            stream.event("grpcTracer:receive_RecvTensor_request", now + 60, 11, cat="grpc",
                         name="RecvTensor", **fields)
            stream.event("tensorflowTracer:rdv_send", made, 10, cat="rdv", name=key)
            stream.event("grpcTracer:prepare_response_tensor_start", made + 5, 11, cat="grpc",
                         name="prep")
            stream.event("grpcTracer:prepare_response_tensor_end", made + travel / 4, 11,
                         cat="grpc", name="prep")
            stream.event("grpcTracer:EncodeTensorToByteBuffer", made + travel / 4 + 10, 11,
                         cat="grpc", name="enc", size=int(travel * 8000))
            if answered:
                stream.event("grpcTracer:send_request_tensor_end", used, 21, cat="grpc",
                             name="request", rendezvous_key=key)
        op(stream, "w1/small/Add", used, used + small, 20, workers[1])
        end = used + small
        stream.event("tensorflowTracer:session_end", end + 100, 10, cat="session", name="run",
                     count=step)
        now = end + 500
    if folder is not None:
        stream.write(folder)
    return end - first


KINETO = {
    "launch-overhead": launch_overhead,
    "fusion": fusion,
    "synchronisation": synchronisation,
    "allocator-growth": allocator_growth,
    "input-stalls": input_stalls,
    "pageable-copies": pageable_copies,
    "layout-copies": layout_copies,
    "placement": placement,
    "communication": communication,
    "serial-section": serial_section,
    "recomputation": recomputation,
    "threads": threads,
}

CTF = {
    "blocking-calls": blocking_calls,
    "preemption": preemption,
    "worker-placement": worker_placement,
}
