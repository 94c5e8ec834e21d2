"""Reports the operators of PyTorch and TensorFlow to a tracer while a program runs."""

import contextlib
import itertools


@contextlib.contextmanager
def torch_operators(tracer):
    """Every operator that reaches PyTorch's dispatcher, forward and backward."""
    # pylint: disable=import-outside-toplevel
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    def placement_of(args, result):
        tensors = [a for a in (*args, result) if isinstance(a, torch.Tensor)]
        device = tensors[0].device if tensors else torch.device("cpu")
        return "/device:%s:%d" % (device.type.upper().replace("CUDA", "GPU"), device.index or 0)

    class Reporter(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            name = str(func.name()).split(".", 1)[0]
            placement = placement_of(args, None)
            tracer.operation_start(placement, name)
            try:
                return func(*args, **(kwargs or {}))
            finally:
                tracer.operation_end(placement, name)

    with Reporter():
        yield


@contextlib.contextmanager
def tensorflow_operators(tracer):
    """Every operator that TensorFlow 2 runs eagerly, and each call of a compiled function."""
    # pylint: disable=import-outside-toplevel
    from tensorflow.python import pywrap_tfe
    from tensorflow.python.eager import execute

    def reported(function, name_at):
        def run(*args, **kwargs):
            name = str(args[name_at])
            tracer.operation_start("/device:CPU:0", name)
            try:
                return function(*args, **kwargs)
            finally:
                tracer.operation_end("/device:CPU:0", name)
        return run

    fast, quick = pywrap_tfe.TFE_Py_FastPathExecute, execute.execute
    pywrap_tfe.TFE_Py_FastPathExecute = reported(fast, 1)
    execute.execute = execute.quick_execute = reported(quick, 0)
    try:
        yield
    finally:
        pywrap_tfe.TFE_Py_FastPathExecute = fast
        execute.execute = execute.quick_execute = quick


class Steps:
    """`with steps(): ...` around each step of the program makes a session of it."""

    def __init__(self, tracer):
        self.tracer = tracer
        self.count = itertools.count()

    @contextlib.contextmanager
    def __call__(self, name="step"):
        number = next(self.count)
        self.tracer.session_start(name, number)
        try:
            yield
        finally:
            self.tracer.session_end(name, number)
